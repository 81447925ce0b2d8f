/** Waiting for a promise or a condition, never longer than a deadline. */
import { setTimeout as pause } from 'node:timers/promises';

/** How long anything in a test may take before it has failed: long, because machines are slow and nothing waits for it. */
export const PATIENCE_MILLIS = 15_000;

/** Between two looks: to look without a pause takes the processor from the server that is waited for. */
const LOOK_MILLIS = 5;

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
  const end = performance.now() + millis;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`Waited ${millis} ms in vain for ${what}.`);
    await pause(LOOK_MILLIS);
  }
}
