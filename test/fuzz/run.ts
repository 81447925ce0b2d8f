/** The program `npm run fuzz`: damaged input against a server of its own, from a seed that has it again. */
import { parseArgs } from 'node:util';
import { wholeNumber } from '#test/support/option.ts';
import { freshSeed } from '#test/support/random.ts';
import { runFuzz } from './campaign.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' } } });
const seconds = wholeNumber('seconds', values.seconds ?? '60', 1);
const seed = wholeNumber('seed', values.seed ?? String(freshSeed()), 0);

console.log(`seed ${seed}: ${seconds} s. Have it again with: npm run fuzz -- --seconds ${seconds} --seed ${seed}`);
const { canaries, faults, shots } = await runFuzz({ seconds, seed });
for (const fault of faults) console.log(`FAULT ${fault}`);
console.log(`${shots} shots, ${canaries} canaries, ${faults.length} faults (seed ${seed}).`);
process.exitCode = faults.length === 0 ? 0 : 1;
