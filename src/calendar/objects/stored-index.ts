/** The index row that the store keeps of an object, from what its bytes say. */
import type { ObjectIndex } from '#storage/calendars/calendar-records.ts';
import type { ObjectIndex as ModelIndex } from '../icalendar/calendar-object.ts';

/** `scheduled`: whether people take part in it; `unanswered`: whether it waits for the answer of the calendar's owner. */
export function storedIndex(index: ModelIndex, scheduled: boolean, unanswered: boolean): ObjectIndex {
  const { uid, kind, first, last, isRecurring, isTransparent, isCancelled, ...kept } = index;
  return {
    uid,
    kind,
    firstAt: first === Number.MIN_SAFE_INTEGER ? null : first,
    lastAt: last,
    recurring: isRecurring,
    transparent: isTransparent || isCancelled,
    scheduled,
    unanswered,
    classification: kept.classification,
    beginsWithin: kept.beginsWithin,
  };
}
