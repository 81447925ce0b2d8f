/** Whether an object passes the filter of a calendar-query (RFC 4791 section 9.7 and 9.9). */
import { expand, overlaps } from '../recurrence/occurrences.ts';
import { type CalendarObject, type Window } from '../icalendar/calendar-object.ts';
import { kindOf } from '../icalendar/component-kinds.ts';
import { propertiesOf, unescapeText, type Component, type Property } from '../icalendar/component.ts';
import { readDuration, timeOf, timesOf } from '../icalendar/values.ts';
import { instantOf } from '../zones/zone.ts';
import { ZoneResolver } from '../zones/zone-resolver.ts';
import { matchesText, type ComponentFilter, type ParameterFilter, type PropertyFilter } from './filter.ts';

/** Instances looked through for an alarm in a time range; more than these in one window ring without end. */
const ALARMED_MAX = 1_000;

interface Matching {
  readonly object: CalendarObject;
  /** The calendar's zone. */
  readonly zone: string;
  readonly zones: ZoneResolver;
}

/** Whether the object passes. @param zone of the calendar. */
export function matches(object: CalendarObject, filter: ComponentFilter, zone: string): boolean {
  const matching = { object, zone, zones: new ZoneResolver(object.zones, zone) };
  return !filter.isNotDefined && holds(matching, object.calendar, undefined, filter);
}

/** Whether the filter for a kind of component is met by one of those inside a component. */
function someMatches(matching: Matching, parent: Component, filter: ComponentFilter): boolean {
  const candidates = parent.components.filter(({ name }) => name === filter.name);
  if (filter.isNotDefined) return candidates.length === 0;
  return candidates.some((component) => holds(matching, component, parent, filter));
}

function holds(
  matching: Matching,
  component: Component,
  parent: Component | undefined,
  filter: ComponentFilter,
): boolean {
  return (
    (filter.timeRange === undefined || isWithin(matching, component, parent, filter.timeRange)) &&
    filter.properties.every((property) => propertyMatches(matching, component, property)) &&
    filter.components.every((inner) => someMatches(matching, component, inner))
  );
}

/** Whether the component has a time in the range: an instance of a series, or an alarm of one. */
function isWithin(
  { object, zone, zones }: Matching,
  component: Component,
  parent: Component | undefined,
  range: Window,
): boolean {
  // Master and overrides are one object: which of them describes the instance in the range does not matter.
  if (kindOf(component.name) !== undefined) return overlaps(object, range, zone);
  return (
    component.name === 'VALARM' && parent !== undefined && rings({ object, zone, zones }, component, parent, range)
  );
}

function rings({ object, zone, zones }: Matching, alarm: Component, parent: Component, range: Window): boolean {
  return propertiesOf(alarm, 'TRIGGER').some((trigger) => {
    const duration = readDuration(trigger.value);
    if (duration === undefined) return isTimeWithin(zones, trigger, range);
    const millis = (duration.days * 86_400 + duration.seconds) * 1000;
    const fromEnd = trigger.parameters.some(({ name, values }) => name === 'RELATED' && /^end$/i.test(values[0] ?? ''));
    // The range as the instances see it, and a moment more, so that one that begins at its end is found too.
    const window = { from: range.from - millis - 1, to: range.to - millis + 1 };
    return expand(object, window, { zone, most: ALARMED_MAX }).occurrences.some((occurrence) => {
      const at = (fromEnd ? occurrence.end : occurrence.start) + millis;
      return occurrence.component === parent && at >= range.from && at < range.to;
    });
  });
}

function propertyMatches(matching: Matching, component: Component, filter: PropertyFilter): boolean {
  const properties = propertiesOf(component, filter.name);
  if (filter.isNotDefined) return properties.length === 0;
  return properties.some(
    (property) =>
      (filter.timeRange === undefined || isTimeWithin(matching.zones, property, filter.timeRange)) &&
      (filter.textMatch === undefined || matchesText(filter.textMatch, unescapeText(property.value))) &&
      filter.parameters.every((parameter) => parameterMatches(property, parameter)),
  );
}

function parameterMatches(property: Property, filter: ParameterFilter): boolean {
  const found = property.parameters.filter(({ name }) => name === filter.name);
  if (filter.isNotDefined) return found.length === 0;
  const { textMatch } = filter;
  if (textMatch === undefined) return found.length > 0;
  return found.some(({ values }) => values.some((value) => matchesText(textMatch, value)));
}

function isTimeWithin(zones: ZoneResolver, property: Property, { from, to }: Window): boolean {
  try {
    const times = property.name === 'RDATE' || property.name === 'EXDATE' ? timesOf(property) : [timeOf(property)];
    return times.some((time) => {
      const at = instantOf(zones.zoneOf(time), time.wall);
      return at >= from && at < to;
    });
  } catch {
    // No time at all, so in no range.
    return false;
  }
}
