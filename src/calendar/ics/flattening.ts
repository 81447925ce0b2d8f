/** Objects taken out of their VCALENDARs to stand in one: whole, as they are published, or as busy time alone. */
import { createHash } from 'node:crypto';
import { knownZone } from '../zones/zone-resolver.ts';
import { classificationOf, disclosureOf, TimeWriter, type Audience } from '../icalendar/classification.ts';
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
import { ASKED_SEQUENCE } from '../scheduling/instances.ts';

/**
 * `whole`: the bytes as they are stored. `shared`: for whom the calendar is shared with. `full`: what a stranger may read:
 * nobody's address, no alarms, no files. `free_busy`: when something takes time, and nothing else.
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

/** Lines that say who takes part, let in who follows them, carry files, or are the server's own. */
const PERSONAL = new Set([
  'ATTENDEE',
  'ORGANIZER',
  'ATTACH',
  'CONTACT',
  'CONFERENCE',
  'REQUEST-STATUS',
  ASKED_SEQUENCE,
]);

/**
 * The objects of a stream of VCALENDARs, one of each; those that are not to be shown have no text. `salt` keeps the UIDs of
 * what is shown as busy time from being recognised elsewhere.
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
    return [[unescapeText(tzid), withEnd(source.slice(component.start, component.end))] as const];
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
  const conferences = propertiesOf(component, 'CONFERENCE').map(({ value }) => value);
  const lines = component.properties
    .filter(({ name, value }) => !PERSONAL.has(name) && !(name === 'URL' && conferences.includes(value)))
    .map(({ start, end }) => withEnd(source.slice(start, end)));
  return `BEGIN:${component.name}\r\n${lines.join('')}END:${component.name}\r\n`;
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
