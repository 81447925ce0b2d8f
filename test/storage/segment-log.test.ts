/** The commit log in files: what is appended is there again, what was torn is cut, what is damaged is said. */
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeBatch, encodeBatch, LogFault } from '#storage/log/commit-log.ts';
import { FolderError } from '#storage/engine/folder.ts';
import {
  crc32c,
  nextSegment,
  offsetOf,
  SECTOR_BYTES,
  sectorsOf,
  SEGMENT_BYTES,
  segmentOf,
} from '#storage/log/log-sectors.ts';
import { segmentPath } from '#storage/log/log-tail.ts';
import { SegmentLog } from '#storage/log/segment-log.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { UnsteadyFiles } from './unsteady-files.ts';

const ID = Buffer.from('01234567');
const FOLDER = 'log/lane-00';

/** Bytes that tell which batch they are of, some of them zeros. */
function batchOf(number: number, bytes: number): Buffer {
  const batch = Buffer.alloc(Math.max(8, bytes));
  batch.writeDoubleLE(number);
  for (let at = 8; at < batch.length; at += 1) batch[at] = at % 1_700 < 900 ? 0 : (at * number) & 255;
  return batch;
}

const numbersOf = (log: SegmentLog, after: number) => log.read(after).map(({ batch }) => batch.readDoubleLE());

async function logged(t: TestContext, sizes: readonly number[], from = 0) {
  const folder = join(temporaryFolder(t), 'log');
  const log = SegmentLog.make({ folder, id: ID }, from);
  const ends: number[] = [];
  for (const [at, bytes] of sizes.entries()) ends.push(await log.append(batchOf(at + 1, bytes)));
  await log.close();
  return { folder, ends, open: (after = from) => SegmentLog.open({ folder, id: ID }, after) };
}

test('CRC32C is that of its standard', () => {
  // RFC 3720, B.4, and the check value of the polynomial.
  assert.equal(crc32c(Buffer.from('123456789'), 0, 9), 0xe3069283);
  assert.equal(crc32c(Buffer.alloc(32), 0, 32), 0x8a9136aa);
  assert.equal(crc32c(Buffer.alloc(32, 0xff), 0, 32), 0x62a8ab43);
  assert.equal(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0, 32), 0x46dd794e);
});

test('a batch has its writes again: tables, keys, values, removals and what is empty', () => {
  const writes = [
    { table: 'messages', key: Buffer.from('a\0b'), value: Buffer.alloc(70_000, 7) },
    { table: 'meta', key: Buffer.from('stamp'), value: Buffer.alloc(0) },
    { table: 'messages', key: Buffer.alloc(511, 255), value: null },
  ];
  assert.deepEqual(decodeBatch(encodeBatch(writes)), writes);
  assert.deepEqual(decodeBatch(encodeBatch([])), []);
});

test('LOG-01: what was appended is read again, from any position, over the ends of segments', async (t) => {
  const sizes = [1, 484, 485, 1_000, 900_000, 3_000_000, 40, 120_000];
  const { ends, open } = await logged(t, sizes);
  const log = open();
  assert.equal(log.end, ends.at(-1));
  const read = log.read(0);
  assert.deepEqual(
    read.map(({ position }) => position),
    ends,
  );
  read.forEach(({ batch }, at) => assert.ok(batch.equals(batchOf(at + 1, sizes[at] as number)), `batch ${at + 1}`));
  assert.deepEqual(numbersOf(log, ends[4] as number), [6, 7, 8]);
  assert.deepEqual(numbersOf(log, log.end), []);
  await log.append(batchOf(9, 10));
  assert.deepEqual(numbersOf(log, ends[6] as number), [8, 9]);
  await log.close();
});

test('trimmed segments hold nothing of what they had, are used again, and never grow more than the log needs', async (t) => {
  const folder = join(temporaryFolder(t), 'log');
  const log = SegmentLog.make({ folder, id: ID });
  for (let round = 1; round <= 12; round += 1) {
    await log.append(Buffer.from('a purged text '.repeat(30_000)));
    await log.turn();
    await log.trim(log.end);
    const files = readdirSync(folder);
    assert.ok(files.length <= 2, files.join());
    for (const name of files)
      assert.ok(!readFileSync(join(folder, name)).includes('purged'), `round ${round}: ${name}`);
  }
  const end = log.end;
  await log.close();
  const again = SegmentLog.open({ folder, id: ID }, end);
  assert.deepEqual([again.end, again.read(end)], [end, []]);
  assert.throws(() => again.read(0), LogFault);
  await again.close();
});

test('a disk that takes no more refuses a batch, keeps those before it, and takes the next when there is room', async () => {
  const files = new UnsteadyFiles(new SeededRandom(1));
  const log = SegmentLog.make({ folder: FOLDER, id: ID, files });
  await log.append(batchOf(1, 5_000));
  files.isFull = true;
  await assert.rejects(log.append(batchOf(2, 5_000)), { code: 'ENOSPC' });
  await assert.rejects(log.append(batchOf(3, 5_000_000)), { code: 'ENOSPC' });
  files.isFull = false;
  await log.append(batchOf(4, 700));
  await log.append(batchOf(5, 2_000_000));
  assert.deepEqual(numbersOf(log, 0), [1, 4, 5]);
  const again = SegmentLog.open({ folder: FOLDER, id: ID, files: files.cut() }, 0);
  assert.deepEqual(numbersOf(again, 0), [1, 4, 5]);
  // What was refused is nowhere, though the disk had it.
  files.failsLate = true;
  await assert.rejects(log.append(batchOf(6, 3_000)), { code: 'EIO' });
  const after = SegmentLog.open({ folder: FOLDER, id: ID, files: files.cut() }, 0);
  assert.deepEqual(numbersOf(after, 0), [1, 4, 5]);
  assert.equal(await log.append(batchOf(7, 100)), again.end + 1);
  assert.deepEqual(numbersOf(log, 0), [1, 4, 5, 7]);
  // A batch that is taken back leaves its place to the next.
  const end = log.end;
  await log.append(batchOf(8, 3_000));
  await log.takeBack(3_000);
  assert.deepEqual(numbersOf(SegmentLog.open({ folder: FOLDER, id: ID, files: files.cut() }, 0), 0), [1, 4, 5, 7]);
  assert.equal(await log.append(batchOf(9, 100)), end + 1);
});

const seed = freshSeed();

test(`LOG-01: a power cut at any moment loses no batch that was acknowledged and invents none (seed ${seed})`, async () => {
  const random = new SeededRandom(seed);
  for (let history = 0; history < 8; history += 1)
    await cutHistory(random.fork(), `history ${history} of seed ${seed}`);
});

/** Appends, turns and trims, with power cuts all along: each leaves files that a log is opened over. */
async function cutHistory(random: SeededRandom, name: string): Promise<void> {
  const files = new UnsteadyFiles(random.fork());
  const log = SegmentLog.make({ folder: FOLDER, id: ID, files });
  /** Batches that were acknowledged, by the position behind them. */
  const acked = new Map<number, number>();
  let [begun, applied] = [0, 0];
  const state = { isOver: false };
  const work = (async () => {
    for (let step = 0; step < 40; step += 1) {
      if (random.chance(0.1)) await log.turn();
      const bytes = random.pick([20, 400, 490, 3_000, 30_000, random.whole(1, 400_000)]);
      begun += 1;
      acked.set(await log.append(batchOf(begun, bytes)), begun);
      if (!random.chance(0.3)) continue;
      // LMDB has all this before the log is told, as the writer does it.
      applied = random.chance(0.5) ? log.end : Math.max(applied, random.pick([...acked.keys()]));
      void log.trim(applied);
    }
    state.isOver = true;
  })();
  while (!state.isOver) {
    await nextTurn();
    if (!random.chance(0.15)) continue;
    const [left, from, told, most] = [files.cut(), applied, new Map(acked), begun];
    const opened = SegmentLog.open({ folder: FOLDER, id: ID, files: left }, from);
    const found = numbersOf(opened, from);
    const expected = [...told].filter(([position]) => position > from).map(([, number]) => number);
    assert.deepEqual(found.slice(0, expected.length), expected, name);
    assert.ok(found.length <= expected.length + 1 && (found.at(-1) ?? 0) <= most, `${name}: ${found.join()}`);
    // It goes on from there, and the power may go again.
    await opened.append(batchOf(1e6, 2_000));
    const again = SegmentLog.open({ folder: FOLDER, id: ID, files: left.cut() }, from);
    assert.deepEqual(numbersOf(again, from), [...found, 1e6], name);
  }
  await work;
}

test(`LOG-01: a batch of which any sectors are missing was never acknowledged, and is cut (seed ${seed})`, async (t) => {
  const random = new SeededRandom(seed);
  for (let round = 0; round < 12; round += 1) {
    const { ends, folder, open } = await logged(t, [700, 5_000, random.pick([100, 6_000, 1_200_000])]);
    const [first, last] = ends.slice(-2) as [number, number];
    const sectors = Array.from({ length: last - first }, (_, n) => first + n);
    const gone = sectors.filter(() => random.chance(0.4));
    for (const position of gone.length === 0 ? [first] : gone) blank(folder, position);
    const log = open();
    assert.deepEqual([log.end, numbersOf(log, 0)], [first, [1, 2]]);
    await log.append(batchOf(4, 9_000));
    await log.close();
    const again = open();
    assert.deepEqual(numbersOf(again, 0), [1, 2, 4]);
    await again.close();
  }
});

function change(folder: string, position: number, to: (bytes: Buffer, at: number) => void): void {
  const path = segmentPath(folder, segmentOf(position));
  const bytes = readFileSync(path);
  to(bytes, offsetOf(position));
  writeFileSync(path, bytes);
}

const blank = (folder: string, position: number) =>
  change(folder, position, (bytes, at) => bytes.fill(0, at, at + SECTOR_BYTES));

function faultOf(open: () => SegmentLog): string {
  try {
    void open().close();
  } catch (error) {
    assert.ok(error instanceof LogFault && error instanceof FolderError);
    assert.match(error.message, /Put the file back as it was if there is a copy, or restore a backup/);
    return error.message;
  }
  throw new Error('The log was opened.');
}

test(`LOG-01: a flipped bit, wherever it is, is said with file and byte, and nothing is cut (seed ${seed})`, async (t) => {
  const random = new SeededRandom(seed);
  const { ends, folder, open } = await logged(t, [700, 90_000, 1_000_000, 480, 3_000]);
  for (let round = 0; round < 40; round += 1) {
    const position = random.whole(0, (ends.at(-1) as number) - 1);
    const [byte, bit] = [random.whole(0, SECTOR_BYTES - 1), 1 << random.whole(0, 7)];
    const flip = () =>
      change(folder, position, (bytes, at) => bytes.writeUInt8(bytes.readUInt8(at + byte) ^ bit, at + byte));
    flip();
    const before = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    const path = segmentPath(folder, segmentOf(position));
    assert.match(
      faultOf(open),
      new RegExp(`^Byte ${offsetOf(position)} of ${path} is damaged\\.`),
      `position ${position}`,
    );
    const after = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    assert.ok(before.every((bytes, at) => bytes.equals(after[at] as Buffer)));
    flip();
  }
  const log = open();
  assert.deepEqual(numbersOf(log, 0), [1, 2, 3, 4, 5]);
  await log.close();
});

test('LOG-01: a hole before what was acknowledged, and segments that are missing, short or foreign, are faults', async (t) => {
  const { ends, folder, open } = await logged(t, [700, 5_000, 1_500_000, 300]);
  const first = segmentPath(folder, 0);
  const second = segmentPath(folder, 1);
  const kept = [readFileSync(first), readFileSync(second)] as const;
  const restore = () => [first, second].forEach((path, at) => writeFileSync(path, kept[at] as Buffer));
  const [hole] = ends as [number];
  for (let position = hole; position < hole + sectorsOf(5_000); position += 1) blank(folder, position);
  assert.match(
    faultOf(open),
    new RegExp(`^Byte ${offsetOf(hole)} of ${first} is empty, while later changes follow at byte`),
  );
  restore();
  for (const path of [first, second]) {
    rmSync(path);
    assert.ok(faultOf(open).startsWith(`${path} is missing: a part of the log is lost.`));
    restore();
    truncateSync(path, SEGMENT_BYTES - 4096);
    assert.match(faultOf(open), new RegExp(`^${path} has ${SEGMENT_BYTES - 4096} bytes and not ${SEGMENT_BYTES}:`));
    restore();
    appendFileSync(path, 'x');
    assert.match(faultOf(open), new RegExp(`^${path} has ${SEGMENT_BYTES + 1} bytes`));
    restore();
  }
  copyFileSync(first, second);
  assert.match(
    faultOf(open),
    new RegExp(`^${second} is not segment 1 of this log: it was put there from elsewhere\\.`),
  );
  restore();
  const foreign = () => SegmentLog.open({ folder, id: Buffer.from('76543210') }, 0);
  assert.match(faultOf(foreign), new RegExp(`^${first} is not segment 0 of this log`));
  writeFileSync(first, Buffer.concat([Buffer.alloc(SECTOR_BYTES), kept[0].subarray(SECTOR_BYTES)]));
  assert.match(faultOf(open), new RegExp(`^${first} is damaged in its first 512 bytes\\.`));
  restore();
  assert.deepEqual(numbersOf(open(), 0), [1, 2, 3, 4]);
  rmSync(folder, { recursive: true });
  assert.match(faultOf(open), /00000000\.seg is missing/);
});

test('LOG-01: a batch that ends with its segment leaves one that is missed when it is gone', async (t) => {
  const folder = join(temporaryFolder(t), 'log');
  const log = SegmentLog.make({ folder, id: ID });
  await log.append(batchOf(1, 700));
  const left = nextSegment(log.end) - log.end;
  await log.append(batchOf(2, left * 500 - 8));
  assert.equal(log.end, nextSegment(0));
  await log.close();
  rmSync(segmentPath(folder, 1));
  assert.match(
    faultOf(() => SegmentLog.open({ folder, id: ID }, 0)),
    /00000001\.seg is missing/,
  );
});
