/**
 * Mail about accounts on its way to their people:
 *
 *     change ─► what is to be told, in the same commit ─► written when it leaves, with its code or link ─► mail server ─► struck off
 *
 * A mail that the server took just before a kill goes once more, with another link: the one before is over then.
 */
import { createHash } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import type { Clock } from '#src/base/clock.ts';
import { DeliveryQueue, type Attempt, type AttemptContext } from '#src/delivery/delivery-queue.ts';
import { smtpFailureOf, smtpWordOf } from '#src/outgoing/smtp.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Language } from '#src/protocol/languages.ts';
import type { MailSetup, Transport } from '#src/mail/transport.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import { wordsOf, type Letter, type MailedNotice } from './account-letters.ts';

/** Mails that wait at most: those of an organisation whose mail server is down for an hour. Beyond it: `busy`. */
export const ACCOUNT_MAILS_WAITING_MAX = 1_000;
/**
 * Notices to one person that wait at most: somebody who changes and changes what signs them in would have all places for two days
 * while the mail server is down, and nobody else a link or a code. Beyond it: `busy`, and the devices have the notice.
 */
export const NOTICES_OF_ONE_WAITING_MAX = 10;
/** How long a code or a link is tried: whoever asked for it waits, and asks again. It is dropped then. */
export const ASKED_MAIL_MILLIS_MAX = 15 * 60_000;
/** How long a notice is tried: a weekend's outage is over by then. It is dropped then; the devices have it. */
export const NOTICE_MAIL_MILLIS_MAX = 48 * 3_600_000;

/** Connections that the transport has for it. */
const AT_ONCE = 2;
/** About the wait before the second attempt; each one after is about twice as long, up to the most. */
const RETRY_MILLIS = 5_000;
const RETRY_MILLIS_MAX = 300_000;
/** How long mails rest where there is no server to send them by, before the settings are looked at again. */
const LOOK_MILLIS = 5_000;
/** How long a stopping server waits for mails that are under way; those are sent again at the next start. */
const CLOSE_MILLIS = 2_000;
/** Digits of a mail's number, so that the order of ids is that of the numbers. */
const NUMBER_DIGITS = 16;

/** What is to be told to whom. Nothing of it opens anything. */
export interface AccountMail {
  readonly kind: Letter['kind'];
  readonly user: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What a notice tells. */
  readonly notice?: MailedNotice;
}

/** Number of 16 digits → mail. */
const accountMails = defineCollection<AccountMail>('account_mails', { version: 1 });

/** A mail as it leaves. */
export interface Written {
  readonly to: string;
  readonly language: Language;
  readonly letter: Letter;
}

export interface AccountOutboxOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** What mail leaves by now; undefined while there is none, or its secrets are locked. */
  readonly setup: () => MailSetup | undefined;
  readonly transport: Pick<Transport, 'send' | 'close'>;
  /** Writes a mail, and makes what it hands over; undefined where nobody is to be told any more. */
  readonly write: (mail: AccountMail) => Promise<Written | undefined>;
}

type Outcome = 'sent' | 'failed' | 'dropped';

interface Waiting extends AccountMail {
  readonly id: string;
  /** As it was written in this process: each try hands over the same link. */
  written?: Written | undefined;
}

export class AccountOutbox {
  readonly #options: AccountOutboxOptions;
  readonly #queue: DeliveryQueue<Waiting, Outcome>;
  readonly #results: Readonly<Record<Letter['kind'], LabelledCounts>> = {
    code: new LabelledCounts(),
    notice: new LabelledCounts(),
    reset: new LabelledCounts(),
  };
  /** The last mail that the queue has. */
  #seen = '';
  #number: number;
  /** Notices by person that are in a change and not in the queue yet, as the room that is reserved there. */
  readonly #reserved = new Map<string, number>();

  /** Goes on with what a process before this one left. */
  constructor(options: AccountOutboxOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#queue = new DeliveryQueue({
      ...{ name: 'account mail', clock, log, atOnce: AT_ONCE, waitingMax: ACCOUNT_MAILS_WAITING_MAX },
      receiver: 'mail server',
      backoff: { firstMillis: RETRY_MILLIS, mostMillis: RETRY_MILLIS_MAX },
      orderingKeyOf: ({ user }) => user,
      due: () => this.#due(),
      expiresAt: ({ at, kind }) => at + (kind === 'notice' ? NOTICE_MAIL_MILLIS_MAX : ASKED_MAIL_MILLIS_MAX),
      attempt: async (mail, context) => await this.#attempt(mail, context),
      over: async (mail, outcome) => await this.#over(mail, outcome ?? 'failed'),
    });
    this.wake();
    this.#number = Number(this.#seen);
  }

  /** Puts a mail on its way as part of a change; `wake` once that is on disk. @throws Refusal `busy`. */
  put(draft: AccountsDraft, mail: AccountMail): void {
    if (mail.kind === 'notice') this.#reserveNotice(mail.user);
    this.#queue.reserve(1);
    this.#number += 1;
    draft.putDocument(accountMails, String(this.#number).padStart(NUMBER_DIGITS, '0'), mail);
  }

  /** Counts a notice that finds no place among the mails that wait. */
  noticeLeftOut(): void {
    this.#results.notice.add('left_out');
  }

  /** For the metrics. */
  get metrics() {
    const results = Object.entries(this.#results);
    return {
      parley_account_mails_total: results.flatMap(([kind, counts]) => counts.samples([kind])),
      parley_account_mails_waiting: oneSample(this.#queue.waiting),
    };
  }

  wake(): void {
    this.#reserved.clear();
    this.#queue.wake();
  }

  /** What is on its way waits for the next start. */
  async close(): Promise<void> {
    await this.#queue.close(CLOSE_MILLIS);
    this.#options.transport.close();
  }

  /** @throws Refusal `busy` where as many notices of that person wait as may. */
  #reserveNotice(user: string): void {
    const reserved = this.#reserved.get(user) ?? 0;
    const waiting = this.#queue.inSequence(user).filter(({ kind }) => kind === 'notice').length;
    if (waiting + reserved >= NOTICES_OF_ONE_WAITING_MAX) throw new Refusal('busy');
    this.#reserved.set(user, reserved + 1);
  }

  /** What was put on its way since, in order. */
  *#due(): Generator<Waiting> {
    const { accounts } = this.#options;
    for (const { document, id } of accounts.documents(accountMails, { after: this.#seen })) {
      this.#seen = id;
      yield { ...document, id };
    }
  }

  async #attempt(mail: Waiting, { ask, attempts, signal }: AttemptContext<Outcome>): Promise<Attempt<Outcome>> {
    const { setup: readSetup, transport, write } = this.#options;
    const setup = readSetup();
    if (setup === undefined) return { result: 'putOff', millis: LOOK_MILLIS };
    mail.written ??= await write(mail);
    const { written } = mail;
    if (written === undefined) return { result: 'over', answer: 'dropped' };
    return await ask(async () => {
      try {
        await transport.send(setup, composed(mail, written, setup), signal);
        return { result: 'over', answer: 'sent' };
      } catch (error) {
        return this.#judge(error, attempts === 0 && !signal.aborted);
      }
    });
  }

  /** What a failure means for the mail. */
  #judge(error: unknown, isFirst: boolean): Attempt<Outcome> {
    const isOurs = error instanceof Refusal && error.code !== 'target_private';
    const kind = isOurs ? 'later' : smtpFailureOf(error).kind;
    if (kind === 'refused') return { result: 'over', answer: 'failed' };
    if (isFirst) this.#options.log.warn('a mail is tried again', { why: smtpWordOf(error), kind });
    return { result: 'failed', answer: 'failed', isDown: kind === 'server' };
  }

  async #over({ id, kind, user }: Waiting, outcome: Outcome): Promise<void> {
    await this.#options.accounts.change((draft) => draft.removeDocument(accountMails, id));
    this.#results[kind].add(outcome);
    // Nobody else says so: whoever asked is not told, and asks an administrator why nothing came.
    if (outcome === 'failed') this.#options.log.warn('a mail about an account was not taken', { kind, user });
  }
}

/** The same Message-ID whenever the same mail is sent again, so that whoever got it twice can tell. */
function composed(mail: Waiting, { language, letter, to }: Written, { from }: MailSetup): SendMailOptions {
  const hash = createHash('sha256').update(`${mail.id}\0${mail.at}\0${mail.user}`).digest('hex').slice(0, 32);
  return {
    ...wordsOf(letter, language),
    envelope: { from, to: [to] },
    to: { name: '', address: to },
    from: { name: 'Parley', address: from },
    messageId: `<${hash}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    date: new Date(mail.at),
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}
