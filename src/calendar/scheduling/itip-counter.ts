/**
 * Proposals of another time (RFC 5546, 3.2.7 and 3.2.8): what an attendee may ask of an organiser by COUNTER, and an organiser
 * answer by DECLINECOUNTER. Neither changes an object. What comes is written anew from the object that it is about: of the
 * message itself no more is taken than the times and the comment. Pure.
 */
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import {
  type Component,
  escapeText,
  makeComponent,
  makeProperty,
  parameterOf,
  propertiesOf,
  type Property,
  propertyOf,
  textOf,
} from '../icalendar/component.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { type Timing, timingOf, timingProperties } from '../icalendar/timing.ts';
import { readTime, writeDuration, writeInstant, writeLocal } from '../icalendar/values.ts';
import { canonicalAddress } from '../address-book.ts';
import { type Extent, extentOf, placeAt } from '../recurrence/extent.ts';
import { knownZone, ZoneResolver } from '../zones/zone-resolver.ts';
import { UTC, wallOf } from '../zones/zone.ts';
import { type Instance, instancesOf, recurrenceIdOf, said, WHOLE } from './instances.ts';
import {
  hasRange,
  isOrganizedBy,
  type MessageState,
  messageState,
  type OutsideWord,
  stampOf,
  stateOf,
} from './itip-inbound.ts';
import { isServers, lineOf, organizerOf, type Recipients, withoutLocal, withParameters } from './people.ts';
import { singleOccurrence } from './single-occurrence.ts';

/** A COUNTER or DECLINECOUNTER, and what is known of what it is about. */
export interface ProposalMessage {
  readonly message: Uint8Array;
  /** The object of whom it comes to; undefined where they have none. */
  readonly copy: Uint8Array | undefined;
  /** The message about the same that came before it. */
  readonly known?: Uint8Array | undefined;
  /** The calendar's. */
  readonly zone: string;
  readonly recipients: Recipients;
  /** Identity of who sent it, and of whom it comes to. */
  readonly from: string;
  readonly to: string;
  readonly now: number;
  /** Whether the server wrote the message: SENT-BY is a claim otherwise, and not taken. */
  readonly isServers?: boolean;
}

/** What is proposed, as the object that it is about has it. */
interface Reference {
  readonly instance: Pick<Instance, 'askedSequence' | 'component' | 'isCancelled' | 'sequence'>;
  /** The line of who proposes. */
  readonly line: Property;
}

/** The message as it is kept and passed on, or why it is not. @throws CalendarFault. */
export function takeProposal(task: ProposalMessage): Uint8Array | OutsideWord {
  const { from, now, to, zone } = task;
  const copy = stateOf(task.copy, zone);
  const { instances, object } = messageState(task, copy);
  const [proposal, second] = instances;
  const isCounter = object.method === 'COUNTER';
  if (proposal === undefined || second !== undefined || object.kind !== 'event') return 'calendar_invalid';
  if (object.overrides.some(hasRange)) return 'range_refused';
  const fault = isCounter ? counterFault(proposal, task) : declineFault(proposal, task);
  if (fault !== undefined) return fault;
  if (copy === undefined) return 'event_unknown';
  // Before anything is compared: of what somebody else organises nothing is told.
  if (!isOrganizedBy(copy, isCounter ? to : from, task)) return 'event_foreign';
  const reference = referenceOf(copy, proposal.key, isCounter ? from : to, task);
  if (typeof reference === 'string') return reference;
  const { instance } = reference;
  if (instance.isCancelled || proposal.sequence < instance.askedSequence) return 'stale';
  const stamp = stampOf(proposal.component) ?? writeInstant(now);
  const before = task.known === undefined ? undefined : stampIn(task.known);
  if (before !== undefined && stamp < before) return 'stale';
  const zones = new ZoneResolver(new Map([...copy.object.zones, ...object.zones]), zone);
  const planned = extentOf(instance.component, new ZoneResolver(copy.object.zones, zone));
  const extent = extentOf(proposal.component, zones);
  if (extent === undefined || planned === undefined) return 'calendar_invalid';
  const proposed = withLength(extent, planned);
  if (isCounter && isSameTime(proposed, planned)) return 'unchanged';
  const when = timingProperties(proposedTiming(proposed, planned));
  if (typeof when === 'string') return 'calendar_invalid';
  const comment = (textOf(proposal.component, 'COMMENT') ?? '').slice(0, RSVP_COMMENT_LENGTH_MAX);
  const sentBy = task.isServers === true ? sentByIn(proposal.component, isCounter) : undefined;
  const bytes = written(isCounter ? 'COUNTER' : 'DECLINECOUNTER', reference, { comment, sentBy, stamp, when });
  return task.known !== undefined && Buffer.compare(bytes, task.known) === 0 ? 'unchanged' : bytes;
}

/** Whoever proposes does so for themselves; that others stand beside them in the message says nothing of those. */
function counterFault({ component }: Instance, { from, recipients }: ProposalMessage): OutsideWord | undefined {
  const line = lineOf(recipients, component, from);
  if (line === undefined) return 'attendee_mismatch';
  const isDelegated = ['DELEGATED-TO', 'DELEGATED-FROM'].some((name) => parameterOf(line, name) !== undefined);
  return isDelegated || said(line, 'PARTSTAT', '') === 'DELEGATED' ? 'delegation_refused' : undefined;
}

/** Whoever declines a proposal organises what it is about. */
function declineFault({ component }: Instance, { from, recipients }: ProposalMessage): OutsideWord | undefined {
  const [organizer, second] = propertiesOf(component, 'ORGANIZER');
  if (organizer === undefined || second !== undefined) return 'organizer_mismatch';
  const whose = canonicalAddress(organizer.value);
  const known = Object.hasOwn(recipients, whose) ? recipients[whose]?.identity : undefined;
  return (known ?? whose) === from ? undefined : 'organizer_mismatch';
}

function referenceOf(
  { instances, object }: MessageState,
  key: string,
  attendee: string,
  { recipients, zone }: ProposalMessage,
): Reference | OutsideWord {
  const whole = instances.find((one) => one.key === WHOLE);
  const stored = instances.find((one) => one.key === key);
  const id = stored === undefined ? recurrenceIdOf(object, key, zone) : undefined;
  const single = id === undefined ? undefined : singleOccurrence(object, id, zone);
  const instance =
    stored ?? (whole === undefined || single === undefined ? undefined : { ...whole, component: single });
  if (instance === undefined) return 'event_unknown';
  const line = lineOf(recipients, instance.component, attendee);
  if (line === undefined || !isServers(line)) return 'not_invited';
  return { instance, line };
}

/** A message that leaves the end open means the length that it has. */
function withLength(extent: Extent, planned: Extent): Extent {
  const { days, seconds } = extent.length;
  if (extent.start.isDate || days !== 0 || seconds !== 0 || planned.start.isDate) return extent;
  return { ...extent, length: planned.length };
}

function isSameTime(one: Extent, other: Extent): boolean {
  const [a, b] = [one, other].map(({ length, start, zone }) => {
    const span = placeAt(zone, start.wall, length);
    return start.isDate ? `day ${start.wall} ${length.days}` : `${span.start} ${span.end}`;
  });
  return a === b;
}

/** In the zone of what it is about, so that no definition of a zone comes along. */
function proposedTiming({ length, start, zone }: Extent, planned: Extent): Timing {
  if (start.isDate) return { start: writeLocal(start.wall, true), duration: writeDuration(length) };
  const span = placeAt(zone, start.wall, length);
  const named = planned.start.isDate ? zone.name : planned.zone.name;
  const known = (named === undefined ? undefined : knownZone(named)) ?? UTC;
  const seconds = Math.round((span.end - span.start) / 1000);
  return {
    start: writeLocal(wallOf(known, span.start), false),
    tz: known.name ?? 'UTC',
    duration: writeDuration({ days: 0, seconds }),
  };
}

/** The line of who speaks: a COUNTER is an attendee’s, a DECLINECOUNTER the organiser’s. */
const speakerOf = (isCounter: boolean) => (isCounter ? 'ATTENDEE' : 'ORGANIZER');

/** Address of the delegate who wrote a message that the server made, which has one ATTENDEE and one ORGANIZER. */
function sentByIn(component: Component, isCounter: boolean): string | undefined {
  const speaker = propertyOf(component, speakerOf(isCounter));
  return speaker === undefined ? undefined : parameterOf(speaker, 'SENT-BY');
}

/** People’s lines as a message has them: who wrote it is said of who sends it, and nothing of what was said before. */
function spoken(lines: readonly Property[], isCounter: boolean, sentBy: string | undefined): Property[] {
  return lines.map((line) => {
    if (line.name !== 'ORGANIZER' && line.name !== 'ATTENDEE') return line;
    return withParameters(line, { 'SENT-BY': line.name === speakerOf(isCounter) ? sentBy : undefined });
  });
}

interface Words {
  readonly comment: string;
  /** Address of the delegate who wrote it. */
  readonly sentBy: string | undefined;
  /** DTSTAMP. */
  readonly stamp: string;
  readonly when: readonly Property[];
}

function written(
  method: 'COUNTER' | 'DECLINECOUNTER',
  { instance: { component, sequence }, line }: Reference,
  { comment, sentBy, stamp, when }: Words,
): Uint8Array {
  const kept = ['UID', 'RECURRENCE-ID', 'SUMMARY'].flatMap((name) => propertyOf(component, name) ?? []);
  const properties = [
    ...kept,
    ...spoken([...propertiesOf(component, 'ORGANIZER'), line].map(withoutLocal), method === 'COUNTER', sentBy),
    makeProperty('SEQUENCE', String(sequence)),
    makeProperty('DTSTAMP', stamp),
    ...when,
    ...(comment === '' ? [] : [makeProperty('COMMENT', escapeText(comment))]),
  ];
  return Buffer.from(writeCalendar([makeComponent(component.name, properties)], { method }));
}

/** What an attendee proposes by JSON. */
export interface Proposing extends Omit<ProposalMessage, 'message' | 'copy' | 'isServers' | 'known'> {
  /** Address of the delegate who proposes it in the attendee’s name. */
  readonly sentBy: string | undefined;
  readonly copy: Uint8Array;
  /** Which occurrence, as the series writes it; undefined for all of it. */
  readonly recurrenceId: string | undefined;
  /** DTSTART, and DURATION. */
  readonly when: readonly Property[];
  readonly comment: string;
}

/** A COUNTER of somebody's own, held to the same as any; why there is none, otherwise. @throws CalendarFault. */
export function counterOf({ comment, recurrenceId, sentBy, when, ...task }: Proposing): Uint8Array | OutsideWord {
  const object = readCalendarObject(task.copy);
  const instances = instancesOf(object, task.zone);
  const organizer = organizerOf(instances);
  const series = object.master === undefined ? undefined : propertyOf(object.master, 'DTSTART');
  const about = object.master ?? object.overrides[0];
  if (organizer === undefined || about === undefined) return 'event_foreign';
  const [line] = instances.flatMap(({ component }) => lineOf(task.recipients, component, task.from) ?? []);
  if (line === undefined) return 'not_invited';
  const id =
    recurrenceId === undefined
      ? []
      : [{ ...(series ?? makeProperty('', '')), name: 'RECURRENCE-ID', value: recurrenceId }];
  if (id.length > 0 && readTime(recurrenceId ?? '') === undefined) return 'event_unknown';
  const uid = propertyOf(about, 'UID') as Property;
  // Its own copy is what it goes by: the highest that it knows of answers none of what was before.
  const sequence = Math.max(...instances.map((instance) => instance.sequence));
  const words = [makeProperty('DTSTAMP', writeInstant(task.now)), makeProperty('SEQUENCE', String(sequence))];
  const people = spoken([organizer, line], true, sentBy);
  const properties = [uid, ...id, ...words, ...people, ...when, makeProperty('COMMENT', escapeText(comment))];
  const text = writeCalendar([makeComponent('VEVENT', properties)], { method: 'COUNTER', definitions: object.zones });
  return takeProposal({ ...task, message: Buffer.from(text), isServers: true });
}

/** What a COUNTER or DECLINECOUNTER that was taken says. */
export interface Proposal {
  readonly method: string;
  readonly uid: string;
  /** SUMMARY. */
  readonly title: string;
  /** As the series writes it; undefined for all of it. */
  readonly recurrenceId: string | undefined;
  readonly sequence: number;
  readonly organizer: string;
  readonly attendee: string;
  /** Address of the delegate who wrote it in the name of who sends it. */
  readonly sentBy: string | undefined;
  readonly timing: Timing;
  /** Instants of the first of it, and of its end. */
  readonly start: number;
  readonly end: number;
  readonly comment: string | undefined;
  /** When it was made, milliseconds since 1970. */
  readonly at: number;
}

/** @param zone for whole days. @throws CalendarFault. */
export function readProposal(bytes: Uint8Array, zone: string): Proposal | undefined {
  const object = readCalendarObject(bytes, { isMessage: true });
  const component = object.master ?? object.overrides[0];
  const extent = component === undefined ? undefined : extentOf(component, new ZoneResolver(object.zones, zone));
  if (component === undefined || extent === undefined) return undefined;
  const span = placeAt(extent.zone, extent.start.wall, extent.length);
  const address = (name: string) => canonicalAddress(propertyOf(component, name)?.value ?? '');
  const sentBy = sentByIn(component, object.method === 'COUNTER');
  const stamp = readTime(stampOf(component) ?? '');
  return {
    ...{ method: object.method ?? '', uid: object.uid, title: textOf(component, 'SUMMARY') ?? '' },
    recurrenceId: propertyOf(component, 'RECURRENCE-ID')?.value.trim(),
    sequence: Number(propertyOf(component, 'SEQUENCE')?.value ?? 0) || 0,
    ...{ organizer: address('ORGANIZER'), attendee: address('ATTENDEE') },
    sentBy: sentBy === undefined ? undefined : canonicalAddress(sentBy),
    timing: timingOf(extent),
    ...span,
    comment: textOf(component, 'COMMENT'),
    at: (stamp?.wall ?? 0) * 1000,
  };
}

/**
 * Whether an object still takes place as it did when something was proposed of it, and invites who proposed it.
 * @param identityOf whose address it is. @throws CalendarFault.
 */
export function isCurrent(
  proposal: Pick<Proposal, 'attendee' | 'recurrenceId' | 'sequence'>,
  copy: Uint8Array,
  zone: string,
  identityOf: (address: string) => string,
): boolean {
  const instances = instancesOf(readCalendarObject(copy), zone);
  const whole = instances.find(({ key }) => key === WHOLE);
  const stored = instances.find(({ component }) => recurrenceIdIn(component) === proposal.recurrenceId) ?? whole;
  if (stored === undefined || stored.isCancelled || proposal.sequence < stored.askedSequence) return false;
  const who = identityOf(proposal.attendee);
  return propertiesOf(stored.component, 'ATTENDEE').some(({ value }) => identityOf(canonicalAddress(value)) === who);
}

function recurrenceIdIn(component: Component): string | undefined {
  return propertyOf(component, 'RECURRENCE-ID')?.value.trim();
}

export interface Declining {
  readonly now: number;
  readonly comment: string;
  /** Address of the delegate who answers in the organiser’s name. */
  readonly sentBy: string | undefined;
}

/** What an organiser answers to a proposal that they do not take. @throws CalendarFault. */
export function declineOf(counter: Uint8Array, { comment, now, sentBy }: Declining): Uint8Array {
  const object = readCalendarObject(counter, { isMessage: true });
  const component = (object.master ?? object.overrides[0]) as Component;
  const kept = spoken(
    component.properties.filter(({ name }) => name !== 'DTSTAMP' && name !== 'COMMENT'),
    false,
    sentBy,
  );
  const words = comment === '' ? [] : [makeProperty('COMMENT', escapeText(comment))];
  const properties = [...kept, makeProperty('DTSTAMP', writeInstant(now)), ...words];
  const methods = { method: 'DECLINECOUNTER', definitions: object.zones };
  return Buffer.from(writeCalendar([makeComponent(component.name, properties)], methods));
}

function stampIn(bytes: Uint8Array): string | undefined {
  const { master, overrides } = readCalendarObject(bytes, { isMessage: true });
  const component = master ?? overrides[0];
  return component === undefined ? undefined : stampOf(component);
}
