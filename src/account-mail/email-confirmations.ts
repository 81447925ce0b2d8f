/** People show that an address of theirs is theirs, by a code that is mailed there: what may be mailed to it afterwards opens an account. */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { profileOf } from '#src/directory/directory.ts';
import { dropEmailCode, overEmailCodes, takeEmailCode } from '#src/identity/confirmed-emails.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AccountOutbox } from './account-outbox.ts';

export interface EmailConfirmationsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Whether a mail server is named. */
  readonly isOn: () => boolean;
  readonly limiter: Limiter;
  readonly outbox: Pick<AccountOutbox, 'put' | 'wake'>;
}

export class EmailConfirmations {
  readonly #options: EmailConfirmationsOptions;

  constructor(options: EmailConfirmationsOptions) {
    this.#options = options;
  }

  /**
   * Mails a code to the address that the person has; answers which that is.
   * @throws Refusal `mail_unavailable`, `email_missing`, `rate_limited`, `busy`, `session_revoked`, `storage_full`.
   */
  async send(user: string): Promise<string> {
    const { accounts, clock, isOn, limiter, outbox } = this.#options;
    if (!isOn()) throw new Refusal('mail_unavailable');
    if (profileOf(accounts, user).email === null) throw new Refusal('email_missing');
    limiter.take('code_mail', user);
    const to = await accounts.change((draft) => {
      const { email } = profileOf(draft, user);
      if (draft.person(user)?.state !== 'active') throw new Refusal('session_revoked');
      if (email === null) throw new Refusal('email_missing');
      outbox.put(draft, { kind: 'code', user, at: clock.now() });
      return email;
    });
    outbox.wake();
    return to;
  }

  /** Takes the code. @throws Refusal `email_code_wrong`, also for one that is over; `session_revoked`, `storage_full`. */
  async confirm({ dev, sid, sub: user }: SessionClaims, code: string, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    await accounts.change((draft) => {
      if (draft.liveSession(user, dev, sid) === undefined) throw new Refusal('session_revoked');
      const email = profileOf(draft, user).email?.toLowerCase() ?? '';
      if (!takeEmailCode(draft, user, { code, email }, unixSeconds(now))) throw new Refusal('email_code_wrong');
      const actor = `user:${user}`;
      const details = { session: sid };
      draft.audit(now, { event: 'user.email_confirmed', actor, address, subject: actor, details });
    });
  }

  /** Forgets codes whose time is over. */
  async sweep(): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = unixSeconds(clock.now());
    const over = overEmailCodes(accounts, now);
    if (over.length === 0) return;
    await accounts.change((draft) => over.forEach((user) => dropEmailCode(draft, user, now)));
  }
}
