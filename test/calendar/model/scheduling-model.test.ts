/** A meeting's people act at random over all doors, and everything agrees with a small model of RFC 5546 and RFC 6638. */
import { test } from 'node:test';
import { freshSeed } from '#test/support/random.ts';
import { playAtRandom } from './playing.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());

test(`CAL-03 organiser, attendees and delegates agree over random changes, seed ${SEED}`, async (t) => {
  await playAtRandom(t, { seed: SEED, steps: Number(process.env['STEPS'] ?? 25) });
});
