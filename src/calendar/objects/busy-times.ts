/**
 * When people are taken: one answer for every way to ask it, the JSON route, the outbox (RFC 6638 section 5) and the report
 * (RFC 4791 section 7.10).
 */
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { BusyPeriod, BusyType } from '../icalendar/free-busy.ts';
import { joinPeriods } from '../icalendar/free-busy.ts';
import type { TimeSlicer } from '../time-slicer.ts';
import type { DerivedOccurrence } from './derivation.ts';
import { storedOccurrences, type StoredObjects } from './stored-occurrences.ts';

/** Occurrences of one entry that are looked at: one every four hours of a year. Behind them its time counts as unavailable. */
export const OCCURRENCES_PER_OBJECT_MAX = 2_500;
/** Entries of one calendar that are looked at. [cut] */
export const BUSY_OBJECTS_MAX = 2_000;
/** Occurrences of all entries that one question looks at: some 100 ms of work. [cut] */
export const BUSY_OCCURRENCES_MAX = 50_000;

export interface BusyTimes {
  /** By start, those of one type joined where they touch. */
  readonly periods: readonly BusyPeriod[];
  /** A bound of the whole question was met: what is not named is not known to be free. */
  readonly isCut: boolean;
  /** A bound of one entry was met: what of it was not looked at is among the periods, as unavailable. */
  readonly isUnsure: boolean;
}

export interface BusyQuestion {
  /** Half-open, milliseconds. */
  readonly window: { readonly from: number; readonly to: number };
  /** Whose time it is, by their calendar addresses: what they declined does not take it. */
  readonly addresses: readonly string[];
  /** UID of what is left out: what is to be put in its own place. */
  readonly except?: string;
  readonly slicer: TimeSlicer;
}

/** When the owner of these calendars is taken by them. Calendars whose entries do not count take no time. */
export async function busyTimes(
  stored: StoredObjects,
  calendars: readonly CalendarRecord[],
  { addresses, except, slicer, window }: BusyQuestion,
): Promise<BusyTimes> {
  const periods: BusyPeriod[] = [];
  let left = BUSY_OCCURRENCES_MAX;
  let isCut = false;
  let isUnsure = false;
  for (const calendar of calendars) {
    if (calendar.transparency === 'transparent') continue;
    const objects = stored.calendars.objectsBetween(calendar.id, window.from, window.to, BUSY_OBJECTS_MAX + 1);
    isCut ||= objects.length > BUSY_OBJECTS_MAX;
    for (const object of objects.slice(0, BUSY_OBJECTS_MAX)) {
      await slicer.pass();
      if (object.uid === except) continue;
      if (object.kind !== 'event' || (object.transparent && !object.recurring)) continue;
      const most = Math.min(OCCURRENCES_PER_OBJECT_MAX, left);
      if (most === 0) return { periods: joinPeriods(periods), isCut: true, isUnsure };
      const expansion = await storedOccurrences(stored, calendar, object, window, { most, addresses });
      if (expansion === undefined) continue;
      isCut ||= expansion.isCut && most < OCCURRENCES_PER_OBJECT_MAX;
      left -= expansion.occurrences.length;
      for (const occurrence of expansion.occurrences) {
        const type = busyTypeOf(occurrence);
        const [start, end] = [Math.max(occurrence.start, window.from), Math.min(occurrence.end, window.to)];
        if (type !== undefined && start < end) periods.push({ start, end, type });
      }
      const unseen = expansion.isCut ? expansion.occurrences.at(-1)?.end : undefined;
      if (unseen !== undefined && unseen < window.to) {
        isUnsure = true;
        periods.push({ start: Math.max(unseen, window.from), end: window.to, type: 'BUSY-UNAVAILABLE' });
      }
    }
  }
  return { periods: joinPeriods(periods), isCut, isUnsure };
}

/**
 * How an occurrence takes its owner's time. An invitation that was declined takes none; one that is not answered yet or was
 * taken tentatively may take it, as does an event that is itself tentative.
 */
export function busyTypeOf({ isTransparent, partstat, status }: DerivedOccurrence): BusyType | undefined {
  if (isTransparent || status === 'CANCELLED' || partstat === 'DECLINED' || partstat === 'DELEGATED') return undefined;
  const isOpen = partstat === 'TENTATIVE' || partstat === 'NEEDS-ACTION';
  return isOpen || status === 'TENTATIVE' ? 'BUSY-TENTATIVE' : 'BUSY';
}
