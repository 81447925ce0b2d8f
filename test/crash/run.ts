/** The program `npm run crash`: kills a server again and again, and ends with 1 when anything acknowledged was lost. */
import { parseArgs } from 'node:util';
import { wholeNumber } from '#test/support/option.ts';
import { freshSeed } from '#test/support/random.ts';
import { runCampaign } from './campaign.ts';

/** Losses printed in full; the rest is counted. */
const LOSSES_SHOWN = 20;

const { values } = parseArgs({ options: { cycles: { type: 'string' }, seed: { type: 'string' } } });
const cycles = wholeNumber('cycles', values.cycles ?? '20', 1);
const seed = wholeNumber('seed', values.seed ?? String(freshSeed()), 0);

console.log(`seed ${seed}: ${cycles} cycles. Have them again with: npm run crash -- --cycles ${cycles} --seed ${seed}`);
const began = performance.now();
const ledger = await runCampaign({
  cycles,
  seed,
  onCycle: (cycle, { acked, losses, retried }, killedAfterMillis) => {
    const sums = `${acked} acknowledged, ${retried} retried, ${losses.length} losses`;
    console.log(`cycle ${cycle}: killed after ${killedAfterMillis} ms; in all ${sums}`);
  },
});
const { acked, retried, landed, repeated, edits, reactions, receipts, losses } = ledger;
const seconds = Math.round((performance.now() - began) / 1000);
console.log(`acknowledged posts: ${acked}; edits: ${edits}; reactions: ${reactions}; receipts: ${receipts}`);
console.log(`retried: ${retried}, of which ${landed} had landed unanswered; repeated: ${repeated}`);
for (const loss of losses.slice(0, LOSSES_SHOWN)) console.log(`LOSS ${loss}`);
console.log(
  losses.length === 0
    ? `No losses in ${cycles} cycles (${seconds} s, seed ${seed}).`
    : `${losses.length} LOSSES in ${cycles} cycles (${seconds} s, seed ${seed}).`,
);
process.exitCode = losses.length === 0 ? 0 : 1;
