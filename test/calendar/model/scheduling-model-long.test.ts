/** The model test for long: `npm run test:long`, or `SEED=… STEPS=… npm test -- FILE` for one run again. */
import { test } from 'node:test';
import { freshSeed } from '#test/support/random.ts';
import { playAtRandom } from './playing.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());

test(`CAL-03 organiser, attendees and delegates agree over many random changes, seed ${SEED}`, async (t) => {
  await playAtRandom(t, { seed: SEED, steps: Number(process.env['STEPS'] ?? 150) });
});
