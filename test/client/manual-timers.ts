/** A clock held by the test: time passes when the test says so. */
import type { Timers } from '#src/client/connection/timers.ts';

export class ManualTimers implements Timers {
  #now = Date.UTC(2026, 10, 21, 8, 0, 0);
  readonly #due = new Map<() => void, number>();

  now(): number {
    return this.#now;
  }

  after(millis: number, run: () => void): () => void {
    const entry = () => run();
    this.#due.set(entry, this.#now + millis);
    return () => this.#due.delete(entry);
  }

  /** How long the waits are that are under way, in milliseconds, shortest first. */
  get waits(): number[] {
    return [...this.#due.values()].map((at) => at - this.#now).toSorted((a, b) => a - b);
  }

  /** Lets time pass, and everything that comes due happen in its order. */
  async pass(millis: number): Promise<void> {
    await settle();
    const end = this.#now + millis;
    for (;;) {
      const next = [...this.#due].toSorted(([, a], [, b]) => a - b)[0];
      if (next === undefined || next[1] > end) break;
      this.#now = Math.max(this.#now, next[1]);
      this.#due.delete(next[0]);
      next[0]();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets everything happen that needs no time and no network. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
