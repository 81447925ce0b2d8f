/**
 * What people answered to single occurrences, where a new state of the object says nothing of it: whoever wrote that state did
 * not know of the answer yet. A client may write what it knew before an answer came, for an answer leaves the schedule tag as
 * it was, and nothing that attendees said may be lost by it (RFC 6638, 3.2.10).
 */
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import { type Component, parameterOf, propertiesOf, type Property } from '../icalendar/component.ts';
import { putOverride, replaceLines } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { type Instance, instancesOf, isInPlace, recurrenceIdOf, said, takesPlaceAs, WHOLE } from './instances.ts';
import { identityOf, isServers, lineOf, type Recipients, REPLY_STAMP, withParameters } from './people.ts';
import { singleOccurrence } from './single-occurrence.ts';

/** Whose answers are kept, and how addresses and times are read. */
export interface Keeping {
  readonly isKept: (identity: string) => boolean;
  readonly recipients: Recipients;
  /** The calendar's. */
  readonly zone: string;
}

const UNANSWERED = 'NEEDS-ACTION';

/**
 * The new state with an override for each such occurrence, of which it has the words; undefined where there is none. An
 * occurrence that the series has no more, or at another time, was answered for nothing.
 */
export function withKeptAnswers(
  after: CalendarObject,
  before: readonly Instance[],
  keeping: Keeping,
): Uint8Array | undefined {
  const known = new Set(instancesOf(after, keeping.zone).map(({ key }) => key));
  const whole = before.find(({ key }) => key === WHOLE)?.component;
  if (whole === undefined || !known.has(WHOLE)) return undefined;
  let bytes: Uint8Array | undefined;
  for (const instance of before) {
    if (known.has(instance.key) || instance.isCancelled) continue;
    const answers = ownAnswers(instance.component, whole, keeping);
    if (answers.size === 0 || !isInPlace(instance, after, keeping.zone)) continue;
    const recurrenceId = recurrenceIdOf(after, instance.key, keeping.zone);
    const single = recurrenceId === undefined ? undefined : singleOccurrence(after, recurrenceId, keeping.zone);
    const answered = single === undefined ? undefined : withAnswers(single, answers, keeping);
    if (recurrenceId === undefined || answered === undefined) continue;
    const object = bytes === undefined ? after : readCalendarObject(bytes);
    bytes = putOverride(object, recurrenceId, answered, keeping.zone);
  }
  return bytes;
}

/**
 * The new state with what people outside have answered by mail to the same times, where its writer did not know of that answer:
 * their line lacks the time of it. Undefined where there is nothing to put back. What people of the installation answered is put
 * back by `judgeWriting`.
 */
export function withKnownReplies(
  after: CalendarObject,
  before: readonly Instance[],
  { recipients, zone }: Pick<Keeping, 'recipients' | 'zone'>,
): Uint8Array | undefined {
  const known = new Map(before.map((instance) => [instance.key, instance]));
  const edits = instancesOf(after, zone).flatMap((instance) => {
    const { component, key } = instance;
    const prior = known.get(key);
    if (prior === undefined || !takesPlaceAs(instance, prior)) return [];
    return propertiesOf(component, 'ATTENDEE').flatMap((line): [Property, Property][] => {
      const replied = lineOf(recipients, prior.component, identityOf(recipients, line.value));
      const stamp = replied === undefined ? undefined : parameterOf(replied, REPLY_STAMP);
      if (replied === undefined || stamp === undefined || parameterOf(line, REPLY_STAMP) === stamp) return [];
      const partstat = said(replied, 'PARTSTAT', UNANSWERED);
      if (said(line, 'PARTSTAT', UNANSWERED) === partstat) return [];
      return [[line, withParameters(line, { PARTSTAT: partstat, RSVP: undefined, [REPLY_STAMP]: stamp })]];
    });
  });
  return edits.length === 0 ? undefined : replaceLines(after, edits);
}

/** Lines of those who answered the occurrence otherwise than its series, by identity. */
function ownAnswers(component: Component, whole: Component, { isKept, recipients }: Keeping): Map<string, Property> {
  const answers = new Map<string, Property>();
  for (const line of propertiesOf(component, 'ATTENDEE')) {
    const identity = identityOf(recipients, line.value);
    const series = lineOf(recipients, whole, identity);
    const isOwn = series !== undefined && said(series, 'PARTSTAT', UNANSWERED) !== said(line, 'PARTSTAT', UNANSWERED);
    if (isOwn && isKept(identity) && isServers(line)) answers.set(identity, line);
  }
  return answers;
}

/** Undefined where none of them is invited any more, or all have answered the series so by now. */
function withAnswers(
  single: Component,
  answers: ReadonlyMap<string, Property>,
  { recipients }: Keeping,
): Component | undefined {
  let isAnswered = false;
  const properties = single.properties.map((line) => {
    const answer = line.name === 'ATTENDEE' ? answers.get(identityOf(recipients, line.value)) : undefined;
    if (answer === undefined || said(answer, 'PARTSTAT', UNANSWERED) === said(line, 'PARTSTAT', UNANSWERED))
      return line;
    isAnswered = true;
    return answer;
  });
  return isAnswered ? { ...single, properties } : undefined;
}
