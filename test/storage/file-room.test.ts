/** What a commit takes of its file was there before LMDB began: the file never grows by LMDB's own writing. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Environment, type Write } from '#storage/engine/environment.ts';
import { limitProcess } from '#test/support/process.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { usedBytesOf } from '#test/support/used-bytes.ts';

const TABLES = ['few', 'many', 'large'] as const;
type TableName = (typeof TABLES)[number];
const SEED = Number(process.env['SEED'] ?? freshSeed());

/** A file's size is a multiple of it as long as nobody but the room has had it grow. */
const STEP_BYTES = 256 * 1024;

function randomWrites(random: SeededRandom): Write<TableName>[] {
  const count = random.chance(0.2) ? random.whole(500, 3_000) : random.whole(1, 60);
  const isInOrder = random.chance(0.3);
  const first = random.whole(0, 1e9);
  return Array.from({ length: count }, (_, at) => {
    const table = random.pick(TABLES);
    const number = isInOrder ? first + at : random.whole(0, 1e9);
    const size = table === 'large' ? random.whole(1_500, 9_000) : random.whole(0, 400);
    const isRemoval = random.chance(0.1);
    return {
      table,
      key: Buffer.from(String(table === 'few' ? number % 5_000 : number).padStart(random.whole(10, 80), '0')),
      value: isRemoval ? null : Buffer.alloc(count > 500 && table === 'large' ? 50 : size, 1),
    };
  });
}

test(`MSG-08 commits of any size find room that was made for them, while a reader keeps all old pages (SEED=${SEED})`, async (t) => {
  const path = join(temporaryFolder(t), 'room.mdb');
  const options = { mapBytes: 4 * 1024 ** 3 };
  const environment = new Environment(path, TABLES, options);
  const reader = new Environment(path, TABLES, { ...options, readOnly: true });
  const random = new SeededRandom(SEED);
  await environment.commit([{ table: 'few', key: Buffer.from('1'), value: Buffer.alloc(1) }]);
  // A range that is not read to its end keeps its snapshot.
  const held = reader.tables.few.getRange()[Symbol.iterator]();
  held.next();
  for (let commit = 0; commit < 120; commit += 1) {
    await environment.commit(randomWrites(random));
    const { size } = statSync(path);
    assert.equal(size % STEP_BYTES, 0, `commit ${commit} went beyond what was made for it: ${size}`);
    assert.ok(usedBytesOf(path) <= size);
  }
  held.return?.();
  await reader.close();
  await environment.close();
});

test('MSG-08 a commit that finds no room is refused before LMDB begins, and what is there takes smaller ones', async (t) => {
  const path = join(temporaryFolder(t), 'room.mdb');
  const environment = new Environment(path, TABLES, { mapBytes: 1024 ** 3 });
  const put = (name: string, bytes: number): Write<TableName>[] => [
    { table: 'large', key: Buffer.from(name), value: Buffer.alloc(bytes, 1) },
  ];
  await environment.commit(put('first', 10));
  const before = statSync(path).size;
  limitProcess(process.pid, 'fsize', before);
  try {
    await assert.rejects(environment.commit(put('large', 1024 ** 2)), { code: 'EFBIG' });
    assert.deepEqual([...environment.tables.large.getKeys()].map(String), ['first']);
    await environment.commit(put('small', 10));
  } finally {
    limitProcess(process.pid, 'fsize', 'unlimited');
  }
  assert.equal(statSync(path).size, before);
  await environment.commit(put('large', 1024 ** 2));
  assert.deepEqual([...environment.tables.large.getKeys()].map(String), ['first', 'large', 'small']);
  await environment.close();
});
