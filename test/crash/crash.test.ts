/** A few cycles of the crash campaign; `npm run crash` runs as many as one likes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCampaign } from './campaign.ts';

const SEED = 20_261_101;
const CYCLES = 5;

test('killed at any moment, the server keeps every acknowledged post once, in its place', async () => {
  const ledger = await runCampaign({ cycles: CYCLES, seed: SEED });
  assert.deepEqual(ledger.losses, []);
  assert.ok(ledger.acked > 0 && ledger.retried > 0 && ledger.repeated > 0, 'nothing was under way when it was killed');
});
