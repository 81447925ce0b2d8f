/**
 * Signing in to the console by password (TFA-01): one answer and one cost for everybody who may not enter; then the
 * second factor, and where there is none, a session that sets one up and does nothing else.
 *
 * A right password without a code is told so (`second_factor_required`). Whoever holds the password learns nothing
 * they did not know; whoever guesses needs as many tries as before, each of them counted; and a form that asked
 * everybody for a code could not lead people to their set-up.
 */
import type { Passwords } from '../credentials/passwords.ts';
import type { SignInGuard } from '../credentials/sign-in-guard.ts';
import type { Clock } from '#src/base/clock.ts';
import type { PersonConsoleRole } from './permissions.ts';
import { actorOf, type Principal } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { consoleRoleOf } from './console-role-record.ts';
import { BREAK_GLASS_HOLDER, type ConsoleSessions, type OpenedConsoleSession } from './console-sessions.ts';
import type { PasskeyAssertion, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { Passkeys } from '../second-factors/passkeys.ts';
import type { SecondFactorProof, SecondFactors } from './second-factors.ts';
import type { SignInSwitches } from '../sign-in-switches.ts';

/** What passkeys of the console's sign-in are asked for with. */
const PURPOSE = 'console:sign-in';

export interface ConsoleLogin extends Omit<SecondFactorProof, 'verified'> {
  readonly passkey?: PasskeyAssertion | undefined;
  readonly username: string;
  readonly password: string;
}

/** A console session as it is answered to who opened it. */
export interface SignedIn extends OpenedConsoleSession {
  readonly username: string | null;
  readonly role: PersonConsoleRole;
  readonly signIn: 'password' | 'sso' | 'break_glass';
}

export interface ConsoleSignInOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly guard: SignInGuard;
  readonly sessions: ConsoleSessions;
  readonly secondFactors: SecondFactors;
  readonly passkeys: Passkeys;
  /** Whether the password of a person is kept elsewhere, at a provider or a directory server. */
  readonly isElsewhere: (username: string) => boolean;
  readonly switches: SignInSwitches;
  readonly clock: Clock;
}

export class ConsoleSignIn {
  readonly #options: ConsoleSignInOptions;

  constructor(options: ConsoleSignInOptions) {
    this.#options = options;
  }

  /**
   * Opens a console session.
   * @throws Refusal `login_failed` at one cost for an unknown person, a wrong password, a blocked person and one
   * without a console role; `second_factor_required` and `second_factor_wrong` after the right password alone;
   * `sign_in_by_identity` where passwords do not sign in; `rate_limited` after too many failures of this username from
   * this address, wrong codes among them, and after too many wrong codes of this username from anywhere; `busy`.
   */
  async login(form: ConsoleLogin, address: string): Promise<SignedIn> {
    const { accounts, guard, passkeys, passwords, secondFactors, switches } = this.#options;
    if (switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    const username = form.username.toLowerCase();
    return await guard.attempt({ username, address }, async (turn) => {
      const person = accounts.person(username);
      const isRight = await passwords.verify(form.password, person?.passwordHash, turn);
      if (person === undefined || !isRight || consoleRoleOf(accounts, username) === undefined) {
        throw new Refusal('login_failed');
      }
      const { code, passkey, recovery_code } = form;
      const hasProof = [code, passkey, recovery_code].some((one) => one !== undefined);
      if (secondFactors.isEnrolled(username) && !hasProof) throw new Refusal('second_factor_required');
      const verified = passkey === undefined ? undefined : await passkeys.verify(passkey, PURPOSE, address, username);
      if (passkey !== undefined && verified === undefined) throw new Refusal('second_factor_wrong');
      return await this.#open(person, { code, recovery_code, verified }, address);
    });
  }

  /** What a passkey is asked for with. @throws Refusal `passkeys_unavailable`, `sign_in_by_identity`. */
  passkeyRequest(): PasskeyRequest {
    const { passkeys, switches } = this.#options;
    if (switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    return passkeys.request(PURPOSE);
  }

  /**
   * Opens a console session by a passkey alone.
   * @throws Refusal `login_failed`, whatever is wrong with it or its person; `sign_in_by_identity`, `passkeys_unavailable`,
   * `rate_limited`, `busy`.
   */
  async byPasskey(passkey: PasskeyAssertion, address: string): Promise<SignedIn> {
    const { accounts, clock, guard, isElsewhere, passkeys, sessions, switches } = this.#options;
    if (switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    return await guard.attempt({ username: `~${passkey.id}`, address }, async () => {
      const verified = await passkeys.verify(passkey, PURPOSE, address);
      if (verified === undefined || isElsewhere(verified.username)) throw new Refusal('login_failed');
      const { username } = verified;
      return await accounts.change((draft) => {
        const now = clock.now();
        const role = consoleRoleOf(draft, username);
        const person = draft.person(username);
        if (role === undefined || person === undefined || !passkeys.use(draft, verified, true)) {
          throw new Refusal('login_failed');
        }
        const { passwordHash } = person;
        const opened = sessions.open(draft, username, { signIn: 'password', isFull: true, passwordHash, address, now });
        this.#audit(draft, username, address, { sign_in: 'passkey', second_factor: 'passkey', session: opened.sid });
        return { ...opened, username, role, signIn: 'password' };
      });
    });
  }

  /** Ends the session of a principal. @throws Refusal `vendor_token_forbidden`: a vendor has none. */
  async logout(principal: Principal, address: string): Promise<void> {
    const { accounts, clock, sessions } = this.#options;
    if (principal.kind === 'vendor') throw new Refusal('vendor_token_forbidden');
    const holder = principal.kind === 'person' ? principal.username : BREAK_GLASS_HOLDER;
    await accounts.change((draft) => {
      sessions.end(draft, holder, principal.sid);
      const actor = actorOf(principal);
      draft.audit(clock.now(), { event: 'console.signed_out', actor, address, subject: null, details: {} });
    });
  }

  async #open(person: PersonRecord, proof: SecondFactorProof, address: string): Promise<SignedIn> {
    const { accounts, clock, secondFactors, sessions } = this.#options;
    const { username, passwordHash } = person;
    if (secondFactors.isEnrolled(username) && proof.code !== undefined) {
      await secondFactors.countAttempt(username);
    }
    try {
      return await accounts.change((draft) => {
        const now = clock.now();
        const role = consoleRoleOf(draft, username);
        // Blocked, or given another password, while this one was being checked.
        if (role === undefined || draft.person(username)?.passwordHash !== passwordHash) {
          throw new Refusal('login_failed');
        }
        const isEnrolled = secondFactors.isEnrolled(username, draft);
        const factor = isEnrolled ? secondFactors.spend(draft, username, proof) : 'enrollment';
        const open = { signIn: 'password', isFull: isEnrolled, passwordHash, address, now } as const;
        const opened = sessions.open(draft, username, open);
        this.#audit(draft, username, address, { sign_in: 'password', second_factor: factor, session: opened.sid });
        return { ...opened, username, role, signIn: 'password' };
      });
    } catch (error) {
      if (error instanceof Refusal && error.code === 'second_factor_wrong') await this.#auditRefused(username, address);
      throw error;
    }
  }

  #audit(draft: AccountsDraft, username: string, address: string, details: Readonly<Record<string, string>>): void {
    const entry = { event: 'console.signed_in', actor: `user:${username}`, address, subject: null, details };
    draft.audit(this.#options.clock.now(), entry);
  }

  /** Somebody has the password and not the factor: its owner should know. Strangers cannot fill the trail by it. */
  async #auditRefused(username: string, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const subject = `user:${username}`;
      draft.audit(clock.now(), { event: 'console.code_refused', actor: 'server', address, subject, details: {} });
    });
  }
}
