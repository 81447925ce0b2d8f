/**
 * Calendar messages that come by mail (RFC 6047), whichever door they come through:
 *
 *     mail ─► who vouches for whom, which part ─► per recipient: whose calendar, which copy ─► one commit ─► told
 *
 * What is answered as accepted is on disk. The same mail once more changes nothing.
 */
import type { Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { TrustedMailServer } from '#src/settings/mail-trust.ts';
import { envelopeAddress, type FromAddress } from '#src/mail/inbound/from-address.ts';
import type { MailPool } from '#src/mail/inbound/mail-pool.ts';
import type { VouchedMail } from '#src/mail/inbound/mail-reader.ts';
import type { MailOutcome } from '#src/mail/inbound/outcomes.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import { noteAnswer } from '#storage/calendars/calendar-answers.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { putMessage } from '#storage/calendars/calendar-inbox.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { awaitsAnswer } from '../objects/identity.ts';
import { messageIndex } from '../objects/message-index.ts';
import { storedIndex } from '../objects/stored-index.ts';
import { isProposal, isTaken } from '../scheduling/itip-inbound.ts';
import type { Recipients } from '../scheduling/people.ts';
import { receiveProposal } from '../scheduling/proposal-intake.ts';
import { type Place, placeOf } from '../scheduling/delivery-calendar.ts';

/** Invitations still to come that may wait for one person's answer before outsiders may add no more. [invitations_full] */
export const INVITATIONS_WAITING_MAX = 500;
/** Unanswered invitations looked at to count those; whoever has let so many go by has too many in any case. */
const LOOKED_AT_MAX = 5_000;
/** What an agent may speak for: somebody whom mail reaches. */
const MAIL_ADDRESS = /^mailto:[^@\s]+@[^@\s]+$/;
/** Times that a copy is worked out anew because its owner changed it in between. [busy] */
const TIMES_MAX = 8;

export interface MailIntakeOptions {
  readonly calendars: Calendars;
  readonly pool: DerivationPool;
  readonly mails: MailPool;
  readonly book: AddressBook;
  readonly isPerson: (user: string) => boolean;
  /** Whose word about a sender counts; undefined takes no mail. @throws Refusal `encryption_locked`. */
  readonly trust: () => TrustedMailServer | undefined;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly log: {
    error(message: string, fields?: Readonly<Record<string, unknown>>): void;
    info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  };
}

/** A message whose sender is known, and what it is about. */
interface Message {
  /** Whom the mail is from, as the operator's mail server says. */
  readonly from: FromAddress;
  /** Address of whom the message speaks for: the same, unless the operator trusts the sender with others. */
  readonly speaker: string;
  readonly bytes: Uint8Array;
  readonly method: string;
  readonly uid: string;
}

const OUTCOME_OF: Partial<Record<ErrorCode, MailOutcome>> = {
  busy: 'busy',
  calendar_full: 'calendar_full',
  calendar_not_found: 'kind_refused',
  encryption_locked: 'encryption_locked',
  entry_kind_refused: 'kind_refused',
  entry_too_large: 'too_large',
  entry_uid_taken: 'event_foreign',
  quota_exceeded: 'quota_exceeded',
  rate_limited: 'rate_limited',
  storage_full: 'storage_full',
};

export class MailIntake {
  readonly #options: MailIntakeOptions;
  readonly #outcomes = new LabelledCounts();

  constructor(options: MailIntakeOptions) {
    this.#options = options;
  }

  /** For the metrics. */
  get metrics() {
    return { parley_calendar_mails_total: this.#outcomes.samples() };
  }

  /** The person of an address of an envelope; undefined for nobody who may get a calendar. */
  recipientOf(address: string): string | undefined {
    const { book, isPerson } = this.#options;
    const known = envelopeAddress(address);
    const user = known === undefined ? undefined : book.userOf(`mailto:${known}`);
    return user !== undefined && isPerson(user) ? user : undefined;
  }

  /** Takes a mail in for its recipients. What became of it for each, in their order, once that is on disk. Never throws. */
  async receive(mail: Uint8Array, recipients: readonly string[]): Promise<MailOutcome[]> {
    const message = await this.#tried(undefined, async () => await this.#read(mail));
    const outcomes: MailOutcome[] = [];
    for (const recipient of recipients) {
      const outcome = typeof message === 'string' ? message : await this.#deliver(message, recipient);
      this.#outcomes.add(outcome);
      outcomes.push(outcome);
    }
    const domain = typeof message === 'string' ? undefined : message.from.domain;
    this.#options.log.info('a calendar mail came', { outcomes, domain });
    return outcomes;
  }

  async #read(mail: Uint8Array): Promise<Message | MailOutcome> {
    const { limiter, mails, pool, trust } = this.#options;
    const trusted = trust();
    if (trusted === undefined) return 'mail_off';
    const read: VouchedMail | MailOutcome = await mails.read({ mail, trust: trusted });
    if (typeof read === 'string') return read;
    const { from, part } = read;
    const own = `mailto:${from.address}`;
    if (this.#isLocal(own)) return 'sender_is_local';
    limiter.take('mail_domain', from.domain);
    if (!isTaken(part.method)) return 'method_refused';
    const { method, uid, speaker: named = '' } = await pool.inspect(part.bytes);
    if (method !== part.method) return 'method_mismatch';
    const isAgent = trusted.agents.includes(from.address) && MAIL_ADDRESS.test(named);
    const speaker = isAgent ? named : own;
    return this.#isLocal(speaker) ? 'sender_is_local' : { from, speaker, bytes: part.bytes, method, uid };
  }

  /** A mail speaks for nobody here: whose account it is, the server knows better than any mail server. */
  #isLocal(address: string): boolean {
    return this.#options.book.userOf(address) !== undefined;
  }

  async #deliver(message: Message, recipient: string): Promise<MailOutcome> {
    const user = this.recipientOf(recipient);
    if (user === undefined) return 'recipient_unknown';
    const outcome = await this.#tried(message, async () => {
      for (let times = 0; times < TIMES_MAX; times += 1) {
        const done = await this.#apply(message, user);
        if (done !== undefined) return done;
      }
      return 'busy';
    });
    if (outcome === 'applied') return outcome;
    const { calendars } = this.#options;
    const noted = await this.#tried(message, async () => {
      await calendars.change((draft) => note(draft, message, user, outcome));
      return outcome;
    });
    return noted;
  }

  /** Works a message into somebody's copy; undefined where they changed it meanwhile. @throws what the store refuses; CalendarFault. */
  async #apply(message: Message, user: string): Promise<MailOutcome | undefined> {
    const { calendars, pool, book } = this.#options;
    if (isProposal(message.method)) {
      const proposal = { ...message, method: message.method, from: message.speaker, to: user };
      const known = { ...proposal, recipients: this.#known(message.speaker, user) };
      return await receiveProposal(this.#options, known, (draft) => note(draft, message, user, 'applied'));
    }
    const place = await placeOf(this.#options, user, message);
    if (place === undefined) return 'event_unknown';
    const { calendar, etag, name = `${entryIdOf(message.uid)}.ics` } = place;
    const from = message.speaker;
    const result = await pool.applyFromOutside({
      ...{ message: message.bytes, from, to: user, zone: calendar.zone, recipients: this.#known(from, user) },
      ...{ copy: etag === undefined ? undefined : calendars.bytesOf(calendar.id, name) },
      removed: this.#removed(place, name, message.uid),
    });
    if (typeof result === 'string') return result;
    const { index, participations } = await pool.derive(result, calendar.zone);
    const isUnanswered = !index.isCancelled && awaitsAnswer(book, calendar.owner, participations);
    if (etag === undefined && isUnanswered && this.#hasEnough(user)) return 'invitations_full';
    const read = await messageIndex(pool, message.bytes, calendar.zone);
    const isWritten = await calendars.change((draft) => {
      if (draft.object(calendar.id, name)?.etag !== etag) return false;
      const isReply = message.method === 'REPLY';
      const options = { keepScheduleTag: isReply };
      draft.putObject(calendar.id, name, result, storedIndex(index, true, isUnanswered), options);
      if (isReply) noteAnswer(draft, { calendar: calendar.id, uid: message.uid, organizer: user });
      putMessage(draft, user, calendar.zone, { bytes: message.bytes, index: read });
      note(draft, message, user, 'applied');
      return true;
    });
    return isWritten ? 'applied' : undefined;
  }

  /** The last state of a copy that its owner removed: what they removed does not come back by the same mail. */
  #removed({ calendar, etag }: Place, name: string, uid: string): Uint8Array | undefined {
    const { calendars } = this.#options;
    if (etag !== undefined || calendars.removal(calendar.id, name)?.grave.uid !== uid) return undefined;
    return calendars.revisionsOf(calendar.id, name)[0]?.bytes;
  }

  #known(from: string, user: string): Recipients {
    const self = { identity: user, status: '', isReachable: true };
    const own = this.#options.book.addressesOf(user).map((address) => [address, self] as const);
    return { ...Object.fromEntries(own), [from]: { identity: from, status: '', isReachable: true } };
  }

  /** Whether more invitations wait for somebody than outsiders may add to. What is over waits for nothing. */
  #hasEnough(user: string): boolean {
    const { calendars, clock } = this.#options;
    calendars.refresh();
    const waiting = calendars.unansweredOf(user, { limit: LOOKED_AT_MAX });
    if (waiting.length < INVITATIONS_WAITING_MAX || waiting.length === LOOKED_AT_MAX) {
      return waiting.length === LOOKED_AT_MAX;
    }
    const now = clock.now();
    const ahead = waiting.filter(({ calendar, name }) => {
      const stored = calendars.object(calendar, name);
      return stored !== undefined && (stored.lastAt === null || stored.lastAt > now);
    });
    return ahead.length >= INVITATIONS_WAITING_MAX;
  }

  /** What is expected becomes an outcome; a fault of the server is told to the log, and may be tried again. */
  async #tried<T>(message: Message | undefined, attempt: () => Promise<T>): Promise<T | MailOutcome> {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof CalendarFault) {
        return error.precondition === 'max-resource-size' ? 'too_large' : 'calendar_invalid';
      }
      const outcome = error instanceof Refusal ? OUTCOME_OF[error.code] : undefined;
      if (outcome !== undefined) return outcome;
      this.#options.log.error('a calendar mail could not be taken in', { error, method: message?.method });
      return 'failed';
    }
  }
}

/** Leaves an entry for the audit trail: who sent what to whom, and what came of it. */
function note(draft: CalendarDraft, { from, method, speaker, uid }: Message, user: string, outcome: MailOutcome): void {
  const details = { from: from.address, for: speaker, method, entry: entryIdOf(uid), outcome };
  const form = { event: 'calendar.mail', actor: 'server', address: null, subject: `user:${user}`, details };
  draft.audit(form, randomSymbols(13));
}
