/**
 * Sign-in under attack (CRD-08). Failures are counted for a name at an address, for the address, for its network and
 * for everybody; a name that many addresses guess at is judged one attempt at a time, each later than the one before.
 * A device that its person signed in on before passes all of that, so that nobody can lock the owner of a name out: it
 * has a count of its own, and its hashes go first (OWASP, “Slow down online guessing attacks with device cookies”).
 *
 *     known device ─────────────────────────────────────────────────► judged, its hash first
 *     unknown ──► name, address, network, all ──► the name's queue ──► judged
 *                 beyond one: rate_limited        from the tenth failure on: 0.1 s, 0.2 s, 0.4 s … 2 s
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue } from '#src/limits/fair-queue.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf, networkOf } from '#src/limits/networks.ts';
import type { PolicyName } from '#src/limits/policies.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { HashTurn } from './passwords.ts';

/** Failures of a name on unknown devices before the next attempt on one waits. */
export const FAILURES_BEFORE_DELAY = 10;
/** How long the first delayed attempt waits, and the longest; a request may take ten seconds in all. */
const DELAY_MILLIS = 100;
export const DELAY_MILLIS_MAX = 2_000;

/** Attempts of one name that wait for those before them, served in turn by network. More are refused with `busy`. */
export const ATTEMPTS_WAITING_MAX = 64;

/** Who tries to sign in. */
export interface SignInAttempt {
  readonly username: string;
  readonly address: string;
  /** A device that this person signed in on before; undefined for any other. */
  readonly knownDevice?: string | undefined;
}

export interface SignInGuardOptions {
  readonly limiter: Limiter;
  /** Tells the failures of one way to sign in from those of another: who is shut out of one is not of the other. */
  readonly realm: string;
  readonly pause?: (millis: number) => Promise<unknown>;
}

/** What a failure counts against. */
type Counts = readonly (readonly [policy: PolicyName, who: string])[];

export class SignInGuard {
  readonly #options: SignInGuardOptions;
  /** Names that somebody tries on an unknown device, while they do. */
  readonly #queues = new Map<string, FairQueue>();

  constructor(options: SignInGuardOptions) {
    this.#options = options;
  }

  /**
   * Judges an attempt when its turn comes. A refusal `login_failed`, `password_wrong`, `recovery_failed` or `second_factor_wrong` is counted as a failure.
   * @throws Refusal `rate_limited` with the seconds to wait, `busy` when too many wait already, and what `judge` throws.
   */
  async attempt<T>(attempt: SignInAttempt, judge: (turn: HashTurn) => Promise<T>): Promise<T> {
    const { limiter, realm } = this.#options;
    const account = [realm, attempt.username].join('\0');
    // Before anything is hashed. Only who knows the password can use it up, so that nobody is shut out by a stranger.
    limiter.check('login_success', account);
    const judged = await this.#attempt(attempt, judge);
    limiter.spend('login_success', account);
    return judged;
  }

  async #attempt<T>(attempt: SignInAttempt, judge: (turn: HashTurn) => Promise<T>): Promise<T> {
    const { limiter, realm } = this.#options;
    const { address, knownDevice, username } = attempt;
    const key = hostOf(address);
    if (knownDevice !== undefined) {
      const device = [realm, username, knownDevice].join('\0');
      // Counted before it is judged, so that attempts at the same time cannot share what is left.
      if (limiter.secondsUntil('login_device', device) === 0) {
        return await this.#counted([], async () => {
          const judged = await judge({ key, goesFirst: true });
          limiter.spend('login_device', device, -1);
          return judged;
        });
      }
    }
    const counts: Counts = [
      ['login_name', [realm, key, username].join('\0')],
      ['login_address', [realm, key].join('\0')],
      ['login_network', [realm, networkOf(address)].join('\0')],
    ];
    this.#check(counts);
    return await this.#inTurn(username, networkOf(address), async () => {
      this.#check(counts);
      const account = [realm, username].join('\0');
      return await this.#counted([...counts, ['login_account', account], ['login_everybody', realm]], async () => {
        return await judge({ key, goesFirst: false });
      });
    });
  }

  /** @throws Refusal `rate_limited`. */
  #check(counts: Counts): void {
    const { limiter, realm } = this.#options;
    for (const [policy, who] of counts) limiter.check(policy, who);
    // While everybody's failures are used up, addresses that failed themselves wait.
    const hasFailed = counts.some(([policy, who]) => policy === 'login_address' && limiter.used(policy, who) > 0);
    if (hasFailed) limiter.check('login_everybody', realm);
  }

  async #counted<T>(counts: Counts, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isFailure(error)) for (const [policy, who] of counts) this.#options.limiter.spend(policy, who);
      throw error;
    }
  }

  async #inTurn<T>(username: string, network: string, work: () => Promise<T>): Promise<T> {
    const { limiter, pause = sleep, realm } = this.#options;
    const queue = this.#queues.get(username) ?? new FairQueue({ atOnce: 1, waitingMax: ATTEMPTS_WAITING_MAX });
    this.#queues.set(username, queue);
    try {
      return await queue.run(network, async () => {
        const beyond = limiter.used('login_account', [realm, username].join('\0')) - FAILURES_BEFORE_DELAY;
        if (beyond >= 0) await pause(Math.min(DELAY_MILLIS * 2 ** beyond, DELAY_MILLIS_MAX));
        return await work();
      });
    } finally {
      if (queue.size === 0) this.#queues.delete(username);
    }
  }
}

/** Codes of attempts that count. */
const FAILURES: readonly string[] = ['login_failed', 'password_wrong', 'recovery_failed', 'second_factor_wrong'];

function isFailure(error: unknown): boolean {
  return error instanceof Refusal && FAILURES.includes(error.code);
}
