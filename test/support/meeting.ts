/** Tests of one suite that run side by side and meet at a point, for something that is done once for all of them. */
import { deadline } from './waiting.ts';

/** How long the last of them may take to come: a test that failed before never does. */
const MEETING_MILLIS = 120_000;

/** What each of so many tests calls when it is there: resolves once all are, and `act` is done. */
export function meeting(tests: number, act: () => Promise<unknown>): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  let there = 0;
  return async () => {
    there += 1;
    if (there === tests) resolve(act());
    await deadline(promise, MEETING_MILLIS, 'the tests to meet');
  };
}
