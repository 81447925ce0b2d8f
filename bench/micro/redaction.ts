/** `redaction`: MB/s of the de-personalised view beside 26 regular expressions, secretlint and openredaction. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lintSource } from '@secretlint/core';
import { creator as preset } from '@secretlint/secretlint-rule-preset-recommend';
import { OpenRedaction } from 'openredaction';
import { KnownPeople } from '#src/redaction/identifiers/known-people.ts';
import { RedactionPool } from '#src/redaction/pool.ts';
import { Redactor } from '#src/redaction/redactor.ts';
import { bySize, interleave, type Bench, type BenchContext } from '../harness/bench.ts';
import { hostileLines, mixedLog, variedLog } from './redaction-log.ts';
import { sequentialRegexes } from './sequential-regexes.ts';

const SEED = 20_261_120;
const CHUNK = 64 * 1024;
const MEGABYTE = 1_000_000;
/** Of an installation that its vendors' view knows. */
const PEOPLE = 20_000;

interface Subject {
  readonly name: string;
  /** Bytes of the log that it gets: slow peers read less of the same log. */
  readonly share: number;
  run(log: Buffer): Promise<number> | number;
}

export const redaction: Bench = {
  name: 'redaction',
  say: 'a mixed log in chunks of 64 KiB, ASCII and Cyrillic, a varied one and loghub, beside 26 regular expressions, secretlint, openredaction; hostile lines',
  async run(context) {
    const { recorder } = context;
    const bytes = bySize(context, { smoke: 200_000, default: 20_000_000, full: 50_000_000 });
    const rounds = bySize(context, { smoke: 1, default: 5, full: 9 });
    recorder.parameters({ bytes, chunk: CHUNK, seed: SEED });
    // First, while nothing of the peers is in memory.
    await threads(context);
    const logs = new Map([
      ['ASCII', mixedLog(bytes, SEED, false)],
      ['Cyrillic', mixedLog(bytes, SEED, true)],
      ['varied', variedLog(bytes, SEED)],
    ]);
    const real = realLogs();
    if (real === undefined) recorder.note('loghub is not here: LOGHUB names the folder of its logs');
    else logs.set('loghub', real);
    for (const [name, log] of logs) {
      // oxlint-disable-next-line no-await-in-loop -- Cases must not run at the same time.
      await interleave(context, rounds, subjects(context), async (subject, round, isWarmUp) => {
        const part = log.subarray(0, log.lastIndexOf(10, Math.max(1000, Math.floor(log.length * subject.share))) + 1);
        const start = process.hrtime.bigint();
        const written = await subject.run(part);
        const seconds = Number(process.hrtime.bigint() - start) / 1e9;
        if (written === 0) recorder.fail(`${name}: ${subject.name} wrote nothing`);
        if (!isWarmUp)
          recorder.round({
            case: name,
            subject: subject.name,
            round,
            values: { 'MB/s': part.length / MEGABYTE / seconds },
          });
      });
      for (const peer of ['26 regular expressions', 'secretlint', 'openredaction']) {
        const ratio = recorder.ratio(name, 'MB/s', 'parley', peer);
        if (peer === '26 regular expressions') recorder.bar(name, 'times the regular expressions', ratio, '≥', 4);
      }
      recorder.ratio(name, 'MB/s', 'parley that knows people', 'parley');
      if (name !== 'varied') recorder.bar(name, 'MB/s', recorder.median(name, 'parley', 'MB/s'), '≥', 100);
    }
    hostile(context);
    recorder.note(
      'secretlint only finds and does not replace; it and openredaction read the beginning of the same log',
    );
  },
};

/** The logs of loghub in a row, from the folder that LOGHUB names or beside the project; undefined without them. */
function realLogs(): Buffer | undefined {
  const beside = ['../../../shared/data/loghub', '../../../../shared/data/loghub'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const folder = [process.env['LOGHUB'] ?? '', ...beside].find((each) => each !== '' && existsSync(each));
  if (folder === undefined) return undefined;
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return Buffer.concat(names.map((name) => readFileSync(join(folder, name))));
}

function streamed(redactor: Redactor, log: Buffer): number {
  const stream = redactor.stream();
  let written = 0;
  for (let at = 0; at < log.length; at += CHUNK) written += stream.push(log.subarray(at, at + CHUNK)).length;
  return written + stream.end().length;
}

function subjects(context: BenchContext): Subject[] {
  const key = Buffer.alloc(32, 7);
  const redactor = new Redactor({ key });
  const people = new KnownPeople();
  for (let at = 0; at < PEOPLE; at += 1) {
    people.addUsername(`given${at % 500}.family${at}`);
    people.addFullName(`Given${at % 500} Family${at}`);
  }
  const knowing = new Redactor({ key, people: people.memory });
  const slow = bySize(context, { smoke: 0.02, default: 0.01, full: 0.01 });
  const open = new OpenRedaction({ redactionMode: 'placeholder' });
  return [
    { name: 'parley', share: 1, run: (log) => streamed(redactor, log) },
    { name: 'parley that knows people', share: 1, run: (log) => streamed(knowing, log) },
    { name: '26 regular expressions', share: 1, run: (log) => sequentialRegexes(log, CHUNK) },
    {
      name: 'secretlint',
      share: slow,
      run: async (log) => {
        const source = {
          content: log.toString('utf8'),
          filePath: 'app.log',
          ext: '.log',
          contentType: 'text' as const,
        };
        const config = { rules: [{ id: 'preset', rule: preset, rules: [] }] };
        await lintSource({ source, options: { config, noPhysicFilePath: true } });
        return log.length;
      },
    },
    {
      name: 'openredaction',
      share: slow,
      run: async (log) => (await open.detect(log.toString('utf8'))).redacted.length,
    },
  ];
}

/** Bytes of one task of the pool. */
const TASK = 1_000_000;

/** The pool with one thread and with two: what a second core adds, tasks handed over and back included. */
async function threads(context: BenchContext): Promise<void> {
  const { recorder } = context;
  const log = mixedLog(bySize(context, { smoke: 200_000, default: 20_000_000, full: 50_000_000 }), SEED, false);
  const tasks = Array.from({ length: Math.ceil(log.length / TASK) }, (_each, at) =>
    log.subarray(at * TASK, (at + 1) * TASK),
  );
  const rounds = bySize(context, { smoke: 1, default: 5, full: 9 });
  const pools = [1, 2].map((count) => ({
    name: count === 1 ? '1 thread' : '2 threads',
    pool: new RedactionPool({ key: Buffer.alloc(32, 7), secrets: [], threads: count, deadlineMs: 60_000 }),
  }));
  await interleave(context, rounds, pools, async ({ name, pool }, round, isWarmUp) => {
    const start = process.hrtime.bigint();
    // As many at a time as threads could take, so that none waits for the next.
    const waiting = tasks.values();
    const runner = async (): Promise<void> => {
      for (const task of waiting) {
        // oxlint-disable-next-line no-await-in-loop -- Each runner has one task under way.
        if ((await pool.bytes(task)).length === 0) recorder.fail(`pool: ${name} wrote nothing`);
      }
    };
    await Promise.all([1, 2, 3, 4].map(runner));
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    if (!isWarmUp)
      recorder.round({ case: 'pool', subject: name, round, values: { 'MB/s': log.length / MEGABYTE / seconds } });
  });
  recorder.ratio('pool', 'MB/s', '2 threads', '1 thread');
  await Promise.all(pools.map(async ({ pool }) => await pool.close()));
}

/** How often the bytes of a hostile line are doubled, from a megabyte to eight. */
const DOUBLINGS = 3;

/** Lines of a megabyte beside ordinary text of the same size, and what each doubling of them costs. */
function hostile(context: BenchContext): void {
  const bytes = bySize(context, { smoke: 50_000, default: MEGABYTE, full: MEGABYTE });
  const redactor = new Redactor({ key: Buffer.alloc(32, 7) });
  const ordinary = mixedLog(bytes, SEED, false);
  redactor.bytes(ordinary);
  const plain = Math.min(...[1, 2, 3].map(() => timeOf(() => redactor.bytes(ordinary))));
  for (const [name, line] of hostileLines(bytes << DOUBLINGS)) {
    const seconds = Array.from({ length: DOUBLINGS + 1 }, (_each, times) => {
      const part = line.subarray(0, bytes << times);
      return Math.min(
        timeOf(() => redactor.bytes(part)),
        timeOf(() => redactor.bytes(part)),
      );
    });
    const first = seconds[0] as number;
    // The mean of the doublings: a single one is as much of the machine as of the line.
    const doubling = ((seconds.at(-1) as number) / first) ** (1 / DOUBLINGS);
    context.recorder.round({
      case: `hostile: ${name}`,
      subject: 'parley',
      round: 0,
      values: { 'times ordinary': first / plain, 'times a doubling': doubling },
    });
    context.recorder.bar(`hostile: ${name}`, 'times ordinary', first / plain, '≤', 3);
    context.recorder.bar(`hostile: ${name}`, 'times a doubling', doubling, '≤', 2.1);
  }
}

function timeOf(work: () => unknown): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e9;
}
