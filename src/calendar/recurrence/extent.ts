/** When a component begins and how long it lasts, wherever a rule puts its beginning. */
import { type Component, propertyOf, parameterOf, type Property } from '../icalendar/component.ts';
import { type CalendarDuration, type CalendarTime, readDuration, readTime, timeOf } from '../icalendar/values.ts';
import { instantOf, type Zone } from '../zones/zone.ts';
import { type ZoneResolver } from '../zones/zone-resolver.ts';
import { DAY_SECONDS } from './civil.ts';

/** Days count on the wall's clock, seconds exactly: DTEND fixes the exact length, DURATION the nominal one. */
export type Length = CalendarDuration;

/** A component's own time. */
export interface Extent {
  readonly start: CalendarTime;
  readonly zone: Zone;
  readonly length: Length;
}

/** The extent of a component; undefined for a to-do or a journal entry without dates. */
export function extentOf(component: Component, zones: ZoneResolver): Extent | undefined {
  const startProperty = propertyOf(component, 'DTSTART');
  const endProperty = propertyOf(component, component.name === 'VTODO' ? 'DUE' : 'DTEND');
  // A to-do with DUE alone is a point in time.
  const first = startProperty ?? (component.name === 'VTODO' ? endProperty : undefined);
  if (first === undefined) return undefined;
  const start = timeOf(first);
  const zone = zones.zoneOf(start);
  if (startProperty !== undefined && endProperty !== undefined)
    return { start, zone, length: lengthBetween(start, zone, timeOf(endProperty), zones) };
  const duration = durationOf(propertyOf(component, 'DURATION'));
  const isDay = start.isDate && component.name !== 'VTODO';
  return { start, zone, length: duration ?? { days: isDay ? 1 : 0, seconds: 0 } };
}

/** How long a PERIOD of an RDATE lasts (`start/end`, `start/duration`); undefined for a plain date. */
export function periodLength(
  text: string,
  property: Property,
  start: CalendarTime,
  zones: ZoneResolver,
): Length | undefined {
  const slash = text.indexOf('/');
  if (slash === -1) return undefined;
  const end = text.slice(slash + 1).trim();
  const time = readTime(end, parameterOf(property, 'TZID'));
  return time === undefined ? readDuration(end) : lengthBetween(start, zones.zoneOf(start), time, zones);
}

function durationOf(property: Property | undefined): Length | undefined {
  const duration = property === undefined ? undefined : readDuration(property.value);
  if (duration === undefined) return undefined;
  return duration.days < 0 || duration.seconds < 0 ? { days: 0, seconds: 0 } : duration;
}

/** An end before its start, as careless writers have it, is no length. */
function lengthBetween(start: CalendarTime, zone: Zone, end: CalendarTime, zones: ZoneResolver): Length {
  if (start.isDate) return { days: Math.max(0, Math.ceil((end.wall - start.wall) / DAY_SECONDS)), seconds: 0 };
  const from = instantOf(zone, start.wall);
  const to = instantOf(zones.zoneOf(end.isDate ? start : end), end.wall);
  return { days: 0, seconds: Math.max(0, (to - from) / 1000) };
}

/** The instants of that length from a wall time on. */
export function placeAt(
  zone: Zone,
  wall: number,
  { days, seconds }: Length,
): { readonly start: number; readonly end: number } {
  const start = instantOf(zone, wall);
  const ofDays = days === 0 ? start : instantOf(zone, wall + days * DAY_SECONDS);
  return { start, end: ofDays + seconds * 1000 };
}

/** No instance of that length is longer than this, in seconds: a clock set back makes a day longer. */
export function mostSeconds({ days, seconds }: Length): number {
  return days * DAY_SECONDS + seconds + (days === 0 ? 0 : DAY_SECONDS);
}
