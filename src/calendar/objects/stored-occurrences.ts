/** The occurrences of stored objects: small ones are read once and kept, large ones are read on the pool's thread. */
import type { CalendarRecord, NamedObject } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { expandFrom, type DerivedExpansion, type ExpansionLimits } from './derivation.ts';
import { INLINE_BYTES_MAX, type DerivationPool } from './derivation-pool.ts';
import type { Window } from '../icalendar/calendar-object.ts';
import { readStored } from './object-cache.ts';

/** Where stored objects are read from, and what works on the large ones. */
export interface StoredObjects {
  readonly calendars: Calendars;
  readonly pool: DerivationPool;
}

/**
 * The earliest `most` in the window; undefined for an object that is gone, and for one that no reader of today takes,
 * which hides none of the others. @throws Refusal `busy`.
 */
export async function storedOccurrences(
  { calendars, pool }: StoredObjects,
  { id, zone }: Pick<CalendarRecord, 'id' | 'zone'>,
  object: NamedObject,
  window: Window,
  { most, addresses }: ExpansionLimits,
): Promise<DerivedExpansion | undefined> {
  try {
    if (object.bytes > INLINE_BYTES_MAX) {
      const bytes = calendars.bytesOf(id, object.name);
      return bytes === undefined ? undefined : await pool.expand(bytes, window, zone, { most, addresses });
    }
    const stored = readStored({ calendars }, id, object);
    return stored === undefined ? undefined : expandFrom(stored, window, zone, { most, addresses });
  } catch (error) {
    if (error instanceof CalendarFault) return undefined;
    throw error;
  }
}
