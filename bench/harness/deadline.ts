/** Waiting on a condition with a deadline: a bench that hangs says what it waited for. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the condition holds.
 * @throws Error naming what was awaited when the deadline passes first.
 */
export async function waitFor(what: string, seconds: number, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + seconds * 1000;
  // oxlint-disable-next-line no-await-in-loop -- One look after the other is what polling is.
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for ${what}`);
    // oxlint-disable-next-line no-await-in-loop -- The same.
    await sleep(5);
  }
}

/** The promise's value, or an Error naming what was awaited when the deadline passes first. */
export async function within<T>(what: string, seconds: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${seconds} s in vain for ${what}`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
