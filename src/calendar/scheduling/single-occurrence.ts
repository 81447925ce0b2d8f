/** One occurrence of a series by itself, to be made an override of it. */
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { expand } from '../recurrence/occurrences.ts';
import { type Component, makeProperty } from '../icalendar/component.ts';
import { instanceProperty } from '../icalendar/timing.ts';
import { readTime, writeDuration } from '../icalendar/values.ts';
import { Series } from '../recurrence/series.ts';
import { instantOf } from '../zones/zone.ts';

/** What makes a series, and when its first occurrence is. */
const OF_SERIES = new Set([
  ...['RRULE', 'RDATE', 'EXDATE', 'EXRULE'],
  ...['DTSTART', 'DTEND', 'DUE', 'DURATION', 'RECURRENCE-ID'],
]);

/** A day on both sides of an occurrence's start: no zone puts it further away. */
const AROUND_MILLIS = 86_400_000;
/** Occurrences within those two days, of which there is one an hour at most. */
const AROUND_MAX = 1_000;

/** As the series has it; undefined where it has none of that id. @param recurrenceId as the master writes times. */
export function singleOccurrence(object: CalendarObject, recurrenceId: string, zone: string): Component | undefined {
  const { master, zones } = new Series(object, zone);
  const time = readTime(recurrenceId, master?.start.tzid);
  if (master === undefined || time === undefined) return undefined;
  const at = instantOf(zones.zoneOf(time), time.wall);
  const window = { from: at - AROUND_MILLIS, to: at + AROUND_MILLIS };
  const { occurrences } = expand(object, window, { zone, most: AROUND_MAX });
  const named = instanceProperty('RECURRENCE-ID', recurrenceId, master.start);
  if (named === undefined || !occurrences.some((one) => one.recurrenceId === recurrenceId)) return undefined;
  const kept = master.component.properties.filter(({ name }) => !OF_SERIES.has(name));
  const when = [{ ...named, name: 'DTSTART' }, makeProperty('DURATION', writeDuration(master.length)), named];
  return { ...master.component, properties: [...kept, ...when] };
}
