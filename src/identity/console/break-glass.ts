/**
 * The break-glass account: the way in when nobody else has one. It signs in with its password and a code, always
 * (TFA-02); every use is in the audit trail and raises an alert; and it issues no vendor tokens (VND-01).
 */
import { countCodeAttempt, forgetCodeAttempts } from '../credentials/code-attempts.ts';
import type { Passwords } from '../credentials/passwords.ts';
import type { SecretKeeper } from '../credentials/secret-keeper.ts';
import type { SignInGuard } from '../credentials/sign-in-guard.ts';
import { acceptTotp, makeTotpSecret, NO_STEP, totpSetup, type TotpSetup } from '../credentials/totp.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { actorOf, type Principal } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { BREAK_GLASS_HOLDER, endConsoleSessions, type ConsoleSessions } from './console-sessions.ts';
import type { SignedIn } from './console-sign-in.ts';
import type { Logger } from '#src/telemetry/logger.ts';

interface BreakGlassRecord {
  /** argon2id, in PHC form. */
  readonly passwordHash: string;
  readonly lastStep: number;
  /** RFC 3339. */
  readonly setAt: string;
  /** The actor of the audit trail. */
  readonly setBy: string;
  /** RFC 3339. */
  readonly usedAt: string | null;
  readonly usedAddress: string | null;
}

const breakGlass = defineCollection<BreakGlassRecord>('break_glass', { version: 1 });
/** There is one account. */
const ACCOUNT = 'account';
const SECRET_NAME = 'break-glass-totp';

/** The account as an owner sees it: without its secrets. */
export interface BreakGlassState {
  readonly is_set: boolean;
  readonly set_at: string | null;
  readonly set_by: string | null;
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

/** What the alert says of a use. */
export interface BreakGlassUse {
  readonly address: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface BreakGlassOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly guard: SignInGuard;
  readonly sessions: ConsoleSessions;
  readonly secrets: SecretKeeper;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
  /** Tells the people who watch over the installation that the account was used. */
  readonly raiseAlert: (use: BreakGlassUse) => Promise<void> | void;
}

export class BreakGlassAccount {
  readonly #options: BreakGlassOptions;

  constructor(options: BreakGlassOptions) {
    this.#options = options;
  }

  /**
   * Sets the account, or sets it anew: another password, another shared key, and its sessions are over. The key is in
   * the answer and never shown again.
   * @throws Refusal `right_missing` for anybody but an owner; `password_too_short`, `password_too_common`.
   */
  async set(principal: Principal, password: string, address: string): Promise<TotpSetup> {
    const { accounts, clock, passwords, secrets } = this.#options;
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    const passwordHash = await passwords.hashChosen(password, []);
    const secret = makeTotpSecret();
    await accounts.change((draft) => {
      const before = draft.document(breakGlass, ACCOUNT);
      const now = clock.now();
      const { usedAt = null, usedAddress = null } = before ?? {};
      const set = { setAt: formatInstant(now), setBy: actorOf(principal), usedAt, usedAddress };
      draft.putDocument(breakGlass, ACCOUNT, { passwordHash, lastStep: NO_STEP, ...set });
      secrets.put(draft, SECRET_NAME, secret);
      forgetCodeAttempts(draft, BREAK_GLASS_HOLDER);
      endConsoleSessions(draft, BREAK_GLASS_HOLDER);
      draft.audit(now, {
        event: 'break_glass.set',
        actor: actorOf(principal),
        address,
        subject: 'break-glass',
        details: { was_set: before !== undefined },
      });
    });
    return await totpSetup(secret, 'break-glass');
  }

  get state(): BreakGlassState {
    const record = this.#options.accounts.document(breakGlass, ACCOUNT);
    return {
      is_set: record !== undefined,
      set_at: record?.setAt ?? null,
      set_by: record?.setBy ?? null,
      last_used_at: record?.usedAt ?? null,
      last_used_address: record?.usedAddress ?? null,
    };
  }

  /**
   * Signs in as the account.
   * @throws Refusal `login_failed` at one cost for a wrong password and an account that is not set;
   * `second_factor_wrong` after the right password; `rate_limited` after too many failures from this address, or too
   * many wrong codes from anywhere; `busy`.
   */
  async login(form: { password: string; code: string }, address: string): Promise<SignedIn> {
    const { accounts, clock, guard, passwords } = this.#options;
    return await guard.attempt({ username: BREAK_GLASS_HOLDER, address }, async (turn) => {
      const passwordHash = accounts.document(breakGlass, ACCOUNT)?.passwordHash;
      const isRight = await passwords.verify(form.password, passwordHash, turn);
      if (!isRight || passwordHash === undefined) throw new Refusal('login_failed');
      await countCodeAttempt(accounts, BREAK_GLASS_HOLDER, clock.now());
      try {
        return await this.#open(passwordHash, form.code, address);
      } catch (error) {
        if (error instanceof Refusal && error.code === 'second_factor_wrong') await this.#auditRefused(address);
        throw error;
      }
    });
  }

  /**
   * Asks for its code again in the midst of a session, and does `then` in the same change.
   * @throws Refusal `second_factor_wrong`, `rate_limited`, `encryption_locked`.
   */
  async prove(code: string, address: string, then: (draft: AccountsDraft) => void): Promise<void> {
    const { accounts, clock, guard } = this.#options;
    await guard.attempt({ username: BREAK_GLASS_HOLDER, address }, async () => {
      await countCodeAttempt(accounts, BREAK_GLASS_HOLDER, clock.now());
      await accounts.change((draft) => {
        this.#spend(draft, code, clock.now());
        then(draft);
      });
    });
  }

  /** Takes a code as part of a change; answers the account as it is stored then. @throws Refusal `second_factor_wrong`. */
  #spend(draft: AccountsDraft, code: string, nowMillis: number): BreakGlassRecord {
    const record = draft.document(breakGlass, ACCOUNT);
    const secret = record === undefined ? undefined : this.#options.secrets.get(SECRET_NAME, draft);
    if (record === undefined || secret === undefined) throw new Error('The break-glass account has no secret.');
    const lastStep = acceptTotp(secret, code, { nowMillis, lastStep: record.lastStep });
    if (lastStep === undefined) throw new Refusal('second_factor_wrong');
    const spent = { ...record, lastStep };
    forgetCodeAttempts(draft, BREAK_GLASS_HOLDER);
    draft.putDocument(breakGlass, ACCOUNT, spent);
    return spent;
  }

  async #open(passwordHash: string, code: string, address: string): Promise<SignedIn> {
    const { accounts, clock, sessions } = this.#options;
    const now = clock.now();
    const use = { address, at: formatInstant(now) };
    const opened = await accounts.change((draft) => {
      const record = draft.document(breakGlass, ACCOUNT);
      // Set anew while the password was being checked.
      if (record?.passwordHash !== passwordHash) throw new Refusal('login_failed');
      const spent = this.#spend(draft, code, now);
      draft.putDocument(breakGlass, ACCOUNT, { ...spent, usedAt: use.at, usedAddress: address });
      const session = sessions.open(draft, BREAK_GLASS_HOLDER, { signIn: 'break_glass', isFull: true, address, now });
      draft.audit(now, {
        event: 'break_glass.used',
        actor: 'break-glass',
        address,
        subject: 'break-glass',
        details: { session: session.sid },
      });
      return session;
    });
    await this.#raise(use);
    return { ...opened, username: null, role: 'owner', signIn: 'break_glass' };
  }

  /** An alert that cannot be raised must not keep the account out: it is for the day on which things are broken. */
  async #raise(use: BreakGlassUse): Promise<void> {
    try {
      await this.#options.raiseAlert(use);
    } catch (error) {
      this.#options.log.error('the use of the break-glass account could not be raised as an alert', { error });
    }
  }

  async #auditRefused(address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const form = { event: 'break_glass.refused', actor: 'server', subject: 'break-glass', details: {} };
      draft.audit(clock.now(), { ...form, address });
    });
  }
}
