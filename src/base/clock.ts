/** Where the time comes from: one interface, so that a test can hold the clock. */

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump: the machine's clock is its owner's. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Whole Unix seconds, the unit of socket `ts` and of the claims `exp`, `iat` and `rnw` (TIM-02). */
export function unixSeconds(millis: number): number {
  return Math.floor(millis / 1000);
}
