/** How long to wait before trying again: exponential, and jittered so that clients cut off together return apart. */
import type { Random } from './timers.ts';

/** The first wait. A shorter one would meet the same restart; a longer one would be noticed. */
export const BACKOFF_FIRST_MILLIS = 1_000;

/** Waits double this many times and then stay: 1, 2, 4, 8, 16 seconds. */
export const BACKOFF_DOUBLINGS_MAX = 4;

/**
 * The longest wait that a Retry-After is believed for, in seconds. A larger one is taken for this: a wrong header
 * must not silence a client for a day.
 */
export const RETRY_AFTER_SECONDS_MAX = 300;

/**
 * Milliseconds before the next attempt, after `failures` attempts that failed in a row (1 or more): 1, 2, 4, 8, 16 s,
 * each times a random factor in [0.5, 1.5). A Retry-After in seconds comes first and the jittered wait on top of it,
 * since clients told the same second would otherwise return in the same instant.
 */
export function backoffMillis(failures: number, random: Random, retryAfter = 0): number {
  const doublings = Math.min(Math.max(failures - 1, 0), BACKOFF_DOUBLINGS_MAX);
  const jittered = BACKOFF_FIRST_MILLIS * 2 ** doublings * (0.5 + random());
  return Math.min(retryAfter, RETRY_AFTER_SECONDS_MAX) * 1000 + jittered;
}
