/** The handlers of calendars. */
import type { z } from 'zod';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type {
  CalendarView,
  changeCalendar,
  createCalendar,
  deleteCalendarQuery,
} from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { ClientHandlers, ClientRequest } from '#src/http/client-routes.ts';
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import { accessCalendar, defaultCalendarOf, ensureDefaultCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import type { CalendarRecord, ComponentKind } from '#storage/calendars/calendar-records.ts';
import { TimeSlicer } from '../time-slicer.ts';
import { removeOwnCalendar } from '../objects/calendar-removal.ts';
import { isZone } from '../objects/derivation.ts';
import type { Subscriptions } from '../subscriptions/subscriptions.ts';

type Names = 'listCalendars' | 'createCalendar' | 'readCalendar' | 'changeCalendar' | 'deleteCalendar';

export function makeCalendarHandlers(
  services: CalendarServices,
  subscriptions: Subscriptions,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { book, calendars } = services;
  const viewOf = (user: string, { calendar, access }: AccessibleCalendar): CalendarView => ({
    id: calendar.id,
    owner: calendar.owner,
    name: access === 'owner' ? calendar.name : calendar.id,
    displayname: calendar.displayname,
    description: calendar.description,
    color: calendar.color,
    order: calendar.order,
    tz: calendar.zone,
    kinds: [...calendar.kinds],
    transparency: calendar.transparency,
    access,
    is_default: defaultCalendarOf(calendars, user)?.id === calendar.id,
    subscribed: calendar.subscribed === true,
    created_at: formatInstant(calendar.createdAt),
    sync_seq: calendar.syncSeq,
  });
  return {
    listCalendars: async ({ user }) => {
      await ensureDefaultCalendar(calendars, user, book.zoneOf(user));
      const items = calendars.servedTo(user).map((accessible) => viewOf(user, accessible));
      return { status: 200, body: { items, next: null } };
    },
    createCalendar: async ({ user, body, address }) => {
      const { source, transparency, tz, ...fields } = body as z.infer<typeof createCalendar>;
      if (tz !== undefined) assertZone(tz);
      await ensureDefaultCalendar(calendars, user, book.zoneOf(user));
      const by = byOf({ user, address });
      // What a feed says takes nobody's time, unless its follower says so.
      const standing = transparency ?? (source === undefined ? 'opaque' : 'transparent');
      const zone = { zone: tz ?? book.zoneOf(user) ?? 'UTC', followsOwner: tz === undefined };
      const form = { ...fields, ...zone, owner: user, transparency: standing };
      const name = makeId('cal', services.clock.now()).slice(4);
      const calendar =
        source === undefined
          ? await calendars.createCalendar({ ...form, name }, by)
          : await subscriptions.create(form, source, by);
      return { status: 201, body: viewOf(user, { calendar, access: 'owner' }) };
    },
    readCalendar: (request) => ({
      status: 200,
      body: viewOf(request.user, accessCalendar(calendars, request.user, calendarOf(request), 'free_busy')),
    }),
    changeCalendar: async (request) => {
      const { tz, ...form } = request.body as z.infer<typeof changeCalendar>;
      if (tz !== undefined) assertZone(tz);
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      if (form.kinds !== undefined) await assertKindsKept(services, request.user, calendar, form.kinds);
      const named = Object.entries({ ...form, zone: tz }).filter(([, value]) => value !== undefined);
      const changed = await calendars.change((draft) => draft.changeCalendar(calendar.id, Object.fromEntries(named)));
      return { status: 200, body: viewOf(request.user, { calendar: changed, access: 'owner' }) };
    },
    deleteCalendar: async (request) => {
      const { calendar } = accessCalendar(calendars, request.user, calendarOf(request), 'owner');
      const { notify } = request.query as z.infer<typeof deleteCalendarQuery>;
      await removeOwnCalendar(services, { calendar, notify, by: byOf(request) });
      return { status: 204, body: undefined };
    },
  };
}

/** Entries looked at together for their kinds. */
const PAGE = 500;

/** A kind is given up where there is nothing of it. @throws Refusal `entry_kind_refused`. */
async function assertKindsKept(
  { budgets, calendars }: CalendarServices,
  user: string,
  { id, kinds }: CalendarRecord,
  wanted: readonly ComponentKind[],
): Promise<void> {
  if (kinds.every((kind) => wanted.includes(kind))) return;
  const slicer = new TimeSlicer({ budgets, user });
  for (let after: string | undefined; ;) {
    const page = calendars.objects(id, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    if (page.some(({ kind }) => !wanted.includes(kind))) throw new Refusal('entry_kind_refused');
    if (page.length < PAGE) return;
    after = page.at(-1)?.name;
    await slicer.pass();
  }
}

/** The calendar that a request names. */
export function calendarOf({ parameters: { calendar = '' } }: ClientRequest): string {
  return calendar;
}

/** On whose behalf something is done, for the audit trail. */
export function byOf({ user, address }: Pick<ClientRequest, 'user' | 'address'>): { actor: string; address: string } {
  return { actor: `user:${user}`, address };
}

/** @throws Refusal `field_invalid` for a zone that the database does not have. */
function assertZone(tz: string): void {
  if (!isZone(tz)) throw new Refusal('field_invalid', { field: 'tz' });
}
