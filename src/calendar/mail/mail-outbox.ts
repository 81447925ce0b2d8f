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
import { isProposal } from '../scheduling/itip-inbound.ts';
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
import { DeliveryQueue, type Attempt, type AttemptContext } from '#src/delivery/delivery-queue.ts';
import { smtpFailureOf, smtpWordOf } from '#src/outgoing/smtp.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Language } from '#src/protocol/languages.ts';
import { MAIL_RECIPIENTS_MAX } from '#src/protocol/limits.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import {
  dropMail,
  queuedMailOf,
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
/** About the wait before the second attempt; each one after is about twice as long, up to the most. */
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
  /** In which people outside are written to. */
  readonly language: () => Language;
  /** What a person of the installation reads; undefined where they have not said, or nothing is written in it. */
  readonly languageOf: (user: string) => Language | undefined;
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

/** Nobody took it in its time. */
const UNSENT: End = { outcome: 'failed', status: UNDELIVERED };

/** A mail as it is known here. */
interface Waiting extends NumberedMail {
  /** Of the link in it. */
  secret?: string;
}

export class Outbox implements OutsideMail {
  readonly #options: OutboxOptions;
  readonly #numbers: QueueNumbers;
  readonly #outcomes = new LabelledCounts();
  readonly #queue: DeliveryQueue<Waiting, End>;
  /** The last mail that the queue has. */
  #seen = 0;

  /** Goes on with what a process before this one left. */
  constructor(options: OutboxOptions) {
    const { clock, log, retryMillis = RETRY_MILLIS, waitingMax = MAILS_WAITING_MAX } = options;
    this.#options = options;
    this.#queue = new DeliveryQueue({
      ...{ name: 'calendar mail', clock, log, atOnce: AT_ONCE, waitingMax, receiver: 'mail server' },
      backoff: { firstMillis: retryMillis, mostMillis: RETRY_MILLIS_MAX },
      orderingKeyOf: ({ to }) => to,
      due: () => this.#due(),
      expiresAt: (mail) =>
        mail.at + (this.#letterOf(mail)?.kind === 'REMINDER' ? REMINDER_AGE_MILLIS_MAX : MAIL_AGE_MILLIS_MAX),
      attempt: async (mail, context) => await this.#attempt(mail, context),
      over: async (mail, end) => await this.#over(mail, end),
    });
    this.wake();
    this.#numbers = new QueueNumbers(clock, this.#seen);
  }

  isOn(): boolean {
    return this.#options.isOn();
  }

  language(): Language {
    return this.#options.language();
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
    this.#queue.reserve(count);
    this.#options.limiter.spend('mail_sent', from, count);
    for (const { bytes, method, recipients, revisions } of messages) {
      const said = revisions === undefined ? {} : { revisions: JSON.stringify(revisions) };
      const letter: QueuedMailRecord = { kind: method, from, uid, calendar, bytes: Buffer.from(bytes), ...said };
      putMail(draft, letter, recipients, this.#numbers.next);
    }
  }

  remind(draft: CalendarDraft, alarms: readonly EmailAlarm[]): void {
    const { book, isPerson, limiter, waitingMax = MAILS_WAITING_MAX } = this.#options;
    for (const { calendar, location, owner, start, title, uid, zone } of alarms) {
      const [address = ''] = book.addressesOf(owner);
      const mayGo = isPerson(owner) && this.isOn() && this.takes(address) && this.#queue.waiting < waitingMax;
      if (!mayGo || limiter.secondsUntil('alarm_sent', owner) > 0) {
        this.#outcomes.add('dropped');
        continue;
      }
      this.#queue.reserve(1);
      const said: ReminderMail = { title, location, start, zone };
      const bytes = Buffer.from(JSON.stringify(said));
      putMail(draft, { kind: 'REMINDER', from: owner, uid, calendar, bytes }, [address], this.#numbers.next);
    }
  }

  /** For the metrics. */
  get metrics() {
    return {
      parley_calendar_outgoing_mails_total: this.#outcomes.samples(),
      parley_calendar_outgoing_mails_waiting: oneSample(this.#queue.waiting),
    };
  }

  wake(): void {
    this.#queue.wake();
  }

  /** What is on its way waits for the next start. */
  async close(): Promise<void> {
    await this.#queue.close(CLOSE_MILLIS);
    this.#options.transport.close();
  }

  /** What was put on its way since, in order. */
  *#due(): Generator<Waiting> {
    const { calendars } = this.#options;
    calendars.refresh();
    for (const mail of mailsBehind(calendars, this.#seen)) {
      this.#seen = mail.seq;
      yield mail;
    }
  }

  /** Undefined while nothing can leave, or a link would lead nowhere. */
  #setup(): MailSetup | undefined {
    return this.#options.baseUrl() === '' ? undefined : this.#options.setup();
  }

  /** Undefined where nobody is told anything any more: whoever says it left, or the calendar is gone of what they are invited to. */
  #letterOf({ letter: number }: Waiting): QueuedMailRecord | undefined {
    const { calendars, isPerson } = this.#options;
    const letter = queuedMailOf(calendars, number);
    if (letter === undefined || !isPerson(letter.from)) return undefined;
    // What is taken back, and what somebody declines, may go with its calendar.
    const isLast = letter.kind === 'CANCEL' || letter.kind === 'REPLY';
    return isLast || calendars.calendar(letter.calendar) !== undefined ? letter : undefined;
  }

  async #attempt(mail: Waiting, { ask, attempts, signal }: AttemptContext<End>): Promise<Attempt<End>> {
    const { calendars, transport } = this.#options;
    const letter = this.#letterOf(mail);
    if (letter === undefined) return { result: 'over', answer: { outcome: 'dropped' } };
    const setup = this.#setup();
    if (setup === undefined) return { result: 'putOff', millis: LOOK_MILLIS };
    return await ask(async () => {
      try {
        const link = letter.kind === 'REQUEST' ? await this.#link(mail, letter) : undefined;
        const zone = calendars.calendar(letter.calendar)?.zone ?? 'UTC';
        const language = this.#languageFor(letter);
        const composing = { mail, letter, from: setup.from, zone, link, language };
        const composed = await compose(composing, this.#options);
        await transport.send(setup, composed, signal);
        return { result: 'over', answer: { outcome: 'sent', status: SENT } };
      } catch (error) {
        return this.#judge(error, attempts === 0 && !signal.aborted);
      }
    });
  }

  /** A reminder goes to whom it is from; of people outside no language is known. */
  #languageFor({ from, kind }: QueuedMailRecord): Language {
    return (kind === 'REMINDER' ? this.#options.languageOf(from) : undefined) ?? this.language();
  }

  /** What a failure means for the mail. */
  #judge(error: unknown, isFirst: boolean): Attempt<End> {
    if (error instanceof CalendarFault) {
      this.#options.log.warn('a mail of the calendar could not be written', { error });
      return { result: 'over', answer: { outcome: 'failed', status: UNROUTABLE } };
    }
    const isOurs = error instanceof Refusal && error.code !== 'target_private';
    const { isByPolicy, kind } = isOurs ? { isByPolicy: false, kind: 'later' as const } : smtpFailureOf(error);
    if (kind === 'refused') {
      return { result: 'over', answer: { outcome: 'failed', status: isByPolicy ? DISALLOWED : UNROUTABLE } };
    }
    if (isFirst) this.#options.log.warn('a mail is tried again', { why: smtpWordOf(error), kind });
    return { result: 'failed', answer: UNSENT, isDown: kind === 'server' };
  }

  /** The link in a mail, known before the mail can be read. The same one in every try of this process. */
  async #link(mail: Waiting, { calendar, uid }: QueuedMailRecord): Promise<string> {
    const { baseUrl, calendars, links } = this.#options;
    const secret = mail.secret ?? makeRsvpSecret();
    const token = await calendars.change((draft) => links.put(draft, secret, { calendar, uid, attendee: mail.to }));
    mail.secret = secret;
    return `${baseUrl()}/rsvp/${token}`;
  }

  /** Strikes a mail off, and tells its sender in their object. One that expired is given up; a reminder is just dropped. */
  async #over(mail: Waiting, end: End | undefined): Promise<void> {
    const letter = this.#letterOf(mail);
    const isTold = letter !== undefined && letter.kind !== 'REMINDER';
    const { outcome, status }: End = end ?? (isTold ? UNSENT : { outcome: 'dropped' });
    await this.#options.calendars.change((draft) => {
      dropMail(draft, mail);
      if (letter === undefined || letter.kind === 'REMINDER' || status === undefined) return;
      const { calendar, kind: method, uid } = letter;
      // Of a proposal no status stands in the object: it says nothing of it.
      if (isProposal(method)) return;
      // The status of what was sent behind it is still to come.
      const isLast = !this.#queue.inSequence(mail.to).some((one) => one !== mail && this.#isAbout(one, letter));
      try {
        if (isLast) noteStatus(draft, { method, calendar, uid, identity: mail.to, status, recipients: {} });
      } catch (error) {
        // An object that cannot take the line stays as it is.
        if (!(error instanceof CalendarFault) && !(error instanceof Refusal)) throw error;
      }
    });
    this.#outcomes.add(outcome);
  }

  #isAbout(mail: Waiting, { calendar, uid }: QueuedMailRecord): boolean {
    const letter = queuedMailOf(this.#options.calendars, mail.letter);
    return letter?.calendar === calendar && letter.uid === uid;
  }
}
