/** How often one caller may come to a door: a window per caller and door, so that a flood costs its sender alone. */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';

const WINDOW_MILLIS = 60_000;

/** Callers remembered. A caller takes some 100 bytes; beyond it the oldest window is forgotten. */
export const LIMITED_CALLERS_MAX = 16_384;

interface Window {
  since: number;
  taken: number;
}

export class WindowLimiter {
  readonly #perMinute: number;
  readonly #clock: Clock;
  /** In the order in which the windows began. */
  readonly #windows = new Map<string, Window>();

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts one request of a caller. @throws Refusal `rate_limited` with the seconds until its window is over. */
  take(caller: string): void {
    const now = this.#clock.now();
    let window = this.#windows.get(caller);
    // A clock that was set back must not make a window last for hours.
    if (window === undefined || now < window.since || now >= window.since + WINDOW_MILLIS) {
      this.#windows.delete(caller);
      this.#makeRoom(now);
      window = { since: now, taken: 0 };
      this.#windows.set(caller, window);
    }
    if (window.taken >= this.#perMinute) {
      const left = window.since + WINDOW_MILLIS - now;
      throw new Refusal('rate_limited', { retryAfter: Math.max(1, Math.ceil(left / 1000)) });
    }
    window.taken += 1;
  }

  /** Callers that are remembered. */
  get callers(): number {
    return this.#windows.size;
  }

  #makeRoom(now: number): void {
    for (const [caller, { since }] of this.#windows) {
      if (now < since + WINDOW_MILLIS && this.#windows.size < LIMITED_CALLERS_MAX) return;
      this.#windows.delete(caller);
    }
  }
}
