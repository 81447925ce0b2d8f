/** What a scheduling message makes of the copy that it comes to. Applying one twice is applying it once. */
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import {
  type Component,
  makeProperty,
  parameterOf,
  propertiesOf,
  type Property,
  propertyOf,
  textOf,
} from '../icalendar/component.ts';
import { putOverride, replaceLines } from '../icalendar/edits.ts';
import { writeCalendar } from '../icalendar/generated-calendar.ts';
import {
  type Exclusion,
  exclusionsOf,
  type Instance,
  instancesOf,
  isInPlace,
  leavingOut,
  LEFT_OUT,
  leftOutOf,
  recurrenceIdOf,
  said,
  takesPlaceAs,
  WHOLE,
} from './instances.ts';
import { withKeptAnswers } from './kept-answers.ts';
import { isOutside } from './outside-mail.ts';
import {
  identityOf,
  isServers,
  lineOf,
  organizerOf,
  type Recipients,
  REPLY_STAMP,
  RESPONSE_COMMENT,
  withParameters,
} from './people.ts';
import { singleOccurrence } from './single-occurrence.ts';

/** A message, the copy that is there, and whose it is. */
export interface Incoming {
  /** Of iTIP, or without METHOD the organiser's object, for the answers that are in it. */
  readonly message: Uint8Array;
  /** Undefined where there is none yet. */
  readonly copy: Uint8Array | undefined;
  /** Whether its owner took the copy along, so that nobody was ever told what is answered in it. */
  readonly isKeptAlone?: boolean;
  /** The calendar's. */
  readonly zone: string;
  readonly recipients: Recipients;
  /** Identity of who sent it: the organiser of a REQUEST or CANCEL, the attendee of a REPLY. */
  readonly from: string;
  /** Identity of whose copy it is. */
  readonly to: string;
}

/** The copy's new bytes; 'unchanged' where the message says nothing new, 'foreign' where it is not about this copy. */
export type Applied = Uint8Array | 'unchanged' | 'foreign';

const UNANSWERED = 'NEEDS-ACTION';

interface State {
  readonly object: CalendarObject;
  readonly instances: readonly Instance[];
}

/** @throws CalendarFault. */
export function apply(incoming: Incoming): Applied {
  const read = (bytes: Uint8Array): State => {
    const object = readCalendarObject(bytes, { isMessage: true });
    return { object, instances: instancesOf(object, incoming.zone) };
  };
  const message = read(incoming.message);
  const copy = incoming.copy === undefined ? undefined : read(incoming.copy);
  const isReply = message.object.method === 'REPLY';
  const organizer = isReply ? incoming.to : incoming.from;
  // Whoever knows a UID writes over nothing: an object is of the one who organises it.
  const whose = copy === undefined ? undefined : organizerOf(copy.instances);
  if (copy !== undefined && (whose === undefined || identityOf(incoming.recipients, whose.value) !== organizer)) {
    return 'foreign';
  }
  const bytes =
    message.object.method === 'REQUEST'
      ? takeRequest(message, incoming.isKeptAlone === true ? undefined : copy, incoming)
      : copy === undefined
        ? undefined
        : isReply
          ? takeReply(message, copy, incoming)
          : message.object.method === undefined
            ? takeAnswers(message, copy, incoming)
            : takeCancel(message, copy, incoming);
  if (bytes === undefined) return 'unchanged';
  return incoming.copy !== undefined && Buffer.compare(bytes, incoming.copy) === 0 ? 'unchanged' : bytes;
}

/** What the organiser says, with what is the attendee's own: alarms, whether it takes time, the answer to what stayed. */
function takeRequest(message: State, copy: State | undefined, incoming: Incoming): Uint8Array | undefined {
  const { recipients, to, zone } = incoming;
  // Who declined and removed it has it back when there is something new to answer.
  const isDeclined = message.instances.every((instance) => answerIn(instance, to, recipients) === 'DECLINED');
  if (copy === undefined && isDeclined) return undefined;
  const known = new Map(copy?.instances.map((instance) => [instance.key, instance]));
  const removed = ownExclusions(message, copy, incoming);
  const gone = new Set(removed.map(({ key }) => key));
  const components = message.instances
    .filter(({ key }) => !gone.has(key))
    .map((instance) => {
      const before = known.get(instance.key);
      const answered = withOwnAnswer(instance, before, incoming);
      const merged = withOwnParts(answered, (before ?? known.get(WHOLE))?.component);
      if (instance.key !== WHOLE) return merged;
      const whole = { ...merged, properties: [...merged.properties, ...removed.map(({ property }) => property)] };
      // A series that the message has out of the copy itself says already whose word is which.
      const leftOut = leftOutOf(instance.component) ?? exclusionsOf(message.object, zone).map(({ key }) => key);
      return leavingOut(whole, leftOut);
    });
  const bytes = rewritten(message.object, [...components, ...takenBack(message, copy)]);
  if (copy === undefined) return bytes;
  // What they answered to one occurrence may still be on its way to the organiser.
  const keeping = { isKept: (identity: string) => identity === to, recipients, zone };
  return withKeptAnswers(readCalendarObject(bytes), copy.instances, keeping) ?? bytes;
}

/**
 * What a reader of single instances had and is not named any more: it was taken back. It stays to be seen, as cancelled.
 * To whoever has the series its EXDATE says so.
 */
function takenBack(message: State, copy: State | undefined): Component[] {
  const named = new Set(message.instances.map(({ key }) => key));
  if (copy === undefined || named.has(WHOLE)) return [];
  return copy.instances
    .filter(({ key }) => !named.has(key))
    .map((instance) => (instance.isCancelled ? instance.component : cancelled(instance, instance.sequence, [])));
}

function cancelled(
  { component, sequence: before }: Instance,
  sequence: number,
  stamps: readonly Property[],
): Component {
  const replaced = ['STATUS', 'SEQUENCE', ...stamps.map(({ name }) => name)];
  const kept = component.properties.filter(({ name }) => !replaced.includes(name));
  const revised = makeProperty('SEQUENCE', String(Math.max(sequence, before)));
  return { ...component, properties: [...kept, revised, makeProperty('STATUS', 'CANCELLED'), ...stamps] };
}

/** What the attendee took out of a series stays out as long as it is that series, unless it is to be answered anew. */
function ownExclusions(message: State, copy: State | undefined, { recipients, to, zone }: Incoming): Exclusion[] {
  const [is, was] = [message, copy].map((state) => state?.instances.find(({ key }) => key === WHOLE));
  if (copy === undefined || is === undefined || was === undefined || !takesPlaceAs(is, was)) return [];
  const excluded = new Set(exclusionsOf(message.object, zone).map(({ key }) => key));
  const organizers = leftOutOf(was.component);
  return exclusionsOf(copy.object, zone).filter(({ key }) => {
    const override = message.instances.find((instance) => instance.key === key);
    // Whoever is invited again after they were taken out is asked for what they left out before, too.
    const isDeclined = override === undefined ? !was.isCancelled : answerIn(override, to, recipients) === 'DECLINED';
    return !excluded.has(key) && organizers?.has(key) !== true && isDeclined;
  });
}

function answerIn({ component }: Instance, identity: string, recipients: Recipients): string | undefined {
  const line = lineOf(recipients, component, identity);
  return line === undefined ? undefined : said(line, 'PARTSTAT', UNANSWERED);
}

/**
 * The attendee's own answer, which is newer than what the organiser knows, where it is to the same times. What was taken back is
 * answered as the organiser says: who is invited again has not answered that.
 */
function withOwnAnswer(instance: Instance, before: Instance | undefined, { recipients, to }: Incoming): Component {
  const { component } = instance;
  if (before === undefined || !takesPlaceAs(instance, before) || before.isCancelled) return component;
  const own = lineOf(recipients, before.component, to);
  const partstat = own === undefined ? UNANSWERED : said(own, 'PARTSTAT', UNANSWERED);
  const sentBy = own === undefined ? undefined : parameterOf(own, 'SENT-BY');
  const properties = component.properties.map((line) => {
    const isOwn = line.name === 'ATTENDEE' && identityOf(recipients, line.value) === to;
    return !isOwn || said(line, 'PARTSTAT', UNANSWERED) === partstat
      ? line
      : withParameters(line, { PARTSTAT: partstat, 'SENT-BY': sentBy });
  });
  return { ...component, properties };
}

/** A component with the attendee's own alarms, transparency and client's notes. */
function withOwnParts(component: Component, own: Component | undefined): Component {
  const names = new Set(component.properties.map(({ name }) => name));
  const isKept = ({ name }: Property) =>
    name === 'TRANSP' || (name.startsWith('X-') && name !== LEFT_OUT && !names.has(name));
  const alarms = (own?.components ?? []).filter(({ name }) => name === 'VALARM');
  return {
    ...component,
    properties: [...component.properties, ...(own?.properties ?? []).filter(isKept)],
    components: [...component.components, ...alarms],
  };
}

/** What was taken back stays to be seen, as cancelled. */
function takeCancel(message: State, copy: State, { zone }: Incoming): Uint8Array | undefined {
  const keys = new Map(message.instances.map((instance) => [instance.key, instance]));
  const known = new Set(copy.instances.map(({ key }) => key));
  const missing = [...keys.keys()].filter((key) => key !== WHOLE && !known.has(key));
  const components = copy.instances.map((instance) => {
    const cancel = keys.get(WHOLE) ?? keys.get(instance.key);
    if (cancel === undefined || (instance.isCancelled && instance.sequence >= cancel.sequence))
      return instance.component;
    return cancelled(instance, cancel.sequence, propertiesOf(cancel.component, 'DTSTAMP'));
  });
  const out = missing.filter((key) => excludedBy(keys.get(key), copy, zone).length > 0);
  const excluded = out.flatMap((key) => excludedBy(keys.get(key), copy, zone));
  const isChanged = components.some((component, at) => component !== copy.instances[at]?.component);
  if (!isChanged && excluded.length === 0) return undefined;
  const [first, ...others] = components;
  const isSeries = first !== undefined && known.has(WHOLE);
  if (!isSeries) return rewritten(copy.object, components);
  const whole = { ...first, properties: [...first.properties, ...excluded] };
  return rewritten(copy.object, [leavingOut(whole, [...(leftOutOf(first) ?? []), ...out]), ...others]);
}

/** An instance that the copy has by its series alone is left out of it. */
function excludedBy(cancel: Instance | undefined, copy: State, zone: string): Property[] {
  const id = cancel === undefined ? undefined : propertyOf(cancel.component, 'RECURRENCE-ID');
  const isOut = exclusionsOf(copy.object, zone).some(({ key }) => key === cancel?.key);
  return id === undefined || isOut ? [] : [{ ...id, name: 'EXDATE' }];
}

/** The answer in the organiser's object: to the series, to an override, or to an instance that becomes one by it. */
function takeReply(message: State, copy: State, { from, recipients, zone }: Incoming): Uint8Array | undefined {
  const edits: [Property, Property][] = [];
  const made: [recurrenceId: string, component: Component][] = [];
  const whole = copy.instances.find(({ key }) => key === WHOLE);
  const toSeries = message.instances.find(({ key }) => key === WHOLE);
  const isOfSeries = toSeries !== undefined && whole !== undefined && toSeries.sequence >= whole.askedSequence;
  const saidToSeries = isOfSeries ? answerIn(toSeries, from, recipients) : undefined;
  for (const reply of message.instances) {
    const answer = lineOf(recipients, reply.component, from);
    const stored = copy.instances.find(({ key }) => key === reply.key) ?? whole;
    const line = stored === undefined ? undefined : lineOf(recipients, stored.component, from);
    // An answer to what was before, or of somebody who is not invited, changes nothing.
    if (answer === undefined || stored === undefined || line === undefined || !isServers(line)) continue;
    if (reply.sequence < stored.askedSequence) continue;
    const partstat = said(answer, 'PARTSTAT', UNANSWERED);
    const answered = { PARTSTAT: partstat, 'SCHEDULE-STATUS': '2.0', RSVP: undefined, ...sentByIn(answer, from) };
    const changed = withParameters(line, { ...answered, ...remarksOf(reply.component, from) });
    if (stored.key === reply.key) {
      if (said(line, 'PARTSTAT', UNANSWERED) !== partstat) edits.push([line, changed]);
      continue;
    }
    const recurrenceId = recurrenceIdOf(copy.object, reply.key, zone);
    const single = recurrenceId === undefined ? undefined : singleOccurrence(copy.object, recurrenceId, zone);
    if (recurrenceId === undefined || single === undefined) continue;
    // What is answered as the series is by now needs no component of its own: the same message may answer both.
    if ((saidToSeries ?? said(line, 'PARTSTAT', UNANSWERED)) === partstat) continue;
    const properties = single.properties.map((property) =>
      property.name === 'ATTENDEE' && identityOf(recipients, property.value) === from ? changed : property,
    );
    made.push([recurrenceId, { ...single, properties }]);
  }
  edits.push(...answeredWithSeries(message, copy, { from, recipients, zone }));
  if (edits.length === 0 && made.length === 0) return undefined;
  return made.reduce(
    (bytes, [recurrenceId, component]) => putOverride(readCalendarObject(bytes), recurrenceId, component, zone),
    replaceLines(copy.object, edits),
  );
}

/**
 * Occurrences that an answer to the series is for as well: those that have a component of their own for another reason, of which
 * who answers did not know, or may not have. People of the installation name all that they have by itself.
 */
function answeredWithSeries(
  message: State,
  copy: State,
  { from, recipients, zone }: Pick<Incoming, 'from' | 'recipients' | 'zone'>,
): [Property, Property][] {
  const [reply, whole] = [message, copy].map(({ instances }) => instances.find(({ key }) => key === WHOLE));
  const answer = reply === undefined ? undefined : lineOf(recipients, reply.component, from);
  const series = whole === undefined ? undefined : lineOf(recipients, whole.component, from);
  if (reply === undefined || whole === undefined || answer === undefined || series === undefined) return [];
  const named = new Set(message.instances.map(({ key }) => key));
  const partstat = said(answer, 'PARTSTAT', UNANSWERED);
  const isAsSeries = (line: Property): boolean =>
    said(line, 'PARTSTAT', UNANSWERED) === said(series, 'PARTSTAT', UNANSWERED) &&
    parameterOf(line, REPLY_STAMP) === parameterOf(series, REPLY_STAMP);
  return copy.instances.flatMap((instance): [Property, Property][] => {
    const line = lineOf(recipients, instance.component, from);
    if (line === undefined || named.has(instance.key) || instance.isCancelled || !isServers(line)) return [];
    const isRepeated = said(line, 'PARTSTAT', UNANSWERED) === partstat;
    if (reply.sequence < instance.askedSequence || (isRepeated && !isOutside(from))) return [];
    if (!isInPlace(instance, copy.object, zone) || (isOutside(from) && !isAsSeries(line))) return [];
    const remarks = remarksOf(reply.component, from);
    // The same answer once more is given with the series, too: the next one would find a time of its own here.
    if (isRepeated) return [[line, withParameters(line, remarks)]];
    const answered = { PARTSTAT: partstat, 'SCHEDULE-STATUS': '2.0', RSVP: undefined, ...sentByIn(answer, from) };
    return [[line, withParameters(line, { ...answered, ...remarks })]];
  });
}

/**
 * What the others answered, as the organiser has it, to what is in the copy at the same times. All else of it stays as it
 * is, to the byte. Where one occurrence was answered by itself, and the copy has it by its series alone, it gets one of its
 * own; what its owner took out stays out.
 */
function takeAnswers(message: State, copy: State, incoming: Incoming): Uint8Array | undefined {
  const { recipients, to, zone } = incoming;
  const invited = message.instances.filter(({ component }) => {
    const line = lineOf(recipients, component, to);
    return line !== undefined && isServers(line);
  });
  const series = copy.instances.find(({ key }) => key === WHOLE);
  const edits = copy.instances.flatMap((own) => {
    // A component that the copy alone has takes place as its series does, and the others have answered it so.
    const isAlone = message.instances.every(({ key }) => key !== own.key) && isInPlace(own, copy.object, zone);
    const as = isAlone ? series : own;
    const told = invited.find(({ key, timing }) => key === as?.key && timing === as.timing);
    return told === undefined ? [] : answersOf(told.component, own.component, incoming);
  });
  const bytes = edits.length === 0 ? undefined : replaceLines(copy.object, edits);
  const known = new Set(copy.instances.map(({ key }) => key));
  const alone = invited.filter(({ key }) => !known.has(key));
  return alone.reduce((before, instance) => {
    const object = before === undefined ? copy.object : readCalendarObject(before);
    const recurrenceId = isInPlace(instance, object, zone) ? recurrenceIdOf(object, instance.key, zone) : undefined;
    // There is none of what the copy leaves out.
    const single = recurrenceId === undefined ? undefined : singleOccurrence(object, recurrenceId, zone);
    const answers = new Map(single === undefined ? [] : answersOf(instance.component, single, incoming));
    if (recurrenceId === undefined || single === undefined || answers.size === 0) return before;
    const properties = single.properties.map((line) => answers.get(line) ?? line);
    return putOverride(object, recurrenceId, { ...single, properties }, zone);
  }, bytes);
}

/** The lines of the others in a copy that say something else than the organiser's, each with what it is to say. */
function answersOf(
  told: Component,
  own: Component,
  { recipients, to }: Pick<Incoming, 'recipients' | 'to'>,
): [Property, Property][] {
  const lines = new Map(propertiesOf(told, 'ATTENDEE').map((line) => [identityOf(recipients, line.value), line]));
  return propertiesOf(own, 'ATTENDEE').flatMap((line): [Property, Property][] => {
    const identity = identityOf(recipients, line.value);
    const theirs = identity === to ? undefined : lines.get(identity);
    const partstat = theirs === undefined ? undefined : said(theirs, 'PARTSTAT', UNANSWERED);
    if (theirs === undefined || partstat === said(line, 'PARTSTAT', UNANSWERED)) return [];
    const [rsvp, sentBy] = ['RSVP', 'SENT-BY'].map((name) => parameterOf(theirs, name));
    return [[line, withParameters(line, { PARTSTAT: partstat, RSVP: rsvp, 'SENT-BY': sentBy })]];
  });
}

/** Who answered in somebody's name. What a mail says of that is a claim, and stays out. */
function sentByIn(answer: Property, from: string): { readonly 'SENT-BY': string | undefined } {
  return { 'SENT-BY': isOutside(from) ? undefined : parameterOf(answer, 'SENT-BY') };
}

/** What stands beside an answer: a comment, and of somebody outside when they gave it, which puts later ones in order. */
function remarksOf(reply: Component, from: string): Readonly<Record<string, string>> {
  const comment = textOf(reply, 'COMMENT');
  const stamp = isOutside(from) ? propertyOf(reply, 'DTSTAMP')?.value.trim() : undefined;
  return {
    ...(comment === undefined ? {} : { [RESPONSE_COMMENT]: comment.slice(0, RSVP_COMMENT_LENGTH_MAX) }),
    ...(stamp === undefined ? {} : { [REPLY_STAMP]: stamp }),
  };
}

/** The same object of other components, without the method of a message. */
function rewritten(object: CalendarObject, components: readonly Component[]): Uint8Array {
  const properties = object.calendar.properties.filter(({ name }) => !['VERSION', 'PRODID', 'METHOD'].includes(name));
  return Buffer.from(writeCalendar(components, { definitions: object.zones, properties }));
}
