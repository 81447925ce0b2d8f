/**
 * What is derived from an object's bytes: its index row, who takes part, its occurrences. Plain data in and out, so that
 * large objects are read on a thread of the pool and small ones where they are.
 */
import { knownZone } from '../zones/zone-resolver.ts';

import { expand } from '../recurrence/occurrences.ts';
import { indexOf } from '../recurrence/object-index.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { type CalendarObject, type ObjectIndex as ModelIndex, type Window } from '../icalendar/calendar-object.ts';
import {
  parameterOf,
  propertiesOf,
  propertyOf,
  textOf,
  type Component,
  type Property,
} from '../icalendar/component.ts';
import { answerAvailability, type AvailabilityQuestion, type UnavailableTimes } from '../availability/availability.ts';
import { findSlots, type Slot, type SlotQuestion } from '../availability/slots.ts';
import { canonicalAddress } from '../address-book.ts';
import { flatten, type Detail, type FlatObject } from '../ics/flattening.ts';
import { splitFile, type Split } from '../ics/splitting.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { answerAlarms, type AlarmAnswer, type AlarmQuestion } from '../reminders/alarm-times.ts';
import { RESPONSE_COMMENT, withParameters } from '../scheduling/people.ts';
import { leftOfOrganizers, type AttendeeChange, type Left } from '../scheduling/attendee-changes.ts';
import { answer, respond, type Response } from '../scheduling/itip-reply.ts';
import { readFeed, type FeedAnswer, type FeedQuestion } from '../subscriptions/feed-reading.ts';
import { apply, type Applied, type Incoming } from '../scheduling/itip-application.ts';
import {
  applyFromOutside,
  inspectMessage,
  type Inspected,
  type OutsideMessage,
  type OutsideResult,
} from '../scheduling/itip-inbound.ts';
import { counterOf, takeProposal, type ProposalMessage, type Proposing } from '../scheduling/itip-counter.ts';
import { describe, type Described, type Description } from '../scheduling/describing.ts';
import {
  answerBooking,
  readBooking,
  type AnsweredBooking,
  type BookingAnswers,
  type BookingParts,
  type BookingQuestion,
} from '../scheduling/booking-parts.ts';
import { organize, type ChangedObject, type Scheduled } from '../scheduling/itip-request.ts';

/** An attendee as one component has it. */
export interface Attendee {
  readonly address: string;
  /** `NEEDS-ACTION` where the client wrote none. */
  readonly partstat: string;
  readonly name: string | undefined;
  /** What they added to their answer, where the organiser's own object says it. */
  readonly comment: string | undefined;
  /** Who answered in their name, as an address. */
  readonly sentBy: string | undefined;
  /** Where its line begins in the bytes. */
  readonly start: number;
}

/** Who takes part in the series, or in one occurrence of it. */
export interface Participation {
  /** As written; undefined for the master. */
  readonly recurrenceId: string | undefined;
  readonly organizer: string | undefined;
  readonly organizerName: string | undefined;
  /** Who wrote in the organiser's name, as an address. */
  readonly organizerSentBy: string | undefined;
  /** Where the organiser's line begins in the bytes. */
  readonly organizerStart: number | undefined;
  /** Who schedules for the attendees, in upper case: SERVER where nobody said (RFC 6638, 7.1). */
  readonly agent: string;
  readonly attendees: readonly Attendee[];
}

/** The line of somebody of whom the client says what is not its to say. */
export interface Correction {
  /** Where it begins in the bytes. */
  readonly start: number;
  /** PARTSTAT; undefined of an organiser's line, which has none. */
  readonly partstat: string | undefined;
  /** SENT-BY; undefined for nobody. */
  readonly sentBy: string | undefined;
}

export interface Derived {
  readonly index: ModelIndex;
  readonly participations: readonly Participation[];
}

/** An occurrence with what is shown of it. */
export interface DerivedOccurrence {
  readonly start: number;
  readonly end: number;
  readonly isAllDay: boolean;
  readonly recurrenceId: string | undefined;
  readonly localStart: string;
  readonly tz: string | undefined;
  readonly title: string;
  readonly location: string | undefined;
  readonly status: string | undefined;
  readonly isTransparent: boolean;
  /** How somebody whose addresses were given takes part, as written; undefined where they are no attendee. */
  readonly partstat: string | undefined;
}

export interface DerivedExpansion {
  readonly occurrences: readonly DerivedOccurrence[];
  readonly isCut: boolean;
}

/** How far an object is expanded, and for whom. */
export interface ExpansionLimits {
  /** The earliest so many. */
  readonly most: number;
  /** Calendar addresses of one person in lower case: their PARTSTAT is told. */
  readonly addresses?: readonly string[] | undefined;
}

export type DerivationTask =
  | (AvailabilityQuestion & { readonly kind: 'availability' })
  | (SlotQuestion & { readonly kind: 'slots' })
  | AlarmTask
  | FileTask
  | { readonly kind: 'correct'; readonly bytes: Uint8Array; readonly corrections: readonly Correction[] }
  | { readonly kind: 'derive'; readonly bytes: Uint8Array; readonly zone: string; readonly isMessage?: boolean }
  | SchedulingTask
  | {
      readonly kind: 'expand';
      readonly bytes: Uint8Array;
      readonly zone: string;
      readonly window: Window;
      readonly limits: ExpansionLimits;
    };

/** When alarms go off. */
export type AlarmTask = AlarmQuestion & { readonly kind: 'alarms' };

/** What is done with whole calendar files. */
export type FileTask =
  | (FeedQuestion & { readonly kind: 'feed' })
  | { readonly kind: 'split'; readonly bytes: Uint8Array }
  | { readonly kind: 'flatten'; readonly bytes: Uint8Array; readonly detail: Detail; readonly salt: string };

/**
 * What scheduling works out: what follows from a change, what a message makes of a copy, what people outside are shown,
 * and what they answer.
 */
export type SchedulingTask =
  | (ChangedObject & { readonly kind: 'schedule'; readonly role: 'organizer' | 'attendee'; readonly own: string })
  | (AttendeeChange & { readonly kind: 'compare' })
  | (Incoming & { readonly kind: 'apply' })
  | (OutsideMessage & { readonly kind: 'outside' })
  | (ProposalMessage & { readonly kind: 'proposal' })
  | (Proposing & { readonly kind: 'propose' })
  | { readonly kind: 'inspect'; readonly bytes: Uint8Array }
  | (Described & { readonly kind: 'describe' })
  | (Response & { readonly kind: 'respond' })
  | (BookingQuestion & { readonly kind: 'booking' })
  | (BookingAnswers & { readonly kind: 'book' });

type OutsideAnswer = OutsideResult | Inspected | Description | undefined;
type BookingAnswered = AnsweredBooking | BookingParts;

/** @throws CalendarFault for bytes that are no calendar object resource. */
export function carryOut(
  task: DerivationTask,
):
  | Left
  | Derived
  | DerivedExpansion
  | Uint8Array
  | Scheduled
  | Applied
  | OutsideAnswer
  | BookingAnswered
  | Split
  | FlatObject[]
  | AlarmAnswer
  | Slot[]
  | UnavailableTimes
  | FeedAnswer {
  if (task.kind === 'slots') return findSlots(task);
  if (task.kind === 'availability') return answerAvailability(task);
  if (task.kind === 'alarms') return answerAlarms(task);
  if (task.kind === 'feed') return readFeed(task);
  if (task.kind === 'split') return splitFile(task.bytes);
  if (task.kind === 'flatten') return flatten(task.bytes, task.detail, task.salt);
  if (task.kind === 'schedule') return task.role === 'organizer' ? organize(task, task.own) : answer(task, task.own);
  if (task.kind === 'compare') return leftOfOrganizers(task);
  if (task.kind === 'apply') return apply(task);
  if (task.kind === 'outside') return applyFromOutside(task);
  if (task.kind === 'proposal') return takeProposal(task);
  if (task.kind === 'propose') return counterOf(task);
  if (task.kind === 'inspect') return inspectMessage(task.bytes);
  if (task.kind === 'describe') return describe(task);
  if (task.kind === 'respond') return respond(task);
  if (task.kind === 'booking') return readBooking(task);
  if (task.kind === 'book') return answerBooking(task);
  const object = readCalendarObject(task.bytes, { isMessage: task.kind === 'derive' && task.isMessage === true });
  if (task.kind === 'correct') return correctPeople(object, task.corrections);
  if (task.kind === 'derive') return deriveFrom(object, task.zone);
  return expandFrom(object, task.window, task.zone, task.limits);
}

function deriveFrom(object: CalendarObject, zone: string): Derived {
  return { index: indexOf(object, zone), participations: componentsOf(object).map(participationOf) };
}

/** The occurrences of an object within a window, as far as the limits go. */
export function expandFrom(
  object: CalendarObject,
  window: Window,
  zone: string,
  { most, addresses = [] }: ExpansionLimits,
): DerivedExpansion {
  const { occurrences, isCut } = expand(object, window, { zone, most });
  // A series has one component for most of its occurrences, and its lines are looked through once.
  const shown = new Map<Component, ReturnType<typeof shownOf>>();
  return {
    isCut,
    occurrences: occurrences.map(({ component, ...when }) => {
      const known = shown.get(component) ?? shownOf(component, addresses);
      shown.set(component, known);
      return {
        start: when.start,
        end: when.end,
        isAllDay: when.isAllDay,
        recurrenceId: when.recurrenceId,
        localStart: when.localStart,
        tz: when.tz,
        ...known,
      };
    }),
  };
}

function shownOf(component: Component, addresses: readonly string[]) {
  const own = addresses.length === 0 ? undefined : ownLine(component, addresses);
  return {
    title: textOf(component, 'SUMMARY') ?? '',
    location: textOf(component, 'LOCATION'),
    status: propertyOf(component, 'STATUS')?.value.trim().toUpperCase(),
    isTransparent: propertyOf(component, 'TRANSP')?.value.trim().toUpperCase() === 'TRANSPARENT',
    partstat: own === undefined ? undefined : (parameterOf(own, 'PARTSTAT') ?? 'NEEDS-ACTION').toUpperCase(),
  };
}

/** The attendee's line of somebody with one of these addresses; none where they organise it themselves. */
function ownLine(component: Component, addresses: readonly string[]): Property | undefined {
  const organizer = propertyOf(component, 'ORGANIZER');
  if (organizer !== undefined && addresses.includes(canonicalAddress(organizer.value))) return undefined;
  return propertiesOf(component, 'ATTENDEE').find(({ value }) => addresses.includes(canonicalAddress(value)));
}

/** The components that describe something: the master first, where there is one. */
export function componentsOf({ master, overrides }: CalendarObject): Component[] {
  return master === undefined ? [...overrides] : [master, ...overrides];
}

export function participationOf(component: Component): Participation {
  const organizer = propertyOf(component, 'ORGANIZER');
  return {
    recurrenceId: propertyOf(component, 'RECURRENCE-ID')?.value.trim(),
    organizer: organizer === undefined ? undefined : canonicalAddress(organizer.value),
    organizerName: organizer === undefined ? undefined : parameterOf(organizer, 'CN'),
    organizerSentBy: organizer === undefined ? undefined : sentByOf(organizer),
    organizerStart: organizer?.start,
    agent: (organizer === undefined ? undefined : parameterOf(organizer, 'SCHEDULE-AGENT'))?.toUpperCase() ?? 'SERVER',
    attendees: propertiesOf(component, 'ATTENDEE').map(attendeeOf),
  };
}

function attendeeOf(property: Property): Attendee {
  return {
    address: canonicalAddress(property.value),
    partstat: (parameterOf(property, 'PARTSTAT') ?? 'NEEDS-ACTION').toUpperCase(),
    name: parameterOf(property, 'CN'),
    comment: parameterOf(property, RESPONSE_COMMENT),
    sentBy: sentByOf(property),
    start: property.start,
  };
}

/** Whether there is a zone of that name, in the database that everybody shares. */
export function isZone(name: string): boolean {
  return knownZone(name)?.name === name;
}

function sentByOf(line: Property): string | undefined {
  const address = parameterOf(line, 'SENT-BY');
  return address === undefined ? undefined : canonicalAddress(address);
}

/** Bytes with the lines of these people saying what they are to say; everything else stays as it is. */
function correctPeople(object: CalendarObject, corrections: readonly Correction[]): Uint8Array {
  const wanted = new Map(corrections.map((correction) => [correction.start, correction]));
  const lines = componentsOf(object).flatMap((component) =>
    ['ORGANIZER', 'ATTENDEE'].flatMap((name) => propertiesOf(component, name)),
  );
  const edits = lines.flatMap((line): [Property, Property][] => {
    const correction = wanted.get(line.start);
    if (correction === undefined) return [];
    const { partstat, sentBy } = correction;
    const said = partstat === undefined ? {} : { PARTSTAT: partstat };
    return [[line, withParameters(line, { ...said, 'SENT-BY': sentBy })]];
  });
  return replaceLines(object, edits);
}
