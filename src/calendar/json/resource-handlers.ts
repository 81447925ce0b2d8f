/** The handler of rooms and resources, for those who may book them. */
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import {
  FREE_RESOURCES_LOOKED_AT_MAX,
  type ManagedResource,
  type ResourcesQuery,
} from '#src/protocol/directory/resources.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { windowOf } from './free-busy-handlers.ts';

export function makeResourceHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, 'listResources'>> {
  const { isPerson, resources } = services;
  return {
    listResources: async ({ user, query }) => {
      const { after = '', from, limit, to, ...wanted } = query as ResourcesQuery;
      const window = from === undefined || to === undefined ? undefined : windowOf(from, to);
      const mayBook = (resource: string) => isPerson(user) && resources.mayBook(user, resource);
      const fitting = resources
        .all()
        .filter((one) => one.user > after && fits(one, wanted) && mayBook(one.user))
        .toSorted((a, b) => (a.user < b.user ? -1 : 1));
      const most = window === undefined ? limit : Math.min(limit, FREE_RESOURCES_LOOKED_AT_MAX);
      const page = fitting.slice(0, most);
      const items = [];
      for (const one of page) {
        const busy = window === undefined ? undefined : await services.busyTimes(user, one.user, window);
        // What nobody looked at is not known to be free.
        if (busy === undefined || (busy.periods.length === 0 && !busy.isCut)) items.push(viewOf(one));
      }
      return { status: 200, body: { items, next: fitting.length > most ? (page.at(-1)?.user ?? null) : null } };
    },
  };
}

function fits(
  { capacity, kind, name, place }: ManagedResource,
  wanted: Pick<ResourcesQuery, 'capacity' | 'kind' | 'q'>,
): boolean {
  if (wanted.kind !== undefined && wanted.kind !== kind) return false;
  if (wanted.capacity !== undefined && (capacity ?? 0) < wanted.capacity) return false;
  const text = wanted.q?.toLowerCase() ?? '';
  return name.toLowerCase().includes(text) || place?.toLowerCase().includes(text) === true;
}

function viewOf(found: ManagedResource) {
  const { advance_days_max, capacity, duration_minutes_max, kind, name, place, recurring, time_zone, user } = found;
  return { user, kind, name, capacity, place, time_zone, duration_minutes_max, advance_days_max, recurring };
}
