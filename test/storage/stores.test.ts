/** Stores that are missing, hurt or somebody else's: a start and a check say so, and neither takes them for empty ones. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ACCOUNT_TABLES } from '#storage/accounts/accounts.ts';
import { ATTACHMENT_TABLES } from '#storage/attachments/attachment-records.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { CALENDAR_TABLES } from '#storage/calendars/calendar-records.ts';
import { checkFolder } from '#storage/check/check.ts';
import { Environment } from '#storage/engine/environment.ts';
import { FolderError, lanePath, openFolder, readManifest } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { PageFile } from '#storage/engine/page-file.ts';
import { openServed } from '#storage/engine/served-folder.ts';
import { storesOf } from '#storage/engine/stores.ts';
import { SeededRandom } from '#test/support/random.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { usedBytesOf } from '#test/support/used-bytes.ts';

const LANES = 3;
const NOW = Date.UTC(2026, 10, 23);
const PAGE_BYTES = 4096;

/** Starts on a folder as a server does; `wasLeft` when the one before died. */
async function open(folder: string, wasLeft = false): Promise<readonly number[]> {
  const log = { error: () => undefined, info: () => undefined };
  return (await openServed(folder, { wasLeft }, { lanes: LANES, log, now: NOW })).setAside;
}

/** An installation with something in each of its stores, which was started and stopped. */
async function makeInstallation(t: TestContext): Promise<string> {
  const folder = join(temporaryFolder(t), 'data');
  assert.deepEqual(await open(folder), []);
  for (let lane = 0; lane < LANES; lane += 1) await fill(lanePath(folder, lane), 10 + lane);
  const others = {
    'accounts.mdb': ACCOUNT_TABLES,
    'attachments.mdb': ATTACHMENT_TABLES,
    'calendar.mdb': CALENDAR_TABLES,
  };
  for (const [store, tables] of Object.entries(others)) {
    await new Environment(join(folder, store), tables, { mapBytes: 2 ** 30 }).close();
  }
  return folder;
}

/** Some pages of what a lane may have, some of which are free again. */
async function fill(path: string, seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const environment = openLane(path, 2 ** 30);
  for (let commit = 0; commit < 8; commit += 1) {
    const writes = Array.from({ length: 60 }, () => ({
      table: 'outcomes' as const,
      key: Buffer.from(`c\0k${random.whole(0, 400)}\0u`),
      value: random.chance(0.2) ? null : Buffer.alloc(random.whole(6, 1_500), 1),
    }));
    await environment.commit(writes);
  }
  await environment.close();
}

function copyOf(t: TestContext, folder: string): string {
  const copy = join(temporaryFolder(t), 'data');
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('/lock') });
  return copy;
}

const overwrite = (path: string, page: number, bytes: Buffer) => {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, page * PAGE_BYTES);
  closeSync(file);
};

/** The page on which the list of tables begins. */
function rootOf(path: string): number {
  const file = new PageFile(path);
  file.close();
  return file.head.tables.root;
}

/** What is done to a store, and what is said of it. */
const HURT: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
  'is removed': [(path) => rmSync(path), /is missing/],
  'is emptied': [(path) => truncateSync(path, 0), /is empty/],
  'is cut to a page': [(path) => truncateSync(path, PAGE_BYTES), /is cut off/],
  'is cut to half': [(path) => truncateSync(path, Math.floor(usedBytesOf(path) / 2)), /is cut off/],
  // Its last page may be free, and a file that ends before free pages is sound.
  'loses a byte of a page in use': [(path) => truncateSync(path, (rootOf(path) + 1) * PAGE_BYTES - 1), /is cut off/],
  'has another first page': [
    (path) => overwrite(path, 0, Buffer.alloc(PAGE_BYTES, 7)),
    /is not an LMDB file, or its page 0 is damaged/,
  ],
  'has another second page': [
    (path) => overwrite(path, 1, Buffer.alloc(PAGE_BYTES)),
    /is not an LMDB file, or its page 1 is damaged/,
  ],
  'is a text': [(path) => writeFileSync(path, 'x'.repeat(20_000)), /is not an LMDB file/],
};

for (const [what, [hurt, sentence]] of Object.entries(HURT)) {
  test(`STO-01 a store that ${what} is named by a start, a command and a check, and nothing is made in its place`, async (t) => {
    const whole = await makeInstallation(t);
    for (const store of storesOf(LANES)) {
      const folder = copyOf(t, whole);
      const path = join(folder, store);
      hurt(path);
      const said = (error: unknown) => {
        assert.ok(error instanceof FolderError);
        assert.match(error.message, sentence);
        assert.ok(error.message.startsWith(`${path} `), error.message);
        assert.ok(error.message.endsWith(`parley restore --from BACKUP --data ${folder}`), error.message);
        assert.equal(error.message.split('\n').length, 1);
        return true;
      };
      const before = existsSync(path) ? readFileSync(path) : undefined;
      await assert.rejects(open(folder), said);
      const { problems } = await checkFolder(folder);
      assert.deepEqual(problems.length, 1, store);
      assert.match(problems[0] ?? '', sentence);
      // As it was: neither has made, marked or mended anything.
      assert.deepEqual(existsSync(path) ? readFileSync(path) : undefined, before, store);
    }
  });
}

test('STO-01 a store of another installation, another lane or from before a restore is named', async (t) => {
  const [whole, other] = [await makeInstallation(t), await makeInstallation(t)];
  const backup = join(temporaryFolder(t), 'backup');
  const unmarked = join(temporaryFolder(t), 'unmarked.mdb');
  await fill(unmarked, 3);
  await backupFolder(whole, backup);
  const restored = join(temporaryFolder(t), 'data');
  await restoreFolder(backup, restored);
  assert.deepEqual(await open(restored), []);
  const swaps = [
    [whole, join(other, 'lanes/01.mdb'), /is of another installation/],
    [whole, join(whole, 'lanes/00.mdb'), /is lanes\/00\.mdb of this installation under another name/],
    [whole, join(whole, 'calendar.mdb'), /is calendar\.mdb of this installation under another name/],
    [whole, unmarked, /is not the file that this installation made: it has no mark/],
    [restored, join(backup, 'lanes/01.mdb'), /is of another installation, or of this one before a restore/],
  ] as const;
  for (const [from, file, sentence] of swaps) {
    const folder = copyOf(t, from);
    copyFileSync(file, lanePath(folder, 1));
    await assert.rejects(open(folder), sentence);
    assert.match((await checkFolder(folder)).problems[0] ?? '', sentence);
  }
});

test('several stores at fault are one sentence, and how many more; the check has one for each', async (t) => {
  const folder = await makeInstallation(t);
  rmSync(join(folder, 'calendar.mdb'));
  rmSync(join(folder, 'accounts.mdb'));
  await assert.rejects(
    open(folder),
    /accounts\.mdb is missing.* 1 more of its stores are at fault: parley check names them\.$/,
  );
  assert.equal((await checkFolder(folder)).problems.length, 2);
});

test('a folder from before marks is marked by its first start, unless it lacks what it must have had', async (t) => {
  const whole = await makeInstallation(t);
  const unmark = async (folder: string) => {
    rmSync(join(folder, 'stores.json'));
    for (const store of storesOf(LANES)) {
      if (!existsSync(join(folder, store))) continue;
      const environment = new Environment(join(folder, store), [], { mapBytes: 2 ** 30 });
      environment.mark(null);
      await environment.close();
    }
  };
  const old = copyOf(t, whole);
  await unmark(old);
  for (const store of ['accounts.mdb', 'lanes/02.mdb']) {
    const folder = copyOf(t, old);
    rmSync(join(folder, store));
    await assert.rejects(open(folder), new RegExp(`${store} is missing`));
    assert.match((await checkFolder(folder)).problems[0] ?? '', new RegExp(`${store} is missing`));
  }
  // These came with later versions.
  for (const store of ['attachments.mdb', 'calendar.mdb']) rmSync(join(old, store));
  assert.deepEqual(await open(old), []);
  assert.deepEqual(await open(old), []);
  rmSync(join(old, 'calendar.mdb'));
  await assert.rejects(open(old), /calendar\.mdb is missing/);
});

test('a list that is lost is made anew from the marks, and not where a store is lost with it', async (t) => {
  const whole = await makeInstallation(t);
  const folder = copyOf(t, whole);
  const list = readFileSync(join(folder, 'stores.json'), 'utf8');
  rmSync(join(folder, 'stores.json'));
  assert.deepEqual(await open(folder), []);
  assert.equal(readFileSync(join(folder, 'stores.json'), 'utf8'), list);
  for (const store of storesOf(LANES)) {
    const less = copyOf(t, whole);
    rmSync(join(less, 'stores.json'));
    rmSync(join(less, store));
    await assert.rejects(open(less), new RegExp(`${store} is missing`));
  }
  writeFileSync(join(folder, 'stores.json'), '{"installation":');
  await assert.rejects(open(folder), /stores\.json cannot be read/);
});

test('a start that is cut short before all stores are listed is gone on with', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  openFolder(folder, LANES, '2026-11-23T08:00:00Z');
  assert.deepEqual(await open(folder), []);
  const list = JSON.parse(readFileSync(join(folder, 'stores.json'), 'utf8')) as {
    installation: string;
    stores: string[];
  };
  assert.deepEqual(list.stores, storesOf(LANES));
  for (let made = 0; made <= list.stores.length; made += 1) {
    const cut = copyOf(t, folder);
    for (const store of list.stores.slice(made)) rmSync(join(cut, store));
    writeFileSync(join(cut, 'stores.json'), JSON.stringify({ ...list, stores: [] }));
    assert.deepEqual(await open(cut), []);
    assert.deepEqual(JSON.parse(readFileSync(join(cut, 'stores.json'), 'utf8')), list);
  }
});

test('STO-01 a damaged page of a lane sets it aside after a crash, of any other store it stops the start; a check names each', async (t) => {
  const whole = await makeInstallation(t);
  const noise = (seed: number) => {
    const random = new SeededRandom(seed);
    return Buffer.from(Array.from({ length: PAGE_BYTES }, () => random.whole(0, 255)));
  };
  for (let seed = 1; seed <= 6; seed += 1) {
    const folder = copyOf(t, whole);
    const lane = seed % LANES;
    const path = lanePath(folder, lane);
    overwrite(path, usedPage(path, seed), noise(seed));
    assert.deepEqual(await open(copyOf(t, folder), true), [lane], `seed ${seed}`);
    const { problems } = await checkFolder(folder);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', new RegExp(`lanes/0${lane}\\.mdb is damaged in its table outcomes`));
  }
  const folder = copyOf(t, whole);
  const calendar = join(folder, 'calendar.mdb');
  overwrite(calendar, rootOf(calendar), noise(9));
  await assert.rejects(open(folder), /calendar\.mdb is damaged in its list of tables/);
});

/** A leaf of the lane's outcomes that is in use, drawn by a seed. */
function usedPage(path: string, seed: number): number {
  const bytes = readFileSync(path);
  const list = rootOf(path);
  const outcomes = nodesOf(bytes, list).find(
    (at) => bytes.toString('latin1', at + 8, at + 8 + bytes.readUInt16LE(at + 6)) === 'outcomes\0',
  );
  assert.ok(outcomes !== undefined);
  // The head of the table's tree stands behind its name, and its root at the end of that.
  const root = Number(bytes.readBigUInt64LE(outcomes + 8 + 'outcomes\0'.length + 40));
  assert.equal(bytes.readUInt16LE(root * PAGE_BYTES + 18), 1, 'a tree of two levels');
  return bytes.readUInt32LE(new SeededRandom(seed).pick(nodesOf(bytes, root)));
}

/** Where the nodes of a page begin. */
function nodesOf(bytes: Buffer, page: number): number[] {
  const at = page * PAGE_BYTES;
  const count = bytes.readUInt16LE(at + 20) >> 1;
  return Array.from({ length: count }, (_, index) => at + 24 + bytes.readUInt16LE(at + 24 + 2 * index));
}

test('a damaged free list sets a lane aside at every start: a page that is in use would be given out', async (t) => {
  const folder = await makeInstallation(t);
  const path = lanePath(folder, 2);
  const file = new PageFile(path);
  const { free } = file.head;
  file.close();
  overwrite(path, free.root, Buffer.alloc(PAGE_BYTES, 0x5a));
  assert.deepEqual(await open(folder), [2]);
  assert.match((await checkFolder(folder)).problems[0] ?? '', /lanes\/02\.mdb is damaged in its free list/);
});

test('a backup lacks no store that the folder has had', async (t) => {
  const folder = await makeInstallation(t);
  rmSync(join(folder, 'calendar.mdb'));
  await assert.rejects(backupFolder(folder, join(temporaryFolder(t), 'out')), /calendar\.mdb is missing/);
  assert.equal(readManifest(folder).lanes, LANES);
});
