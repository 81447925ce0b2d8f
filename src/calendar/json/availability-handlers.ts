/** The handlers of working hours, and of times that suit several people. */
import { formatInstant } from '#src/base/time.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import { FIND_TIME_STEP_MINUTES, type FindTime } from '#src/protocol/calendars/availability.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { readAvailability } from '../availability/availability.ts';
import type { AskedTime } from '../availability/slots.ts';
import {
  availabilityOf,
  putAvailability,
  readWorkingHours,
  writeWorkingHours,
  type WorkingHours,
} from '../availability/working-hours.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { windowOf } from './free-busy-handlers.ts';

type Names = 'readWorkingHours' | 'putWorkingHours' | 'deleteWorkingHours' | 'findTime';

const MINUTE_MILLIS = 60_000;

export function makeAvailabilityHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { calendars, pool } = services;
  const viewOf = (user: string) => {
    calendars.refresh();
    const text = availabilityOf(calendars, user);
    if (text === undefined) return { state: 'none' as const };
    const hours = readWorkingHours(text);
    return hours === undefined ? { state: 'other' as const } : { state: 'hours' as const, ...hours };
  };
  return {
    readWorkingHours: ({ user }) => ({ status: 200, body: viewOf(user) }),
    putWorkingHours: async ({ user, body }) => {
      const text = writeWorkingHours(body as WorkingHours);
      readAvailability(text);
      await calendars.change((draft) => putAvailability(draft, user, text));
      return { status: 200, body: viewOf(user) };
    },
    deleteWorkingHours: async ({ user }) => {
      await calendars.change((draft) => putAvailability(draft, user, null));
      return { status: 204, body: undefined };
    },
    findTime: async ({ user, body }) => {
      const { duration_minutes: minutes, from, limit, optional, people, rooms, to } = body as FindTime;
      const window = windowOf(from, to);
      const unknown = new Set<string>();
      const asked = new Map<string, AskedTime>();
      for (const one of new Set([...people, ...optional, ...rooms])) {
        // Decided for both alike: nobody learns who exists (ERR-05).
        if (!services.mayAskAbout(user, one)) unknown.add(one);
        else asked.set(one, { user: one, ...(await services.busyTimes(user, one, window)) });
      }
      const timesOf = (users: readonly string[]) => [...new Set(users)].flatMap((one) => asked.get(one) ?? []);
      const isRoomless = rooms.length > 0 && timesOf(rooms).length === 0;
      const slots = isRoomless
        ? []
        : await pool.findSlots({
            ...{ window, length: minutes * MINUTE_MILLIS, step: FIND_TIME_STEP_MINUTES * MINUTE_MILLIS, most: limit },
            ...{ required: timesOf(people), rooms: timesOf(rooms) },
            optional: timesOf(optional.filter((one) => !people.includes(one))),
          });
      const items = slots.map(({ start, end, ...slot }) => ({
        start_at: formatInstant(start),
        end_at: formatInstant(end),
        doubtful: [...slot.doubtful],
        busy: [...slot.busy],
        rooms: [...slot.rooms],
      }));
      return { status: 200, body: { items, unknown: [...unknown], next: null } };
    },
  };
}
