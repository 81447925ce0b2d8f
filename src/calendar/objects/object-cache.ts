/** Objects as they were read last, so that a question asked of a whole calendar again and again reads each of them once. */
import { bytesEtagOf, etagOf, isInbox, type NamedObject } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { type CalendarObject } from '../icalendar/calendar-object.ts';

/** Bytes of the texts whose objects are kept, which take ten times as much: twelve thousand of usual length. Oldest go first. */
export const CACHED_BYTES_MAX = 4 * 1024 * 1024;

/** Keyed by etag, which names the bytes and not the place: the same invitation in many calendars is read once. */
const kept = new Map<string, CalendarObject>();
let keptBytes = 0;

/** The object that is stored there; undefined when it is gone. @throws CalendarFault for bytes that are none. */
export function readStored(
  { calendars }: { readonly calendars: Pick<Calendars, 'bytesOf'> },
  calendar: string,
  { name, etag }: Pick<NamedObject, 'name' | 'etag'>,
): CalendarObject | undefined {
  const listed = bytesEtagOf(etag);
  const known = kept.get(listed);
  if (known !== undefined) {
    // Behind all others again: what is asked for stays.
    kept.delete(listed);
    kept.set(listed, known);
    return known;
  }
  const bytes = calendars.bytesOf(calendar, name);
  if (bytes === undefined) return undefined;
  const object = readCalendarObject(bytes, { isMessage: isInbox({ id: calendar }) });
  // It may have changed since it was listed, so the bytes themselves say what it is kept as.
  const actual = etagOf(bytes);
  if (kept.has(actual)) return object;
  kept.set(actual, object);
  keptBytes += object.source.length;
  for (const [oldest, { source }] of kept) {
    if (keptBytes <= CACHED_BYTES_MAX) break;
    kept.delete(oldest);
    keptBytes -= source.length;
  }
  return object;
}
