/** What a copy asks of the room or resource that it invites, and the answers written into it. Pure. */
import type { Window } from '../icalendar/calendar-object.ts';
import { propertyOf, type Component, type Property } from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { expand } from '../recurrence/occurrences.ts';
import { instancesOf, said, WHOLE } from './instances.ts';
import { type Answer, replyOf } from './messages.ts';
import { lineOf, type Recipients, withParameters } from './people.ts';

/** A copy, and whose it is. */
export interface BookedCopy {
  readonly bytes: Uint8Array;
  /** The calendar's. */
  readonly zone: string;
  readonly recipients: Recipients;
  /** Identity of the resource. */
  readonly own: string;
}

/** A copy as a question: when does it want the resource, in that window? */
export interface BookingQuestion extends BookedCopy {
  readonly window: Window;
  /** Occurrences that are looked at. */
  readonly most: number;
}

/** The series, or one occurrence of it that is by itself, as far as the resource is invited to it. */
export interface BookedPart {
  /** WHOLE, or which occurrence it is. */
  readonly key: string;
  /** What the copy says that the resource answered. */
  readonly partstat: string;
  /** In milliseconds, half-open, by start. */
  readonly spans: readonly { readonly start: number; readonly end: number }[];
}

export interface BookingParts {
  readonly parts: readonly BookedPart[];
  readonly isRecurring: boolean;
  /** Whether there are occurrences in the window that are not among the spans. */
  readonly isCut: boolean;
}

const RULES = ['RRULE', 'RDATE', 'EXRULE'];

/** @throws CalendarFault. */
export function readBooking({ bytes, most, own, recipients, window, zone }: BookingQuestion): BookingParts {
  const object = readCalendarObject(bytes);
  const asked = invitedParts(object, { own, recipients, zone });
  const { isCut, occurrences } = expand(object, window, { zone, most });
  const spans = new Map<Component, { start: number; end: number }[]>();
  for (const { component, end, start } of occurrences) {
    const known = spans.get(component) ?? [];
    known.push({ start, end });
    spans.set(component, known);
  }
  const parts = asked.map(({ component, key, line }) => ({
    key,
    partstat: said(line, 'PARTSTAT', 'NEEDS-ACTION'),
    spans: spans.get(component) ?? [],
  }));
  const hasRule = asked.some(
    ({ component, key }) => key === WHOLE && RULES.some((name) => propertyOf(component, name)),
  );
  return { parts, isRecurring: hasRule || asked.length > 1, isCut };
}

/** What a resource answers to a part, and why not. */
export interface BookingAnswer {
  readonly partstat: 'ACCEPTED' | 'DECLINED';
  /** For the organiser to read; empty for nothing. */
  readonly reason: string;
}

export interface BookingAnswers extends BookedCopy {
  readonly now: number;
  /** By key of the part; a part without one keeps what it says. */
  readonly answers: Readonly<Record<string, BookingAnswer>>;
}

export interface AnsweredBooking {
  readonly bytes: Uint8Array;
  /** To the organiser; undefined where everything is answered as before. */
  readonly reply: Uint8Array | undefined;
}

/** @throws CalendarFault. */
export function answerBooking({ answers, bytes, now, own, recipients, zone }: BookingAnswers): AnsweredBooking {
  const object = readCalendarObject(bytes);
  const edits: [Property, Property][] = [];
  const replies: Answer[] = [];
  for (const { component, key, line } of invitedParts(object, { own, recipients, zone })) {
    const answer = Object.hasOwn(answers, key) ? answers[key] : undefined;
    if (answer === undefined || said(line, 'PARTSTAT', 'NEEDS-ACTION') === answer.partstat) continue;
    const answered = withParameters(line, { PARTSTAT: answer.partstat, RSVP: undefined });
    edits.push([line, answered]);
    const recurrenceId = propertyOf(component, 'RECURRENCE-ID');
    replies.push({ component, recurrenceId, line: answered, comment: answer.reason });
  }
  if (edits.length === 0) return { bytes, reply: undefined };
  return { bytes: replaceLines(object, edits), reply: replyOf(object, replies, now) };
}

/** The parts that take place and that the resource is invited to. */
function invitedParts(
  object: ReturnType<typeof readCalendarObject>,
  { own, recipients, zone }: Pick<BookedCopy, 'own' | 'recipients' | 'zone'>,
) {
  return instancesOf(object, zone).flatMap(({ component, isCancelled, key }) => {
    const line = isCancelled ? undefined : lineOf(recipients, component, own);
    return line === undefined ? [] : [{ component, key, line }];
  });
}
