/** Objects taken out of their VCALENDARs to stand in one: whole, as they are published, or as busy time alone. */
import { createHash } from 'node:crypto';
import { JOIN_PATH } from '#src/protocol/meetings/meetings.ts';
import { knownZone } from '../zones/zone-resolver.ts';
import { classificationOf, disclosureOf, plainZone, TimeWriter, type Audience } from '../icalendar/classification.ts';
import {
  escapeText,
  propertiesOf,
  propertyOf,
  textOf,
  unescapeText,
  type Component,
  type Property,
} from '../icalendar/component.ts';
import { readComponents, sourceOf } from '../icalendar/component-reader.ts';
import { writeComponent, writeProperty } from '../icalendar/component-writer.ts';
import { zoneNamesIn } from '../icalendar/generated-calendar.ts';
import { kindOf } from '../icalendar/component-kinds.ts';
import { uidOf } from '../icalendar/object-reader.ts';

/**
 * `whole`: the bytes as they are stored. `shared`: for whom the calendar is shared with. `full`: what a stranger may read:
 * nobody's address, no way into a meeting, no alarms, no files. `free_busy`: when something takes time, and nothing else.
 */
export type Detail = 'whole' | 'shared' | 'full' | 'free_busy';

const AUDIENCES: Readonly<Record<Detail, Audience>> = {
  ...{ whole: 'insider', shared: 'sharee', full: 'public', free_busy: 'onlooker' },
};

/** One object's components. Texts have one character per byte. */
export interface FlatObject {
  readonly text: string;
  /** TZIDs that it names. */
  readonly zones: readonly string[];
  /** VTIMEZONEs that it brings for zones that nobody else knows. */
  readonly definitions: readonly (readonly [tzid: string, text: string])[];
}

/**
 * What a stranger is shown of an entry: when it is and what it is about. Whatever else a program writes may lead to a person, a
 * meeting or a file (X-GOOGLE-CONFERENCE, X-MS-OLK-SENDER, IMAGE, LINK), so that it is named here or not shown.
 */
const PUBLISHED = new Set([
  ...['UID', 'DTSTAMP', 'SEQUENCE', 'CREATED', 'LAST-MODIFIED'],
  ...['DTSTART', 'DTEND', 'DUE', 'DURATION', 'RRULE', 'RDATE', 'EXRULE', 'EXDATE', 'RECURRENCE-ID'],
  ...['SUMMARY', 'DESCRIPTION', 'LOCATION', 'GEO', 'CATEGORIES', 'RESOURCES', 'COLOR', 'CLASS', 'RELATED-TO', 'URL'],
  ...['STATUS', 'TRANSP', 'PRIORITY', 'PERCENT-COMPLETE', 'COMPLETED'],
]);
/** Parameters of those lines that say what they mean; others lead elsewhere (ALTREP), or are a program's. */
const PUBLISHED_PARAMETERS = new Set(['TZID', 'VALUE', 'RANGE', 'LANGUAGE', 'RELTYPE']);

/**
 * The objects of a stream of VCALENDARs, one of each; those that are not to be shown have no text. `salt` keeps the UIDs of
 * what is shown as busy time from being recognised elsewhere: nothing that the reader is given says what it is.
 * @throws CalendarFault for bytes that are no calendars.
 */
export function flatten(bytes: Uint8Array, detail: Detail, salt: string): FlatObject[] {
  const source = sourceOf(bytes);
  return readComponents(source).map((calendar) => flattenOne(source, calendar, detail, salt));
}

function flattenOne(source: string, calendar: Component, detail: Detail, salt: string): FlatObject {
  const described = calendar.components.filter((component) => kindOf(component.name) !== undefined);
  const disclosure = disclosureOf(AUDIENCES[detail], classificationOf(described));
  if (disclosure === 'hidden') return NOTHING;
  if (disclosure === 'time') return timeOf(calendar, described, detail, salt);
  const write = (component: Component) =>
    detail === 'full' ? publishedText(source, component) : withEnd(source.slice(component.start, component.end));
  const zones = [...described.reduce((names, component) => zoneNamesIn(component, names), new Set<string>())];
  const definitions = calendar.components.flatMap((component) => {
    const tzid = component.name === 'VTIMEZONE' ? propertyOf(component, 'TZID')?.value : undefined;
    if (tzid === undefined || knownZone(unescapeText(tzid)) !== undefined) return [];
    const definition =
      detail === 'full'
        ? latin1(writeComponent(plainZone(component, tzid)))
        : withEnd(source.slice(component.start, component.end));
    return [[unescapeText(tzid), definition] as const];
  });
  return { text: described.map(write).join(''), zones, definitions };
}

const NOTHING: FlatObject = { text: '', zones: [], definitions: [] };

/** Its times. Whoever has the calendar shared finds it under its UID again; a stranger recognises nothing by it. */
function timeOf(calendar: Component, described: readonly Component[], detail: Detail, salt: string): FlatObject {
  const isShared = detail === 'shared';
  if (!isShared && !described.some(takesTime)) return NOTHING;
  const definitions = calendar.components.filter(({ name }) => name === 'VTIMEZONE');
  const writer = new TimeWriter(
    new Map(definitions.map((definition) => [textOf(definition, 'TZID') ?? '', definition] as const)),
  );
  const times = described.map((component) => {
    if (isShared) return writer.write(component, { uid: escapeText(uidOf(component)) });
    return writer.write(component, { name: 'VEVENT', uid: saltedUid(component, salt) });
  });
  return {
    text: times.map((time) => latin1(writeComponent(time))).join(''),
    zones: [...times.reduce((names, time) => zoneNamesIn(time, names), new Set<string>())],
    definitions: [...writer.definitions].map(([name, zone]) => [name, latin1(writeComponent(zone))] as const),
  };
}

function saltedUid(component: Component, salt: string): string {
  return createHash('sha256')
    .update(`${salt}\0${uidOf(component)}`)
    .digest('base64url');
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The same text with another name for a zone: two programs may give one name to two zones of their own. */
export function renameZone(text: string, from: string, to: string): string {
  const parts: string[] = [];
  const wrapped = `BEGIN:VCALENDAR\r\n${text}END:VCALENDAR\r\n`;
  let at = 0;
  const rename = (property: Property, replaced: Property) => {
    parts.push(wrapped.slice(at, property.start), Buffer.from(writeProperty(replaced)).toString('latin1'));
    at = property.end;
  };
  const walk = (component: Component) => {
    for (const property of component.properties) {
      if (component.name === 'VTIMEZONE' && property.name === 'TZID') rename(property, { ...property, value: to });
      const parameters = property.parameters.map((parameter) =>
        parameter.name === 'TZID' && parameter.values[0] === from ? { ...parameter, values: [to] } : parameter,
      );
      if (parameters.some((parameter, index) => parameter !== property.parameters[index])) {
        rename(property, { ...property, parameters });
      }
    }
    for (const inner of component.components) walk(inner);
  };
  for (const component of readComponents(wrapped)) walk(component);
  const renamed = parts.join('') + wrapped.slice(at);
  return renamed.slice('BEGIN:VCALENDAR\r\n'.length, -'END:VCALENDAR\r\n'.length);
}

function publishedText(source: string, component: Component): string {
  const conferences = propertiesOf(component, 'CONFERENCE').map(({ value }) => value.trim());
  const lines = component.properties
    .filter(({ name, value }) => PUBLISHED.has(name) && !(name === 'URL' && leadsToMeeting(value.trim(), conferences)))
    .map((line) => publishedLine(source, line));
  return `BEGIN:${component.name}\r\n${lines.join('')}END:${component.name}\r\n`;
}

/** A program that does not know CONFERENCE may have kept the URL alone. */
function leadsToMeeting(url: string, conferences: readonly string[]): boolean {
  return conferences.includes(url) || url.includes(JOIN_PATH);
}

function publishedLine(source: string, line: Property): string {
  const parameters = line.parameters.filter(({ name }) => PUBLISHED_PARAMETERS.has(name));
  if (parameters.length === line.parameters.length) return withEnd(source.slice(line.start, line.end));
  return latin1(writeProperty({ ...line, parameters }));
}

function takesTime(component: Component): boolean {
  const isEvent = component.name === 'VEVENT';
  return isEvent && valueOf(component, 'TRANSP') !== 'TRANSPARENT' && valueOf(component, 'STATUS') !== 'CANCELLED';
}

function valueOf(component: Component, name: string): string {
  return propertyOf(component, name)?.value.trim().toUpperCase() ?? '';
}

function withEnd(text: string): string {
  return /[\r\n]$/.test(text) ? text : `${text}\r\n`;
}
