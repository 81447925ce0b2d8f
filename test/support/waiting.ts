/** Waiting for a promise or a condition, never longer than a deadline. */
import { setTimeout as pause } from 'node:timers/promises';

/** How long anything in a test may take before it has failed: long, because machines are slow and nothing waits for it. */
export const PATIENCE_MILLIS = 30_000;

/**
 * Between two looks a tenth of what was waited so far, within these bounds: to look all the time takes the processor from
 * the server that is waited for, and each look may be a request.
 */
const [PAUSE_MILLIS_MIN, PAUSE_MILLIS_MAX] = [2, 200];

/** The promise's value, or an error that says what was waited for. */
export async function deadline<T>(promise: Promise<T>, millis: number, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Waited ${millis} ms in vain for ${what}.`)), millis);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks until `look` finds something, and answers it. */
export async function until<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  millis: number = PATIENCE_MILLIS,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waited = performance.now() - start;
    if (waited > millis) throw new Error(`Waited ${millis} ms in vain for ${what}.`);
    await pause(Math.min(PAUSE_MILLIS_MAX, Math.max(PAUSE_MILLIS_MIN, waited / 10)));
  }
}
