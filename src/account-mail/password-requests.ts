/**
 * Passwords that people forgot, where the installation has mail (CRD-12): whoever confirmed an address asks for a link by it.
 *
 *     request ──answered at once──► [background] whose address it is ──► mail ──► link, 30 minutes ──► another password
 *
 * A stranger learns nothing: the answer goes out before anything is looked up, and is the same for every address.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import { emailHoldersOf } from '#src/directory/directory.ts';
import type { PasswordResets } from '#src/directory/password-resets.ts';
import { confirmedEmailOf } from '#src/identity/confirmed-emails.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import type { Accounts, AccountsReader } from '#storage/accounts/accounts.ts';
import type { AccountOutbox } from './account-outbox.ts';

export interface PasswordRequestsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  readonly outbox: Pick<AccountOutbox, 'put' | 'wake'>;
  readonly resets: Pick<PasswordResets, 'mayMail'>;
}

export class PasswordRequests {
  readonly #options: PasswordRequestsOptions;
  /** What is being done behind answers that went out. */
  #working: Promise<void> = Promise.resolve();

  constructor(options: PasswordRequestsOptions) {
    this.#options = options;
  }

  /**
   * Takes a request and returns at once; the work comes after the answer.
   * @throws Refusal `rate_limited` by the caller's address alone.
   */
  request(email: string, address: string): void {
    this.#options.limiter.take('reset_request', hostOf(address));
    const work = nextTurn()
      .then(async () => await this.#send(email.toLowerCase()))
      .catch((error: unknown) => this.#options.log.warn('a link for a password could not be mailed', { error }));
    const before = this.#working;
    // Its value is nothing: one that held those before it would grow with every request.
    this.#working = work.then(async () => await before);
  }

  /** Resolves when the work behind every answer so far is done. */
  async settle(): Promise<void> {
    await this.#working;
  }

  async #send(email: string): Promise<void> {
    const { accounts, clock, limiter, outbox, resets } = this.#options;
    const user = holderOf(accounts, email);
    if (user === undefined || !resets.mayMail(user)) return;
    // The account's own pace, counted here, of which nobody is told: else the answer would say that there is one.
    if (limiter.secondsUntil('reset_mail', user) > 0) return;
    await accounts.change((draft) => outbox.put(draft, { kind: 'reset', user, at: clock.now() }));
    outbox.wake();
  }
}

/** The one person who confirmed that address; undefined where it is nobody's, or that of several: it proves nothing of one then. */
function holderOf(view: Pick<AccountsReader, 'document'>, email: string): string | undefined {
  const [holder, ...others] = emailHoldersOf(view, email).filter((one) => confirmedEmailOf(view, one) === email);
  return others.length === 0 ? holder : undefined;
}
