/** What follows when an organiser's object changes: who is told what, and what the server writes into the object. */
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { makeProperty, parameterOf, propertiesOf, type Property, propertyOf } from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import {
  ASKED_SEQUENCE,
  exclusionsOf,
  type Instance,
  instancesOf,
  isInPlace,
  said,
  takesPlaceAs,
  WHOLE,
} from './instances.ts';
import { type Keeping, withKeptAnswers, withKnownReplies } from './kept-answers.ts';
import { cancelOf, requestOf, type SchedulingMessage, signatureOf, viewOf } from './messages.ts';
import { isOutside, UNDELIVERED, UNKNOWN } from './outside-mail.ts';
import { type Revision, revisionsBetween } from './revisions.ts';
import { identityOf, type Invited, invitedTo, isServers, lineOf, type Recipients, withParameters } from './people.ts';

/** An object before and after a change, with whom it is about. */
export interface ChangedObject {
  readonly before: Uint8Array | undefined;
  /** Undefined where it was removed. */
  readonly after: Uint8Array | undefined;
  /** The calendar's. */
  readonly zone: string;
  readonly now: number;
  readonly recipients: Recipients;
  /** Address of who writes in the name of whose object it is; undefined where they do so themselves. */
  readonly sentBy?: string | undefined;
  /** How many people outside may be written to by mail; who comes behind them is told later. */
  readonly mailRoom: number;
}

/** What is written and sent. Each recipient is in one message at most. */
export interface Scheduled {
  /** The object as it is to be stored; undefined where it was removed. */
  readonly bytes: Uint8Array | undefined;
  readonly messages: readonly SchedulingMessage[];
  /** Whether the organiser's own answer is another, which those see who are invited as they see each other's. */
  readonly isAnswered?: boolean;
}

interface State {
  readonly object: CalendarObject;
  readonly instances: readonly Instance[];
  readonly invited: ReadonlyMap<string, Invited>;
}

/** @param organizer the identity of the organiser. @throws CalendarFault. */
export function organize(change: ChangedObject, organizer: string): Scheduled {
  const { recipients, zone } = change;
  const read = (bytes: Uint8Array): State => {
    const object = readCalendarObject(bytes);
    const instances = instancesOf(object, zone);
    return { object, instances, invited: invitedTo(instances, recipients, organizer) };
  };
  const before = change.before === undefined ? undefined : read(change.before);
  const stated = change.after === undefined ? undefined : read(change.after);
  const keeping = { isKept: (identity: string) => identity !== organizer, recipients, zone };
  const merged = stated === undefined || before === undefined ? undefined : mergedAnswers(stated, before, keeping);
  const given = merged === undefined ? stated : read(merged);
  const revised = given === undefined || before === undefined ? undefined : revise(given, before, change, organizer);
  const after = revised === undefined ? given : read(revised);
  const { told, messages } = messagesFor(before, after, change);
  if (after === undefined) return { bytes: undefined, messages };
  const bytes = withStatuses(after, before, told, recipients) ?? revised ?? merged ?? change.after;
  return {
    bytes,
    messages,
    isAnswered: before !== undefined && answersOtherwise(before, after, recipients, organizer),
  };
}

/** Whether somebody says something else of an instance; what stands for none by itself is as the series is. */
function answersOtherwise(before: State, after: State, recipients: Recipients, identity: string): boolean {
  const [was, is] = [before, after].map(({ instances }) => {
    const lines = instances.map(({ component, key }) => [key, lineOf(recipients, component, identity)] as const);
    return new Map(
      lines.map(([key, line]) => [key, line === undefined ? undefined : said(line, 'PARTSTAT', UNANSWERED)]),
    );
  }) as [Map<string, string | undefined>, Map<string, string | undefined>];
  const of = (state: typeof was, key: string) => (state.has(key) ? state.get(key) : state.get(WHOLE));
  return [...new Set([...was.keys(), ...is.keys()])].some((key) => of(was, key) !== of(is, key));
}

/** A state with the answers that its writer did not know of; undefined where there are none. */
function mergedAnswers({ object }: State, { instances }: State, keeping: Keeping): Uint8Array | undefined {
  const replied = withKnownReplies(object, instances, keeping);
  const told = replied === undefined ? object : readCalendarObject(replied);
  return withKeptAnswers(told, instances, keeping) ?? replied;
}

/**
 * What takes place at another time is answered anew. That, a date that the series leaves out or takes back, and an end or a
 * return of it are revisions (RFC 5546, 2.1.4; RFC 6638, 3.2.8). Undefined where the client has said all of that.
 */
function revise(
  given: State,
  before: State,
  { recipients, zone }: ChangedObject,
  organizer: string,
): Uint8Array | undefined {
  const known = new Map(before.instances.map((instance) => [instance.key, instance]));
  const whole = known.get(WHOLE);
  const leftOut = [before, given].map(({ object }) => exclusionsOf(object, zone).map(({ key }) => key));
  const edits: LineEdit[] = [];
  for (const instance of given.instances) {
    const prior = known.get(instance.key) ?? whole;
    const isMoved = known.has(instance.key)
      ? prior !== undefined && !takesPlaceAs(instance, prior)
      : prior !== undefined && instance.key !== WHOLE && !isInPlace(instance, given.object, zone);
    if (prior === undefined) continue;
    const isRevised = isMoved || (known.has(instance.key) && isRevisedInPlace(instance, prior, leftOut));
    // Programs outside take a number that fell for a message that is older than the one they have.
    const floor = isRevised ? prior.sequence + 1 : known.has(instance.key) ? prior.sequence : 0;
    const sequence = Math.max(instance.sequence, floor);
    const asked = isMoved ? sequence : Math.min(sequence, prior.askedSequence);
    edits.push(...sequenceEdits(instance, sequence, asked));
    if (!isMoved) continue;
    for (const line of propertiesOf(instance.component, 'ATTENDEE')) {
      if (identityOf(recipients, line.value) === organizer || !isServers(line)) continue;
      if (said(line, 'PARTSTAT', UNANSWERED) === UNANSWERED) continue;
      edits.push([line, withParameters(line, { PARTSTAT: UNANSWERED, 'SENT-BY': undefined })]);
    }
  }
  return edits.length === 0 ? undefined : replaceLines(given.object, edits);
}

const UNANSWERED = 'NEEDS-ACTION';

type LineEdit = readonly [line: Pick<Property, 'start' | 'end'>, by: Property];

/** Whether something else takes place at the same times: the series has other dates left out, or ends sooner, or it was ended, or is back. */
function isRevisedInPlace(instance: Instance, prior: Instance, leftOut: readonly (readonly string[])[]): boolean {
  if (instance.isCancelled !== prior.isCancelled || instance.timing !== prior.timing) return true;
  const [before, after] = leftOut.map((keys) => [...new Set(keys)].toSorted().join(' '));
  return instance.key === WHOLE && before !== after;
}

/** SEQUENCE, and beside it the one that answers may be to, where a client wrote something else of either. */
function sequenceEdits({ component, sequence: given }: Instance, sequence: number, asked: number): LineEdit[] {
  const end = propertyOf(component, 'UID')?.end ?? component.start;
  const edit = (name: string, value: number): LineEdit => [
    propertyOf(component, name) ?? { start: end, end },
    makeProperty(name, String(value)),
  ];
  const known = propertyOf(component, ASKED_SEQUENCE)?.value;
  const isAsked = known === undefined ? asked === sequence : known === String(asked);
  return [
    ...(sequence === given ? [] : [edit('SEQUENCE', sequence)]),
    ...(isAsked ? [] : [edit(ASKED_SEQUENCE, asked)]),
  ];
}

interface Told {
  /** Identities that a message is for, whether it can be delivered or not, with what becomes of it. */
  readonly told: ReadonlyMap<string, string>;
  readonly messages: readonly SchedulingMessage[];
}

function messagesFor(before: State | undefined, after: State | undefined, change: ChangedObject): Told {
  const known = statusesOf(change.recipients);
  const signatures = new Map<string, Map<string, string>>();
  const signed = (state: State, { keys }: Invited): Map<string, string> => {
    // Most people are invited to the same instances: each choice of them is written once.
    const id = `${state === after ? 'after' : 'before'} ${keys.join(' ')}`;
    const found =
      signatures.get(id) ?? signatureOf(state.object, state.instances, new Set(keys), change.recipients, change.zone);
    signatures.set(id, found);
    return found;
  };
  const told = new Map<string, string>();
  let room = change.mailRoom;
  const groups = new Map<string, Group>();
  for (const identity of new Set([...(before?.invited.keys() ?? []), ...(after?.invited.keys() ?? [])])) {
    const what = whatFor(identity, before, after, signed);
    const recipient = known.get(identity);
    if (what === undefined || recipient === undefined) continue;
    const isTakenBack = what.method === 'CANCEL';
    // Whoever was written in while there was no mail never heard of what is taken back.
    if (isTakenBack && isOutside(identity) && !wasTold(before, identity, change.recipients)) continue;
    const isSent = isTakenBack ? recipient.isReachable : recipient.status.startsWith('1');
    const isFull = isSent && isOutside(identity) && room === 0;
    told.set(identity, isFull ? UNDELIVERED : recipient.status);
    if (!isSent || isFull) continue;
    if (isOutside(identity)) room -= 1;
    // People of the installation see what is new in their calendars.
    const isTold = isOutside(identity) && !isTakenBack && wasTold(before, identity, change.recipients);
    const knew = isTold ? before?.invited.get(identity)?.keys : undefined;
    const id = JSON.stringify([what, knew]);
    const group = groups.get(id) ?? { what, knew, recipients: [] };
    groups.set(id, group);
    group.recipients.push(identity);
  }
  const messages = [...groups.values()].map(({ knew, recipients, what }) => ({
    ...{ method: what.method, bytes: written(what, before, after, change), recipients },
    ...(knew === undefined ? {} : { revisions: revisionsFor(what, knew, before, after, change) }),
  }));
  return { told, messages };
}

interface Group {
  readonly what: What;
  /** Keys of the instances that its recipients were told of before; undefined for nothing. */
  readonly knew: readonly string[] | undefined;
  readonly recipients: string[];
}

function revisionsFor(
  { keys }: What,
  knew: readonly string[],
  before: State | undefined,
  after: State | undefined,
  { recipients, zone }: ChangedObject,
): Revision[] {
  const [was, is] = [before as State, after as State];
  return revisionsBetween({ ...was, keys: new Set(knew) }, { ...is, keys: new Set(keys) }, recipients, zone);
}

/** Whether somebody may have been told of an object: its lines of them do not all say that they could not be. */
function wasTold(before: State | undefined, identity: string, recipients: Recipients): boolean {
  const instances = before?.instances ?? [];
  const lines = instances.flatMap(({ component }) => lineOf(recipients, component, identity) ?? []);
  return lines.some((line) => said(line, 'SCHEDULE-STATUS', '') !== UNKNOWN);
}

/** A message before it is written: its instances, in the state that has them. */
interface What {
  readonly method: 'REQUEST' | 'CANCEL';
  readonly keys: readonly string[];
  readonly isOfBefore: boolean;
}

/** The one message that somebody gets of a change; undefined where nothing changed for them. */
function whatFor(
  identity: string,
  before: State | undefined,
  after: State | undefined,
  signed: (state: State, invited: Invited) => Map<string, string>,
): What | undefined {
  const [was, is] = [before?.invited.get(identity), after?.invited.get(identity)];
  if (!(is ?? was)?.isServers) return undefined;
  const had = was?.isServers === true && before !== undefined ? signed(before, was) : undefined;
  if (is === undefined || after === undefined) {
    const isKnown = before?.instances.some(({ key, isCancelled }) => was?.keys.includes(key) && !isCancelled);
    return isKnown === true ? { method: 'CANCEL', keys: was?.keys ?? [], isOfBefore: true } : undefined;
  }
  const has = signed(after, is);
  const changed = [...has].filter(([key, signature]) => had?.get(key) !== signature);
  const lost = [...(had?.keys() ?? [])].filter((key) => !has.has(key));
  if (changed.length === 0 && lost.length === 0 && !is.isForced) return undefined;
  const isCancelled = after.instances.every((one) => one.isCancelled || !is.keys.includes(one.key));
  if (isCancelled) return had === undefined ? undefined : { method: 'CANCEL', keys: is.keys, isOfBefore: false };
  // Whoever had single instances alone is told of those that were taken away; all else is said by what there is now.
  if (changed.length === 0 && !is.isForced && !has.has(WHOLE) && !lost.includes(WHOLE))
    return { method: 'CANCEL', keys: lost, isOfBefore: true };
  return { method: 'REQUEST', keys: is.keys, isOfBefore: false };
}

function written(
  what: What,
  before: State | undefined,
  after: State | undefined,
  { now, sentBy }: ChangedObject,
): Uint8Array {
  const state = (what.isOfBefore ? before : after) as State;
  const keys = new Set(what.keys);
  if (what.method === 'REQUEST') return requestOf(state.object, viewOf(state.instances, keys), now);
  const gone = state.instances.filter(({ key }) => keys.has(key));
  return cancelOf(state.object, gone, now, sentBy);
}

function statusesOf(recipients: Recipients): Map<string, Recipients[string]> {
  return new Map(Object.values(recipients).map((recipient) => [recipient.identity, recipient]));
}

/**
 * The object with what became of the messages, and of earlier ones where nothing is told now: a client may have dropped that,
 * or have what it was before the server wrote on (RFC 6638, 3.2.9). Undefined where there is nothing to write.
 */
function withStatuses(
  { object, instances }: State,
  before: State | undefined,
  told: ReadonlyMap<string, string>,
  recipients: Recipients,
): Uint8Array | undefined {
  const known = new Map(before?.instances.map(({ component, key }) => [key, component]));
  const edits = instances.flatMap(({ component, key }) =>
    propertiesOf(component, 'ATTENDEE').flatMap((line): [Property, Property][] => {
      const identity = identityOf(recipients, line.value);
      const prior = known.get(key);
      if (!told.has(identity)) return prior === undefined ? [] : keptStatus(line, lineOf(recipients, prior, identity));
      const changes = { 'SCHEDULE-STATUS': told.get(identity), 'SCHEDULE-FORCE-SEND': undefined };
      return [[line, withParameters(line, changes)]];
    }),
  );
  return edits.length === 0 ? undefined : replaceLines(object, edits);
}

/** A line with the status that it had. What the client schedules for itself is the client's to say (RFC 6638, 7.1). */
function keptStatus(line: Property, prior: Property | undefined): [Property, Property][] {
  const status = prior === undefined ? undefined : parameterOf(prior, 'SCHEDULE-STATUS');
  if (status === undefined || !isServers(line) || parameterOf(line, 'SCHEDULE-STATUS') === status) return [];
  return [[line, withParameters(line, { 'SCHEDULE-STATUS': status })]];
}
