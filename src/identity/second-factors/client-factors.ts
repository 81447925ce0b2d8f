/**
 * Second factors when people sign in with their apps: whom one is asked of, what a session may without one, and how a
 * sign-in goes on with it.
 *
 *     password right ─┬─ enrolled for apps, or named by the rule and enrolled ─► second_factor_required
 *                     ├─ named by the rule and not enrolled ─┬─ in its days of grace ─► a session that says until when
 *                     │                                      └─ after them ──────────► a session that enrols, no more
 *                     └─ neither ─► a session
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { FinishSignIn, SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import type { InsteadOfFactor } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { SecondFactors } from '../console/second-factors.ts';
import type { Passkeys } from './passkeys.ts';
import type { PendingSignIn } from './pending-sign-ins.ts';

/** Username → milliseconds of the first sign-in or renewal at which the rule asked for a factor and there was none. */
const askedSince = defineCollection<number>('second_factor_asked_since', { version: 1 });

/** People looked at in one go: a millisecond or two. */
const FORGOTTEN_AT_ONCE = 200;

type View = Pick<AccountsDraft, 'document'>;

/** Whom this installation wants to have a second factor. */
export interface SecondFactorRule {
  asks(username: string): boolean;
  /** How long a person without one is let in as before, from the first sign-in on that was told so. */
  graceSeconds(): number;
  /** Whether sessions that a provider opened need none: it asked for its own. */
  exemptsProviders(): boolean;
}

/** What a session may, and from when on it may less; in milliseconds. */
export interface FactorStanding {
  readonly isEnrolling: boolean;
  readonly dueAt: number | undefined;
}

const FREE: FactorStanding = { isEnrolling: false, dueAt: undefined };
const ENROLLING: FactorStanding = { isEnrolling: true, dueAt: undefined };

export interface ClientFactorsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly passkeys: Passkeys;
  readonly rule: SecondFactorRule;
  readonly secondFactors: SecondFactors;
}

export class ClientFactors {
  readonly #options: ClientFactorsOptions;

  constructor(options: ClientFactorsOptions) {
    this.#options = options;
  }

  /** Whether a sign-in of that person goes on with a second factor. */
  isAsked(username: string, instead: InsteadOfFactor | undefined): boolean {
    const { rule, secondFactors } = this.#options;
    if (!secondFactors.isEnrolled(username)) return false;
    if (instead === 'provider' && rule.exemptsProviders()) return false;
    return secondFactors.isAskedInApps(username) || rule.asks(username);
  }

  /** Whether the person has to have one here. */
  isRequired(username: string): boolean {
    return this.#options.rule.asks(username);
  }

  /** What a session of that person may now; within a change, `view` is its draft. */
  standing(
    username: string,
    instead: InsteadOfFactor | undefined,
    view: View = this.#options.accounts,
  ): FactorStanding {
    const { clock, rule, secondFactors } = this.#options;
    // What was opened to set one up has not proven the one that was set up elsewhere since.
    if (secondFactors.isEnrolled(username, view)) return instead === 'enrollment' ? ENROLLING : FREE;
    if (!rule.asks(username)) return FREE;
    if (instead === 'provider' && rule.exemptsProviders()) return FREE;
    const now = clock.now();
    const dueAt = (view.document(askedSince, username) ?? now) + rule.graceSeconds() * 1000;
    return now < dueAt ? { isEnrolling: false, dueAt } : ENROLLING;
  }

  /** Whether a session has days of grace that nobody counts yet: without a beginning they would never end. */
  isGraceToBegin(username: string, instead: InsteadOfFactor | undefined, view: View = this.#options.accounts): boolean {
    const isCounted = view.document(askedSince, username) !== undefined;
    return !isCounted && this.standing(username, instead, view).dueAt !== undefined;
  }

  /** Begins the days of grace of a person, as part of the sign-in or the renewal that tells them. */
  noteAsked(draft: AccountsDraft, username: string): void {
    if (draft.document(askedSince, username) !== undefined) return;
    draft.putDocument(askedSince, username, this.#options.clock.now());
  }

  /**
   * Forgets since when those were asked whom the rule does not ask any more, in steps: when it names them again, their days of
   * grace begin anew. To be called when the rule changed.
   */
  async forgetUnasked(): Promise<void> {
    const { accounts, rule } = this.#options;
    for (let after = ''; ;) {
      const found = accounts.documents(askedSince, { after, limit: FORGOTTEN_AT_ONCE });
      const over = found.filter(({ id }) => !rule.asks(id));
      if (over.length > 0) {
        await accounts.change((draft) => {
          for (const { id } of over) if (!rule.asks(id)) forgetAsked(draft, id);
        });
      }
      const last = found.at(-1);
      if (last === undefined || found.length < FORGOTTEN_AT_ONCE) return;
      after = last.id;
      await othersFirst();
    }
  }

  /** What a sign-in that waits is told. */
  ask(secret: string, { expiresAt, mark, username }: PendingSignIn<unknown>): SecondFactorAsk {
    const { passkeys, secondFactors } = this.#options;
    const hasPasskeys = passkeys.isAvailable && passkeys.of(username).length > 0;
    return {
      challenge: secret,
      expires_at: formatInstant(expiresAt),
      ways: [
        ...(secondFactors.hasApp(username) ? (['code'] as const) : []),
        ...(hasPasskeys ? (['passkey'] as const) : []),
        ...(secondFactors.recoveryCodesLeft(username) > 0 ? (['recovery_code'] as const) : []),
      ],
      ...(hasPasskeys ? { passkey: passkeys.request(`second-factor:${mark}`, username) } : {}),
    };
  }

  /**
   * Judges what a waiting sign-in was given; what it answers spends it, as part of the change that opens the session.
   * @throws Refusal `rate_limited` after too many codes; `second_factor_wrong`, which the change may throw, too;
   * `encryption_locked`.
   */
  async prove(
    { mark, username }: Pick<PendingSignIn<unknown>, 'mark' | 'username'>,
    form: FinishSignIn,
    address: string,
  ): Promise<(draft: AccountsDraft) => void> {
    const { passkeys, secondFactors } = this.#options;
    const { code, passkey, recovery_code } = form;
    if (code !== undefined) await secondFactors.countAttempt(username);
    const verified =
      passkey === undefined ? undefined : await passkeys.verify(passkey, `second-factor:${mark}`, address, username);
    if (passkey !== undefined && verified === undefined) throw new Refusal('second_factor_wrong');
    return (draft) => void secondFactors.spend(draft, username, { code, recovery_code, verified });
  }
}

/** Takes away since when a person was asked, as part of a change. */
export function forgetAsked(draft: AccountsDraft, username: string): void {
  draft.removeDocument(askedSince, username);
}
