/**
 * Mail of the calendar on its way to people outside:
 *
 *     change of an object ─► letter and recipients in the same commit ─► mail server ─► recipient struck off and
 *                                                                       status in the object in one commit
 *
 * A mail that the server took just before a kill goes once more, under the same Message-ID. What one person gets leaves
 * in the order in which it was sent; nobody waits for anybody else's.
 */
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { MailParts } from '../calendar-services.ts';
import { noteStatus } from '../scheduling/delivery-status.ts';
import type { Sending } from '../scheduling/messages.ts';
import {
  DISALLOWED,
  type EmailAlarm,
  type OutsideMail,
  SENT,
  UNDELIVERED,
  UNROUTABLE,
} from '../scheduling/outside-mail.ts';
import { QueueNumbers } from '../scheduling/queue-numbers.ts';
import { smtpFailureOf, smtpWordOf } from '#src/outgoing/smtp.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { MAIL_RECIPIENTS_MAX } from '#src/protocol/limits.ts';
import { CircuitBreaker } from '#src/push/circuit-breaker.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import {
  dropMail,
  letterOf,
  mailsBehind,
  putMail,
  type QueuedMailRecord,
  type NumberedMail,
} from '#storage/calendars/calendar-mails.ts';
import { compose, type ReminderMail } from './composing.ts';
import { makeRsvpSecret, type RsvpLinks } from './rsvp-links.ts';
import type { MailSetup, Transport } from '#src/mail/transport.ts';

/** Mails that wait at most: some hundred large meetings while the mail server is down. One more change is told `busy`. */
export const MAILS_WAITING_MAX = 10_000;
/** Mails under way at a time: what the connections of the transport can take, and as many again that are written. */
const AT_ONCE = 4;
/** How long the first try is away from the second; each further one waits twice as long, up to the most. */
const RETRY_MILLIS = 5_000;
const RETRY_MILLIS_MAX = 3_600_000;
/** How long a mail is tried: a weekend's outage is over by then. Then its sender reads 5.1 in the object. */
export const MAIL_AGE_MILLIS_MAX = 48 * 3_600_000;
/** How long a reminder is tried; later it reminds of nothing. It is dropped and counted. */
export const REMINDER_AGE_MILLIS_MAX = 3_600_000;
/** How long mails rest where there is no server to send them by, before the settings are looked at again. */
const LOOK_MILLIS = 5_000;
/** How long a stopping server waits for mails that are under way; those are sent again at the next start. */
const CLOSE_MILLIS = 2_000;

/** One mailbox and nothing else: no list, no parameters, no header of its own. */
const MAILBOX =
  /^mailto:[\w.!#$&'*+/=^{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

export interface OutboxOptions extends MailParts {
  /** Whether an operator has named a mail server, whatever state its secrets are in. */
  readonly isOn: () => boolean;
  /** The installation's address; undefined while it has none. */
  readonly sender: () => string | undefined;
  /** What mail leaves by now; undefined while there is none, or its secrets are locked. */
  readonly setup: () => MailSetup | undefined;
  readonly transport: Pick<Transport, 'send' | 'close'>;
  readonly links: RsvpLinks;
  /** Base URL of the calendar as people reach it; empty until it listens. */
  readonly baseUrl: () => string;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** MAILS_WAITING_MAX. */
  readonly waitingMax?: number;
  /** RETRY_MILLIS. */
  readonly retryMillis?: number;
}

type Outcome = 'sent' | 'failed' | 'dropped';

/** How a mail ended, and what its sender reads of it. */
interface End {
  readonly outcome: Outcome;
  readonly status?: string;
}

/** A mail as it is known here. */
interface Waiting extends NumberedMail {
  attempts: number;
  dueAt: number;
  /** Of the link in it. */
  secret?: string;
  /** What became of it, where that could not be written yet. */
  ended: End | undefined;
}

export class Outbox implements OutsideMail {
  readonly #options: OutboxOptions;
  readonly #numbers: QueueNumbers;
  readonly #outcomes = new LabelledCounts();
  readonly #breaker = new CircuitBreaker();
  /** Recipient → what waits for them, in order. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #underWay = new Map<string, Promise<void>>();
  #seen = 0;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** Goes on with what a process before this one left. */
  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#take();
    this.#numbers = new QueueNumbers(options.clock, this.#seen);
    this.#arm(0);
  }

  isOn(): boolean {
    return this.#options.isOn();
  }

  takes(address: string): boolean {
    // To itself the installation would answer itself.
    return MAILBOX.test(address) && address !== `mailto:${this.#options.sender()?.toLowerCase()}`;
  }

  roomOf(user: string): number {
    return Math.min(MAIL_RECIPIENTS_MAX, this.#options.limiter.left('mail_sent', user));
  }

  send(draft: CalendarDraft, { calendar, from, messages, uid }: Sending): void {
    const count = messages.reduce((sum, { recipients }) => sum + recipients.length, 0);
    if (count === 0) return;
    if (this.#waiting + count > (this.#options.waitingMax ?? MAILS_WAITING_MAX)) {
      // Those of a change that was refused are counted until somebody looks.
      this.wake();
      throw new Refusal('busy');
    }
    this.#waiting += count;
    this.#options.limiter.spend('mail_sent', from, count);
    for (const { bytes, method, recipients } of messages) {
      const letter: QueuedMailRecord = { kind: method, from, uid, calendar, bytes: Buffer.from(bytes) };
      putMail(draft, letter, recipients, this.#numbers.next);
    }
  }

  remind(draft: CalendarDraft, alarms: readonly EmailAlarm[]): void {
    const { book, isPerson, limiter, waitingMax = MAILS_WAITING_MAX } = this.#options;
    for (const { calendar, location, owner, start, title, uid, zone } of alarms) {
      const [address = ''] = book.addressesOf(owner);
      const mayGo = isPerson(owner) && this.isOn() && this.takes(address) && this.#waiting < waitingMax;
      if (!mayGo || limiter.secondsUntil('alarm_sent', owner) > 0) {
        this.#outcomes.add('dropped');
        continue;
      }
      this.#waiting += 1;
      const said: ReminderMail = { title, location, start, zone };
      const bytes = Buffer.from(JSON.stringify(said));
      putMail(draft, { kind: 'REMINDER', from: owner, uid, calendar, bytes }, [address], this.#numbers.next);
    }
  }

  /** For the metrics. */
  get metrics() {
    return {
      parley_calendar_outgoing_mails_total: this.#outcomes.samples(),
      parley_calendar_outgoing_mails_waiting: oneSample(this.#waiting),
    };
  }

  wake(): void {
    if (this.#closed) return;
    this.#take();
    this.#pump();
  }

  /** What is on its way waits for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const all = Promise.all(this.#underWay.values());
    const timer = setTimeout(() => this.#options.transport.close(), CLOSE_MILLIS);
    await all;
    clearTimeout(timer);
    this.#options.transport.close();
  }

  /** Takes over what was put on its way since. */
  #take(): void {
    const { calendars } = this.#options;
    calendars.refresh();
    for (const mail of mailsBehind(calendars, this.#seen)) {
      this.#seen = mail.seq;
      const queue = this.#queues.get(mail.to) ?? [];
      queue.push({ ...mail, attempts: 0, dueAt: 0, ended: undefined });
      this.#queues.set(mail.to, queue);
    }
    this.#waiting = [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  #pump(): void {
    if (this.#closed) return;
    const { clock } = this.#options;
    while (this.#underWay.size < AT_ONCE) {
      const now = clock.now();
      const [head, dueAt] = this.#first(now);
      if (head === undefined) return this.#arm(dueAt - now);
      const isOver = head.ended !== undefined || this.#isOver(head, now);
      const setup = isOver ? undefined : this.#setup();
      const wait = isOver ? 0 : setup === undefined ? LOOK_MILLIS : this.#breaker.admit(now);
      if (wait > 0) {
        // Others that are over go all the same, when their time comes.
        head.dueAt = now + wait;
        continue;
      }
      const done = this.#go(head, setup).finally(() => {
        this.#underWay.delete(head.to);
        this.#pump();
      });
      this.#underWay.set(head.to, done);
    }
  }

  /** The first mail of somebody that is due, or when the next one is. */
  #first(now: number): [Waiting | undefined, number] {
    let next = Infinity;
    for (const [to, [head]] of this.#queues) {
      if (head === undefined || this.#underWay.has(to)) continue;
      if (head.dueAt <= now) return [head, now];
      next = Math.min(next, head.dueAt);
    }
    return [undefined, next];
  }

  #arm(millis: number): void {
    clearTimeout(this.#timer);
    if (millis === Infinity) return;
    this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(millis, 0), RETRY_MILLIS_MAX)).unref();
  }

  /** Undefined while nothing can leave, or a link would lead nowhere. */
  #setup(): MailSetup | undefined {
    return this.#options.baseUrl() === '' ? undefined : this.#options.setup();
  }

  /** Whether there is nothing to send: it is too old, or of somebody or a calendar that is gone. */
  #isOver({ at, letter: number }: Waiting, now: number): boolean {
    const { calendars, isPerson } = this.#options;
    const letter = letterOf(calendars, number);
    if (letter === undefined || calendars.calendar(letter.calendar) === undefined || !isPerson(letter.from))
      return true;
    return now - at > (letter.kind === 'REMINDER' ? REMINDER_AGE_MILLIS_MAX : MAIL_AGE_MILLIS_MAX);
  }

  async #go(mail: Waiting, setup: MailSetup | undefined): Promise<void> {
    const { clock, log } = this.#options;
    const letter = letterOf(this.#options.calendars, mail.letter);
    try {
      mail.ended ??= await this.#attempt(mail, letter, setup);
      if (mail.ended === undefined) return;
      await this.#finish(mail, letter, mail.ended);
      this.#outcomes.add(mail.ended.outcome);
    } catch (error) {
      // The disk is full, say: what became of it is written later.
      mail.dueAt = clock.now() + RETRY_MILLIS;
      if (!(error instanceof Refusal)) log.warn('a mail of the calendar could not be noted', { error });
    }
  }

  /** Sends it, where that is still right; undefined for one that is to be tried again. */
  async #attempt(
    mail: Waiting,
    letter: QueuedMailRecord | undefined,
    setup: MailSetup | undefined,
  ): Promise<End | undefined> {
    const { calendars, isPerson } = this.#options;
    const calendar = letter === undefined ? undefined : calendars.calendar(letter.calendar);
    // Whoever left, and a calendar that was removed, tell nobody anything any more.
    if (letter === undefined || calendar === undefined || !isPerson(letter.from)) {
      // A probe that the breaker let through has to end one way or the other.
      this.#breaker.succeeded();
      return { outcome: 'dropped' };
    }
    if (setup === undefined) {
      if (letter.kind === 'REMINDER') return { outcome: 'dropped' };
      return { outcome: 'failed', status: UNDELIVERED };
    }
    try {
      const link = letter.kind === 'REQUEST' ? await this.#link(mail, letter) : undefined;
      const composing = { mail, letter, from: setup.from, zone: calendar.zone, link };
      await this.#options.transport.send(setup, await compose(composing, this.#options));
      this.#breaker.succeeded();
      return { outcome: 'sent', status: SENT };
    } catch (error) {
      return this.#failed(mail, error);
    }
  }

  #failed(mail: Waiting, error: unknown): End | undefined {
    const { clock, log, retryMillis = RETRY_MILLIS } = this.#options;
    if (error instanceof CalendarFault) {
      log.warn('a mail of the calendar could not be written', { error });
      this.#breaker.succeeded();
      return { outcome: 'failed', status: UNROUTABLE };
    }
    const isOurs = error instanceof Refusal && error.code !== 'target_private';
    const { isByPolicy, kind } = isOurs ? { isByPolicy: false, kind: 'later' as const } : smtpFailureOf(error);
    const now = clock.now();
    if (kind === 'server') this.#breaker.failed(now);
    else this.#breaker.succeeded();
    if (kind === 'refused') return { outcome: 'failed', status: isByPolicy ? DISALLOWED : UNROUTABLE };
    // Half of it by chance, so that those that failed together do not come back together.
    const wait = Math.min(retryMillis * 2 ** Math.min(mail.attempts, 30), RETRY_MILLIS_MAX);
    mail.attempts += 1;
    mail.dueAt = now + wait * (0.5 + Math.random() / 2);
    if (mail.attempts === 1 && !this.#closed) log.warn('a mail is tried again', { why: smtpWordOf(error), kind });
    return undefined;
  }

  /** The link in a mail, known before the mail can be read. The same one in every try of this process. */
  async #link(mail: Waiting, { calendar, uid }: QueuedMailRecord): Promise<string> {
    const { baseUrl, calendars, links } = this.#options;
    const secret = mail.secret ?? makeRsvpSecret();
    const token = await calendars.change((draft) => links.put(draft, secret, { calendar, uid, attendee: mail.to }));
    mail.secret = secret;
    return `${baseUrl()}/rsvp/${token}`;
  }

  async #finish(mail: Waiting, letter: QueuedMailRecord | undefined, { status }: End): Promise<void> {
    const { calendars } = this.#options;
    const queue = this.#queues.get(mail.to) ?? [];
    await calendars.change((draft) => {
      dropMail(draft, mail);
      if (letter === undefined || letter.kind === 'REMINDER' || status === undefined) return;
      const { calendar, kind: method, uid } = letter;
      // The status of what was sent behind it is still to come.
      const isLast = !queue.some((one) => one !== mail && this.#isAbout(one, letter));
      try {
        if (isLast) noteStatus(draft, { method, calendar, uid, identity: mail.to, status, recipients: {} });
      } catch (error) {
        // An object that cannot take the line stays as it is.
        if (!(error instanceof CalendarFault) && !(error instanceof Refusal)) throw error;
      }
    });
    queue.splice(queue.indexOf(mail), 1);
    if (queue.length === 0) this.#queues.delete(mail.to);
    this.#waiting -= 1;
  }

  #isAbout(mail: Waiting, { calendar, uid }: QueuedMailRecord): boolean {
    const letter = letterOf(this.#options.calendars, mail.letter);
    return letter?.calendar === calendar && letter.uid === uid;
  }
}
