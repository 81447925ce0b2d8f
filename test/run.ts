/**
 * `npm test [-- FILE-OR-FOLDER…]`: every test file but the long ones, three at a time; `npm run test:long`: the long ones. A file that
 * hangs is ended, and a failure is looked at twice.
 */
import { globSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { bundleTests, writeBundle } from './support/bundle.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** One more than the cores of a small machine: many tests wait for a delay of the server. Four took as long, and what kills servers three times as long. */
const FILES_AT_ONCE = 3;
/** The longest files: were they begun last, one of them would run alone in the end. */
const LONGEST = /^test\/(?:cluster|console\/web|ldap|web)\//;
/** Far above the longest file (a minute): one that waits for ever fails by name, instead of keeping all from ending. */
const FILE_MILLIS_MAX = 480_000;
/**
 * So many failing files are run once more, each alone: what passes then was disturbed by its neighbours or by the
 * machine, and is named as unsteady. More failures than these are no accident.
 */
const AGAIN_MAX = 3;
/** Servers that are killed, cut off and flooded over and over: a quarter of the whole, and part of `npm run check`. */
const LONG =
  /^test\/(?:calls|crash|fuzz|reliability)\/|\/(?:crash|hostile-feeds|kill|kubernetes|package|random-walk-long|restarts|scheduling-model-long|several-hosts|subscription-restarts)\.test\.ts$/;
/**
 * A file system in memory, for the folders that tests make: a commit there waits for no disk. What a killed process wrote
 * outlives it there as well; the long ones, which are about little else, stay on the disk.
 */
const MEMORY = '/dev/shm';
/** Far above what the folders of a run take; containers often have 64 MiB there, and stay on the disk. */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;
/** Where a run keeps what its servers are started from: below `node_modules`, where packages are found. */
const CACHE = join(ROOT, 'node_modules/.cache');

/** What every test file begins with. In a run of all they are bundled as well: Node took 0.2 s of CPU to strip them, in each file. */
const PRELOADED = [
  new URL('./support/strict-warnings.ts', import.meta.url),
  new URL('./support/stripped-sources.ts', import.meta.url),
].map((url) => relative(ROOT, fileURLToPath(url)));

/** What a file says on standard error where no test of it fails: a warning (test/support/strict-warnings.ts), or how Node ended. */
const UNSAID = /A process warning fails|FATAL ERROR|Uncaught/;

/** Runs the files, those that are bundled from their bundles, and answers those that failed. */
async function failingOf(
  files: readonly string[],
  concurrency: number,
  bundled: ReadonlyMap<string, string> = new Map(),
): Promise<string[]> {
  const failing = new Set<string>();
  const reasons: string[] = [];
  const sources = new Map(files.map((path) => [bundled.get(path) ?? path, path]));
  const events = run({
    files: [...sources.keys()],
    concurrency,
    timeout: FILE_MILLIS_MAX,
    execArgv: PRELOADED.flatMap((path) => ['--import', pathToFileURL(bundled.get(path) ?? path).href]),
  });
  events.on('test:fail', ({ details, file, todo, skip }) => {
    if (file === undefined || todo !== undefined || skip !== undefined) return;
    // From a bundle or from its source a file has one name, or one that fails twice would be called unsteady as well.
    const path = relative(ROOT, sources.get(file) ?? file);
    failing.add(path);
    const { exitCode, signal } = details.error as Error & { exitCode?: number; signal?: string };
    if (exitCode !== undefined) reasons.push(`${path} ended with ${signal ?? exitCode}.\n`);
  });
  // A file may fail without a test that does: what it said of that would stand a thousand lines above.
  events.on('test:stderr', ({ file, message }) => {
    if (UNSAID.test(message)) reasons.push(`${sources.get(file) ?? file}: ${message}`);
  });
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await new Promise((resolve, reject) => report.once('end', resolve).once('error', reject));
  for (const reason of reasons) process.stdout.write(reason);
  return [...failing].toSorted();
}

/** Runs the files, and those that failed once more, from their sources; answers whether the run is a success. */
async function passes(files: readonly string[], bundled?: ReadonlyMap<string, string>): Promise<boolean> {
  const first = await failingOf(files, FILES_AT_ONCE, bundled);
  const isWorthAnother = first.length > 0 && first.length <= AGAIN_MAX;
  if (isWorthAnother) process.stdout.write(`\nonce more, alone: ${first.join(', ')}\n`);
  const last = isWorthAnother ? await failingOf(first, 1) : first;
  const unsteady = [...new Set(first).difference(new Set(last))];
  for (const file of unsteady) process.stdout.write(`unsteady: ${file}\n`);
  for (const file of last) process.stdout.write(`failed: ${file}\n`);
  // Where nobody looks at what is printed, a second chance would hide what is wrong.
  const unsteadyMay = process.env['CI'] !== 'true';
  return last.length === 0 && (unsteadyMay || unsteady.length === 0);
}

/** Has the programs of this run start quickly (test/support/program.ts), and Node remember what it compiled and stripped. */
async function prepare(folder: string, maps: boolean): Promise<void> {
  process.env['TEST_BUNDLE'] = join(folder, 'bundle');
  await writeBundle(process.env['TEST_BUNDLE'], { maps });
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  process.env['TEST_STRIPPED'] = join(folder, 'stripped');
  await mkdir(process.env['TEST_STRIPPED']);
}

/** A folder in memory for what the tests write, where there is room for it. */
async function makeFolderInMemory(): Promise<string | undefined> {
  try {
    const { bavail, bsize } = await statfs(MEMORY);
    return bavail * bsize >= MEMORY_BYTES_MIN ? await mkdtemp(join(MEMORY, 'parley-tests-')) : undefined;
  } catch {
    // Not there, or not ours to write to.
    return undefined;
  }
}

/** The place of a file among the others: 0 for those that begin. */
function rankOf(file: string): number {
  return LONGEST.test(file) ? 0 : 1;
}

process.chdir(ROOT);
const wanted = process.argv.slice(2);
const all = globSync('test/**/*.test.ts').toSorted(
  (one, other) => rankOf(one) - rankOf(other) || one.localeCompare(other),
);
const group = wanted[0] === '--long' ? all.filter((file) => LONG.test(file)) : all.filter((file) => !LONG.test(file));
const isNamed = wanted.length > 0 && wanted[0] !== '--long';
const files = isNamed
  ? wanted.flatMap((name) => {
      const isFolder = statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;
      return isFolder ? group.filter((file) => file.startsWith(join(name, '/'))) : name;
    })
  : group;
// A folder without tests is no success.
if (files.length === 0) throw new Error(`there is no test below ${wanted.join(', ')}`);
await mkdir(CACHE, { recursive: true });
const folder = await mkdtemp(join(CACHE, 'parley-tests-'));
const memory = wanted[0] === '--long' ? undefined : await makeFolderInMemory();
try {
  if (memory !== undefined) process.env['TMPDIR'] = memory;
  // A run within a run, which the tests of this file are, has what it needs. Coverage is counted in the sources: bundles
  // are gone when it is read, and code that comes out of a cache is counted less precisely.
  const isPrepared = process.env['TEST_BUNDLE'] !== undefined || process.env['NODE_V8_COVERAGE'] !== undefined;
  // Whoever names files looks for something, and wants traces that name lines.
  if (!isPrepared) await prepare(folder, isNamed);
  const bundled =
    isPrepared || isNamed
      ? undefined
      : await bundleTests([...PRELOADED, ...files], join(folder, 'tests'), join(folder, 'bundle'));
  process.exitCode = (await passes(files, bundled)) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
  if (memory !== undefined) await rm(memory, { recursive: true, force: true });
}
