/** The handler of free and busy time: when people are taken, and nothing else about it. */
import type { ClientHandlers } from '#src/http/client-routes.ts';
import { formatInstant, parseInstant } from '#src/base/time.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { FREE_BUSY_MILLIS_MAX, FREE_BUSY_PERIODS_MAX, type AskFreeBusy } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { CalendarServices } from '../calendar-services.ts';

export function makeFreeBusyHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, 'askFreeBusy'>> {
  return {
    askFreeBusy: async ({ user, body }) => {
      const { users, from, to } = body as AskFreeBusy;
      const window = windowOf(from, to);
      const items = [];
      for (const asked of new Set(users)) {
        // Decided for both alike: nobody learns who exists (ERR-05).
        const known = services.mayAskAbout(user, asked);
        const { periods, isCut, isUnsure } = known
          ? await services.busyTimes(user, asked, window)
          : { periods: [], isCut: false, isUnsure: false };
        const busy = periods.slice(0, FREE_BUSY_PERIODS_MAX).map(({ start, end, type }) => ({
          start_at: formatInstant(start),
          end_at: formatInstant(end),
          tentative: type === 'BUSY-TENTATIVE',
          unavailable: type === 'BUSY-UNAVAILABLE',
        }));
        items.push({ user: asked, known, busy, is_cut: isCut || isUnsure || periods.length > FREE_BUSY_PERIODS_MAX });
      }
      return { status: 200, body: { items, next: null } };
    },
  };
}

/** @throws Refusal `field_invalid`. */
export function windowOf(from: string, to: string): { readonly from: number; readonly to: number } {
  const [first, last] = [parseInstant(from), parseInstant(to)];
  if (first === undefined) throw new Refusal('field_invalid', { field: 'from' });
  if (last === undefined || last <= first || last - first > FREE_BUSY_MILLIS_MAX) {
    throw new Refusal('field_invalid', { field: 'to' });
  }
  return { from: first, to: last };
}
