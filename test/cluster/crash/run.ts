/**
 * The program `npm run cluster-crash`: has everything befall a cluster that its hosts and NATS servers can meet, again and again, and
 * ends with 1 when anything acknowledged was lost, doubled or in another order. With `--in-turn` each of three servers and two hosts is
 * killed once, which takes no rights of root.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { wholeNumber } from '#test/support/option.ts';
import { freshSeed } from '#test/support/random.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { runInTurn } from './in-turn.ts';
import { runCampaign, type Cycle } from './campaign.ts';
import { NEMESES } from './nemeses.ts';
import { OWN_NAMESPACES, whyNot } from './network.ts';

/** Losses printed in full; the rest is counted. */
const LOSSES_SHOWN = 40;
/** Says to this program that it has namespaces of its own. */
const INSIDE = 'CAMPAIGN_INSIDE';

const { values } = parseArgs({
  options: {
    cycles: { type: 'string' },
    seed: { type: 'string' },
    hosts: { type: 'string' },
    only: { type: 'string' },
    'in-turn': { type: 'boolean' },
  },
});
const cycles = wholeNumber('cycles', values.cycles ?? '20', 1);
const seed = wholeNumber('seed', values.seed ?? String(freshSeed()), 0);
const hosts = wholeNumber('hosts', values.hosts ?? '3', 2);
const only = values.only ?? '';
if (!NEMESES.some(({ name }) => name.includes(only))) {
  process.stderr.write(`--only takes words of what can happen: ${NEMESES.map(({ name }) => name).join('; ')}.\n`);
  process.exit(2);
}

if (values['in-turn'] === true) {
  const missing = unlessInstalled('nats-server', ['--version']);
  if (missing !== false) {
    process.stderr.write(`This cannot be run here: ${missing}.\n`);
    process.exit(2);
  }
  const losses = await runInTurn({ seed, say: (sentence) => console.log(sentence) });
  for (const loss of losses.slice(0, LOSSES_SHOWN)) console.log(`LOSS ${loss}`);
  console.log(losses.length === 0 ? `No losses (seed ${seed}).` : `${losses.length} LOSSES (seed ${seed}).`);
  process.exit(losses.length === 0 ? 0 : 1);
}

if (process.env[INSIDE] === undefined) {
  const reason = whyNot();
  if (reason !== undefined) {
    process.stderr.write(`This cannot be run here: ${reason}.\n`);
    process.exit(2);
  }
  const [program, ...options] = OWN_NAMESPACES;
  const self = [process.execPath, ...process.execArgv, process.argv[1] as string];
  const args = [`--cycles=${cycles}`, `--seed=${seed}`, `--hosts=${hosts}`, `--only=${only}`];
  const env = { ...process.env, [INSIDE]: '1' };
  process.exit(spawnSync(program, [...options, ...self, ...args], { stdio: 'inherit', env }).status ?? 1);
}

console.log(
  `seed ${seed}: ${cycles} cycles, ${hosts} hosts. Have them again with: npm run cluster-crash -- --cycles ${cycles} --seed ${seed} --hosts ${hosts}${only === '' ? '' : ` --only ${JSON.stringify(only)}`}`,
);
const began = performance.now();
let shown = 0;
const {
  cycles: told,
  figures,
  losses,
} = await runCampaign({
  cycles,
  seed,
  hosts,
  only,
  onCycle: (cycle, { gap, millis, nemesis }, known) => {
    console.log(
      `cycle ${cycle}: ${nemesis}, ${millis} ms; ${gap} ms without an acknowledgement; ${known.length} losses`,
    );
    show(known);
  },
});
console.log(
  Object.entries(figures)
    .map(([what, count]) => `${count} ${what}`)
    .join(', '),
);
for (const line of tableOf(told)) console.log(line);
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

/** The longest time without an acknowledgement by what happened, as a table in Markdown. */
function tableOf(all: readonly Cycle[]): string[] {
  const rows = [...Map.groupBy(all, ({ nemesis }) => nemesis)].map(
    ([nemesis, some]) => `| ${nemesis} | ${some.length} | ${Math.max(...some.map(({ gap }) => gap))} |`,
  );
  return ['| What happened | cycles | longest time without an acknowledgement, ms |', '| --- | --- | --- |', ...rows];
}
