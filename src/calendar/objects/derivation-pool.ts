/**
 * Where objects are read: small ones at once, large ones on threads of their own, so that no object of anybody holds up
 * the thread that everybody's requests go through.
 */
import { WorkerPool } from '#src/pool/worker-pool.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import {
  carryOut,
  type Correction,
  type DerivationTask,
  type Derived,
  type DerivedExpansion,
  type ExpansionLimits,
  type SchedulingTask,
} from './derivation.ts';
import type { AlarmAnswer, AlarmQuestion } from '../reminders/alarm-times.ts';
import type { Detail, FlatObject } from '../ics/flattening.ts';
import type { Split } from '../ics/splitting.ts';
import type { FeedAnswer, FeedQuestion } from '../subscriptions/feed-reading.ts';
import type { AttendeeChange, Left } from '../scheduling/attendee-changes.ts';
import type { Applied } from '../scheduling/itip-application.ts';
import type { AnsweredBooking, BookingAnswers, BookingParts, BookingQuestion } from '../scheduling/booking-parts.ts';
import type { AvailabilityQuestion, UnavailableTimes } from '../availability/availability.ts';
import type { Slot, SlotQuestion } from '../availability/slots.ts';
import type { ProposalMessage, Proposing } from '../scheduling/itip-counter.ts';
import type { Inspected, OutsideMessage, OutsideResult, OutsideWord } from '../scheduling/itip-inbound.ts';
import type { Response } from '../scheduling/itip-reply.ts';
import type { Described, Description } from '../scheduling/describing.ts';
import type { Scheduled } from '../scheduling/itip-request.ts';
import type { WorkerAnswer } from './derivation-worker.ts';
import type { Window } from '../icalendar/calendar-object.ts';

/** Up to this size an object is read at once: a millisecond or two. */
export const INLINE_BYTES_MAX = 64 * 1024;
/** Threads: calendars change rarely, and messages come first. */
const THREADS = 1;
/** Tasks that wait for a thread; one more is refused with `busy`. */
export const POOL_QUEUE_MAX = 64;
/** The largest object takes some 50 ms; what takes this long will not end. The thread is stopped. [busy] */
const DEADLINE_MILLIS = 5_000;
/** The largest import file takes two seconds, on a machine that does nothing else. [busy] */
const FILE_DEADLINE_MILLIS = 30_000;

export class DerivationPool {
  readonly #pool = new WorkerPool<DerivationTask, WorkerAnswer>({
    worker: new URL('derivation-worker.ts', import.meta.url),
    task: 'derive',
    threads: THREADS,
    waitingMax: POOL_QUEUE_MAX,
    deadlineMillis: DEADLINE_MILLIS,
    refusal: () => new Refusal('busy'),
  });

  /** The index row and the participants of an object, or of a scheduling message. @throws CalendarFault; Refusal `busy`. */
  async derive(bytes: Uint8Array, zone: string, options: { readonly isMessage?: boolean } = {}): Promise<Derived> {
    return (await this.#run({ kind: 'derive', bytes, zone, ...options })) as Derived;
  }

  /** The occurrences of an object within a window. @throws CalendarFault; Refusal `busy`. */
  async expand(bytes: Uint8Array, window: Window, zone: string, limits: ExpansionLimits): Promise<DerivedExpansion> {
    return (await this.#run({ kind: 'expand', bytes, zone, window, limits })) as DerivedExpansion;
  }

  /** The bytes with those answers put in place of what their lines say. @throws CalendarFault; Refusal `busy`. */
  async correct(bytes: Uint8Array, corrections: readonly Correction[]): Promise<Uint8Array> {
    return (await this.#run({ kind: 'correct', bytes, corrections })) as Uint8Array;
  }

  /** What follows from a change of an object that people are invited to. @throws CalendarFault; Refusal `busy`. */
  async schedule(task: Extract<SchedulingTask, { kind: 'schedule' }>): Promise<Scheduled> {
    return (await this.#run(task)) as Scheduled;
  }

  /** What an attendee leaves of what is their organiser's to say. @throws CalendarFault; Refusal `busy`. */
  async leftOfOrganizers(change: AttendeeChange): Promise<Left> {
    return (await this.#run({ kind: 'compare', ...change })) as Left;
  }

  /** What a scheduling message makes of a copy. @throws CalendarFault; Refusal `busy`. */
  async apply(task: Extract<SchedulingTask, { kind: 'apply' }>): Promise<Applied> {
    return (await this.#run(task)) as Applied;
  }

  /** What a message from outside is about. @throws CalendarFault; Refusal `busy`. */
  async inspect(bytes: Uint8Array): Promise<Inspected> {
    return (await this.#run({ kind: 'inspect', bytes })) as Inspected;
  }

  /** What a message of somebody outside makes of a copy. @throws CalendarFault; Refusal `busy`. */
  async applyFromOutside(message: OutsideMessage): Promise<OutsideResult> {
    return (await this.#run({ kind: 'outside', ...message })) as OutsideResult;
  }

  /** A proposal of another time, or the answer to one, as it is kept; why it is not taken. @throws CalendarFault; Refusal `busy`. */
  async takeProposal(message: ProposalMessage): Promise<Uint8Array | OutsideWord> {
    return (await this.#run({ kind: 'proposal', ...message })) as Uint8Array | OutsideWord;
  }

  /** The COUNTER that an attendee makes. @throws CalendarFault; Refusal `busy`. */
  async propose(task: Proposing): Promise<Uint8Array | OutsideWord> {
    return (await this.#run({ kind: 'propose', ...task })) as Uint8Array | OutsideWord;
  }

  /** An object or a message as people outside are shown it. @throws CalendarFault; Refusal `busy`. */
  async describe(task: Described): Promise<Description> {
    return (await this.#run({ kind: 'describe', ...task })) as Description;
  }

  /** The REPLY of somebody who has no copy here; undefined where they are not invited. @throws CalendarFault; Refusal `busy`. */
  async respond(task: Response): Promise<Uint8Array | undefined> {
    return (await this.#run({ kind: 'respond', ...task })) as Uint8Array | undefined;
  }

  /** When a copy wants the resource that it invites. @throws CalendarFault; Refusal `busy`. */
  async readBooking(question: BookingQuestion): Promise<BookingParts> {
    return (await this.#run({ kind: 'booking', ...question })) as BookingParts;
  }

  /** A copy with the answers of the resource that it invites, and what its organiser is told. @throws CalendarFault; Refusal `busy`. */
  async answerBooking(answers: BookingAnswers): Promise<AnsweredBooking> {
    return (await this.#run({ kind: 'book', ...answers })) as AnsweredBooking;
  }

  /** Times that suit several people. On a thread: two months of a hundred people are some 600,000 looks. @throws Refusal `busy`. */
  async findSlots(question: SlotQuestion): Promise<Slot[]> {
    return (await this.#run({ kind: 'slots', ...question })) as Slot[];
  }

  /** When somebody is not to be asked for their time. On a thread: its rules are a client's. @throws CalendarFault; Refusal `busy`. */
  async unavailable(question: AvailabilityQuestion): Promise<UnavailableTimes> {
    return (await this.#run({ kind: 'availability', ...question })) as UnavailableTimes;
  }

  /** The objects of an import file. @throws CalendarFault where the whole is not iCalendar; Refusal `busy`. */
  async split(bytes: Uint8Array): Promise<Split> {
    return (await this.#run({ kind: 'split', bytes })) as Split;
  }

  /** What of a feed is to be written. On a thread whatever its size: most feeds have many small entries. @throws Refusal `busy`. */
  async readFeed(question: FeedQuestion): Promise<FeedAnswer> {
    return (await this.#run({ kind: 'feed', ...question })) as FeedAnswer;
  }

  /** The objects of a stream of VCALENDARs, to stand in one. @throws CalendarFault; Refusal `busy`. */
  async flatten(bytes: Uint8Array, detail: Detail, salt: string): Promise<FlatObject[]> {
    return (await this.#run({ kind: 'flatten', bytes, detail, salt })) as FlatObject[];
  }

  /** The alarms of an object that are due, and when the next one is. @throws CalendarFault; Refusal `busy`. */
  async alarms(question: AlarmQuestion): Promise<AlarmAnswer> {
    return (await this.#run({ kind: 'alarms', ...question })) as AlarmAnswer;
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #run(task: DerivationTask): Promise<ReturnType<typeof carryOut>> {
    if (!hasNoSize(task) && sizeOf(task) <= INLINE_BYTES_MAX) return carryOut(task);
    const deadlineMillis = isFile(task) ? FILE_DEADLINE_MILLIS : DEADLINE_MILLIS;
    const answer = await this.#pool.run(detached(task), { deadlineMillis });
    if (answer.ok) return answer.value;
    const { precondition, message, line } = answer.fault;
    throw Object.assign(new CalendarFault(precondition, message), { line });
  }
}

function isFile({ kind }: DerivationTask): boolean {
  return kind === 'split' || kind === 'feed';
}

/** What costs more than its bytes say goes to a thread whatever its size. */
function hasNoSize(task: DerivationTask): task is Extract<DerivationTask, { kind: 'availability' | 'feed' | 'slots' }> {
  return task.kind === 'availability' || task.kind === 'feed' || task.kind === 'slots';
}

function sizeOf(task: Exclude<DerivationTask, { kind: 'availability' | 'feed' | 'slots' }>): number {
  if (task.kind === 'schedule' || task.kind === 'compare')
    return (task.before?.length ?? 0) + (task.after?.length ?? 0);
  if (task.kind === 'outside') return task.message.length + (task.copy?.length ?? 0) + (task.removed?.length ?? 0);
  if (task.kind === 'propose') return task.copy.length;
  return task.kind === 'apply' || task.kind === 'proposal'
    ? task.message.length + (task.copy?.length ?? 0)
    : task.bytes.length;
}

/** A task with bytes of its own: of a view the whole buffer behind it would be copied to the thread. */
function detached(task: DerivationTask): DerivationTask {
  if (task.kind === 'availability' || task.kind === 'slots') return task;
  const own = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : new Uint8Array(bytes));
  if (task.kind === 'schedule') return { ...task, before: own(task.before), after: own(task.after) };
  if (task.kind === 'compare')
    return { ...task, before: new Uint8Array(task.before), after: new Uint8Array(task.after) };
  if (task.kind === 'outside') {
    return { ...task, message: new Uint8Array(task.message), copy: own(task.copy), removed: own(task.removed) };
  }
  if (task.kind === 'propose') return { ...task, copy: new Uint8Array(task.copy) };
  if (task.kind === 'proposal')
    return { ...task, message: new Uint8Array(task.message), copy: own(task.copy), known: own(task.known) };
  if (task.kind === 'apply') return { ...task, message: new Uint8Array(task.message), copy: own(task.copy) };
  return { ...task, bytes: new Uint8Array(task.bytes) };
}
