/** The handler of the search over entries. */
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { ENTRIES_SEARCHED_MAX, type EntrySearchQuery } from '#src/protocol/calendars/calendar-search.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { readTerms } from '#storage/search/search-query.ts';
import { accessCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { searchEntries } from '../objects/entry-search.ts';
import { TimeSlicer } from '../time-slicer.ts';
import { readEntryLeft } from './entry-handlers.ts';
import { readCursor, writeCursor } from './invitation-handlers.ts';

export function makeSearchHandlers(
  services: CalendarServices,
): ClientHandlers<Pick<typeof CALENDAR_ROUTES, 'searchEntries'>> {
  const { book, calendars, dav } = services;
  return {
    searchEntries: async ({ user, query }) => {
      const { after, calendar: id, limit, q } = query as EntrySearchQuery;
      const read = readTerms(q);
      if (read === 'too_short') throw new Refusal('search_too_short', { field: 'q' });
      if (read === 'too_many') throw new Refusal('query_invalid', { field: 'q' });
      calendars.refresh();
      const accessible = id === undefined ? calendars.servedTo(user) : [accessCalendar(calendars, user, id, 'read')];
      const searched = accessible.filter(({ access }) => access !== 'free_busy');
      const place = after === undefined ? undefined : readCursor(after);
      const slicer = new TimeSlicer({ budgets: services.budgets, user });
      const search = { terms: read.terms, after: place, limit, most: ENTRIES_SEARCHED_MAX };
      const { found, next } = await searchEntries({ book, contentsOf: dav.contentsOf }, searched, search, slicer);
      const items = found.flatMap(({ calendar, contents, object }) => {
        const entry = readEntryLeft(services, calendar, contents, entryIdOf(object.uid));
        return entry === undefined ? [] : [{ calendar_id: calendar.id, entry }];
      });
      return { status: 200, body: { items, next: next === undefined ? null : writeCursor(next.calendar, next.name) } };
    },
  };
}
