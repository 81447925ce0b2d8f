/**
 * What of an object a report asks for (RFC 4791 section 9.6): all of its bytes, some of its components and properties, its
 * instances written out, or its series with fewer overrides.
 */
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { expand } from '../recurrence/occurrences.ts';
import { type CalendarObject, type Occurrence, type Window } from '../icalendar/calendar-object.ts';
import { MAX_INSTANCES } from '../icalendar/object-reader.ts';
import { parameterOf, propertyOf, type Component, type Property } from '../icalendar/component.ts';
import { readTime, writeDate, writeDateTime, writeInstant } from '../icalendar/values.ts';
import { instantOf } from '../zones/zone.ts';
import { ZoneResolver } from '../zones/zone-resolver.ts';
import { broken } from './dav-refusal.ts';
import { readTimeRange } from './filter.ts';
import { caldav } from './xml/xml-names.ts';
import { childOf, childrenOf, type XmlElement } from './xml/xml-reader.ts';

/** Components of an object that are asked for; `undefined` means all of them. */
export interface Selection {
  readonly name: string;
  /** Property → whether its value is left out. */
  readonly properties: ReadonlyMap<string, boolean> | undefined;
  readonly components: readonly Selection[] | undefined;
}

export interface CalendarDataRequest {
  readonly selection: Selection | undefined;
  readonly expand: Window | undefined;
  readonly limitOverrides: Window | undefined;
}

/**
 * Reads a `calendar-data` element of a report.
 * @throws DavRefusal 403 supported-calendar-data, valid-filter.
 */
export function readCalendarDataRequest(element: XmlElement): CalendarDataRequest {
  const type = element.attributes.get('content-type') ?? 'text/calendar';
  const version = element.attributes.get('version') ?? '2.0';
  if (type.toLowerCase() !== 'text/calendar' || version !== '2.0') {
    throw broken(caldav('supported-calendar-data'), 'Calendar data is text/calendar, version 2.0.');
  }
  const rangeOf = (local: string): Window | undefined => {
    const child = childOf(element, caldav(local));
    return child === undefined ? undefined : readTimeRange(child, { isOpen: false });
  };
  const comp = childOf(element, caldav('comp'));
  // Nothing that is stored has free-busy periods, so that limit only has to be well-formed.
  rangeOf('limit-freebusy-set');
  return {
    selection: comp === undefined ? undefined : readSelection(comp),
    expand: rangeOf('expand'),
    limitOverrides: rangeOf('limit-recurrence-set'),
  };
}

function readSelection(element: XmlElement): Selection {
  const has = (local: string) => childOf(element, caldav(local)) !== undefined;
  const properties = childrenOf(element, caldav('prop')).map(({ attributes }): [string, boolean] => [
    (attributes.get('name') ?? '').toUpperCase(),
    attributes.get('novalue') === 'yes',
  ]);
  const components = childrenOf(element, caldav('comp'));
  return {
    name: (element.attributes.get('name') ?? '').toUpperCase(),
    properties: has('allprop') ? undefined : new Map(properties),
    components: has('allcomp') ? undefined : components.map(readSelection),
  };
}

/** Whether the bytes as stored are the answer, so that nothing has to be read. */
export function isWhole({ selection, expand: window, limitOverrides }: CalendarDataRequest): boolean {
  return selection === undefined && window === undefined && limitOverrides === undefined;
}

/**
 * The object as asked for.
 * @param zone of the calendar, which floating and all-day times are compared in.
 * @throws CalendarFault max-instances when it has too many instances to write out.
 */
export function writeCalendarData(object: CalendarObject, request: CalendarDataRequest, zone: string): string {
  const { selection } = request;
  const components = componentsOf(object, request, zone);
  return writeComponent({ source: object.source, component: object.calendar, components, lines: undefined }, selection);
}

/** A component about to be written: with these components inside it, and these lines where they are not its own. */
interface Writing {
  readonly source: string;
  readonly component: Component;
  readonly components: readonly Writing[];
  readonly lines: readonly string[] | undefined;
}

function asWritten(source: string, component: Component): Writing {
  return {
    source,
    component,
    components: component.components.map((inner) => asWritten(source, inner)),
    lines: undefined,
  };
}

function componentsOf(object: CalendarObject, request: CalendarDataRequest, zone: string): readonly Writing[] {
  const { source, calendar } = object;
  if (request.expand !== undefined) return expandedOf(object, request.expand, zone);
  const kept = request.limitOverrides === undefined ? undefined : overridesIn(object, request.limitOverrides, zone);
  return calendar.components
    .filter((component) => kept === undefined || !object.overrides.includes(component) || kept.has(component))
    .map((component) => asWritten(source, component));
}

/** The overrides that have a say in the window: those in it now, those that were, and those that reach further. */
function overridesIn(object: CalendarObject, window: Window, zone: string): Set<Component> {
  const { occurrences } = expand(object, window, { zone, most: MAX_INSTANCES });
  const kept = new Set(occurrences.map(({ component }) => component));
  for (const override of object.overrides) {
    const property = propertyOf(override, 'RECURRENCE-ID');
    if (property === undefined || kept.has(override)) continue;
    const day = Date.parse(property.value.replace(/^(\d{4})(\d{2})(\d{2}).*$/, '$1-$2-$3T00:00:00Z'));
    // The day is enough: an override too many says nothing wrong, one too few does.
    const isNear = day > window.from - 2 * DAY_MILLIS && day < window.to + 2 * DAY_MILLIS;
    if (isNear || property.parameters.some(({ name }) => name === 'RANGE')) kept.add(override);
  }
  return kept;
}

const DAY_MILLIS = 86_400_000;

function expandedOf(object: CalendarObject, window: Window, zone: string): readonly Writing[] {
  const { occurrences, isCut } = expand(object, window, { zone, most: MAX_INSTANCES });
  if (isCut) {
    throw new CalendarFault('max-instances', `The object has more than ${MAX_INSTANCES} instances in this time.`);
  }
  const zones = new ZoneResolver(object.zones, zone);
  return occurrences.map((occurrence) => ({
    ...asWritten(object.source, occurrence.component),
    lines: linesOf(object, occurrence, zones),
  }));
}

/** What an instance does not have: it recurs no more, and its times are written anew. */
const NOT_OF_AN_INSTANCE = new Set([
  'RRULE',
  'RDATE',
  'EXDATE',
  'EXRULE',
  'RECURRENCE-ID',
  'DTSTART',
  'DTEND',
  'DURATION',
  'DUE',
]);

/** The lines of one instance: times in UTC (floating and all-day ones as they are), and no rule (RFC 4791, 9.6.5). */
function linesOf(object: CalendarObject, occurrence: Occurrence, zones: ZoneResolver): string[] {
  const { component, start, end, isAllDay, recurrenceId } = occurrence;
  const lines = component.properties
    .filter(({ name }) => !NOT_OF_AN_INSTANCE.has(name))
    .map((property) => lineOf(object.source, property));
  const endName = component.name === 'VTODO' ? 'DUE' : 'DTEND';
  const has = (name: string) => propertyOf(component, name) !== undefined;
  const time = timeWriter(occurrence);
  if (has('DTSTART')) lines.push(`DTSTART${time(start)}`);
  const isLong = component.name !== 'VJOURNAL' && (has(endName) || has('DURATION'));
  if (isLong && (!isAllDay || end > start)) lines.push(`${endName}${time(end)}`);
  if (recurrenceId !== undefined) lines.push(`RECURRENCE-ID${originalStart(object, occurrence, recurrenceId, zones)}`);
  return lines;
}

/** Writes instants of an occurrence behind a property's name: as dates, as floating times, or in UTC. */
function timeWriter({ isAllDay, start, localStart, tz }: Occurrence): (instant: number) => string {
  if (!isAllDay && tz !== undefined) return (instant) => `:${writeInstant(instant)}`;
  const wall = Date.parse(isAllDay ? `${localStart.slice(0, 10)}T00:00:00Z` : `${localStart}Z`) / 1000;
  if (!isAllDay) return (instant) => `:${writeDateTime(wall + Math.floor((instant - start) / 1000))}`;
  // A day in which clocks change has 23 or 25 hours, so the end is rounded to a day.
  return (instant) => {
    const days = Math.round((instant - start) / DAY_MILLIS);
    return `;VALUE=DATE:${writeDate(wall + days * (DAY_MILLIS / 1000))}`;
  };
}

/** The original start of an instance, which is written in the form and the zone of the master's DTSTART. */
function originalStart(object: CalendarObject, { component }: Occurrence, id: string, zones: ZoneResolver): string {
  const property = object.master === undefined ? undefined : propertyOf(object.master, 'DTSTART');
  const named = property ?? propertyOf(component, 'RECURRENCE-ID');
  const time = readTime(id, named === undefined ? undefined : parameterOf(named, 'TZID'));
  if (time === undefined || time.isDate) return `;VALUE=DATE:${id}`;
  const isFloating = !time.isUtc && time.tzid === undefined;
  return isFloating ? `:${id}` : `:${writeInstant(instantOf(zones.zoneOf(time), time.wall))}`;
}

function writeComponent(writing: Writing, selection: Selection | undefined): string {
  const { source, component, components } = writing;
  const own = writing.lines ?? component.properties.map((property) => lineOf(source, property));
  const wanted = selection?.properties;
  let lines = own;
  if (wanted !== undefined) {
    lines = own.flatMap((line) => {
      const hidden = wanted.get(nameOfLine(line));
      return hidden === undefined ? [] : [hidden ? withoutValue(line) : line];
    });
  }
  let text = `BEGIN:${component.name}\r\n${lines.map((line) => `${line}\r\n`).join('')}`;
  for (const inner of components) {
    if (selection?.components === undefined) text += writeComponent(inner, undefined);
    else {
      const asked = selection.components.find(({ name }) => name === inner.component.name);
      if (asked !== undefined) text += writeComponent(inner, asked);
    }
  }
  return `${text}END:${component.name}\r\n`;
}

/** A line as the client wrote it, folds and all, without its end. */
function lineOf(source: string, { start, end }: Property): string {
  return Buffer.from(source.slice(start, end), 'latin1')
    .toString('utf8')
    .replace(/[\r\n]+$/, '');
}

function nameOfLine(line: string): string {
  return (/^[^:;]*/.exec(line)?.[0] ?? '').replaceAll(/\r?\n[ \t]/g, '').toUpperCase();
}

/** The line up to its colon, which may stand inside quotes as well. */
function withoutValue(line: string): string {
  const unfolded = line.replaceAll(/\r?\n[ \t]/g, '');
  let isQuoted = false;
  for (let at = 0; at < unfolded.length; at += 1) {
    if (unfolded[at] === '"') isQuoted = !isQuoted;
    else if (unfolded[at] === ':' && !isQuoted) return unfolded.slice(0, at + 1);
  }
  return unfolded;
}
