/** `npm test [-- FILE…]`: every test file, two at a time. A file that hangs is ended, and a failure is looked at twice. */
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const FILES_AT_ONCE = 2;
/** Far above the longest file (a minute): one that waits for ever fails by name, instead of keeping all from ending. */
const FILE_MILLIS_MAX = 480_000;
/**
 * So many failing files are run once more, each alone: what passes then was disturbed by its neighbours or by the
 * machine, and is named as unsteady. More failures than these are no accident.
 */
const AGAIN_MAX = 3;

/** Runs the files and answers those that failed. */
async function failingOf(files: readonly string[], concurrency: number): Promise<string[]> {
  const failing = new Set<string>();
  const events = run({
    files: [...files],
    concurrency,
    timeout: FILE_MILLIS_MAX,
    execArgv: ['--import', new URL('./support/strict-warnings.ts', import.meta.url).href],
  });
  events.on('test:fail', ({ file, todo, skip }) => {
    if (file !== undefined && todo === undefined && skip === undefined) failing.add(file);
  });
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await new Promise((resolve, reject) => report.once('end', resolve).once('error', reject));
  return [...failing].toSorted();
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const wanted = process.argv.slice(2);
const files = wanted.length > 0 ? wanted : globSync('test/**/*.test.ts').toSorted();
const first = await failingOf(files, FILES_AT_ONCE);
const isWorthAnother = first.length > 0 && first.length <= AGAIN_MAX;
if (isWorthAnother) process.stdout.write(`\nonce more, alone: ${first.join(', ')}\n`);
const last = isWorthAnother ? await failingOf(first, 1) : first;
for (const file of new Set(first).difference(new Set(last))) process.stdout.write(`unsteady: ${file}\n`);
for (const file of last) process.stdout.write(`failed: ${file}\n`);
process.exitCode = last.length === 0 ? 0 : 1;
