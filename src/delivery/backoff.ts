/** How long a delivery waits before it is attempted again: exponential, with the jitter of the library. */
import { ExponentialBackoff } from 'cockatiel';

export interface Backoff {
  /** About the wait before the second attempt, in milliseconds. */
  readonly firstMillis: number;
  /** What no wait is longer than. */
  readonly mostMillis: number;
  /** How many times as long each wait is as the one before it; 2 unless it is said. */
  readonly factor?: number;
}

/** Waits worked out at most; behind so many doublings every wait is the longest one. */
const WAITS_MAX = 64;

/**
 * Milliseconds to wait after so many attempts failed in a row, 1 or more. The jitter is decorrelated: what failed together
 * does not come back together, and the sum of the waits is about that without jitter. Each is worked out from the first one
 * on, so that a count on disk is all that has to be remembered over a restart.
 */
export function backoffMillis(attempts: number, { factor = 2, firstMillis, mostMillis }: Backoff): number {
  let wait = new ExponentialBackoff({ initialDelay: firstMillis, maxDelay: mostMillis, exponent: factor }).next();
  for (let count = 1; count < Math.min(attempts, WAITS_MAX); count += 1) wait = wait.next(undefined);
  return Math.ceil(wait.duration);
}
