/** Backup and restore: a verified copy of a folder in use, and a way back that nobody takes for the past. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Accounts } from '#storage/accounts/accounts.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { checkFolder } from '#storage/check/check.ts';
import { FolderError, lanePath, lockFolder, openFolder, readManifest } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { ActorHost, makeRoom, openHost, post } from '#test/actors/actor-host.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';

const ROOM = 'c_0000000000000000000001';
const SESSION = { sid: 's_1', iat: 1_795_248_000, rnw: 1_797_840_000 };
const DEVICE = {
  id: 'd_1',
  name: 'phone',
  platform: 'ios',
  createdAt: '2026-11-21T08:00:00Z',
  usedAt: SESSION.iat,
  session: SESSION,
};

/** A folder with a room of three messages, and alice with an open session and an unused invitation. */
async function makeFolder(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await makeRoom(host, ROOM, ['bob']);
  for (const body of ['one', 'two', 'three']) await host.reply(ROOM, post('alice', body));
  await host.close();
  const accounts = await Accounts.open(folder);
  await accounts.change((draft) => {
    draft.putPerson({
      username: 'alice',
      state: 'active',
      role: 'owner',
      passwordHash: 'x',
      createdAt: '2026-11-21T08:00:00Z',
    });
    draft.putDevices('alice', [DEVICE]);
    draft.putInvitation('abc', { kind: 'owner', expiresAt: SESSION.rnw, usedBy: undefined });
  });
  await accounts.close();
  return folder;
}

async function backedUp(t: TestContext): Promise<{ folder: string; out: string }> {
  const folder = await makeFolder(t);
  const out = join(temporaryFolder(t), 'backup');
  await backupFolder(folder, out);
  return { folder, out };
}

async function secretsOf(folder: string): Promise<{ session: string; installation: string }> {
  const accounts = await Accounts.open(folder);
  const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');
  const session = hex(accounts.signingKeys('session_keys')[0].key);
  const secrets = { session, installation: hex(accounts.secret('installation_key')) };
  await accounts.close();
  return secrets;
}

test('a backup names every file with its size and checksum, and nothing else is there', async (t) => {
  const folder = await makeFolder(t);
  const out = join(temporaryFolder(t), 'deep', 'backup');
  const report = await backupFolder(folder, out);
  const description = JSON.parse(readFileSync(join(out, 'backup.json'), 'utf8')) as {
    format: number;
    epoch: string;
    lanes: number;
    files: { path: string; bytes: number; sha256: string }[];
  };
  assert.deepEqual(
    new Set(readdirSync(out, { recursive: true, encoding: 'utf8' })),
    new Set(['accounts.mdb', 'backup.json', 'lanes', 'lanes/00.mdb']),
  );
  assert.deepEqual(
    description.files.map(({ path }) => path),
    ['lanes/00.mdb', 'accounts.mdb'],
  );
  assert.equal(description.format, 4);
  assert.equal(description.epoch, readManifest(folder).epoch);
  for (const { path, bytes, sha256 } of description.files) {
    const content = readFileSync(join(out, path));
    assert.equal(content.length, bytes);
    assert.match(sha256, /^[0-9a-f]{64}$/);
  }
  const bytes = description.files.reduce((sum, file) => sum + file.bytes, 0);
  assert.deepEqual(
    { ...report, created_at: '' },
    {
      out,
      files: 2,
      bytes,
      lanes: 1,
      format: 4,
      epoch: description.epoch,
      created_at: '',
    },
  );
});

test('a backup goes to an absent or an empty folder only', async (t) => {
  const folder = await makeFolder(t);
  const out = temporaryFolder(t);
  writeFileSync(join(out, 'note.txt'), 'mine');
  await assert.rejects(backupFolder(folder, out), { message: `${out} is not empty: a backup goes to a new folder.` });
  assert.deepEqual(readdirSync(out), ['note.txt']);
  await assert.rejects(backupFolder(folder, join(out, 'note.txt')), FolderError);
  const nothing = temporaryFolder(t);
  await assert.rejects(backupFolder(nothing, join(out, 'b')), /has no readable manifest\.json/);
  assert.deepEqual(readdirSync(out), ['note.txt']);
});

test('a backup that cannot be finished leaves nothing behind', async (t) => {
  const folder = await makeFolder(t);
  rmSync(join(folder, 'accounts.mdb'));
  const out = temporaryFolder(t);
  await assert.rejects(backupFolder(folder, out), { message: `${join(folder, 'accounts.mdb')} is missing.` });
  assert.deepEqual(readdirSync(out), []);
});

test('a backup of a folder in use is consistent, and the writers never notice', async (t) => {
  const folder = await makeFolder(t);
  const accounts = await Accounts.open(folder);
  const host = new ActorHost(folder, []);
  const posting = { isOver: false };
  let posted = 3;
  const poster = (async () => {
    while (!posting.isOver) {
      await Promise.all(Array.from({ length: 20 }, () => host.reply(ROOM, post('bob', 'x'.repeat(500)))));
      posted += 20;
    }
  })();
  const out = join(temporaryFolder(t), 'backup');
  const before = posted;
  await backupFolder(folder, out);
  const after = posted + 20;
  posting.isOver = true;
  await poster;
  assert.deepEqual(host.reports, []);
  // What was posted while the backup ran is there too, and everybody can go on.
  await host.reply(ROOM, post('alice', 'still here'));
  assert.equal(accounts.person('alice')?.role, 'owner');
  await accounts.change((draft) => draft.putDevices('alice', []));
  await accounts.close();
  await host.close();

  const restored = join(temporaryFolder(t), 'data');
  await restoreFolder(out, restored);
  const { problems, messages } = await checkFolder(restored);
  assert.deepEqual(problems, []);
  assert.ok(messages >= before && messages <= after, `${messages} messages of ${before} to ${after}`);
  assert.deepEqual((await checkFolder(folder)).problems, []);
});

test('a backup reads lanes that other threads write', async (t) => {
  const folder = await makeFolder(t);
  const worker = new Worker(new URL('lane-writer.ts', import.meta.url), { workerData: lanePath(folder, 0) });
  const counts: number[] = [];
  const { promise: started, resolve } = Promise.withResolvers<void>();
  worker.on('message', (count: number) => {
    counts.push(count);
    if (counts.length === 5) resolve();
  });
  await deadline(started, PATIENCE_MILLIS, 'the writer');
  const out = join(temporaryFolder(t), 'backup');
  await backupFolder(folder, out);
  const then = counts.length;
  const { promise: over, resolve: finish } = Promise.withResolvers<number>();
  worker.on('exit', finish);
  worker.postMessage('stop');
  assert.equal(await deadline(over, PATIENCE_MILLIS, 'the writer’s end'), 0);
  const lane = openLane(lanePath(out, 0), 1024 ** 3);
  const copied = lane.tables.deleted.getCount();
  await lane.close();
  assert.ok(copied >= (counts[4] ?? 0) && then > 0, `${copied} records`);
});

test('a restored folder has what was backed up, under a new epoch', async (t) => {
  const { folder, out } = await backedUp(t);
  const target = join(temporaryFolder(t), 'data');
  const lock = await lockFolder(target);
  const report = await restoreFolder(out, target);
  lock.release();
  const manifest = readManifest(target);
  assert.notEqual(manifest.epoch, readManifest(folder).epoch);
  assert.equal(report['epoch'], manifest.epoch);
  assert.equal(report['epoch_before'], readManifest(folder).epoch);
  assert.deepEqual([report['files'], report['lanes'], report['sessions_ended']], [2, 1, 1]);
  assert.deepEqual(await checkFolder(target), { problems: [], conversations: 1, messages: 3, people: 1 });
  const host = openHost(t, { folder: target });
  const { status, body } = await host.reply(ROOM, post('alice', 'four'));
  assert.deepEqual([status, body['seq']], [201, 4]);
});

test('a restore ends every session and invitation of the backup, and keeps the installation', async (t) => {
  const { folder, out } = await backedUp(t);
  const target = join(temporaryFolder(t), 'data');
  await restoreFolder(out, target);
  const [before, after] = [await secretsOf(folder), await secretsOf(target)];
  assert.notEqual(after.session, before.session);
  // Direct conversations are found by this key.
  assert.equal(after.installation, before.installation);
  const accounts = await Accounts.open(target);
  assert.deepEqual(accounts.devices('alice'), [{ ...DEVICE, session: undefined }]);
  assert.deepEqual(accounts.invitationHashes(), []);
  assert.equal(accounts.hasOwner, true);
  await accounts.close();
});

test('two restores of one backup have different epochs and keys', async (t) => {
  const { out } = await backedUp(t);
  const folders = [join(temporaryFolder(t), 'a'), join(temporaryFolder(t), 'b')];
  for (const folder of folders) await restoreFolder(out, folder);
  assert.equal(new Set(folders.map((folder) => readManifest(folder).epoch)).size, 2);
  assert.equal(new Set((await Promise.all(folders.map(secretsOf))).map(({ session }) => session)).size, 2);
});

const DAMAGE: Readonly<Record<string, [(out: string) => void, (out: string) => string]>> = {
  'a changed byte': [
    (out) => {
      const content = readFileSync(lanePath(out, 0));
      content[content.length - 100] = (content[content.length - 100] ?? 0) ^ 1;
      writeFileSync(lanePath(out, 0), content);
    },
    (out) => `${lanePath(out, 0)} is not what was backed up: its checksum differs.`,
  ],
  'a byte too many': [
    (out) => appendFileSync(join(out, 'accounts.mdb'), 'x'),
    (out) => `${join(out, 'accounts.mdb')} has 32769 bytes, not the 32768 that were backed up.`,
  ],
  'a missing file': [(out) => rmSync(lanePath(out, 0)), (out) => `${lanePath(out, 0)} is missing from the backup.`],
  'a missing description': [
    (out) => rmSync(join(out, 'backup.json')),
    (out) => `${out} has no readable backup.json: it is not a finished backup of Parley.`,
  ],
  'a description cut short': [
    (out) => writeFileSync(join(out, 'backup.json'), readFileSync(join(out, 'backup.json')).subarray(0, 100)),
    (out) => `${out} has no readable backup.json: it is not a finished backup of Parley.`,
  ],
  'a newer format': [
    (out) => describe(out, (said) => ({ ...said, format: 5, something_new: true })),
    (out) => `${out} has format 5; this server knows up to 4. Use a newer one.`,
  ],
  'a path that leads out of the backup': [
    (out) => describe(out, (said) => ({ ...said, files: [...said.files, { ...said.files[0], path: '../00.mdb' }] })),
    (out) => `${out} has a backup.json that does not describe a backup.`,
  ],
  'a backup without accounts': [
    (out) => describe(out, (said) => ({ ...said, files: said.files.slice(0, 1) })),
    (out) => `${out} has a backup.json that does not describe a backup.`,
  ],
  'a lane beyond the lanes': [
    (out) => describe(out, (said) => ({ ...said, files: [...said.files, { ...said.files[0], path: 'lanes/01.mdb' }] })),
    (out) => `${out} has a backup.json that does not describe a backup.`,
  ],
};

function describe(out: string, change: (said: { files: object[] }) => object): void {
  const path = join(out, 'backup.json');
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as { files: object[] })));
}

for (const [name, [damage, sentence]] of Object.entries(DAMAGE)) {
  test(`a backup with ${name} is refused before anything is written`, async (t) => {
    const { out } = await backedUp(t);
    damage(out);
    const target = join(temporaryFolder(t), 'data');
    await assert.rejects(restoreFolder(out, target), (error) => {
      assert.ok(error instanceof FolderError);
      assert.equal(error.message, sentence(out));
      return true;
    });
    assert.equal(existsSync(target), false);
  });
}

test('a restore goes to an absent or empty folder only', async (t) => {
  const { folder, out } = await backedUp(t);
  const before = readManifest(folder);
  await assert.rejects(restoreFolder(out, folder), {
    message: `${folder} is not empty: a backup is restored to a new folder.`,
  });
  assert.deepEqual(readManifest(folder), before);
  assert.equal((await checkFolder(folder)).messages, 3);
});

test('a restore that fails on the way leaves no data folder', async (t) => {
  const { out } = await backedUp(t);
  const target = temporaryFolder(t);
  // The accounts are what they were when they were backed up, but not accounts.
  const bad = Buffer.alloc(4096, 7);
  writeFileSync(join(out, 'accounts.mdb'), bad);
  const sha256 = createHash('sha256').update(bad).digest('hex');
  describe(out, (said) => ({ ...said, files: [said.files[0], { path: 'accounts.mdb', bytes: 4096, sha256 }] }));
  await assert.rejects(restoreFolder(out, target), {
    message: `${join(target, 'accounts.mdb')} is not an LMDB file, or its head is damaged.`,
  });
  assert.deepEqual(readdirSync(target), []);
});

test('a folder whose server never opened its lanes can be backed up and restored', async (t) => {
  const folder = temporaryFolder(t);
  openFolder(folder, 4, '2026-11-21T08:00:00Z');
  await (await Accounts.open(folder)).close();
  const out = join(temporaryFolder(t), 'backup');
  assert.equal((await backupFolder(folder, out))['files'], 1);
  const target = join(temporaryFolder(t), 'data');
  await restoreFolder(out, target);
  assert.equal(readManifest(target).lanes, 4);
  assert.deepEqual((await checkFolder(target)).problems, []);
});

for (const [name, content] of Object.entries({
  'of something else': Buffer.alloc(9_000, 7),
  'cut short': Buffer.alloc(100),
})) {
  test(`a file ${name} fails the backup and the check, and not the process`, async (t) => {
    const folder = await makeFolder(t);
    writeFileSync(lanePath(folder, 0), content);
    const out = join(temporaryFolder(t), 'backup');
    const sentence = `${lanePath(folder, 0)} is not an LMDB file, or its head is damaged.`;
    await assert.rejects(backupFolder(folder, out), { message: sentence });
    assert.deepEqual(readdirSync(out), []);
    assert.deepEqual((await checkFolder(folder)).problems, [sentence]);
  });
}
