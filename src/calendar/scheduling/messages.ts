/** Scheduling messages (RFC 5546) as the people who get them see the object: without what is between others and the server. */
import type { MessageRecord } from '#storage/calendars/calendar-records.ts';
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import {
  type Component,
  escapeText,
  makeComponent,
  makeProperty,
  propertiesOf,
  type Property,
  propertyOf,
} from '../icalendar/component.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { writeInstant } from '../icalendar/values.ts';
import { ASKED_SEQUENCE, exclusionsOf, type Instance, LEFT_OUT, WHOLE } from './instances.ts';
import { identityOf, type Recipients, withoutLocal, withParameters } from './people.ts';
import type { Revision } from './revisions.ts';

/** ADD is not sent: a REQUEST says all of the object that its reader is invited to. */
export type Method = 'REQUEST' | 'CANCEL' | 'REPLY' | 'COUNTER' | 'DECLINECOUNTER';

export interface SchedulingMessage<M = Method> {
  readonly method: M;
  /** A calendar with METHOD and the definitions of its zones; of ANSWERS the organiser's object as it is. */
  readonly bytes: Uint8Array;
  /** Identities, each of whom gets it once. */
  readonly recipients: readonly string[];
  /** Of a REQUEST by mail to who had one before: what of it is another. */
  readonly revisions?: readonly Revision[];
}

/** What of a component changes without anything being new for those who are invited. */
const QUIET = new Set([
  ...['ATTENDEE', 'ORGANIZER', 'UID', 'RECURRENCE-ID', 'EXDATE', 'REQUEST-STATUS'],
  ...['CREATED', 'DTSTAMP', 'LAST-MODIFIED', 'SEQUENCE', 'TRANSP'],
  // In the timing.
  ...['DTSTART', 'DTEND', 'DUE', 'DURATION', 'RRULE', 'EXRULE', 'RDATE'],
]);

/** What is kept of a component that was taken back. */
const OF_CANCELLED = new Set([
  ...['UID', 'RECURRENCE-ID', 'DTSTART', 'DTEND', 'DUE', 'DURATION', 'RRULE', 'SUMMARY', 'LOCATION'],
  ...['ORGANIZER', 'ATTENDEE', 'SEQUENCE'],
]);
/** What an answer says of what is answered, beside who answers. */
const OF_ANSWERED = new Set(['UID', 'DTSTART', 'DTEND', 'DUE', 'DURATION', 'SUMMARY', 'SEQUENCE']);

/** Lines that a client, or the server, keeps for itself. */
function isPrivate({ name }: Property): boolean {
  return name.startsWith('X-MOZ-') || name === 'TRANSP' || name === ASKED_SEQUENCE || name === LEFT_OUT;
}

/** The instances that somebody is invited to; what of the series they are not becomes a date that is left out. */
export function viewOf(instances: readonly Instance[], keys: ReadonlySet<string>): Component[] {
  const absent = keys.has(WHOLE) ? instances.filter(({ key }) => !keys.has(key)) : [];
  const left = absent.flatMap(({ component }) => {
    const id = propertyOf(component, 'RECURRENCE-ID');
    const parameters = id?.parameters.filter(({ name }) => name !== 'RANGE');
    return id === undefined ? [] : [{ ...id, name: 'EXDATE', parameters: parameters ?? [] }];
  });
  return instances
    .filter(({ key }) => keys.has(key))
    .map(({ key, component }) => {
      const shown = component.properties.filter((property) => !isPrivate(property)).map(shownLine);
      const others = component.components.filter(({ name }) => name !== 'VALARM');
      return makeComponent(component.name, [...shown, ...(key === WHOLE ? left : [])], others);
    });
}

function shownLine(property: Property): Property {
  return property.name === 'ATTENDEE' || property.name === 'ORGANIZER' ? withoutLocal(property) : property;
}

/** Equal for two states of an object that are the same to those who are invited to these instances. */
export function signatureOf(
  object: CalendarObject,
  instances: readonly Instance[],
  keys: ReadonlySet<string>,
  recipients: Recipients,
  zone: string,
): Map<string, string> {
  const absent = instances.flatMap(({ key }) => (keys.has(key) ? [] : [key]));
  const excluded = [...exclusionsOf(object, zone).map(({ key }) => key), ...absent].toSorted();
  const signatures = new Map<string, string>();
  for (const { key, component, timing } of instances) {
    if (!keys.has(key)) continue;
    const people = propertiesOf(component, 'ATTENDEE').map(({ value }) => identityOf(recipients, value));
    const words = component.properties
      .filter((property) => !QUIET.has(property.name) && !isPrivate(property))
      .map(({ name, value }) => `${name}:${value}`);
    const dates = key === WHOLE ? excluded : [];
    signatures.set(key, JSON.stringify([timing, [...new Set(people)].toSorted(), words.toSorted(), dates]));
  }
  return signatures;
}

/** A REQUEST with everything that its readers are invited to. */
export function requestOf(object: CalendarObject, components: readonly Component[], now: number): Uint8Array {
  return write(
    object,
    components.map((component) => stamped(component, now)),
    'REQUEST',
  );
}

/**
 * A CANCEL of these instances, or of all where the series is among them.
 * @param sentBy address of who takes them back in the organiser's name; undefined for the organiser.
 */
export function cancelOf(
  object: CalendarObject,
  instances: readonly Instance[],
  now: number,
  sentBy: string | undefined,
): Uint8Array {
  const whole = instances.find(({ key }) => key === WHOLE);
  const components = (whole === undefined ? instances : [whole]).map(({ component, sequence }) => {
    const kept = component.properties
      .filter(({ name }) => OF_CANCELLED.has(name) && name !== 'SEQUENCE')
      .map(shownLine)
      .map((line) => (line.name === 'ORGANIZER' ? withParameters(line, { 'SENT-BY': sentBy }) : line));
    const sequenced = makeProperty('SEQUENCE', String(sequence + 1));
    const properties = [...kept, sequenced, makeProperty('STATUS', 'CANCELLED')];
    return stamped(makeComponent(component.name, properties), now);
  });
  return write(object, components, 'CANCEL');
}

/** What somebody answers to one instance. */
export interface Answer {
  readonly component: Component;
  /** Undefined for the series. */
  readonly recurrenceId: Property | undefined;
  /** Their own line, with the answer in it. */
  readonly line: Property;
  /** What is added to this one; an empty text for nothing. Without it that of all of them. */
  readonly comment?: string;
}

/** A REPLY with these answers, and what somebody adds to all of them; an empty text for nothing. */
export function replyOf(object: CalendarObject, answers: readonly Answer[], now: number, comment = ''): Uint8Array {
  const components = answers.map(({ component, recurrenceId, line, comment: own = comment }) => {
    const words = own === '' ? [] : [makeProperty('COMMENT', escapeText(own))];
    const organizer = propertiesOf(component, 'ORGANIZER').map(withoutLocal);
    const about = component.properties.filter(({ name }) => OF_ANSWERED.has(name));
    const id = recurrenceId === undefined ? [] : [recurrenceId];
    const people = [...organizer, withoutLocal(line), makeProperty('REQUEST-STATUS', '2.0;Success'), ...words];
    return stamped(makeComponent(component.name, [...about, ...id, ...people]), now);
  });
  return write(object, components, 'REPLY');
}

function stamped(component: Component, now: number): Component {
  const kept = component.properties.filter(({ name }) => name !== 'DTSTAMP');
  return { ...component, properties: [...kept, makeProperty('DTSTAMP', writeInstant(now))] };
}

function write(object: CalendarObject, components: readonly Component[], method: Method): Uint8Array {
  return Buffer.from(writeCalendar(components, { method, definitions: object.zones }));
}

/** What is on its way, from whom, about which object. */
export interface Sending<M = Method> extends Pick<MessageRecord, 'from' | 'uid' | 'calendar'> {
  readonly messages: readonly SchedulingMessage<M>[];
}
