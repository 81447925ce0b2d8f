/**
 * Recovery of a guest's password (GST-02…05): a code of twelve digits that an administrator reads to the guest, or that a
 * webhook delivers.
 *
 *     recover ──answered at once──► [background] hash, store ──► code, 10 minutes ──confirm──► new password
 *
 * Nothing that a stranger sees depends on whether the number is a guest's: the answer goes out before the number is
 * looked up, the work behind it is the same for both, and a confirmation that fails has one answer and one cost.
 */
import { randomInt } from 'node:crypto';
import { assertGoodPassword } from '#src/identity/credentials/password-policy.ts';
import type { HashTurn, Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { ConfirmRecovery } from '#src/protocol/directory/guests.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import { guestOfPhone, phoneId } from '#src/identity/guest-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { removeAppPasswords } from '#src/identity/app-passwords.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import { namesIn, profileOf } from './directory.ts';
import { putNewPassword } from './password-resets.ts';

/** How long a code works (GST-03). */
export const RECOVERY_CODE_SECONDS = 600;

/** Digits of a code: 40 bits, since a number must never be closed to its guest by how often others guessed. */
const CODE_DIGITS = 12;

/** Attempts for one phone number at one place, whatever codes it asked for (GST-04). [recovery_failed] */
export const RECOVERY_ATTEMPTS_MAX = 5;

/**
 * When the attempts of a place are forgotten, counted from the first: a quarter of an hour, and after each span with
 * attempts twice as long, up to a day. What all places together may try is bounded by the guard of sign-in, at 30 a minute.
 */
export const RECOVERY_ATTEMPTS_SECONDS = 900;
export const RECOVERY_ATTEMPTS_SECONDS_MAX = 24 * 3600;

/** Places whose attempts are kept for one number; beyond, the one is forgotten that has not tried for longest. */
export const RECOVERY_PLACES_MAX = 64;

/** After this long without an attempt the spans begin short again. */
export const RECOVERY_CALM_SECONDS = 7 * 24 * 3600;

/** A code is delivered again after this long, and not before, so that nobody floods a guest with messages. */
export const RECOVERY_PAUSE_SECONDS = 60;

interface CodeRecord {
  readonly codeHash: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

interface Attempts {
  readonly count: number;
  /** Unix seconds of the first. */
  readonly since: number;
  /** Spans with attempts that went before, without a calm between them. */
  readonly spansBefore?: number;
  /** Unix seconds of the last. */
  readonly last: number;
}

/** By place: an address, or a device that the guest signed in on before. */
interface AttemptsRecord {
  readonly places: Readonly<Record<string, Attempts>>;
}

/** Digits of the phone number → the hash of its code. */
const recoveryCodes = defineCollection<CodeRecord>('recovery_codes', { version: 1 });
const recoveryAttempts = defineCollection<AttemptsRecord>('recovery_attempts', {
  version: 2,
  // Those of the first form were counted for all places together: what a stranger used up is given back.
  upgrade: () => ({ places: {} }),
});

/** Where the work for numbers of nobody is stored: one place, overwritten, so that strangers fill no disk. */
const NOBODY = '0';

/** A code as this process remembers it for its ten minutes; the disk has the hash alone. */
interface LiveCode {
  readonly username: string;
  readonly phone: string;
  readonly code: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** When it was delivered last, in milliseconds. */
  deliveredAt: number;
}

/** Delivers a code to its guest. What it throws is logged, and never the code. */
export type RecoverySender = (message: {
  readonly phone: string;
  readonly code: string;
  readonly expires_at: string;
}) => Promise<void>;

export interface RecoveryOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly announcer: SessionAnnouncer;
  readonly limiter: Limiter;
  readonly sender: RecoverySender | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #live = new Map<string, LiveCode>();
  readonly #guard: SignInGuard;
  /** What is being done behind answers that went out. */
  #working: Promise<void> = Promise.resolve();

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#guard = new SignInGuard({ limiter: options.limiter, realm: 'recovery' });
  }

  /**
   * Takes a request for a code and returns at once; the work comes after the answer.
   * @throws Refusal `rate_limited` by the caller's address alone.
   */
  request(phone: string, address: string): void {
    this.#options.limiter.take('recovery_request', hostOf(address));
    const work = new Promise<void>((resolve) => setImmediate(resolve)).then(
      async () => await this.#issue(phone, address),
    );
    const settled = work.catch((error: unknown) => {
      this.#options.log.warn('a recovery code could not be made', { error });
    });
    this.#working = Promise.all([this.#working, settled]).then(() => undefined);
  }

  /**
   * Exchanges a code for a new password and ends every session and every app password of the guest. Attempts are counted by
   * place, and a device that the guest signed in on before is a place of its own, which no address holds up.
   * @throws Refusal `recovery_failed`, at one cost for every reason; the codes of the password policy, of which
   * `password_names_you` for the right code alone; `rate_limited`, `busy`, `storage_full`.
   */
  async confirm(form: ConfirmRecovery, address: string): Promise<void> {
    const { accounts, clock, limiter } = this.#options;
    const { device_id: device, new_password: newPassword, phone } = form;
    const guest = guestOfPhone(accounts, phone, unixSeconds(clock.now()))?.username ?? NOBODY;
    const knownDevice = accounts.devices(guest).find(({ id }) => id === device)?.id;
    if (knownDevice === undefined) limiter.take('recovery_confirm', hostOf(address));
    // Before an attempt is counted: the next one may be the last.
    assertGoodPassword(newPassword, [], 'new_password');
    const place = knownDevice ?? hostOf(address);
    await this.#guard.attempt({ username: phone, address, knownDevice }, async (turn) => {
      await this.#exchange(form, { address, place, turn });
    });
  }

  async #exchange(
    { code, new_password: newPassword, phone }: ConfirmRecovery,
    { address, place, turn }: { readonly address: string; readonly place: string; readonly turn: HashTurn },
  ): Promise<void> {
    const { accounts, announcer, clock, passwords } = this.#options;
    const now = clock.now();
    // Counted before the code is looked at, so that guesses at the same time cannot share an attempt.
    const record = await accounts.change((draft) => this.#countAttempt(draft, phone, place, unixSeconds(now)));
    if (!(await passwords.verify(code, record?.codeHash, turn))) throw new Refusal('recovery_failed');
    // Whose number it is may be told now, to who has the code; it stays as it is.
    const guest = guestOfPhone(accounts, phone, unixSeconds(now));
    const names = guest === undefined ? [] : namesIn(guest.username, profileOf(accounts, guest.username));
    assertGoodPassword(newPassword, [...names, phone.slice(1)], 'new_password');
    const passwordHash = await passwords.hash(newPassword, turn);
    const revoked = await accounts.change((draft) => {
      const found = guestOfPhone(draft, phone, unixSeconds(now));
      const person = found === undefined ? undefined : draft.person(found.username);
      // Of two who come with one code, one gets it.
      const current = draft.document(recoveryCodes, phoneId(phone));
      if (found === undefined || person === undefined || current?.codeHash !== record?.codeHash) {
        throw new Refusal('recovery_failed');
      }
      putNewPassword(draft, person, passwordHash);
      draft.removeDocument(recoveryCodes, phoneId(phone));
      draft.removeDocument(recoveryAttempts, phoneId(phone));
      const ended = endSessions(draft, found.username);
      // Whoever had the password before may have made some.
      removeAppPasswords(draft, found.username);
      const actor = `user:${found.username}`;
      const details = { sessions_ended: ended.length };
      draft.audit(now, { event: 'recovery.confirmed', actor, address, subject: actor, details });
      return ended;
    });
    this.#live.delete(phone);
    if (revoked.length > 0) await announcer.revoked(revoked);
  }

  /** The live codes, for an administrator to read to their guests; whoever reads them is in the audit trail. */
  async read(by: AuditActor) {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    this.#forgetOver(now);
    const codes = [...this.#live.values()];
    await accounts.change((draft) => {
      const details = { username: codes.map(({ username }) => username) };
      draft.audit(now, { event: 'recovery.codes_read', ...by, subject: null, details });
    });
    return codes.map(({ username, phone, code, requestedAt, expiresAt }) => ({
      user: username,
      phone,
      code,
      requested_at: formatInstant(requestedAt),
      expires_at: formatInstant(expiresAt * 1000),
      attempts_left: fewestLeft(accounts.document(recoveryAttempts, phoneId(phone)), unixSeconds(now)),
    }));
  }

  /** Removes codes and attempts that time has settled. */
  async sweep(): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = unixSeconds(clock.now());
    this.#forgetOver(clock.now());
    const codes = accounts.documents(recoveryCodes).filter(({ document }) => document.expiresAt <= now);
    const attempts = accounts.documents(recoveryAttempts).filter(({ document }) => isForgotten(document, now));
    if (codes.length + attempts.length === 0) return;
    await accounts.change((draft) => {
      for (const { id } of codes) draft.removeDocument(recoveryCodes, id);
      for (const { id } of attempts) draft.removeDocument(recoveryAttempts, id);
    });
  }

  /** Resolves when the work behind every answer so far is done. */
  async settle(): Promise<void> {
    await this.#working;
  }

  async #issue(phone: string, address: string): Promise<void> {
    const turn = { key: hostOf(address), goesFirst: false };
    const { accounts, announcer, clock, passwords, sender, log } = this.#options;
    const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
    // At the cost of a password: a code of twelve digits is found from a fast hash within its ten minutes.
    const codeHash = await passwords.hash(code, turn);
    const now = clock.now();
    const expiresAt = unixSeconds(now) + RECOVERY_CODE_SECONDS;
    this.#forgetOver(now);
    const issued = await accounts.change((draft) => {
      const found = guestOfPhone(draft, phone, unixSeconds(now));
      const kept = this.#live.get(phone);
      // A number that asks again keeps its code as long as that lives: a stranger who asks must not take it from the guest.
      const isNew = found !== undefined && kept?.username !== found.username;
      draft.putDocument(recoveryCodes, isNew ? phoneId(phone) : NOBODY, { codeHash, expiresAt });
      if (isNew) {
        const { username } = found;
        this.#live.set(phone, { username, phone, code, requestedAt: now, expiresAt, deliveredAt: -Infinity });
      }
      return found;
    });
    const live = issued === undefined ? undefined : this.#live.get(phone);
    if (live === undefined || issued === undefined) return;
    if (live.deliveredAt > now - RECOVERY_PAUSE_SECONDS * 1000) return;
    live.deliveredAt = now;
    announcer.guestRecoveryRequested(issued.guest.invitedBy);
    try {
      await sender?.({ phone, code: live.code, expires_at: formatInstant(live.expiresAt * 1000) });
    } catch (error) {
      log.warn('a recovery code could not be delivered', { error: (error as Error).name, user: issued.username });
    }
  }

  /**
   * Counts an attempt; answers the code to compare with, if the place has attempts left and the number a code. Without a code
   * there is nothing to guess, and nothing is counted: it would be a way to lock a guest out beforehand.
   */
  #countAttempt(draft: AccountsDraft, phone: string, place: string, now: number): CodeRecord | undefined {
    const record = draft.document(recoveryCodes, phoneId(phone));
    const hasCode = guestOfPhone(draft, phone, now) !== undefined && record !== undefined && record.expiresAt > now;
    const places = { ...draft.document(recoveryAttempts, phoneId(phone))?.places };
    const attempts = attemptsNow(places[place], now);
    places[place] = { ...attempts, count: Math.min(attempts.count + 1, RECOVERY_ATTEMPTS_MAX + 1), last: now };
    const byAge = Object.entries(places).toSorted(([, one], [, other]) => other.last - one.last);
    const counted = { places: Object.fromEntries(byAge.slice(0, RECOVERY_PLACES_MAX)) };
    draft.putDocument(recoveryAttempts, hasCode ? phoneId(phone) : NOBODY, counted);
    return hasCode && attempts.count < RECOVERY_ATTEMPTS_MAX ? record : undefined;
  }

  #forgetOver(nowMillis: number): void {
    for (const [phone, { expiresAt }] of this.#live) if (expiresAt * 1000 <= nowMillis) this.#live.delete(phone);
  }
}

/** The attempts of the span that goes on now; a new one has none yet. */
function attemptsNow(record: Attempts | undefined, now: number): Attempts {
  if (record === undefined || record.since + RECOVERY_CALM_SECONDS <= now) return { count: 0, since: now, last: now };
  const { since, spansBefore = 0 } = record;
  const isOver = now >= since + Math.min(RECOVERY_ATTEMPTS_SECONDS * 2 ** spansBefore, RECOVERY_ATTEMPTS_SECONDS_MAX);
  return isOver ? { count: 0, since: now, last: now, spansBefore: spansBefore + 1 } : record;
}

/** What is left to the place that tried most. */
function fewestLeft(record: AttemptsRecord | undefined, now: number): number {
  const counts = Object.values(record?.places ?? {}).map((one) => attemptsNow(one, now).count);
  return Math.max(0, RECOVERY_ATTEMPTS_MAX - Math.max(0, ...counts));
}

function isForgotten({ places }: AttemptsRecord, now: number): boolean {
  return Object.values(places).every(({ since }) => since + RECOVERY_CALM_SECONDS <= now);
}
