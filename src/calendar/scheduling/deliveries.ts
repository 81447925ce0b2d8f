/**
 * Messages on their way to people of the installation:
 *
 *     change of an object ─► message and recipients in the same commit ─► copy of each written, recipient struck off in one commit
 *
 * So a message that was promised comes, once, also where the process is killed in between. What people get is in the order
 * in which it was sent.
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
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
import type { Calendars } from '#storage/calendars/calendars.ts';
import { numbered, numberOf, under } from '#storage/engine/keys.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { awaitsAnswer } from '../objects/identity.ts';
import { storedIndex } from '../objects/stored-index.ts';
import { noteStatus } from './delivery-status.ts';
import type { Sending } from './messages.ts';
import { UNDELIVERED } from './outside-mail.ts';
import type { Recipients } from './people.ts';
import { placeOf } from './delivery-calendar.ts';
import { QueueNumbers } from './queue-numbers.ts';

/** Recipients that wait at most: some hundred large meetings at once. Whoever would add one more is told `busy`. */
export const DELIVERIES_WAITING_MAX = 100_000;
/** Recipients written to at a time, each another person, so that one commit takes several. */
const AT_ONCE = 16;
/** Recipients read from the queue at a time, to find that many people. */
const LOOKED_AT = 64;
/** Times that a copy is worked out anew because its owner changed it in between; then the others have their turn. */
const TIMES_MAX = 8;
/** How long a delivery rests that the disk or the load refused. */
const RETRY_MILLIS = 1_000;

export interface DeliveriesOptions {
  readonly calendars: Calendars;
  readonly pool: Pick<DerivationPool, 'apply' | 'derive'>;
  readonly book: AddressBook;
  /** Whether somebody is there who may get a calendar for what they are invited to. */
  readonly isPerson: (user: string) => boolean;
  readonly clock: Clock;
  /** Recipients that wait at most: DELIVERIES_WAITING_MAX. */
  readonly waitingMax?: number;
  readonly log: { error(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/** What became of a recipient in one turn. */
type Outcome = 'delivered' | 'failed' | 'later';

interface Waiting extends DeliveryRecord {
  readonly seq: number;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #outcomes = new LabelledCounts();
  readonly #numbers: QueueNumbers;
  #waiting: number;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** Goes on with what a process before this one left. */
  constructor(options: DeliveriesOptions) {
    this.#options = options;
    const { deliveries } = options.calendars.environment.tables;
    const last = Math.max(0, ...[...deliveries.getKeys({ ...reversed(SCHEDULING_QUEUE), limit: 1 })].map(numberOf));
    this.#numbers = new QueueNumbers(options.clock, last);
    this.#waiting = deliveries.getKeysCount(under(SCHEDULING_QUEUE));
    this.wake();
  }

  /** Puts messages on their way in the change that they follow from; `wake` once it is on disk. @throws Refusal `busy`. */
  send(draft: CalendarDraft, { from, uid, calendar, messages }: Sending<MessageRecord['method']>): void {
    const count = messages.reduce((sum, { recipients }) => sum + recipients.length, 0);
    if (this.#waiting + count > (this.#options.waitingMax ?? DELIVERIES_WAITING_MAX)) {
      // Those of a change that was refused are counted until somebody looks.
      this.wake();
      throw new Refusal('busy');
    }
    this.#waiting += count;
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
      parley_calendar_deliveries_waiting: oneSample(this.#waiting),
    };
  }

  /** Delivers what waits. */
  wake(): void {
    if (this.#closed) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#waiting > 0 && !this.#closed) {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.wake(), RETRY_MILLIS).unref();
      }
    });
  }

  /** What is on its way waits for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { calendars } = this.#options;
    for (;;) {
      calendars.refresh();
      this.#waiting = calendars.environment.tables.deliveries.getKeysCount(under(SCHEDULING_QUEUE));
      const batch = this.#batch();
      if (batch.length === 0 || this.#closed) return;
      const outcomes = await Promise.all(batch.map(async (waiting) => await this.#deliver(waiting)));
      for (const outcome of outcomes) if (outcome !== 'later') this.#outcomes.add(outcome);
      if (outcomes.includes('later')) return;
    }
  }

  /**
   * The first ones, each to another person and none before an earlier one to the same. The last one of a message takes
   * it along, and waits until the others have it.
   */
  #batch(): Waiting[] {
    const found = this.#options.calendars.environment.tables.deliveries.getRange({
      ...under(SCHEDULING_QUEUE),
      limit: LOOKED_AT,
    });
    const batch: Waiting[] = [];
    const people = new Set<string>();
    const messages = new Set<number>();
    for (const { key, value } of found) {
      const waiting = { seq: numberOf(Buffer.from(key)), ...deliveryRecord.decode(value) };
      const isTooEarly = waiting.isLast && messages.has(waiting.message);
      if (people.has(waiting.to) || isTooEarly || batch.length === AT_ONCE) break;
      people.add(waiting.to);
      messages.add(waiting.message);
      batch.push(waiting);
    }
    return batch;
  }

  async #deliver(waiting: Waiting): Promise<Outcome> {
    const { calendars, log } = this.#options;
    const stored = calendars.environment.tables.messages.get(numbered(waiting.message, SCHEDULING_QUEUE));
    const message = stored === undefined ? undefined : messageRecord.decode(stored);
    try {
      for (let times = 0; times < TIMES_MAX; times += 1) {
        if (message === undefined || (await this.#apply(waiting, message))) return await this.#finish(waiting, message);
      }
      return 'later';
    } catch (error) {
      const isPassing = error instanceof Refusal && (error.code === 'busy' || error.code === 'storage_full');
      if (isPassing || this.#closed) return 'later';
      if (!(error instanceof Refusal) && !(error instanceof CalendarFault)) {
        log.error('a scheduling message could not be delivered', { error, method: message?.method });
      }
      return await this.#fail(waiting, message);
    }
  }

  async #finish(waiting: Waiting, message: MessageRecord | undefined): Promise<Outcome> {
    // A message that is there was struck off with the copy that it made.
    if (message !== undefined) return 'delivered';
    await this.#options.calendars.change((draft) => strikeOff(draft, waiting));
    return 'failed';
  }

  /** Writes one copy. False where somebody changed it meanwhile. @throws what the store refuses; CalendarFault. */
  async #apply(waiting: Waiting, message: MessageRecord): Promise<boolean> {
    const { calendars, pool, book } = this.#options;
    const place = await placeOf(this.#options, waiting.to, message);
    const copy = place?.name === undefined ? undefined : calendars.bytesOf(place.calendar.id, place.name);
    const applied =
      place === undefined || (copy === undefined && message.method !== 'REQUEST')
        ? 'unchanged'
        : await pool.apply({
            ...{ kind: 'apply', message: message.bytes, copy, zone: place.calendar.zone },
            ...{ recipients: this.#known(message.from, waiting.to), from: message.from, to: waiting.to },
          });
    if (applied === 'foreign') throw new Refusal('entry_uid_taken');
    if (applied === 'unchanged' || place === undefined) {
      await calendars.change((draft) => strikeOff(draft, waiting));
      return true;
    }
    const { calendar, name = `${entryIdOf(message.uid)}.ics` } = place;
    const { index, participations } = await pool.derive(applied, calendar.zone);
    const isUnanswered = !index.isCancelled && awaitsAnswer(book, calendar.owner, participations);
    const etag = place.etag;
    return await calendars.change((draft) => {
      if (draft.object(calendar.id, name)?.etag !== etag) return false;
      const options = { keepScheduleTag: message.method === 'REPLY' || message.method === 'ANSWERS' };
      draft.putObject(calendar.id, name, applied, storedIndex(index, true, isUnanswered), options);
      if (message.method === 'REPLY')
        noteAnswer(draft, { calendar: calendar.id, uid: message.uid, organizer: waiting.to });
      strikeOff(draft, waiting);
      return true;
    });
  }

  /** The addresses of the two people that a message is between. */
  #known(...users: readonly string[]): Recipients {
    const { book } = this.#options;
    const of = (user: string) =>
      book.addressesOf(user).map((address) => [address, { identity: user, status: '', isReachable: true }] as const);
    return Object.fromEntries(users.flatMap(of));
  }

  /** Gives a delivery up, and tells the organiser in their object. */
  async #fail(waiting: Waiting, message: MessageRecord | undefined): Promise<Outcome> {
    const { calendars } = this.#options;
    try {
      await calendars.change((draft) => {
        strikeOff(draft, waiting);
        if (message?.method !== 'REQUEST') return;
        const { calendar, method, uid } = message;
        const recipients = this.#known(waiting.to);
        noteStatus(draft, { method, calendar, uid, identity: waiting.to, status: UNDELIVERED, recipients });
      });
      return 'failed';
    } catch {
      return 'later';
    }
  }
}

/** Takes a recipient off the queue, and the message with the last one. */
function strikeOff(draft: CalendarDraft, { seq, message, isLast }: Waiting): void {
  draft.put('deliveries', numbered(seq, SCHEDULING_QUEUE), null);
  if (isLast) draft.put('messages', numbered(message, SCHEDULING_QUEUE), null);
}

function reversed(prefix: string): { start: Buffer; end: Buffer; reverse: true } {
  const { start, end } = under(prefix);
  return { start: end, end: start, reverse: true };
}
