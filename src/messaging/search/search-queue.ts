/**
 * Searches of a shard, one at a time: they share its thread with sockets and posts, and two at once would only both
 * take longer.
 */
import type { Cancellation } from '#actors/runtime/cancellation.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** Searches that wait on one shard: with 30 ms of work each, the last one waits half a second. [busy] */
export const SEARCHES_WAITING_MAX = 16;

export class SearchQueue {
  /** What begins each search that waits, the first one first. */
  readonly #waiting: (() => void)[] = [];
  readonly #users = new Set<string>();
  #isBusy = false;

  /**
   * Does the work when its turn comes, unless nobody waits for it any more.
   * @throws Refusal `rate_limited` while the person has another search here, `busy` when too many wait.
   */
  async run<T>(user: string, cancellation: Cancellation, work: () => Promise<T>): Promise<T> {
    if (this.#users.has(user)) throw new Refusal('rate_limited', { retryAfter: 1 });
    if (this.#isBusy && this.#waiting.length >= SEARCHES_WAITING_MAX) throw new Refusal('busy');
    this.#users.add(user);
    try {
      await this.#turn(cancellation);
      try {
        return await work();
      } finally {
        this.#isBusy = false;
        this.#waiting.shift()?.();
      }
    } finally {
      this.#users.delete(user);
    }
  }

  /** Resolves when nobody else searches. @throws Refusal `unavailable`, which nobody reads, when the caller is gone. */
  async #turn(cancellation: Cancellation): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const begin = (): void => {
      this.#isBusy = true;
      resolve();
    };
    this.#waiting.push(begin);
    cancellation.onCancel(() => {
      const at = this.#waiting.indexOf(begin);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(new Refusal('unavailable'));
    });
    await promise;
  }
}
