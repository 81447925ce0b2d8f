/** The occurrences of stored objects: small ones are read once and kept, large ones are read on the pool's thread. */
import type { CalendarRecord, NamedObject } from '#storage/calendars/calendar-records.ts';
import type { CalendarPlane } from '../calendar-services.ts';
import { CalendarFault, expandFrom, type DerivedExpansion } from './derivation.ts';
import { INLINE_BYTES_MAX } from './derivation-pool.ts';
import type { Window } from '../icalendar/calendar-object.ts';
import { readStored } from './object-cache.ts';

/**
 * The earliest `most` in the window; undefined for an object that is gone, and for one that no reader of today takes,
 * which hides none of the others. @throws Refusal `busy`.
 */
export async function storedOccurrences(
  { calendars, pool }: Pick<CalendarPlane, 'calendars' | 'pool'>,
  { id, zone }: Pick<CalendarRecord, 'id' | 'zone'>,
  object: NamedObject,
  window: Window,
  most: number,
): Promise<DerivedExpansion | undefined> {
  try {
    if (object.bytes > INLINE_BYTES_MAX) {
      const bytes = calendars.bytesOf(id, object.name);
      return bytes === undefined ? undefined : await pool.expand(bytes, window, zone, most);
    }
    const stored = readStored({ calendars }, id, object);
    return stored === undefined ? undefined : expandFrom(stored, window, zone, most);
  } catch (error) {
    if (error instanceof CalendarFault) return undefined;
    throw error;
  }
}
