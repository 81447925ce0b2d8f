/** Where the client takes time from: one interface, so that a test can hold the clock. */

/** Beyond this a platform's timer fires at once instead of late. */
const TIMER_MILLIS_MAX = 2_147_483_647;

export interface Timers {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs something once after a while; the answer cancels it. */
  after(millis: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  now: () => Date.now(),
  after(millis, run) {
    const timer = setTimeout(run, Math.min(Math.max(millis, 0), TIMER_MILLIS_MAX));
    return () => clearTimeout(timer);
  },
};

/** A random number in [0, 1), the platform's by default. Spreads retries; nothing secret depends on it. */
export type Random = () => number;
