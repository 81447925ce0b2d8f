/** What follows when an attendee's copy changes: the organiser is told what they answer, and nothing else of it. */
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { type Property, propertiesOf, propertyOf } from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { exclusionsOf, type Instance, instancesOf, leftOutOf, said, WHOLE } from './instances.ts';
import { type Answer, replyOf } from './messages.ts';
import type { ChangedObject, Scheduled } from './itip-request.ts';
import { isOutside, UNDELIVERED } from './outside-mail.ts';
import { identityOf, isServers, lineOf, organizerOf, type Recipients, withParameters } from './people.ts';

const UNANSWERED = 'NEEDS-ACTION';

/** @param attendee the identity of who answers. @throws CalendarFault. */
export function answer(change: ChangedObject, attendee: string): Scheduled {
  const { recipients, zone, now, sentBy } = change;
  const read = (bytes: Uint8Array | undefined) => {
    if (bytes === undefined) return undefined;
    const object = readCalendarObject(bytes);
    return { object, instances: instancesOf(object, zone) };
  };
  const [before, after] = [read(change.before), read(change.after)];
  const object = after ?? before;
  const organizer = object === undefined ? undefined : organizerOf(object.instances);
  const silent = { bytes: change.after, messages: [] };
  if (object === undefined || organizer === undefined || !isServers(organizer)) return silent;
  const whom = identityOf(recipients, organizer.value);
  const status = recipients[organizer.value.trim().toLowerCase()]?.status ?? '';
  const isSent = status.startsWith('1');
  if (!isSent && status !== UNDELIVERED) return silent;
  const isForced = said(organizer, 'SCHEDULE-FORCE-SEND', '') === 'REPLY';
  const given =
    after === undefined
      ? declined(before?.instances ?? [], attendee, recipients)
      : [
          ...answered(before?.instances ?? [], after.instances, { attendee, recipients, isForced }),
          ...leftOut(change, before, after, attendee),
        ];
  if (given.length === 0) return silent;
  const answers = given.map((one) => ({ ...one, line: withParameters(one.line, { 'SENT-BY': sentBy }) }));
  const all =
    after === undefined ? answers : [...answers, ...restated(answers, after, { attendee, recipients, whom, zone })];
  const reply = () => ({ method: 'REPLY' as const, bytes: replyOf(object.object, all, now), recipients: [whom] });
  const messages = isSent ? [reply()] : [];
  if (after === undefined) return { bytes: undefined, messages };
  const edits = after.instances.flatMap(({ component }) =>
    propertiesOf(component, 'ORGANIZER').map((line): [Property, Property] => [
      line,
      withParameters(line, { 'SCHEDULE-STATUS': status, 'SCHEDULE-FORCE-SEND': undefined }),
    ]),
  );
  return { bytes: replaceLines(after.object, edits), messages };
}

/**
 * What stays answered by itself beside an answer to the series. Of what a REPLY to a series does not name, its reader is told
 * nothing else than that the series is answered so: the organiser may have occurrences by themselves of which this copy knows
 * nothing, because others answered them. Dates that the organiser left out need no answer.
 */
function restated(
  answers: readonly Answer[],
  after: State,
  { attendee, recipients, whom, zone }: { attendee: string; recipients: Recipients; whom: string; zone: string },
): Answer[] {
  const master = after.instances.find(({ key }) => key === WHOLE)?.component;
  const line = master === undefined ? undefined : lineOf(recipients, master, attendee);
  const isOfSeries = answers.some(({ component, recurrenceId }) => component === master && recurrenceId === undefined);
  if (!isOfSeries || master === undefined || line === undefined) return [];
  const named = new Set(answers.map(({ component }) => component));
  const singles = after.instances.flatMap(({ component, isCancelled }) => {
    const own = named.has(component) || isCancelled ? undefined : lineOf(recipients, component, attendee);
    return own === undefined ? [] : [answerTo(component, own, said(own, 'PARTSTAT', UNANSWERED))];
  });
  if (isOutside(whom)) return singles;
  const told = new Set(answers.flatMap(({ recurrenceId }) => recurrenceId?.value ?? []));
  const organizers = leftOutOf(master);
  const left = exclusionsOf(after.object, zone).filter(
    ({ key, property }) => !told.has(property.value) && !organizers?.has(key),
  );
  const declines = left.map(({ property }) =>
    answerTo(master, line, 'DECLINED', { ...property, name: 'RECURRENCE-ID' }),
  );
  return [...singles, ...declines];
}

/** What somebody answers who has no copy here, to everything in an organiser's object that they are invited to. */
export interface Response {
  /** The organiser's object. */
  readonly bytes: Uint8Array;
  /** The calendar's. */
  readonly zone: string;
  readonly now: number;
  /** Of the attendee, in lower case. */
  readonly address: string;
  readonly partstat: 'ACCEPTED' | 'TENTATIVE' | 'DECLINED';
  readonly comment: string;
}

/** Their REPLY; undefined where they are not invited. @throws CalendarFault. */
export function respond({ address, bytes, comment, now, partstat, zone }: Response): Uint8Array | undefined {
  const object = readCalendarObject(bytes);
  const answers = instancesOf(object, zone).flatMap(({ component }) => {
    const line = lineOf({}, component, address);
    return line === undefined ? [] : [answerTo(component, line, partstat)];
  });
  return answers.length === 0 ? undefined : replyOf(object, answers, now, comment);
}

/** Removing what one is invited to is declining it, unless that was said before or it does not take place. */
function declined(instances: readonly Instance[], attendee: string, recipients: Recipients): Answer[] {
  return instances.flatMap(({ component, isCancelled }) => {
    const line = lineOf(recipients, component, attendee);
    if (line === undefined || isCancelled || said(line, 'PARTSTAT', UNANSWERED) === 'DECLINED') return [];
    return [answerTo(component, line, 'DECLINED')];
  });
}

/** The instances to which something else is answered than before. */
function answered(
  before: readonly Instance[],
  after: readonly Instance[],
  { attendee, recipients, isForced }: { attendee: string; recipients: Recipients; isForced: boolean },
): Answer[] {
  const known = new Map(
    before.map(({ key, component }) => {
      const line = lineOf(recipients, component, attendee);
      return [key, line === undefined ? undefined : said(line, 'PARTSTAT', UNANSWERED)];
    }),
  );
  return after.flatMap(({ key, component }) => {
    const line = lineOf(recipients, component, attendee);
    if (line === undefined) return [];
    const partstat = said(line, 'PARTSTAT', UNANSWERED);
    const was = known.get(key) ?? known.get(WHOLE) ?? UNANSWERED;
    return partstat === was && !isForced ? [] : [answerTo(component, line, partstat)];
  });
}

type State = { readonly object: ReturnType<typeof readCalendarObject>; readonly instances: readonly Instance[] };

/** Instances that the attendee took out of their copy. */
function leftOut(
  { zone, recipients }: ChangedObject,
  before: State | undefined,
  after: State,
  attendee: string,
): Answer[] {
  const master = after.instances.find(({ key }) => key === WHOLE)?.component;
  if (before === undefined) return [];
  if (master === undefined) {
    const kept = new Set(after.instances.map(({ key }) => key));
    return declined(
      before.instances.filter(({ key }) => !kept.has(key)),
      attendee,
      recipients,
    );
  }
  const line = lineOf(recipients, master, attendee);
  if (line === undefined) return [];
  const known = new Set(exclusionsOf(before.object, zone).map(({ key }) => key));
  // What had a component of its own is declined by it: its SEQUENCE may be a later one than that of the series, by which the
  // organiser would take the answer for one to an earlier time.
  return exclusionsOf(after.object, zone).flatMap(({ key, property }) => {
    if (known.has(key)) return [];
    const component = before.instances.find((instance) => instance.key === key)?.component ?? master;
    const own = component === master ? line : lineOf(recipients, component, attendee);
    if (own === undefined || said(own, 'PARTSTAT', UNANSWERED) === 'DECLINED') return [];
    return [answerTo(component, own, 'DECLINED', { ...property, name: 'RECURRENCE-ID' })];
  });
}

function answerTo(
  component: Instance['component'],
  line: Property,
  partstat: string,
  recurrenceId = propertyOf(component, 'RECURRENCE-ID'),
): Answer {
  return { component, recurrenceId, line: withParameters(line, { PARTSTAT: partstat, RSVP: undefined }) };
}
