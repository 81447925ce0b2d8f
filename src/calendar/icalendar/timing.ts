/** When an entry is, as JSON has it: wall time, zone and duration, to and from the properties of a component. */
import { knownZone } from '../zones/zone-resolver.ts';
import { UTC, wallOf } from '../zones/zone.ts';
import { type Extent, placeAt } from '../recurrence/extent.ts';
import { makeProperty, type Property } from './component.ts';
import {
  type CalendarTime,
  readDuration,
  readLocal,
  readTime,
  writeDuration,
  writeLocal,
  writeTime,
} from './values.ts';

/** When an entry is: the shape of JSCalendar (RFC 8984, 4.1 and 4.2), which both doors can say. */
export interface Timing {
  /** `2026-11-21T09:00:00`, or `2026-11-21` for whole days. */
  readonly start: string;
  /** An IANA name; absent for whole days and for floating times. */
  readonly tz?: string;
  /** An RFC 5545 duration: `PT1H`, `P1D`. */
  readonly duration: string;
}

/** What a component's extent says, in JSON's words. A zone that only the object knows is told in UTC. */
export function timingOf({ start, zone, length }: Extent): Timing {
  const isFloating = !start.isUtc && start.tzid === undefined;
  const duration = writeDuration(length);
  if (isFloating) return { start: writeLocal(start.wall, start.isDate), duration };
  if (zone.name !== undefined) return { start: writeLocal(start.wall, false), tz: zone.name, duration };
  const instant = placeAt(zone, start.wall, length).start;
  return { start: writeLocal(wallOf(UTC, instant), false), tz: 'UTC', duration };
}

/**
 * DTSTART and DURATION of a timing, with the zone's own name as TZID and `Z` for UTC; a sentence when it makes no
 * sense: an unknown zone, a zone for whole days, a negative duration, hours in a duration of days.
 */
export function timingProperties(timing: Timing): readonly [start: Property, duration: Property] | string {
  const local = readLocal(timing.start);
  if (local === undefined) return 'start is a local date or date and time that exists';
  const duration = readDuration(timing.duration);
  if (duration === undefined || duration.days < 0 || duration.seconds < 0) return 'duration is an RFC 5545 duration';
  if (local.isDate && (duration.seconds !== 0 || duration.days === 0))
    return 'duration of whole days is one or more days';
  const zone = timing.tz === undefined ? undefined : knownZone(timing.tz);
  if (timing.tz !== undefined && (zone === undefined || local.isDate))
    return 'tz is an IANA name, and none for whole days';
  const isUtc = zone === UTC;
  const parameters: [string, string][] = local.isDate
    ? [['VALUE', 'DATE']]
    : zone?.name === undefined || isUtc
      ? []
      : [['TZID', zone.name]];
  return [
    makeProperty('DTSTART', writeTime({ ...local, isUtc }), parameters),
    makeProperty('DURATION', writeDuration(duration)),
  ];
}

/** A RECURRENCE-ID, EXDATE or RDATE that names an instance in the words of its master (`Occurrence.recurrenceId`). */
export function instanceProperty(
  name: 'RECURRENCE-ID' | 'EXDATE' | 'RDATE',
  recurrenceId: string,
  start: CalendarTime,
): Property | undefined {
  const time = readTime(recurrenceId, start.tzid);
  if (time === undefined) return undefined;
  const parameters: [string, string][] = time.isDate
    ? [['VALUE', 'DATE']]
    : time.tzid === undefined
      ? []
      : [['TZID', time.tzid]];
  return makeProperty(name, recurrenceId, parameters);
}
