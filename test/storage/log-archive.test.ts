/** What a log carries and its archive: complete through a missing folder, a kill and a torn end, and never complete in appearance alone. */
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { replayed } from '#storage/backup/log-replay.ts';
import { Environment, type LogOptions } from '#storage/engine/environment.ts';
import { archiveStatus, archiveWordOf, makeDurableWords } from '#storage/engine/folder-logs.ts';
import { readArchiveFileName } from '#storage/log/archive-file.ts';
import { decodeBatch } from '#storage/log/commit-log.ts';
import { DurableWord } from '#storage/log/durable-word.ts';
import type { ArchiveOptions } from '#storage/log/log-archive.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

/** An environment whose log is archived in a folder that is not there yet. */
function place(t: TestContext) {
  const folder = temporaryFolder(t);
  const archive = join(temporaryFolder(t), 'archive');
  const words = makeDurableWords(1);
  const open = (more: Partial<ArchiveOptions> = {}, log: Partial<LogOptions> = {}, at = folder) =>
    new Environment(join(at, 'one.mdb'), ['one'], {
      mapBytes: 1024 ** 3,
      log: {
        folder: join(at, 'log'),
        access: 'write',
        durable: new DurableWord(words),
        archive: {
          ...{ folder: archive, installation: 'A', log: 'lane-00', withheld: [], flushMillis: 1 },
          word: archiveWordOf(words, 0),
          ...more,
        },
        ...log,
      },
    });
  const files = (): string[] => {
    const own = join(archive, 'A', 'lane-00');
    return existsSync(own)
      ? readdirSync(own)
          .toSorted()
          .map((name) => join(own, name))
      : [];
  };
  return { folder, archive, files, open, status: () => archiveStatus(words, Date.now()) };
}

const put = (value: string) => [{ table: 'one' as const, key: Buffer.from('k'), value: Buffer.from(value) }];

/** The values that an archive has with their times, in order, and the sentence that says where it ends. */
function readAll(files: readonly string[], id: Buffer) {
  const values: string[] = [];
  const times: number[] = [];
  const after = readArchiveFileName(files[0]?.split('/').at(-1) ?? '')?.from ?? 0;
  let said = '';
  try {
    for (const { at, batch } of replayed({ path: '', log: 'lane-00', files, id, after, installation: 'A' }, Infinity)) {
      for (const { value } of batch === undefined ? [] : decodeBatch(batch)) {
        values.push(String(value));
        times.push(at);
      }
    }
  } catch (error) {
    said = (error as Error).message;
  }
  return { values, times, said };
}

const idOf = (environment: Environment<'one'>) => Buffer.from(environment.logPlace?.id ?? []);

test('LOG-01: an archive that takes nothing keeps nobody waiting, and has all of it once it is there', async (t) => {
  const { archive, files, open, status } = place(t);
  // The log leaves its segments at once, so that only what the archive lacks keeps them.
  const environment = open({}, { turnMillis: 1 });
  const values = Array.from({ length: 50 }, (_, n) => String(n));
  for (const value of values) await environment.commit(put(value));
  await until(() => status().fault !== 0, 'the archive to be missing');
  await until(() => environment.pending().length === 0, 'LMDB to have it');
  assert.equal(status().gaps, 0);
  mkdirSync(archive);
  await until(() => status().fault === 0, 'the archive to be written');
  await environment.commit(put('last'));
  const id = idOf(environment);
  await environment.close();
  const found = readAll(files(), id);
  assert.deepEqual(found.values, [...values, 'last']);
  assert.match(found.said, /^The archive of lane-00 reaches to 2\S+Z: /);
});

test('LOG-01: an archive that takes nothing for too long has a gap, which no restore crosses', async (t) => {
  const { archive, files, open, status } = place(t);
  mkdirSync(archive);
  const environment = open();
  await environment.commit(put('first'));
  const id = idOf(environment);
  await environment.close();
  renameSync(archive, `${archive}.gone`);
  /** Up to the first gap. */
  const committed = ['first'];
  for (const [bound, what] of [
    [{ pendingBytesMax: 4_096 }, 'bytes'],
    [{ waitMillis: 1 }, 'time'],
  ] as const) {
    const again = open(bound);
    const before = status().gaps;
    for (let n = 0; status().gaps === before; n += 1) {
      assert.ok(n < 10_000, what);
      await again.commit(put(`${what} ${n} ${'x'.repeat(200)}`));
      if (what === 'bytes') committed.push(`${what} ${n} ${'x'.repeat(200)}`);
    }
    renameSync(`${archive}.gone`, archive);
    await again.commit(put(`behind the gap of ${what}`));
    await until(() => status().fault === 0, 'the archive to be written');
    await again.close();
    renameSync(archive, `${archive}.gone`);
  }
  renameSync(`${archive}.gone`, archive);
  const { said, values } = readAll(files(), id);
  // What was being written as it was given up is there all the same where the folder came back in time; it ends before the gap.
  assert.deepEqual(values, committed.slice(0, Math.max(1, values.length)));
  assert.match(said, /^The archive lacks what lane-00 took between 2\S+Z and 2\S+Z: restore to an instant before that/);
});

test('LOG-01: what is more than may wait leaves a gap within a file, which no restore crosses either', async (t) => {
  const { archive, files, open, status } = place(t);
  mkdirSync(archive);
  const environment = open({ pendingBytesMax: 4_096 });
  const id = idOf(environment);
  await environment.commit(put('first'));
  await until(() => readAll(files(), id).values.length === 1, 'the first to be archived');
  const before = files();
  await environment.commit(put('x'.repeat(5_000)));
  assert.equal(status().gaps, 1);
  await environment.commit(put('behind the gap'));
  await environment.close();
  assert.deepEqual(files(), before, 'no other file was begun');
  const { said, values } = readAll(files(), id);
  assert.deepEqual(values, ['first']);
  assert.match(said, /^The archive lacks what lane-00 took between 2\S+Z and 2\S+Z: /);
});

test('LOG-01: a server that ends in order says of a log to which nothing was written how far its archive reaches', async (t) => {
  const { archive, files, open } = place(t);
  mkdirSync(archive);
  // Nothing is said while it runs.
  const environment = open({ flushMillis: 3_600_000 });
  const id = idOf(environment);
  const before = Date.now();
  await until(() => Date.now() > before + 1, 'the clock to go on');
  await environment.close();
  const [, reaches = ''] = /^The archive of lane-00 reaches to (\S+Z): /.exec(readAll(files(), id).said) ?? [];
  assert.ok(Date.parse(reaches) >= before, `${reaches}, and it ended behind ${new Date(before).toISOString()}`);
});

test('LOG-01: what a killed server had not archived comes from its log, with its time, behind a torn end', async (t) => {
  const { archive, files, folder, open } = place(t);
  mkdirSync(archive);
  const environment = open();
  await environment.commit(put('first'));
  const id = idOf(environment);
  await environment.close();
  // Nothing more is archived before it is killed, while the log would forget it.
  const killed = open({ flushMillis: 3_600_000 }, { turnMillis: 1 });
  const before = Date.now();
  for (const value of ['one', 'two', 'three']) await killed.commit(put(value));
  const after = Date.now();
  await until(() => killed.pending().length === 0, 'LMDB to have it');
  const left = join(temporaryFolder(t), 'left');
  cpSync(folder, left, { recursive: true });
  rmSync(join(left, 'one.mdb-lock'), { force: true });
  assert.deepEqual(readAll(files(), id).values, ['first']);
  appendFileSync(files().at(-1) ?? '', readFileSync(files()[0] ?? '').subarray(128, 150));
  await until(() => Date.now() > after, 'the clock to go on');
  await open({}, {}, left).close();
  const { said, times, values } = readAll(files(), id);
  assert.deepEqual(values, ['first', 'one', 'two', 'three'], said);
  for (const at of times.slice(1)) assert.ok(at >= before && at <= after, `${before} ${at} ${after}`);
  await killed.close();
});

test('LOG-01: an archive that is ahead of a folder that was put back is set aside, so that no restore mixes the two', async (t) => {
  const { archive, files, folder, open } = place(t);
  mkdirSync(archive);
  await open().close();
  const left = join(temporaryFolder(t), 'left');
  cpSync(folder, left, { recursive: true });
  const environment = open();
  await environment.commit(put('of the state that goes'));
  const id = idOf(environment);
  await environment.close();
  const again = open({}, {}, left);
  await again.commit(put('of the state that stays'));
  await again.close();
  assert.deepEqual(readAll(files(), id).values, ['of the state that stays']);
  assert.match(readdirSync(join(archive, 'A')).join(), /^lane-00,lane-00\.before-\d+$/);
});
