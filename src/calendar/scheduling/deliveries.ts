/**
 * Messages on their way to people of the installation:
 *
 *     change of an object ─► message and recipients in the same commit ─► copy of each written, recipient struck off in one commit
 *
 * So a message that was promised comes, once, also where the process is killed in between. What people get is in the order
 * in which it was sent.
 */
import type { Clock } from '#src/base/clock.ts';
import { DeliveryQueue, type Attempt } from '#src/delivery/delivery-queue.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { noteAnswer } from '#storage/calendars/calendar-answers.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import {
  deliveryRecord,
  entryIdOf,
  messageRecord,
  SCHEDULING_QUEUE,
  type DeliveryRecord,
  type MessageRecord,
} from '#storage/calendars/calendar-records.ts';
import { putMessage } from '#storage/calendars/calendar-inbox.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { numbered, numberOf, under } from '#storage/engine/keys.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { awaitsAnswer } from '../objects/identity.ts';
import { messageIndex } from '../objects/message-index.ts';
import { storedIndex } from '../objects/stored-index.ts';
import type { Bookings } from './bookings.ts';
import { noteStatus } from './delivery-status.ts';
import { isProposal } from './itip-inbound.ts';
import type { Sending } from './messages.ts';
import { UNDELIVERED } from './outside-mail.ts';
import type { Recipients } from './people.ts';
import { placeOf, type Place } from './delivery-calendar.ts';
import { receiveProposal, type IncomingProposal } from './proposal-intake.ts';
import { QueueNumbers } from './queue-numbers.ts';

/** Recipients that wait at most: some hundred large meetings at once. Whoever would add one more is told `busy`. */
export const DELIVERIES_WAITING_MAX = 100_000;
/** Recipients written to at a time, each another person, so that one commit takes several. */
const AT_ONCE = 16;
/** Times that a copy is worked out anew because its owner changed it in between; then the others have their turn. */
const TIMES_MAX = 8;
/** How long deliveries rest after the disk or the load refused one. */
const RETRY_MILLIS = 1_000;

export interface DeliveriesOptions {
  readonly calendars: Calendars;
  readonly pool: Pick<DerivationPool, 'apply' | 'derive' | 'takeProposal'>;
  readonly book: AddressBook;
  /** Whether somebody is there who may get a calendar for what they are invited to. */
  readonly isPerson: (user: string) => boolean;
  /** How rooms and resources answer; without it there are none. */
  readonly bookings?: Bookings;
  readonly clock: Clock;
  /** Recipients that wait at most: DELIVERIES_WAITING_MAX. */
  readonly waitingMax?: number;
  readonly log: Logger;
}

/** What becomes of a recipient: the copy is written, there is nothing to write any more, or it is given up. */
type Outcome = 'delivered' | 'gone' | 'failed';

interface Waiting extends DeliveryRecord {
  readonly seq: number;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #outcomes = new LabelledCounts();
  readonly #numbers: QueueNumbers;
  readonly #queue: DeliveryQueue<Waiting, Outcome>;
  /** Message → how many recipients wait for it. */
  readonly #open = new Map<number, number>();
  /** The last one that the queue has. */
  #seen = 0;

  /** Goes on with what a process before this one left. */
  constructor(options: DeliveriesOptions) {
    const { clock, log, waitingMax = DELIVERIES_WAITING_MAX } = options;
    this.#options = options;
    this.#queue = new DeliveryQueue({
      ...{ name: 'scheduling', clock, log, atOnce: AT_ONCE, waitingMax },
      // What refuses one refuses all: after it one is tried alone.
      ...{ receiver: 'calendars', breaker: { failures: 1, millis: RETRY_MILLIS, millisMax: RETRY_MILLIS } },
      backoff: { firstMillis: RETRY_MILLIS, mostMillis: RETRY_MILLIS },
      orderingKeyOf: ({ to }) => to,
      due: () => this.#due(),
      // The last one of a message takes it along, and waits until the others have it.
      mayGo: ({ isLast, message }) => !isLast || this.#open.get(message) === 1,
      attempt: async (waiting, { ask, signal }) => await ask(() => this.#attempt(waiting, signal)),
      over: async (waiting, outcome = 'failed') => await this.#over(waiting, outcome),
    });
    this.wake();
    this.#numbers = new QueueNumbers(clock, this.#seen);
  }

  /** Puts messages on their way in the change that they follow from; `wake` once it is on disk. @throws Refusal `busy`. */
  send(draft: CalendarDraft, { from, uid, calendar, messages }: Sending<MessageRecord['method']>): void {
    this.#queue.reserve(messages.reduce((sum, { recipients }) => sum + recipients.length, 0));
    for (const { method, bytes, recipients } of messages) {
      const message = this.#numbers.next();
      const record = { from, method, uid, calendar, bytes: Buffer.from(bytes) };
      if (recipients.length > 0)
        draft.put('messages', numbered(message, SCHEDULING_QUEUE), messageRecord.encode(record));
      for (const [at, to] of recipients.entries()) {
        const delivery = { message, to, isLast: at === recipients.length - 1 };
        draft.put('deliveries', numbered(this.#numbers.next(), SCHEDULING_QUEUE), deliveryRecord.encode(delivery));
      }
    }
  }

  /** For the metrics. */
  get metrics() {
    return {
      parley_calendar_deliveries_total: this.#outcomes.samples(),
      parley_calendar_deliveries_waiting: oneSample(this.#queue.waiting),
    };
  }

  /** Delivers what waits. */
  wake(): void {
    this.#queue.wake();
  }

  /** What is on its way waits for the next start. */
  async close(): Promise<void> {
    await this.#queue.close();
  }

  /** What was put on its way since, in order. */
  *#due(): Generator<Waiting> {
    const { calendars } = this.#options;
    calendars.refresh();
    const range = { start: numbered(this.#seen + 1, SCHEDULING_QUEUE), end: under(SCHEDULING_QUEUE).end };
    for (const { key, value } of calendars.environment.tables.deliveries.getRange(range)) {
      const waiting = { seq: numberOf(Buffer.from(key)), ...deliveryRecord.decode(value) };
      this.#seen = waiting.seq;
      this.#open.set(waiting.message, (this.#open.get(waiting.message) ?? 0) + 1);
      yield waiting;
    }
  }

  #messageOf({ message }: Waiting): MessageRecord | undefined {
    const stored = this.#options.calendars.environment.tables.messages.get(numbered(message, SCHEDULING_QUEUE));
    return stored === undefined ? undefined : messageRecord.decode(stored);
  }

  async #attempt(waiting: Waiting, signal: AbortSignal): Promise<Attempt<Outcome>> {
    const message = this.#messageOf(waiting);
    if (message === undefined) return { result: 'over', answer: 'gone' };
    try {
      for (let times = 0; times < TIMES_MAX; times += 1) {
        if (await this.#apply(waiting, message)) return { result: 'over', answer: 'delivered' };
      }
      return { result: 'putOff', millis: RETRY_MILLIS };
    } catch (error) {
      const isPassing = error instanceof Refusal && (error.code === 'busy' || error.code === 'storage_full');
      if (isPassing || signal.aborted) return { result: 'failed', answer: 'failed', isDown: true };
      if (!(error instanceof Refusal) && !(error instanceof CalendarFault)) {
        this.#options.log.error('a scheduling message could not be delivered', { error, method: message.method });
      }
      return { result: 'over', answer: 'failed' };
    }
  }

  /** Writes one copy. False where somebody changed it meanwhile. @throws what the store refuses; CalendarFault. */
  async #apply(waiting: Waiting, message: MessageRecord): Promise<boolean> {
    const { calendars, pool, book } = this.#options;
    if (isProposal(message.method)) return await this.#propose(waiting, { ...message, method: message.method });
    const place = await placeOf(this.#options, waiting.to, message);
    const copy = place?.name === undefined ? undefined : calendars.bytesOf(place.calendar.id, place.name);
    const applied =
      place === undefined || (copy === undefined && message.method !== 'REQUEST')
        ? 'unchanged'
        : await pool.apply({
            ...{ kind: 'apply', message: message.bytes, copy, zone: place.calendar.zone },
            isKeptAlone: place.isScheduled === false,
            ...{ recipients: this.#known(message.from, waiting.to), from: message.from, to: waiting.to },
          });
    if (applied === 'foreign') throw new Refusal('entry_uid_taken');
    if (applied === 'unchanged' || place === undefined) {
      await calendars.change((draft) => strikeOff(draft, waiting));
      return true;
    }
    if (this.#options.bookings?.resource(waiting.to) !== undefined)
      return await this.#book(waiting, message, place, applied);
    const { calendar, name = `${entryIdOf(message.uid)}.ics` } = place;
    const { index, participations } = await pool.derive(applied, calendar.zone);
    const isUnanswered = !index.isCancelled && awaitsAnswer(book, calendar.owner, participations);
    const etag = place.etag;
    // The answers of others are between the server and the copies: no message of iTIP tells of them.
    const read = message.method === 'ANSWERS' ? undefined : await messageIndex(pool, message.bytes, calendar.zone);
    return await calendars.change((draft) => {
      if (draft.object(calendar.id, name)?.etag !== etag) return false;
      const options = { keepScheduleTag: message.method === 'REPLY' || message.method === 'ANSWERS' };
      draft.putObject(calendar.id, name, applied, storedIndex(index, true, isUnanswered), options);
      if (message.method === 'REPLY')
        noteAnswer(draft, { calendar: calendar.id, uid: message.uid, organizer: waiting.to });
      if (read !== undefined) putMessage(draft, waiting.to, calendar.zone, { bytes: message.bytes, index: read });
      strikeOff(draft, waiting);
      return true;
    });
  }

  /**
   * Writes the copy of a room or resource, with its answer on its way in the same commit. False where its calendar has changed
   * since it was looked at. @throws as `#apply`.
   */
  async #book(waiting: Waiting, message: MessageRecord, place: Place, applied: Uint8Array): Promise<boolean> {
    const { bookings, calendars, pool } = this.#options;
    const { calendar, name = `${entryIdOf(message.uid)}.ics` } = place;
    const resource = bookings?.resource(waiting.to);
    calendars.refresh();
    const syncSeq = calendars.calendar(calendar.id)?.syncSeq;
    const booking = { calendar, uid: message.uid, bytes: applied, organizer: message.from };
    const decided =
      message.method !== 'REQUEST' || resource === undefined || bookings === undefined
        ? { bytes: applied, reply: undefined }
        : await bookings.decide({ ...booking, resource, recipients: this.#known(message.from, waiting.to) });
    const { bytes, reply } = decided;
    const derived = bytes === undefined ? undefined : await pool.derive(bytes, calendar.zone);
    const isWritten = await calendars.change((draft) => {
      if (draft.calendar(calendar.id)?.syncSeq !== syncSeq) return false;
      // What was declined or taken back is in the way of nothing, and nobody reads it there.
      if (bytes === undefined || derived === undefined || derived.index.isCancelled) {
        if (draft.object(calendar.id, name) !== undefined) draft.removeObject(calendar.id, name);
      } else draft.putObject(calendar.id, name, bytes, storedIndex(derived.index, true, false));
      if (reply !== undefined) {
        const messages = [{ method: 'REPLY' as const, bytes: reply, recipients: [message.from] }];
        this.send(draft, { from: waiting.to, uid: message.uid, calendar: calendar.id, messages });
      }
      strikeOff(draft, waiting);
      return true;
    });
    if (isWritten) this.wake();
    return isWritten;
  }

  /** Puts a proposal, or the answer to one, into an inbox. False where the entry changed meanwhile. */
  async #propose(
    waiting: Waiting,
    { bytes, from, method, uid }: MessageRecord & Pick<IncomingProposal, 'method'>,
  ): Promise<boolean> {
    const { to } = waiting;
    const proposal = { bytes, from, method, uid, to, recipients: this.#known(from, to), isServers: true };
    const taken = await receiveProposal(this.#options, proposal, (draft) => strikeOff(draft, waiting));
    if (taken === undefined) return false;
    if (taken !== 'applied') await this.#options.calendars.change((draft) => strikeOff(draft, waiting));
    return true;
  }

  /** The addresses of the two people that a message is between. */
  #known(...users: readonly string[]): Recipients {
    const { book } = this.#options;
    const of = (user: string) =>
      book.addressesOf(user).map((address) => [address, { identity: user, status: '', isReachable: true }] as const);
    return Object.fromEntries(users.flatMap(of));
  }

  /** Strikes a recipient off where that is not done yet, and tells the organiser of one that is given up in their object. */
  async #over(waiting: Waiting, outcome: Outcome): Promise<void> {
    const message = outcome === 'failed' ? this.#messageOf(waiting) : undefined;
    if (outcome !== 'delivered') {
      await this.#options.calendars.change((draft) => {
        strikeOff(draft, waiting);
        if (message?.method !== 'REQUEST') return;
        const { calendar, method, uid } = message;
        const recipients = this.#known(waiting.to);
        noteStatus(draft, { method, calendar, uid, identity: waiting.to, status: UNDELIVERED, recipients });
      });
    }
    const left = (this.#open.get(waiting.message) ?? 1) - 1;
    if (left > 0) this.#open.set(waiting.message, left);
    else this.#open.delete(waiting.message);
    this.#outcomes.add(outcome === 'delivered' ? 'delivered' : 'failed');
  }
}

/** Takes a recipient off the queue, and the message with the last one. */
function strikeOff(draft: CalendarDraft, { seq, message, isLast }: Waiting): void {
  draft.put('deliveries', numbered(seq, SCHEDULING_QUEUE), null);
  if (isLast) draft.put('messages', numbered(message, SCHEDULING_QUEUE), null);
}
