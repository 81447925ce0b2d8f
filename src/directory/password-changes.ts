/** Changing one's own password (CRD-12): by the one before, which is judged as at sign-in. */
import type { Clock } from '#src/base/clock.ts';
import { assertGoodPassword } from '#src/identity/credentials/password-policy.ts';
import type { HashTurn, Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import type { ChangePassword } from '#src/protocol/account/passwords.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { namesIn, profileOf } from './directory.ts';
import { putNewPassword } from './password-resets.ts';

export interface PasswordChangesOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  /** That of sign-in: who guesses here is shut out there, and the other way round. */
  readonly guard: SignInGuard;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clock: Clock;
  /** Whether the password of a person is kept elsewhere, at a provider or a directory server. */
  readonly isElsewhere: (username: string) => boolean;
}

export class PasswordChanges {
  readonly #options: PasswordChangesOptions;

  constructor(options: PasswordChangesOptions) {
    this.#options = options;
  }

  /**
   * Sets another password of the person whose session that is; answers how many other sessions ended. The session stays,
   * and so do app passwords. The console's sessions that the old one opened are over.
   * @throws Refusal `password_wrong`, counted as a failed sign-in; `rate_limited`, `busy`; the codes of the password
   * policy with the field `new`, `password_unchanged`; `password_at_provider`; `session_revoked`, `storage_full`.
   */
  async change(claims: SessionClaims, form: ChangePassword, address: string): Promise<number> {
    const { accounts, announcer, guard, isElsewhere } = this.#options;
    const username = claims.sub;
    if (isElsewhere(username)) throw new Refusal('password_at_provider');
    // Judged first: it costs no hash, and says nothing of the old one.
    assertGoodPassword(form.new, namesIn(username, profileOf(accounts, username)), 'new');
    const revoked = await guard.attempt(
      { username, address, knownDevice: claims.dev },
      async (turn) => await this.#change(claims, form, address, turn),
    );
    if (revoked.length > 0) await announcer.revoked(revoked);
    return revoked.length;
  }

  async #change(claims: SessionClaims, form: ChangePassword, address: string, turn: HashTurn) {
    const { accounts, clock, passwords } = this.#options;
    const { dev, sid, sub: username } = claims;
    const before = accounts.person(username)?.passwordHash;
    if (!(await passwords.verify(form.current, before, turn)))
      throw new Refusal('password_wrong', { field: 'current' });
    if (await passwords.verify(form.new, before, turn)) throw new Refusal('password_unchanged', { field: 'new' });
    const passwordHash = await passwords.hash(form.new, turn);
    return await accounts.change((draft) => {
      const person = draft.person(username);
      // Signed out or blocked while the password was checked, or another one was set.
      if (person === undefined || draft.liveSession(username, dev, sid) === undefined) {
        throw new Refusal('session_revoked');
      }
      if (person.passwordHash !== before) throw new Refusal('password_wrong', { field: 'current' });
      putNewPassword(draft, person, passwordHash);
      const ended = form.end_others ? endSessions(draft, username, sid) : [];
      const actor = `user:${username}`;
      const details = { session: sid, sessions_ended: ended.length };
      draft.audit(clock.now(), { event: 'user.password_changed', actor, address, subject: actor, details });
      return ended;
    });
  }
}
