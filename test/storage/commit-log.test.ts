/** An environment with its log: what is acknowledged is read everywhere, kept through a crash, and not kept for longer. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { checkFolder } from '#storage/check/check.ts';
import { logOf, makeDurableWords } from '#storage/engine/folder-logs.ts';
import { Environment, type LogOptions, type RangeOptions } from '#storage/engine/environment.ts';
import { FolderError, lanePath, openFolder } from '#storage/engine/folder.ts';
import { numberAt, numberOf } from '#storage/engine/keys.ts';
import { openLane } from '#storage/engine/lane.ts';
import { dropDamagedLogs, recoverLogs } from '#storage/engine/log-recovery.ts';
import { settleStores } from '#storage/engine/stores.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const TABLES = ['one', 'two'] as const;
const MAP_BYTES = 1024 ** 3;
type Model = Record<(typeof TABLES)[number], Map<string, string>>;

interface Opened {
  readonly folder: string;
  readonly words: SharedArrayBuffer;
  readonly open: (access: LogOptions['access'], more?: Partial<LogOptions>) => Environment<(typeof TABLES)[number]>;
}

function place(t: TestContext): Opened {
  const folder = temporaryFolder(t);
  const words = makeDurableWords(1);
  const open: Opened['open'] = (access, more) =>
    new Environment(lanePath(folder, 0), TABLES, {
      mapBytes: MAP_BYTES,
      // One of the two without copies, to be the same as the other.
      walked: ['one'],
      log: { ...logOf(folder, 0, access, words), ...more },
    });
  return { folder, words, open };
}

/** What the process leaves when it is killed now: the files as the kernel has them. */
function killed(folder: string, t: TestContext): string {
  const left = join(temporaryFolder(t), 'left');
  cpSync(folder, left, { recursive: true });
  for (const name of readdirSync(join(left, 'lanes'))) if (name.endsWith('-lock')) rmSync(join(left, 'lanes', name));
  return left;
}

const put = (table: (typeof TABLES)[number], key: string, value: string | null) => ({
  table,
  key: Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
});

/** Every way of reading, against a plain map. */
function assertSame(
  environment: Environment<(typeof TABLES)[number]>,
  model: Model,
  random: SeededRandom,
  say: string,
) {
  for (const table of TABLES) {
    const expected = [...model[table]].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const stored = environment.tables[table];
    const [low, high] = [random.whole(0, 60), random.whole(0, 60)].toSorted((a, b) => a - b).map(nameOf) as [
      string,
      string,
    ];
    const [limit, offset] = [random.whole(0, 12), random.chance(0.3) ? random.whole(0, 4) : 0];
    const within = (rows: [string, string][]) => rows.slice(offset, offset + limit).map((row) => row.join('='));
    const read = (options: RangeOptions) =>
      [...stored.getRange(options)].map(({ key, value }) => `${key.toString()}=${value.toString()}`);
    assert.deepEqual(
      read({}),
      expected.map((row) => row.join('=')),
      say,
    );
    const forward = { start: Buffer.from(low), end: Buffer.from(high), limit, offset };
    assert.deepEqual(read(forward), within(expected.filter(([key]) => key >= low && key < high)), say);
    const back = { start: Buffer.from(high), end: Buffer.from(low), limit, offset, reverse: true };
    assert.deepEqual(read(back), within(expected.filter(([key]) => key <= high && key > low).toReversed()), say);
    assert.deepEqual(
      [...stored.getKeys({ start: Buffer.from(low), limit })].map(String),
      expected.flatMap(([key]) => (key >= low ? [key] : [])).slice(0, limit),
      say,
    );
    const walked: string[] = [];
    const range = { start: Buffer.from(low), end: Buffer.from(high) };
    const count = stored.walkValues(range, (value) => {
      walked.push(value.toString());
      // Who walks reads other things meanwhile.
      environment.tables.two.get(Buffer.from(low));
      stored.getBinaryFast(Buffer.from(high));
    });
    const values = expected.flatMap(([key, value]) => (key >= low && key < high ? [value] : []));
    assert.deepEqual([count, walked], [values.length, values], say);
    assert.equal(stored.getKeysCount({ end: Buffer.from(high) }), expected.filter(([key]) => key < high).length, say);
    assert.deepEqual(
      [stored.getCount(), (stored.getStats() as { entryCount: number }).entryCount],
      [expected.length, expected.length],
      say,
    );
    for (const key of [low, high]) assert.equal(stored.get(Buffer.from(key))?.toString(), model[table].get(key), say);
  }
}

const nameOf = (number: number) => `k${String(number).padStart(2, '0')}`;
const seed = freshSeed();

test(`LOG-02: every read sees what was acknowledged before it, through the writer, readers and processes (seed ${seed})`, async (t) => {
  const random = new SeededRandom(seed);
  const { folder, open } = place(t);
  const writer = open('write');
  // One follows by the word that threads share, one by the files alone, as a program of its own would.
  const readers = [writer, open('read'), open('read', { durable: undefined })];
  const model: Model = { one: new Map(), two: new Map() };
  for (let step = 1; step <= 250; step += 1) {
    const writes = Array.from({ length: random.whole(1, 6) }, (_, n) =>
      put(random.pick(TABLES), nameOf(random.whole(0, 60)), random.chance(0.3) ? null : `${step}.${n}`),
    );
    await writer.commit(writes);
    for (const { key, table, value } of writes) {
      if (value === null) model[table].delete(key.toString());
      else model[table].set(key.toString(), value.toString());
    }
    const reader = random.pick(readers);
    reader.refresh();
    assertSame(reader, model, random, `step ${step} of seed ${seed}, reader ${readers.indexOf(reader)}`);
  }
  const left = killed(folder, t);
  await recoverLogs(left, 1);
  const files = new Environment(lanePath(left, 0), TABLES, { mapBytes: MAP_BYTES });
  assertSame(files, model, random, `killed, seed ${seed}`);
  await files.close();
  for (const reader of readers.toReversed()) await reader.close();
  const after = new Environment(lanePath(folder, 0), TABLES, { mapBytes: MAP_BYTES, readOnly: true });
  assertSame(after, model, random, `closed, seed ${seed}`);
  await after.close();
});

test('LOG-02: another thread reads a commit when it is told of it, all of it and nothing older', async (t) => {
  const { folder, words } = place(t);
  const reader = openLane(lanePath(folder, 0), MAP_BYTES, logOf(folder, 0, 'read', words));
  const commits = 1_500;
  const worker = new Worker(new URL('log-follower.ts', import.meta.url), { workerData: { commits, folder, words } });
  const faults: string[] = [];
  worker.on('message', (number: number) => {
    reader.refresh();
    const latest = numberAt(reader.tables.meta.get(Buffer.from('latest')) as Buffer);
    const keys = [...reader.tables.deleted.getKeys()].map((key) => numberOf(key));
    const expected = Array.from({ length: Math.min(5, latest) }, (_, n) => latest - Math.min(5, latest) + n + 1);
    // One snapshot: the list is that of the latest, though commits go on meanwhile.
    if (latest < number || keys.join() !== expected.join()) faults.push(`${number}: ${latest}, ${keys.join()}`);
  });
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
  assert.deepEqual(faults, []);
  assert.equal(numberAt(reader.tables.meta.get(Buffer.from('latest')) as Buffer), commits);
  await reader.close();
});

test('a walk that is under way sees one state of a table, whatever is committed and applied meanwhile', async (t) => {
  const { open } = place(t);
  const [writer, reader] = [open('write'), open('read')];
  await writer.commit(Array.from({ length: 40 }, (_, n) => put('one', nameOf(n), 'before')));
  const walks = [writer, reader].map(({ tables }) => tables.one.getRange()[Symbol.iterator]());
  const first = walks.map((walk) => (walk.next().value as { value: Buffer }).value.toString());
  await writer.commit(Array.from({ length: 40 }, (_, n) => put('one', nameOf(n), n % 2 === 0 ? null : 'after')));
  const plain = new Environment(writer.path, TABLES, { mapBytes: MAP_BYTES });
  await until(() => {
    plain.refresh();
    return plain.tables.one.get(Buffer.from(nameOf(1)))?.toString() === 'after';
  }, 'the log to be applied');
  await plain.close();
  for (const [at, walk] of walks.entries()) {
    const rest: string[] = [];
    for (let row = walk.next(); row.done !== true; row = walk.next()) rest.push(row.value.value.toString());
    assert.deepEqual([first[at], rest.length, new Set(rest)], ['before', 39, new Set(['before'])]);
  }
  await reader.close();
  await writer.close();
});

/** Whether the words are anywhere in the log's files. */
function isInLog(folder: string, words: string): boolean {
  const log = join(folder, 'log', 'lane-00');
  return readdirSync(log).some((name) => readFileSync(join(log, name)).includes(words));
}

test('ERA: what was written and purged is off the log within its time, and at the end of the process', async (t) => {
  const { folder, open } = place(t);
  const writer = open('write', { turnMillis: 200 });
  await writer.commit([put('one', 'secret', 'the text that goes')]);
  assert.ok(isInLog(folder, 'the text that goes'));
  await writer.commit([put('one', 'secret', null)]);
  // Others write on meanwhile, so that nothing but the time ends the segment.
  await until(async () => {
    await writer.commit([put('two', 'other', 'work')]);
    return !isInLog(folder, 'the text that goes');
  }, 'the text to go off the log');
  await writer.commit([put('one', 'secret', 'a text at the end')]);
  await writer.close();
  assert.ok(!isInLog(folder, 'a text at the end'));
});

test('LOG-01: a log without its file, a file without its log, and a damaged log end the start and the check in words', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  await settleStores(folder, openFolder(folder, 1, '2026-11-22T12:00:00.000Z'));
  const writer = openLane(lanePath(folder, 0), MAP_BYTES, logOf(folder, 0, 'write'));
  await writer.commit([{ table: 'meta', key: Buffer.from('a'), value: Buffer.from('acknowledged') }]);
  const left = () => killed(folder, t);
  const lostLog = /lane-00\/00000000\.seg is missing: a part of the log is lost\./;
  // Of a file that is not the log's own the check speaks as of any store: stores are looked at before their logs.
  const damages: [string, (at: string) => void, RegExp, RegExp][] = [
    [
      'no file',
      (at) => rmSync(lanePath(at, 0)),
      /00\.mdb is missing, while its log in .*lane-00 is there\. Put the file back/,
      /^\S+00\.mdb is missing: put the right file back, .*\.$/,
    ],
    ['no log', (at) => rmSync(join(at, 'log'), { recursive: true }), lostLog, lostLog],
    [
      'another file',
      (at) => {
        rmSync(lanePath(at, 0));
        mkdirSync(join(at, 'lanes'), { recursive: true });
        cpSync(lanePath(other, 0), lanePath(at, 0));
      },
      /00\.mdb does not know its log|is not segment 0 of this log/,
      /^\S+00\.mdb is not the file that this installation made: it has no mark: put the right file back, .*\.$/,
    ],
  ];
  const other = join(temporaryFolder(t), 'other');
  const elsewhere = openLane(lanePath(other, 0), MAP_BYTES);
  await elsewhere.close();
  for (const [name, damage, sentence, checked] of damages) {
    const folderLeft = left();
    damage(folderLeft);
    await assert.rejects(
      recoverLogs(folderLeft, 1),
      (error) => error instanceof FolderError && sentence.test(error.message),
      name,
    );
    const { problems } = await checkFolder(folderLeft);
    assert.match(problems.join('\n'), checked, name);
    if (name === 'no file') assert.ok(!existsSync(lanePath(folderLeft, 0)), 'nothing is made in its place');
  }
  const torn = left();
  const segment = join(torn, 'log', 'lane-00', '00000000.seg');
  const bytes = readFileSync(segment);
  bytes.writeUInt8(bytes.readUInt8(700) ^ 1, 700);
  writeFileSync(segment, bytes);
  assert.match((await checkFolder(torn)).problems.join(), /^Byte 512 of .* is damaged\./);
  const said: string[] = [];
  await dropDamagedLogs(torn, 1, (sentence) => said.push(sentence));
  assert.match(
    said.join(),
    /^Byte 512 of .*seg is damaged\. 0 changes before that were kept, those behind it are lost; the log is .*lane-00\.damaged-\d+ now\.$/,
  );
  await recoverLogs(torn, 1);
  const again = openLane(lanePath(torn, 0), MAP_BYTES, logOf(torn, 0, 'write'));
  assert.equal(again.tables.meta.get(Buffer.from('a')), undefined);
  await again.commit([{ table: 'meta', key: Buffer.from('a'), value: Buffer.from('anew') }]);
  await again.close();
  const sound = left();
  await recoverLogs(sound, 1);
  const read = openLane(lanePath(sound, 0), MAP_BYTES);
  assert.equal(read.tables.meta.get(Buffer.from('a'))?.toString(), 'acknowledged');
  await read.close();
  await writer.close();
});

test('a copy made while commits are acknowledged has all of them, and begins a log of its own', async (t) => {
  const { folder, open } = place(t);
  const writer = open('write');
  const copier = open('read');
  for (let n = 0; n < 30; n += 1) {
    await writer.commit([put('one', nameOf(n), 'there')]);
    const copy = join(folder, `copy-${n}.mdb`);
    if (n % 10 !== 9) continue;
    await copier.copyTo(copy);
    const read = new Environment(copy, TABLES, { mapBytes: MAP_BYTES });
    assert.equal(read.tables.one.getCount(), n + 1);
    read.forgetLog();
    await read.close();
    const log: LogOptions = { folder: join(folder, `log-${n}`), access: 'write' };
    const again = new Environment(copy, TABLES, { mapBytes: MAP_BYTES, log });
    await again.commit([put('two', 'more', 'x')]);
    assert.equal(again.tables.one.getCount() + again.tables.two.getCount(), n + 2);
    await again.close();
  }
  await copier.close();
  await writer.close();
});
