/**
 * Sign-ins that wait for their second factor: in memory, each under a secret that only its device was told. A restart costs
 * whoever is in between their password once more.
 *
 *     begun ──claimed, proven──► a session
 *       │ └──claimed, not proven──► back, five times at most ──► over
 *       └── five minutes, or five newer ones of the same person ──► over
 */
import { hashSecret, makeSecret } from '../credentials/opaque-secrets.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** How long one waits: as long as browsers let a person look for their key. */
export const PENDING_MILLIS = 300_000;
/** Wrong proofs of one sign-in; then it is begun anew, with the password. */
export const PENDING_ATTEMPTS_MAX = 5;
/** Of one person at a time. Beyond it the oldest is over: whoever has the password cannot fill the memory. */
export const PENDING_PER_PERSON_MAX = 5;

export interface PendingSignIn<T> {
  readonly username: string;
  readonly what: T;
  /** What challenges of this sign-in are bound to. */
  readonly mark: string;
  /** Milliseconds. */
  readonly expiresAt: number;
  readonly attempts: number;
}

export class PendingSignIns<T> {
  /** Hash of the secret → the sign-in. */
  readonly #pending = new Map<string, PendingSignIn<T>>();

  /** Keeps a sign-in; answers the secret by which its device goes on, and how it is kept. */
  begin(username: string, what: T, nowMillis: number): { readonly secret: string; readonly pending: PendingSignIn<T> } {
    this.#sweep(nowMillis);
    const secret = makeSecret();
    const mark = hashSecret(secret);
    const pending = { username, what, mark, expiresAt: nowMillis + PENDING_MILLIS, attempts: 0 };
    this.#keep(pending);
    return { secret, pending };
  }

  /** Takes a sign-in out, so that nobody goes on with it at the same time. @throws Refusal `sign_in_over`. */
  claim(secret: string, nowMillis: number): PendingSignIn<T> {
    this.#sweep(nowMillis);
    const mark = hashSecret(secret);
    const pending = this.#pending.get(mark);
    if (pending === undefined) throw new Refusal('sign_in_over');
    this.#pending.delete(mark);
    return pending;
  }

  /** Puts one back that was not proven; `isWrong` where what was given was wrong, and not merely refused. */
  putBack(pending: PendingSignIn<T>, isWrong: boolean): void {
    const attempts = pending.attempts + (isWrong ? 1 : 0);
    if (attempts < PENDING_ATTEMPTS_MAX) this.#keep({ ...pending, attempts });
  }

  /** Also of one that comes back: others of the same person were begun while it was out. */
  #keep(pending: PendingSignIn<T>): void {
    this.#pending.set(pending.mark, pending);
    const own = [...this.#pending.values()].filter(({ username }) => username === pending.username);
    const over = own.toSorted((a, b) => a.expiresAt - b.expiresAt).slice(0, -PENDING_PER_PERSON_MAX);
    for (const { mark } of over) this.#pending.delete(mark);
  }

  #sweep(nowMillis: number): void {
    for (const [mark, { expiresAt }] of this.#pending) if (expiresAt <= nowMillis) this.#pending.delete(mark);
  }
}
