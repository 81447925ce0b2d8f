/** When people are taken, for every door that tells it. */
import { joinPeriods, type BusyPeriod } from '../icalendar/free-busy.ts';
import { TimeSlicer } from '../time-slicer.ts';
import { storedOccurrences, type StoredObjects } from './stored-occurrences.ts';

/** Occurrences of one entry that are looked at. */
const OCCURRENCES_PER_OBJECT_MAX = 1_000;
/** Entries of one calendar that are looked at. */
const OBJECTS_MAX = 2_000;

/** When somebody is taken, by the calendars of their own that count. */
export async function busyTimes(
  stored: StoredObjects,
  user: string,
  window: { readonly from: number; readonly to: number },
): Promise<{ readonly periods: readonly BusyPeriod[]; readonly isCut: boolean }> {
  const { calendars } = stored;
  calendars.refresh();
  const periods: BusyPeriod[] = [];
  const slicer = new TimeSlicer();
  let isCut = false;
  for (const { calendar, access } of calendars.calendarsOf(user)) {
    if (access !== 'owner' || calendar.transparency === 'transparent') continue;
    const objects = calendars.objectsBetween(calendar.id, window.from, window.to, OBJECTS_MAX + 1);
    isCut ||= objects.length > OBJECTS_MAX;
    for (const object of objects.slice(0, OBJECTS_MAX)) {
      const { kind, recurring, transparent } = object;
      await slicer.pass();
      if (kind !== 'event' || (transparent && !recurring)) continue;
      const expansion = await storedOccurrences(stored, calendar, object, window, OCCURRENCES_PER_OBJECT_MAX);
      if (expansion === undefined) continue;
      isCut ||= expansion.isCut;
      for (const { start, end, isTransparent, status } of expansion.occurrences) {
        const [first, last] = [Math.max(start, window.from), Math.min(end, window.to)];
        if (isTransparent || status === 'CANCELLED' || first >= last) continue;
        periods.push({ start: first, end: last, type: status === 'TENTATIVE' ? 'BUSY-TENTATIVE' : 'BUSY' });
      }
    }
  }
  return { periods: joinPeriods(periods), isCut };
}
