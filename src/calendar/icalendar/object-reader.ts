/** Reads one calendar object resource: one UID, one kind, its overrides and its zones. */
import { readRule } from '../recurrence/rule.ts';
import { CalendarFault } from './calendar-fault.ts';
import { type CalendarObject, type ComponentKind } from './calendar-object.ts';
import { type Component, type Property, propertyOf, unescapeText } from './component.ts';
import { kindOf } from './component-kinds.ts';
import { readComponents, type RichnessLimits, sourceOf } from './component-reader.ts';
import { readDuration, timeOf, timesOf } from './values.ts';

/** Bytes of one object: what other servers take, and room for a small picture inline. */
export const MAX_OBJECT_BYTES = 512 * 1024;

/**
 * Content lines and parameters of one object. A thousand overrides have fifteen thousand lines, and then the bytes are at
 * their end too; what has more in as many bytes says nothing in each, and costs the more to read.
 */
export const OBJECT_RICHNESS: RichnessLimits = { lines: 20_000, parameters: 40_000 };

/** Characters of a UID: several times what any writer makes, and short enough for a key. */
export const MAX_UID_LENGTH = 512;

/** Attendees of one component; larger circles are invited by a group's address. */
export const MAX_ATTENDEES = 1_000;

/** RRULE and EXRULE of one component; one is common, and RFC 5545 asks for no more. */
export const MAX_RULES = 16;

/** Instances that one object may list in RDATE, or have in a window (`max-instances` of CalDAV). */
export const MAX_INSTANCES = 3_000;

/**
 * Reads one calendar object resource (RFC 4791, 4.1); throws CalendarFault. `isMessage` lets METHOD stand, as
 * scheduling messages have it. What a careless writer leaves out (PRODID, DTSTAMP) or doubles is let be.
 */
export function readCalendarObject(bytes: Uint8Array, options: { readonly isMessage?: boolean } = {}): CalendarObject {
  if (bytes.length > MAX_OBJECT_BYTES)
    throw new CalendarFault('max-resource-size', `The object is larger than ${MAX_OBJECT_BYTES} bytes`);
  const source = sourceOf(bytes);
  const [calendar, second] = readComponents(source, OBJECT_RICHNESS);
  if (calendar === undefined || second !== undefined) throw notOne('there is more than one VCALENDAR', second?.line);
  checkVersion(calendar);
  const method = propertyOf(calendar, 'METHOD');
  if (method !== undefined && options.isMessage !== true) throw notOne('a stored object has no METHOD', method.line);
  const zones = new Map<string, Component>();
  const described: Component[] = [];
  for (const component of calendar.components) {
    const tzid = component.name === 'VTIMEZONE' ? propertyOf(component, 'TZID')?.value : undefined;
    if (tzid !== undefined) zones.set(unescapeText(tzid), component);
    if (kindOf(component.name) !== undefined) described.push(component);
  }
  const { kind, uid } = checkOneness(described, calendar);
  for (const component of described) checkComponent(component, kind);
  return {
    uid,
    kind,
    source,
    calendar,
    master: described.find((component) => !isOverride(component)),
    overrides: described.filter(isOverride),
    zones,
    method: method?.value.trim().toUpperCase(),
  };
}

/** Refuses a calendar of another version of the format. */
export function checkVersion(calendar: Component): void {
  const version = propertyOf(calendar, 'VERSION');
  if (version !== undefined && !version.value.split(';').some((it) => it.trim() === '2.0'))
    throw new CalendarFault('valid-calendar-data', 'VERSION is not 2.0', version.line);
}

/** The UID of a component, without blanks around it; empty where it has none. */
export function uidOf(component: Component): string {
  return unescapeText(propertyOf(component, 'UID')?.value ?? '').trim();
}

function isOverride(component: Component): boolean {
  return propertyOf(component, 'RECURRENCE-ID') !== undefined;
}

function checkOneness(described: readonly Component[], calendar: Component): { kind: ComponentKind; uid: string } {
  const [first, ...others] = described;
  const kind = first === undefined ? undefined : kindOf(first.name);
  if (first === undefined || kind === undefined) {
    const other = calendar.components.find(({ name }) => name !== 'VTIMEZONE');
    if (other === undefined) throw notOne('there is no VEVENT, VTODO or VJOURNAL', calendar.line);
    throw new CalendarFault('supported-calendar-component', `${other.name} is not supported`, other.line);
  }
  // RFC 4791, 4.1: components of one type, and those of zones.
  const busy = calendar.components.find(({ name }) => name === 'VFREEBUSY');
  if (busy !== undefined) throw notOne('there is more than one type of component', busy.line);
  const uid = uidOf(first);
  if (uid === '') throw notOne(`${first.name} has no UID`, first.line);
  if (uid.length > MAX_UID_LENGTH) throw notOne(`UID is longer than ${MAX_UID_LENGTH} characters`, first.line);
  for (const component of others) {
    if (component.name !== first.name) throw notOne('there is more than one type of component', component.line);
    if (uidOf(component) !== uid) throw notOne('there is more than one UID', component.line);
  }
  const second = described.filter((component) => !isOverride(component))[1];
  if (second !== undefined) throw notOne('there is a second component without RECURRENCE-ID', second.line);
  return { kind, uid };
}

function checkComponent(component: Component, kind: ComponentKind): void {
  let attendees = 0;
  let rules = 0;
  let dates = 0;
  let hasStart = false;
  for (const property of component.properties) {
    switch (property.name) {
      case 'DTSTART':
        hasStart = true;
        timeOf(property);
        break;
      case 'DTEND':
      case 'DUE':
      case 'RECURRENCE-ID':
        timeOf(property);
        break;
      case 'DURATION':
        if (readDuration(property.value) === undefined) throw notData(property, 'is not a duration');
        break;
      case 'EXDATE':
        timesOf(property);
        break;
      case 'RDATE':
        dates += timesOf(property).length;
        checkPeriods(property);
        break;
      case 'RRULE':
      case 'EXRULE':
        rules += 1;
        checkRule(property, component);
        break;
      case 'ATTENDEE':
        attendees += 1;
        break;
      default:
    }
    if (attendees > MAX_ATTENDEES)
      throw new CalendarFault(
        'max-attendees-per-instance',
        `There are more than ${MAX_ATTENDEES} attendees`,
        property.line,
      );
    if (rules > MAX_RULES) throw notData(property, `is there more than ${MAX_RULES} times`);
    if (dates > MAX_INSTANCES)
      throw new CalendarFault('max-instances', `RDATE lists more than ${MAX_INSTANCES} instances`, property.line);
  }
  const recurs = rules + dates > 0 && !isOverride(component);
  if (!hasStart && (kind === 'event' || (recurs && propertyOf(component, 'DUE') === undefined)))
    throw new CalendarFault('valid-calendar-data', `${component.name} has no DTSTART`, component.line);
}

/** A rule inside an override means nothing and is not read: clients send it, and none of them means a series. */
function checkRule(property: Property, component: Component): void {
  if (isOverride(component)) return;
  const rule = readRule(property.value);
  if (typeof rule === 'string') throw notData(property, `is not a rule: ${rule}`);
}

function checkPeriods(property: Property): void {
  for (const part of property.value.split(',')) {
    const [, end] = part.split('/');
    if (end !== undefined && !/^\s*\d{8}T\d{6}Z?\s*$/i.test(end) && readDuration(end) === undefined)
      throw notData(property, 'has a period without a proper end');
  }
}

function notOne(message: string, line: number | undefined): CalendarFault {
  return new CalendarFault('valid-calendar-object-resource', message, line);
}

function notData(property: Property, what: string): CalendarFault {
  return new CalendarFault('valid-calendar-data', `${property.name} ${what}`, property.line);
}
