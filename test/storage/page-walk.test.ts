/** LMDB's pages without LMDB: whatever it has written is sound to the walk, and whatever is done to it is found. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Environment, type Write } from '#storage/engine/environment.ts';
import { PageFault, PageFile } from '#storage/engine/page-file.ts';
import { walkFile } from '#storage/engine/page-walk.ts';
import { SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const TABLES = ['one', 'two', 'three'] as const;
type Table = (typeof TABLES)[number];
const PAGE_BYTES = 4096;
const KINDS = { branch: 1, leaf: 2, value: 4 };

/** A commit of random writes: small values, values of several pages, and removals. */
function someWrites(random: SeededRandom): Write<Table>[] {
  return Array.from({ length: random.whole(1, 120) }, () => {
    const itemKey = Buffer.from(`key ${random.whole(0, 1_500)}${'-'.repeat(random.whole(0, 60))}`);
    const bytes = random.chance(0.04) ? random.whole(4_000, 60_000) : random.whole(0, 900);
    return { table: random.pick(TABLES), key: itemKey, value: random.chance(0.3) ? null : Buffer.alloc(bytes, 7) };
  });
}

function openThree(path: string): Environment<Table> {
  return new Environment(path, TABLES, { mapBytes: 2 ** 30 });
}

test('whatever LMDB has written is sound: after every commit, in a file that is opened again and in a compact copy', async (t) => {
  for (const seed of [1, 2, 3]) {
    const random = new SeededRandom(seed);
    const path = join(temporaryFolder(t), 'store.mdb');
    let environment = openThree(path);
    environment.mark('whose');
    for (let commit = 0; commit < 60; commit += 1) {
      await environment.commit(someWrites(random));
      if (random.chance(0.1)) {
        await environment.close();
        environment = openThree(path);
      }
      const marks = walkFile(path, 'all');
      assert.deepEqual(
        [...marks].map(([key, value]) => [key, value.toString()]),
        [['parley.mark', 'whose']],
        `seed ${seed}`,
      );
    }
    const copy = `${path}.copy`;
    await environment.copyTo(copy);
    await environment.close();
    walkFile(copy, 'all');
  }
});

/** A compact file, in which no page is free, and copies of it to be damaged. */
async function makeFile(
  t: TestContext,
): Promise<{ readonly pages: number; damaged: (what: (file: number) => void) => string; path: string }> {
  const folder = temporaryFolder(t);
  const environment = openThree(join(folder, 'store.mdb'));
  const random = new SeededRandom(7);
  for (let commit = 0; commit < 30; commit += 1) await environment.commit(someWrites(random));
  const path = join(folder, 'compact.mdb');
  await environment.copyTo(path);
  await environment.close();
  let copies = 0;
  const damaged = (what: (file: number) => void) => {
    const copy = `${path}.${(copies += 1)}`;
    copyFileSync(path, copy);
    const file = openSync(copy, 'r+');
    what(file);
    closeSync(file);
    return copy;
  };
  return { pages: statSync(path).size / PAGE_BYTES, damaged, path };
}

const partOf = (path: string, depth: 'tables' | 'all'): string => {
  try {
    walkFile(path, depth);
  } catch (error) {
    assert.ok(error instanceof PageFault, String(error));
    return error.part;
  }
  return 'sound';
};

test('every page of a tree that is another one is found, whatever stands there', async (t) => {
  const { damaged, pages, path } = await makeFile(t);
  const bytes = readFileSync(path);
  const random = new SeededRandom(11);
  const found = { branch: 0, leaf: 0, value: 0 };
  for (let page = 2; page < pages; page += 1) {
    const at = page * PAGE_BYTES;
    const kind = bytes.readUInt16LE(at + 18);
    const name = Object.entries(KINDS).find(([, flag]) => flag === kind)?.[0] as keyof typeof KINDS | undefined;
    // The pages behind the first of a long value have no head.
    if (bytes.readUInt32LE(at) !== page || bytes.readUInt32LE(at + 4) !== 0 || name === undefined) continue;
    found[name] += 1;
    const noise = Buffer.from(Array.from({ length: PAGE_BYTES }, () => random.whole(0, 255)));
    for (const other of [noise, Buffer.alloc(PAGE_BYTES), bytes.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES)]) {
      const copy = damaged((file) => writeSync(file, other, 0, PAGE_BYTES, at));
      assert.equal(partOf(copy, 'all'), 'tree', `page ${page}, a ${name}`);
    }
  }
  assert.ok(
    Object.values(found).every((count) => count > 0),
    JSON.stringify(found),
  );
});

test('a file that is cut off is found by its length, and a head that is not one by its first pages', async (t) => {
  const { damaged, pages, path } = await makeFile(t);
  const size = pages * PAGE_BYTES;
  for (const length of [0, 100, PAGE_BYTES, 2 * PAGE_BYTES, Math.floor(size / 2), size - PAGE_BYTES, size - 1]) {
    assert.equal(
      partOf(
        damaged((file) => ftruncateSync(file, length)),
        'tables',
      ),
      'head',
      `${length} bytes`,
    );
  }
  const overwritten = (page: number, at: number, length: number) =>
    damaged((file) => writeSync(file, Buffer.alloc(length, 0xa5), 0, length, page * PAGE_BYTES + at));
  for (const page of [0, 1]) {
    assert.equal(partOf(overwritten(page, 0, PAGE_BYTES), 'tables'), 'head');
    assert.equal(partOf(overwritten(page, 24, 4), 'tables'), 'head', 'the magic');
    assert.equal(partOf(overwritten(page, 48, 4), 'tables'), 'head', 'the size of pages');
  }
  // The later of the two commits is the one that counts.
  const later = new PageFile(path).head.transaction % 2;
  for (const at of [88, 136, 144])
    assert.equal(partOf(overwritten(later, at, 7), 'tables'), 'head', `the word at ${at}`);
});

test('a free list that has a page that is used, twice or not of the file is found', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'store.mdb');
  const environment = openThree(path);
  const random = new SeededRandom(5);
  for (let commit = 0; commit < 40; commit += 1) await environment.commit(someWrites(random));
  await environment.close();
  const file = new PageFile(path);
  const { free, tables } = file.head;
  const page = Buffer.alloc(PAGE_BYTES);
  file.read(free.root, page);
  file.close();
  assert.equal(free.depth, 1);
  // The last record of the free list, as the format has it: a count of words, and the words.
  const count = page.readUInt16LE(20) >> 1;
  const node = 24 + page.readUInt16LE(24 + 2 * (count - 1));
  const words = node + 8 + page.readUInt16LE(node + 6);
  const listed = Number(page.readBigUInt64LE(words));
  assert.ok(listed > 1, `${listed} words`);
  const last = words + 8 * listed;
  const used = BigInt(tables.root);
  for (const [what, word, depth] of [
    ['a page that is used', used, 'all'],
    ['a page that is not of the file', 2n ** 40n, 'tables'],
    ['a page of the head', 1n, 'tables'],
    ['more words than there are', undefined, 'tables'],
  ] as const) {
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    const damaged = Buffer.from(page);
    if (word === undefined) damaged.writeBigUInt64LE(10_000n, words);
    else damaged.writeBigInt64LE(word, last);
    const descriptor = openSync(copy, 'r+');
    writeSync(descriptor, damaged, 0, PAGE_BYTES, free.root * PAGE_BYTES);
    closeSync(descriptor);
    assert.equal(partOf(copy, depth), 'tree', what);
  }
});

test('a file that ends within its free pages is sound, as LMDB leaves one', async (t) => {
  const path = join(temporaryFolder(t), 'store.mdb');
  const environment = openThree(path);
  await environment.commit([{ table: 'one', key: Buffer.from('k'), value: Buffer.alloc(200_000) }]);
  await environment.commit([{ table: 'one', key: Buffer.from('k'), value: null }]);
  await environment.commit([{ table: 'one', key: Buffer.from('j'), value: Buffer.alloc(10) }]);
  await environment.close();
  const { lastPage } = new PageFile(path).head;
  const bytes = Buffer.alloc(PAGE_BYTES);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, PAGE_BYTES, lastPage * PAGE_BYTES);
  closeSync(file);
  truncateSync(path, lastPage * PAGE_BYTES);
  assert.equal(
    partOf(path, 'all'),
    bytes.readUInt32LE(0) === lastPage && bytes.readUInt16LE(18) !== KINDS.value ? 'head' : 'sound',
  );
});
