/** Reading an entry that somebody opened. */
import type { CalendarApi } from '#src/client/calendar-api.ts';
import type { OccurrencePlace } from '../state/occurrence.ts';
import type { Entry } from './entry-form.ts';

/** An entry as somebody opened it: itself or the occurrence, and the series that it is of. */
export interface OpenEntry {
  readonly place: OccurrencePlace;
  readonly entry: Entry;
  readonly series: Entry;
}

/** @throws ParleyError `entry_not_found`, `calendar_not_found`. */
export async function readOpenEntry(api: CalendarApi, place: OccurrencePlace): Promise<OpenEntry> {
  const { calendar_id: calendar, entry_id: entry, recurrence_id: id } = place;
  const params = { calendar, entry };
  const [one, series] = await Promise.all([
    api.call('readEntry', { params, query: { recurrence_id: id } }),
    id === undefined ? undefined : api.call('readEntry', { params }),
  ]);
  return { place, entry: one, series: series ?? one };
}
