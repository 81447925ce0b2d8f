/**
 * Whether whoever asked still wants the answer. One per request, so it is two fields and no event target: an
 * AbortController and its signal cost several microseconds each time, and nearly every one is never used.
 */
export class Cancellation {
  #isCancelled = false;
  #listeners: (() => void)[] | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Calls whoever waits for it, once. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }

  /** Calls `listener` when the answer is no longer wanted; not if that is so already. */
  onCancel(listener: () => void): void {
    if (!this.#isCancelled) (this.#listeners ??= []).push(listener);
  }
}
