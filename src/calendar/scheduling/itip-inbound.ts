/**
 * A scheduling message of somebody outside, who is known to be the one that the mail says: held to what that person may
 * say (RFC 5546), put in order with what came before, and then applied as any other message. Pure.
 */
import { canonicalAddress } from '../address-book.ts';
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import {
  type Component,
  makeProperty,
  parameterOf,
  propertiesOf,
  type Property,
  propertyOf,
} from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import { instanceProperty } from '../icalendar/timing.ts';
import { Series } from '../recurrence/series.ts';
import { apply, type Incoming } from './itip-application.ts';
import {
  ASKED_SEQUENCE,
  exclusionsOf,
  type Instance,
  instancesOf,
  isInPlace,
  LEFT_OUT,
  leftOutOf,
  recurrenceIdOf,
  said,
  WHOLE,
} from './instances.ts';
import {
  identityOf,
  lineOf,
  organizerOf,
  type Recipients,
  REPLY_STAMP,
  withoutLocal,
  withParameters,
} from './people.ts';

/** A message from outside. `from` is the calendar address of its sender, which is nobody's here. */
export interface OutsideMessage extends Incoming {
  /** The last state of a copy that its owner removed, as far as it is remembered. */
  readonly removed: Uint8Array | undefined;
}

/** What a message from outside makes of the copy, or why it makes nothing. */
export type OutsideResult = Uint8Array | OutsideWord;
export type OutsideWord =
  | 'attendee_mismatch'
  | 'calendar_invalid'
  | 'delegation_refused'
  | 'event_foreign'
  | 'event_unknown'
  | 'method_refused'
  | 'not_invited'
  | 'organizer_mismatch'
  | 'range_refused'
  | 'stale'
  | 'unchanged';

/** What one may answer; DELEGATED is refused by itself. */
const ANSWERS = new Set(['ACCEPTED', 'DECLINED', 'TENTATIVE', 'NEEDS-ACTION', 'IN-PROCESS', 'COMPLETED']);
const UNANSWERED = 'NEEDS-ACTION';
/** What of an organiser's message is the reader's own: whether it takes their time, and when to remind them. */
const OWN_PROPERTY = 'TRANSP';
/** What this server alone writes in a copy: nobody outside has a word in it. */
const SERVER_PROPERTIES = [ASKED_SEQUENCE, LEFT_OUT];

/** The methods that are taken. What the others ask for is nothing that a calendar does by itself, or nothing that was asked. */
const TAKEN = ['REQUEST', 'CANCEL', 'REPLY', 'COUNTER', 'DECLINECOUNTER'] as const;
/** Those of them that change a copy; the others are about another time for it. */
const APPLIED = ['REQUEST', 'CANCEL', 'REPLY'] as const;

/** Whether messages of that method are taken from outside. */
export function isTaken(method: string | undefined): method is (typeof TAKEN)[number] {
  return TAKEN.some((taken) => taken === method);
}

/** Whether a message proposes another time, or answers that. */
export function isProposal(method: string): method is 'COUNTER' | 'DECLINECOUNTER' {
  return method === 'COUNTER' || method === 'DECLINECOUNTER';
}

/** An object or a message with its parts. */
export interface MessageState {
  readonly object: CalendarObject;
  readonly instances: readonly Instance[];
}
type State = MessageState;

/** What a message is about, to find the copy by, and in whose name it speaks. */
export interface Inspected {
  readonly method: string;
  readonly uid: string;
  /** Address of its one organiser, of a REPLY or COUNTER of its one attendee; undefined where it has several or none. */
  readonly speaker: string | undefined;
}

/** @throws CalendarFault. */
export function inspectMessage(bytes: Uint8Array): Inspected {
  const { master, method = '', overrides, uid } = readCalendarObject(bytes, { isMessage: true });
  const name = method === 'REPLY' || method === 'COUNTER' ? 'ATTENDEE' : 'ORGANIZER';
  const components = master === undefined ? overrides : [master, ...overrides];
  const lines = components.flatMap((component) => propertiesOf(component, name));
  const [speaker, second] = new Set(lines.map(({ value }) => canonicalAddress(value)));
  return { method, uid, speaker: second === undefined ? speaker : undefined };
}

/** @throws CalendarFault. */
export function applyFromOutside(incoming: OutsideMessage): OutsideResult {
  const copy = stateOf(incoming.copy, incoming.zone);
  const message = messageState(incoming, copy);
  const { method } = message.object;
  const isApplied = (one: string | undefined): one is (typeof APPLIED)[number] => APPLIED.some((name) => name === one);
  if (!isApplied(method)) return 'method_refused';
  // As the message has it: beside a series its RECURRENCE-IDs are written anew.
  if (message.object.overrides.some(hasRange)) return 'range_refused';
  if (message.instances.length === 0) return 'calendar_invalid';
  const fault = method === 'REPLY' ? replyFault(message, incoming) : organizerFault(message, incoming, method);
  if (fault !== undefined) return fault;
  if (copy === undefined && method !== 'REQUEST') return 'event_unknown';
  // Before anything is compared: what somebody else organises is not told to be older or newer.
  if (copy !== undefined && !isOrganizedBy(copy, method === 'REPLY' ? incoming.to : incoming.from, incoming)) {
    return 'event_foreign';
  }
  if (method === 'REPLY') return takeReply(message, copy as State, incoming);
  const fresh = freshOf(message, copy ?? stateOf(incoming.removed, incoming.zone), method);
  if (typeof fresh === 'string') return fresh;
  const components =
    method === 'REQUEST' ? requested(fresh, message.object, copy, incoming) : fresh.map(({ component }) => component);
  return applied(write(message.object, copy, components, method), incoming);
}

/** @throws CalendarFault. */
export function stateOf(bytes: Uint8Array | undefined, zone: string): State | undefined {
  if (bytes === undefined) return undefined;
  const object = readCalendarObject(bytes);
  return { object, instances: instancesOf(object, zone) };
}

/** The message, read beside the series that it is about: its RECURRENCE-IDs are then written as that series writes times. */
export function messageState(
  { message, zone }: Pick<OutsideMessage, 'message' | 'zone'>,
  copy: State | undefined,
): State {
  const object = readCalendarObject(message, { isMessage: true });
  const master = copy?.object.master;
  if (copy === undefined || master === undefined || object.master !== undefined) {
    return { object, instances: instancesOf(object, zone) };
  }
  const beside = { ...object, master, zones: new Map([...copy.object.zones, ...object.zones]) };
  const start = new Series(copy.object, zone).master?.start;
  const instances = instancesOf(beside, zone).filter(({ key }) => key !== WHOLE);
  return {
    object,
    instances: instances.map((instance) => {
      const id = recurrenceIdOf(copy.object, instance.key, zone);
      const line = id === undefined || start === undefined ? undefined : instanceProperty('RECURRENCE-ID', id, start);
      if (line === undefined) return instance;
      const kept = instance.component.properties.filter(({ name }) => name !== 'RECURRENCE-ID');
      return { ...instance, component: { ...instance.component, properties: [...kept, line] } };
    }),
  };
}

/** Whether it stands for an occurrence and all that follow. */
export function hasRange(component: Component): boolean {
  return propertiesOf(component, 'RECURRENCE-ID').some((line) => parameterOf(line, 'RANGE') !== undefined);
}

/** Whoever sends an invitation organises it, all of it: SENT-BY gives nobody a right. */
function organizerFault(
  { instances }: State,
  { from, to, recipients }: OutsideMessage,
  method: 'REQUEST' | 'CANCEL',
): OutsideWord | undefined {
  for (const { component } of instances) {
    const organizers = propertiesOf(component, 'ORGANIZER');
    if (organizers.length !== 1 || canonicalAddress(organizers[0]?.value ?? '') !== from) return 'organizer_mismatch';
  }
  const invited = instances.some(({ component }) => lineOf(recipients, component, to) !== undefined);
  const isForAll =
    method === 'CANCEL' && instances.every(({ component }) => propertyOf(component, 'ATTENDEE') === undefined);
  return invited || isForAll ? undefined : 'not_invited';
}

/** Whoever answers does so for themselves, in one line. */
function replyFault({ instances }: State, { from }: OutsideMessage): OutsideWord | undefined {
  for (const { component } of instances) {
    const [line, second] = propertiesOf(component, 'ATTENDEE');
    if (line === undefined || second !== undefined || canonicalAddress(line.value) !== from) return 'attendee_mismatch';
    const partstat = said(line, 'PARTSTAT', UNANSWERED);
    const isDelegated = ['DELEGATED-TO', 'DELEGATED-FROM'].some((name) => parameterOf(line, name) !== undefined);
    if (isDelegated || partstat === 'DELEGATED') return 'delegation_refused';
    if (!ANSWERS.has(partstat)) return 'calendar_invalid';
  }
  return undefined;
}

/** DTSTAMP in UTC, which is compared as text; undefined where the writer left it out or wrote something else. */
export function stampOf(component: Component): string | undefined {
  const value = propertyOf(component, 'DTSTAMP')?.value.trim().toUpperCase() ?? '';
  return /^\d{8}T\d{6}Z$/.test(value) ? value : undefined;
}

/** How a message stands to what is there (RFC 5546, 2.1.5): below zero where it is older. */
function compare(instance: Instance, known: Instance): number {
  const bySequence = instance.sequence - known.sequence;
  const [stamp, other] = [stampOf(instance.component), stampOf(known.component)];
  if (bySequence !== 0 || stamp === undefined || other === undefined) return bySequence;
  return stamp === other ? 0 : stamp < other ? -1 : 1;
}

/** The instances of a message that say something newer than what is, or was, there. */
function freshOf(
  message: State,
  known: State | undefined,
  method: 'REQUEST' | 'CANCEL',
): Instance[] | 'stale' | 'unchanged' {
  const before = new Map(known?.instances.map((instance) => [instance.key, instance]));
  const standing = message.instances.map((instance) => {
    const prior = before.get(instance.key);
    return { instance, by: prior === undefined ? 1 : compare(instance, prior) };
  });
  // A series that is new comes with all its overrides; what was taken back is told by its state alone.
  const takesEqual = method === 'CANCEL' || standing.some(({ instance, by }) => instance.key === WHOLE && by > 0);
  const fresh = standing.filter(({ by }) => by > 0 || (by === 0 && takesEqual));
  if (fresh.length > 0) return fresh.map(({ instance }) => instance);
  return standing.some(({ by }) => by < 0) ? 'stale' : 'unchanged';
}

/** A REQUEST that says all there is: what the message has, unanswered, with what it leaves as it was. */
function requested(
  fresh: readonly Instance[],
  object: CalendarObject,
  copy: State | undefined,
  incoming: OutsideMessage,
): Component[] {
  const before = new Map(copy?.instances.map((instance) => [instance.key, instance]));
  const changed = fresh.map((instance) => {
    const isKnown = before.has(instance.key) || before.has(WHOLE);
    return asked(instance, answerFor(instance, copy, incoming), isKnown, incoming);
  });
  if (copy === undefined) return changed;
  const named = new Set(fresh.map(({ key }) => key));
  const whole = fresh.find(({ key }) => key === WHOLE);
  // A series at other times has none of the exceptions of before.
  const isMoved = whole !== undefined && before.get(WHOLE)?.timing !== whole.timing && before.has(WHOLE);
  const excluded = new Set(whole === undefined ? [] : exclusionsOf(object, incoming.zone).map(({ key }) => key));
  const kept = isMoved ? [] : copy.instances.filter(({ key }) => !named.has(key) && !excluded.has(key));
  const others = kept.map(({ key, component }) => {
    const own = withoutOwn(component);
    if (key !== WHOLE) return own;
    // What was left out and is asked for again.
    const left = exclusionsOf(copy.object, incoming.zone).filter((one) => !named.has(one.key));
    const properties = own.properties.filter(({ name }) => name !== 'EXDATE' && name !== LEFT_OUT);
    // Whose word is which is said in any case: nothing of it is new here.
    const word = makeProperty(LEFT_OUT, [...(leftOutOf(own) ?? [])].join(','));
    return { ...own, properties: [...properties, ...left.map(({ property }) => property), word] };
  });
  return [...others, ...changed].toSorted((a, b) => Number(isSingle(a)) - Number(isSingle(b)));
}

const isSingle = (component: Component) => propertyOf(component, 'RECURRENCE-ID') !== undefined;

/** What the reader said to an exception that takes place when the series has it; nobody else says it for them. */
function answerFor(instance: Instance, copy: State | undefined, { to, recipients, zone }: OutsideMessage): string {
  const whole = copy?.instances.find(({ key }) => key === WHOLE);
  const isNew = copy?.instances.every(({ key }) => key !== instance.key) === true;
  if (copy === undefined || whole === undefined || !isNew || !isInPlace(instance, copy.object, zone)) return UNANSWERED;
  const line = lineOf(recipients, whole.component, to);
  return line === undefined ? UNANSWERED : said(line, 'PARTSTAT', UNANSWERED);
}

/** An instance as it is put to its reader: their answer is theirs, and so are reminders. */
function asked(
  { component }: Instance,
  answer: string,
  isKnown: boolean,
  { to, recipients }: OutsideMessage,
): Component {
  const bare = withoutOwn(component, isKnown ? [OWN_PROPERTY, ...SERVER_PROPERTIES] : SERVER_PROPERTIES);
  const properties = bare.properties.map((line) => {
    if (line.name !== 'ATTENDEE' && line.name !== 'ORGANIZER') return line;
    const shown = withoutLocal(line);
    const isOwn = line.name === 'ATTENDEE' && identityOf(recipients, line.value) === to;
    return isOwn ? withParameters(shown, { PARTSTAT: answer, 'SENT-BY': undefined }) : shown;
  });
  return { ...bare, properties };
}

/** Without what is put back from the reader's own copy. */
function withoutOwn(component: Component, names: readonly string[] = [OWN_PROPERTY]): Component {
  return {
    ...component,
    properties: component.properties.filter(({ name }) => !names.includes(name)),
    components: component.components.filter(({ name }) => name !== 'VALARM'),
  };
}

/** The message of other components. Zones that only the copy defines are taken along. */
function write(
  object: CalendarObject,
  copy: State | undefined,
  components: readonly Component[],
  method: string,
): Uint8Array {
  const definitions = new Map([...(copy?.object.zones ?? []), ...object.zones]);
  return Buffer.from(writeCalendar(components, { method, definitions }));
}

function applied(message: Uint8Array, incoming: OutsideMessage): OutsideResult {
  const result = apply({ ...incoming, message });
  return result === 'foreign' ? 'event_foreign' : result;
}

/** The answers that are newer than those of before, each with its time, by which the next ones are put in order. */
function takeReply(message: State, copy: State, incoming: OutsideMessage): OutsideResult {
  const { from, recipients, zone } = incoming;
  const find = (key: string) => copy.instances.find((one) => one.key === key);
  const invited = message.instances.flatMap((reply) => {
    const stored = find(reply.key) ?? find(WHOLE);
    const line = stored === undefined ? undefined : lineOf(recipients, stored.component, from);
    return stored === undefined || line === undefined ? [] : [{ reply, stored, line }];
  });
  if (invited.length === 0) return 'not_invited';
  const fresh = invited.flatMap(({ reply, stored, line }) => {
    // What was said of the series says nothing of when one of its occurrences was answered.
    const last = stored.key === reply.key ? parameterOf(line, REPLY_STAMP) : undefined;
    const stamp = stampOf(reply.component);
    const isNewer = last === undefined || stamp === undefined || stamp > last;
    return isNewer && reply.sequence >= stored.askedSequence ? [reply] : [];
  });
  if (fresh.length === 0) return 'stale';
  const components = fresh.map(({ component }) => component);
  const result = applied(write(message.object, copy, components, 'REPLY'), incoming);
  const before = typeof result === 'string' ? (incoming.copy as Uint8Array) : result;
  const stamped = withReplyStamps(before, fresh, from, recipients, zone);
  return Buffer.compare(stamped, incoming.copy as Uint8Array) === 0 ? 'unchanged' : stamped;
}

/** Whether somebody organises an object. */
export function isOrganizedBy(
  { instances }: State,
  identity: string,
  { recipients }: Pick<OutsideMessage, 'recipients'>,
): boolean {
  const organizer = organizerOf(instances);
  return organizer !== undefined && identityOf(recipients, organizer.value) === identity;
}

function withReplyStamps(
  bytes: Uint8Array,
  replies: readonly Instance[],
  from: string,
  recipients: Recipients,
  zone: string,
): Uint8Array {
  const stamps = new Map(replies.map(({ key, component }) => [key, stampOf(component)]));
  const object = readCalendarObject(bytes);
  const edits = instancesOf(object, zone).flatMap(({ key, component }): [Property, Property][] => {
    const stamp = stamps.get(key);
    const line = lineOf(recipients, component, from);
    return stamp === undefined || line === undefined ? [] : [[line, withParameters(line, { [REPLY_STAMP]: stamp })]];
  });
  return edits.length === 0 ? bytes : replaceLines(object, edits);
}
