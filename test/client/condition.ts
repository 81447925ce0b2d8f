/** Waiting for something to become true, with a deadline. */
import assert from 'node:assert/strict';

const DEADLINE_MILLIS = 10_000;

/** Fulfilled as soon as the condition holds; fails with what was awaited when it does not in time. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + DEADLINE_MILLIS;
  while (!holds()) {
    if (Date.now() > end) assert.fail(`Waited in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
