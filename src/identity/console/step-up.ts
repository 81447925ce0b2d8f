/**
 * The second factor, asked again in the midst of a session (VND-17): what decides who gets in, and what of the
 * installation leaves it, is not done by whoever holds a token alone. It counts for `STEP_UP_MILLIS` in this session.
 *
 * Whoever signed in by password, and the break-glass account, give a code. Whoever came from the identity provider is
 * sent there to sign in anew: `single-sign-on.ts`.
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { BreakGlassAccount } from './break-glass.ts';
import { BREAK_GLASS_HOLDER, type ConsoleSessions } from './console-sessions.ts';
import { actorOf, type ConsolePerson, type BreakGlass, type Principal } from './principal.ts';
import type { PasskeyAssertion } from '#src/protocol/sessions/passkeys.ts';
import type { Passkeys } from '../second-factors/passkeys.ts';
import type { SecondFactorProof, SecondFactors } from './second-factors.ts';

/** What is given to step up. */
export interface StepUpProof extends Omit<SecondFactorProof, 'verified'> {
  readonly passkey?: PasskeyAssertion | undefined;
}

export interface StepUpOptions {
  readonly accounts: Accounts;
  readonly sessions: Pick<ConsoleSessions, 'stepUp'>;
  readonly secondFactors: Pick<SecondFactors, 'prove'>;
  readonly passkeys: Pick<Passkeys, 'verify'>;
  readonly breakGlass: Pick<BreakGlassAccount, 'prove'>;
  readonly clock: Clock;
}

export class StepUp {
  readonly #options: StepUpOptions;

  constructor(options: StepUpOptions) {
    this.#options = options;
  }

  /**
   * Takes a code, a recovery code or a passkey; answers until when it counts, in milliseconds.
   * @throws Refusal `step_up_at_provider` for a session of the identity provider; `field_invalid` for the break-glass
   * account without a code, which has no others; `second_factor_wrong`, `second_factor_not_found`, `rate_limited`,
   * `encryption_locked`; `vendor_token_forbidden`.
   */
  async byCode(principal: Principal, proof: StepUpProof, address: string): Promise<number> {
    if (principal.kind === 'vendor') throw new Refusal('vendor_token_forbidden');
    try {
      return await this.#prove(principal, proof, address);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'second_factor_wrong')
        await this.#auditRefused(principal, address);
      throw error;
    }
  }

  async #prove(principal: ConsolePerson | BreakGlass, proof: StepUpProof, address: string): Promise<number> {
    const { breakGlass, clock, secondFactors, sessions } = this.#options;
    let until = 0;
    const mark = (draft: AccountsDraft, factor: string) => {
      until = markStepUp(draft, { sessions, principal, factor, address, now: clock.now() });
    };
    if (principal.kind === 'break_glass') {
      if (proof.code === undefined) throw new Refusal('field_invalid', { field: 'code' });
      await breakGlass.prove(proof.code, address, (draft) => mark(draft, 'code'));
      return until;
    }
    if (principal.signIn === 'sso') throw new Refusal('step_up_at_provider');
    await secondFactors.prove(principal.username, await this.#verified(principal, proof, address), address, mark);
    return until;
  }

  /** @throws Refusal `second_factor_wrong`, `passkeys_unavailable`. */
  async #verified({ sid, username }: ConsolePerson, proof: StepUpProof, address: string): Promise<SecondFactorProof> {
    const { code, passkey, recovery_code } = proof;
    if (passkey === undefined) return { code, recovery_code };
    const verified = await this.#options.passkeys.verify(passkey, `step-up:${sid}`, address, username);
    if (verified === undefined) throw new Refusal('second_factor_wrong');
    return { verified };
  }

  /** Somebody has the session and not the factor: its owner should know. How often is bounded by the limiter. */
  async #auditRefused(principal: ConsolePerson | BreakGlass, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const details = { session: principal.sid };
    await accounts.change((draft) => {
      const entry = { event: 'console.code_refused', actor: 'server', address, subject: actorOf(principal), details };
      draft.audit(clock.now(), entry);
    });
  }
}

export interface SteppingUp {
  readonly sessions: Pick<ConsoleSessions, 'stepUp'>;
  readonly principal: ConsolePerson | BreakGlass;
  /** What proved it, for the audit trail. */
  readonly factor: string;
  readonly address: string;
  /** Milliseconds. */
  readonly now: number;
}

/** Marks a session as stepped up, and audits it, as part of a change. Until when it counts, in milliseconds. */
export function markStepUp(draft: AccountsDraft, { sessions, principal, factor, address, now }: SteppingUp): number {
  const holder = principal.kind === 'person' ? principal.username : BREAK_GLASS_HOLDER;
  const until = sessions.stepUp(draft, holder, principal.sid, now);
  const actor = actorOf(principal);
  const details = { factor, session: principal.sid };
  draft.audit(now, { event: 'console.stepped_up', actor, address, subject: null, details });
  return until;
}
