/**
 * `npm run mutation -- [--count 30] [--seed N] [--files 8]`: breaks so many lines of production code, one at a time, in a
 * copy of the project, and says which of them no test noticed (test/mutation/README.md).
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, typescriptSources } from '#test/tidy/source.ts';
import { drawMutants, mutated, type Mutant } from './mutants.ts';
import { Relevance } from './relevance.ts';

const PRODUCTION = /^(?:actors|src|storage)\//;
/** One test file may take so long; one that a mutant keeps from ending is ended, which counts as noticed. */
const FILE_MILLIS_MAX = 240_000;
/** What a copy needs to run its tests; packages are those of the checkout. */
const COPIED = ['.gitignore', 'CHANGELOG.md', 'README.md', 'actors', 'bench', 'docs', 'package.json', 'src', 'storage'];
const ALSO_COPIED = ['test', 'tsconfig.json'];

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    files: { type: 'string', default: '8' },
  },
});
const [count, seed, filesMax] = [values.count, values.seed, values.files].map(Number) as [number, number, number];

/** Whether a test file passes in the copy. Servers are started from the sources of the copy. */
async function passes(copy: string, test: string): Promise<boolean> {
  const { NODE_TEST_CONTEXT: _, TEST_BUNDLE: __, ...env } = process.env;
  // A group of its own: what a mutant keeps from ending, or leaves behind, ends with the file.
  const child = spawn(process.execPath, ['--import', './test/support/strict-warnings.ts', '--test-force-exit', test], {
    cwd: copy,
    env: { ...env, NODE_COMPILE_CACHE: join(copy, 'compiled') },
    stdio: 'ignore',
    detached: true,
  });
  const end = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // Nobody is left.
    }
  };
  const timer = setTimeout(end, FILE_MILLIS_MAX);
  const [status] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  end();
  return status === 0;
}

/** The first of the tests that fails with the mutant and passes without it; undefined when it survives all of them. */
async function killerOf(
  copy: string,
  { path, mutation }: Mutant,
  tests: readonly string[],
): Promise<string | undefined> {
  const file = join(copy, path);
  const source = readFileSync(file, 'utf8');
  for (const test of tests) {
    writeFileSync(file, mutated(source, mutation));
    const isNoticed = !(await passes(copy, test));
    writeFileSync(file, source);
    if (isNoticed && (await passes(copy, test))) return test;
  }
  return undefined;
}

/** The mutant as a line: what stood there, and what stands there now. */
function describe({ path, line, mutation }: Mutant, source: string): string {
  const before = source.slice(mutation.start, mutation.end);
  const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 70);
  return `${path}:${line}  ${short(before)}  →  ${short(mutation.text)}`;
}

const sources = typescriptSources();
const production = new Map([...sources].filter(([path]) => PRODUCTION.test(path)));
const relevance = new Relevance(sources);
const mutants = drawMutants(production, seed, count);
process.stdout.write(
  `seed ${seed}: ${mutants.length} lines of ${production.size} files, ${filesMax} test files each\n`,
);
const copy = mkdtempSync(join(tmpdir(), 'parley-mutation-'));
let killed = 0;
try {
  for (const name of [...COPIED, ...ALSO_COPIED]) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const mutant of mutants) {
    const tests = relevance.testsOf(mutant.path).slice(0, filesMax);
    const killer = await killerOf(copy, mutant, tests);
    if (killer !== undefined) killed += 1;
    const verdict = killer === undefined ? `SURVIVED ${tests.length} files` : `killed by ${killer}`;
    process.stdout.write(`${describe(mutant, sources.get(mutant.path) ?? '')}\n    ${verdict}\n`);
  }
  process.stdout.write(`killed ${killed} of ${mutants.length}\n`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
