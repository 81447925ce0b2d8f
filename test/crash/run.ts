/** The program `npm run crash`: kills a server again and again, and ends with 1 when anything acknowledged was lost. */
import { parseArgs } from 'node:util';
import { wholeNumber } from '#test/support/option.ts';
import { freshSeed } from '#test/support/random.ts';
import { runCampaign } from './campaign.ts';
import { PART_NAMES, type PartName } from './part.ts';

/** Losses printed in full; the rest is counted. */
const LOSSES_SHOWN = 20;

const { values } = parseArgs({
  options: { cycles: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string', multiple: true } },
});
const cycles = wholeNumber('cycles', values.cycles ?? '20', 1);
const seed = wholeNumber('seed', values.seed ?? String(freshSeed()), 0);
const only = readParts(values.only ?? []);

const again = [`--cycles ${cycles}`, `--seed ${seed}`, ...(values.only ?? []).map((name) => `--only ${name}`)].join(
  ' ',
);
console.log(`seed ${seed}: ${cycles} cycles of ${only.join(', ')}. Have them again with: npm run crash -- ${again}`);
const began = performance.now();
let shown = 0;
const { figures, losses } = await runCampaign({
  cycles,
  seed,
  only,
  onCycle: (cycle, result, killedAfterMillis) => {
    console.log(`cycle ${cycle}: killed after ${killedAfterMillis} ms; ${result.losses.length} losses by now`);
    show(result.losses);
  },
});
for (const [name, sums] of Object.entries(figures)) {
  const told = Object.entries(sums).map(([what, count]) => `${count} ${what}`);
  console.log(`${name}: ${told.join(', ')}`);
}
const seconds = Math.round((performance.now() - began) / 1000);
show(losses);
console.log(
  losses.length === 0
    ? `No losses in ${cycles} cycles (${seconds} s, seed ${seed}).`
    : `${losses.length} LOSSES in ${cycles} cycles (${seconds} s, seed ${seed}).`,
);
process.exitCode = losses.length === 0 ? 0 : 1;

/** Prints what was not printed yet. */
function show(known: readonly string[]): void {
  for (const loss of known.slice(shown, LOSSES_SHOWN)) console.log(`LOSS ${loss}`);
  shown = known.length;
}

/** The parts that were named, once or more often; all of them where none was. */
function readParts(names: readonly string[]): readonly PartName[] {
  const unknown = names.find((name) => !(PART_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) {
    process.stderr.write(`--only takes ${PART_NAMES.join(', ')}, not ${JSON.stringify(unknown)}.\n`);
    process.exit(2);
  }
  return names.length === 0 ? PART_NAMES : PART_NAMES.filter((name) => names.includes(name));
}
