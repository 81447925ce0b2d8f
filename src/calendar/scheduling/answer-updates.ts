/**
 * What attendees answer, shown to the others: the server's own messages, to people of the installation alone.
 *
 *     answer in the organiser's object, noted ─► a while, for more of them ─► message and note struck off in one commit
 *
 * A copy that is written by it answers nothing, and only an answer is noted: nothing goes round.
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { notedAnswers, strikeAnswers, type NotedAnswers } from '#storage/calendars/calendar-answers.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import type { Deliveries } from './deliveries.ts';
import { placeOf } from './delivery-calendar.ts';

/** How long answers are gathered: the first minutes of an invitation bring many, and each update writes every copy. */
export const ANSWERS_GATHERED_MILLIS = 10_000;
/**
 * People of the installation who are kept up to date on each other: answers times copies are a square. Those of a larger
 * meeting see the answers at its organiser's next change.
 */
export const ANSWERS_SHOWN_TO_MAX = 256;
/** Objects worked on at a time, which share commits; those behind them come right after. */
export const OBJECTS_AT_ONCE = 16;
/** Times that an update is worked out anew because its object changed in between; then it waits for the next turn. */
const TIMES_MAX = 8;
/** How long it waits after the disk or the load refused one. */
const RETRY_MILLIS = 5_000;

export interface AnswerUpdatesOptions {
  readonly calendars: Calendars;
  readonly pool: Pick<DerivationPool, 'derive'>;
  readonly book: AddressBook;
  /** Whether a person is there whom the organiser may invite. */
  readonly mayInvite: (organizer: string, user: string) => boolean;
  readonly isPerson: (user: string) => boolean;
  readonly deliveries: Pick<Deliveries, 'send' | 'wake'>;
  readonly clock: Clock;
  /** How long answers are gathered: ANSWERS_GATHERED_MILLIS. */
  readonly gatheredMillis?: number;
  readonly log: { error(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/** What became of a note; `gone` where there is nobody or nothing to tell, undefined where its object changed meanwhile. */
type Outcome = 'sent' | 'too_many' | 'gone' | undefined;

export class AnswerUpdates {
  readonly #options: AnswerUpdatesOptions;
  readonly #gatheredMillis: number;
  readonly #outcomes = new LabelledCounts();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: AnswerUpdatesOptions) {
    this.#options = options;
    this.#gatheredMillis = options.gatheredMillis ?? ANSWERS_GATHERED_MILLIS;
  }

  /** For the metrics. */
  get metrics() {
    return { parley_calendar_answer_updates_total: this.#outcomes.samples() };
  }

  /** Something was written: answers among it are due by then. */
  changed(): void {
    if (this.#timer === undefined) this.#wakeIn(this.#gatheredMillis);
  }

  /** Sends what is due, also what a process before this one left. */
  wake(): void {
    if (this.#running !== undefined) {
      this.#wakeIn(this.#gatheredMillis);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isStopped) return;
    this.#running = this.#run().then((sleep) => {
      this.#running = undefined;
      if (sleep !== undefined) this.#wakeIn(sleep);
    });
  }

  /** Ends after what is under way; the others wait for the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #wakeIn(millis: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.wake();
    }, millis).unref();
  }

  /** Answers in how many milliseconds there is more to do; undefined for nothing. Never throws. */
  async #run(): Promise<number | undefined> {
    const { calendars, clock } = this.#options;
    let sleep = Infinity;
    for (let behind: NotedAnswers | undefined; !this.#isStopped;) {
      calendars.refresh();
      const page = notedAnswers(calendars, OBJECTS_AT_ONCE, behind);
      const now = clock.now();
      const slicer = page.map(async (noted) => {
        const wait = noted.since + this.#gatheredMillis - now;
        // What was noted in the future was noted before somebody set the clock back.
        if (wait > 0 && noted.since <= now) return wait;
        return (await this.#update(noted)) ? Infinity : RETRY_MILLIS;
      });
      sleep = Math.min(sleep, ...(await Promise.all(slicer)));
      behind = page.at(-1);
      if (page.length < OBJECTS_AT_ONCE) break;
      await new Promise(setImmediate);
    }
    return sleep === Infinity ? undefined : sleep;
  }

  /** Sends the update of one object. False where it has to wait. */
  async #update(noted: NotedAnswers): Promise<boolean> {
    const { calendars, log } = this.#options;
    try {
      for (let times = 0; times < TIMES_MAX; times += 1) {
        const outcome = await this.#send(noted);
        if (outcome === undefined) continue;
        if (outcome !== 'gone') this.#outcomes.add(outcome);
        return true;
      }
      return false;
    } catch (error) {
      // Too much is on its way, or the disk is full.
      if (error instanceof Refusal) return false;
      if (!(error instanceof CalendarFault)) log.error('answers could not be shown to the others', { error });
      this.#outcomes.add('failed');
      return await calendars
        .change((draft) => strikeAnswers(draft, noted))
        .then(
          () => true,
          () => false,
        );
    }
  }

  async #send(noted: NotedAnswers): Promise<Outcome> {
    const { calendars, deliveries } = this.#options;
    const { organizer, uid } = noted;
    // Where the organiser has it by now.
    const place = await placeOf(this.#options, organizer, { method: 'REPLY', uid });
    const { id } = place?.calendar ?? { id: noted.calendar };
    const { name } = place ?? {};
    const bytes = name === undefined ? undefined : calendars.bytesOf(id, name);
    const recipients = bytes === undefined ? [] : await this.#others(bytes, organizer);
    const isTooMany = recipients.length > ANSWERS_SHOWN_TO_MAX;
    const isSent = bytes !== undefined && recipients.length > 0 && !isTooMany;
    const isDone = await calendars.change((draft) => {
      if (name !== undefined && draft.object(id, name)?.etag !== place?.etag) return false;
      const messages = isSent ? [{ method: 'ANSWERS' as const, bytes, recipients }] : [];
      deliveries.send(draft, { from: organizer, uid, calendar: id, messages });
      strikeAnswers(draft, noted);
      return true;
    });
    if (!isDone) return undefined;
    deliveries.wake();
    return isSent ? 'sent' : isTooMany ? 'too_many' : 'gone';
  }

  /** Those of the installation whom somebody's own object invites, and whom they may invite. */
  async #others(bytes: Uint8Array, organizer: string): Promise<string[]> {
    const { book, mayInvite, pool } = this.#options;
    const { participations } = await pool.derive(bytes, 'UTC');
    const own = participations.filter((one) => one.organizer !== undefined && book.userOf(one.organizer) === organizer);
    const users = own.flatMap(({ attendees }) => attendees.flatMap(({ address }) => book.userOf(address) ?? []));
    return [...new Set(users)].filter((user) => user !== organizer && mayInvite(organizer, user));
  }
}
