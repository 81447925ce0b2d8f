/** The data folder: one server at a time, and nothing that is not Parley's is touched. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, linkSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  FOLDER_FORMAT,
  FolderError,
  lockFolder,
  openFolder,
  readManifest,
  writeManifest,
} from '#storage/engine/folder.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';

const NOW = '2026-11-21T08:00:00Z';

test('an absent folder is made, for its owner alone, and stays as it was made', (t) => {
  const folder = join(temporaryFolder(t), 'deep', 'data');
  const manifest = openFolder(folder, 4, NOW);
  assert.deepEqual({ ...manifest, epoch: '' }, { format: FOLDER_FORMAT, epoch: '', lanes: 4, created_at: NOW });
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.deepEqual(openFolder(folder, 8, 'later'), manifest);
});

test('a folder of something else is refused and left alone', (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'thesis.txt'), 'x');
  assert.throws(() => openFolder(folder, 4, NOW), FolderError);
  assert.deepEqual(readdirSync(folder), ['thesis.txt']);
  assert.equal(statSync(folder).mode & 0o777, 0o755);
});

/** The nobody of Debian and its kin. */
const NOBODY = 65_534;

test(
  'a folder of another user is refused in words',
  { skip: process.getuid?.() === 0 ? false : 'only root can become somebody else' },
  async (t) => {
    const roots = temporaryFolder(t);
    const opened = join(temporaryFolder(t), 'opened');
    mkdirSync(opened);
    for (const path of [join(opened, '..'), opened]) chmodSync(path, 0o777);
    chmodSync(roots, 0o755);
    const said = (folder: string) =>
      `${folder} has to be writable and to belong to the user that runs Parley, ${NOBODY}.`;
    process.seteuid?.(NOBODY);
    try {
      await assert.rejects(lockFolder(roots), { name: 'Error', message: said(roots) });
      await assert.rejects(lockFolder(join(roots, 'deep')), { message: said(join(roots, 'deep')) });
      assert.throws(() => openFolder(opened, 4, NOW), { message: said(opened) });
    } finally {
      process.seteuid?.(0);
    }
  },
);

test('a manifest that cannot be read or is of a newer format is refused', (t) => {
  const folder = temporaryFolder(t);
  const manifest = openFolder(folder, 4, NOW);
  writeManifest(folder, { ...manifest, format: FOLDER_FORMAT + 1 });
  assert.throws(() => readManifest(folder), /has format 5; this server knows up to 4\. Use a newer one\./);
  for (const text of ['{"format":', '{}', '{"format":1,"epoch":"e","lanes":65,"created_at":""}']) {
    writeFileSync(join(folder, 'manifest.json'), text);
    assert.throws(() => readManifest(folder), /has no readable manifest\.json/);
  }
});

test('a folder is one process’s at a time, and free again when it lets go', async (t) => {
  const folder = temporaryFolder(t);
  const lock = await lockFolder(folder);
  await assert.rejects(lockFolder(folder), { message: `${folder} is in use by another process.` });
  lock.release();
  (await lockFolder(folder)).release();
  assert.deepEqual(readdirSync(folder), []);
});

/** Has a process of its own take a folder; it lives until it is killed, or the test is over. */
async function lockElsewhere(t: TestContext, folder: string, under: readonly string[] = []): Promise<ChildProcess> {
  const script = `import { lockFolder } from '#storage/engine/folder.ts';
    await lockFolder(process.env['FOLDER']);
    process.stdout.write('locked');
    setInterval(() => {}, 1000);`;
  const [command, ...args] = [...under, process.execPath, '--input-type=module-typescript', '--eval', script];
  const child = spawn(command, args, { env: { ...process.env, FOLDER: folder }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stdout !== null);
  const [said] = (await deadline(once(child.stdout, 'data'), PATIENCE_MILLIS, 'the lock')) as [Buffer];
  assert.equal(said.toString(), 'locked');
  return child;
}

test('a lock that a killed process left is taken over, by one of two that come together', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'lock');
  const child = await lockElsewhere(t, folder);
  await assert.rejects(lockFolder(folder), FolderError);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const dead = join(folder, 'dead');
  renameSync(path, dead);
  // The second comes a little later every time, so that it meets the first at every step.
  for (let steps = 0; steps < 40; steps += 1) {
    linkSync(dead, path);
    const first = lockFolder(folder);
    for (let step = 0; step < steps; step += 1) await new Promise((resolve) => setImmediate(resolve));
    const both = await Promise.allSettled([first, lockFolder(folder)]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], `${steps} steps`);
    for (const one of both) if (one.status === 'fulfilled') one.value.release();
    assert.deepEqual(readdirSync(folder), ['dead']);
  }
  writeFileSync(path, 'not even a socket');
  (await lockFolder(folder)).release();
  assert.deepEqual(readdirSync(folder), ['dead']);
});

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child'];
const canUnshare = spawnSync(UNSHARE[0] ?? '', [...UNSHARE.slice(1), 'true']).status === 0;

test(
  'a process in another container has the folder to itself, whatever its number means here',
  { skip: canUnshare ? false : 'unshare --pid may not be used here' },
  async (t) => {
    const folder = temporaryFolder(t);
    const child = await lockElsewhere(t, folder, UNSHARE);
    await assert.rejects(lockFolder(folder), { message: `${folder} is in use by another process.` });
    child.kill('SIGKILL');
    await until(
      async () =>
        await lockFolder(folder).then(
          (lock) => (lock.release(), true),
          () => false,
        ),
      'the lock of a container that was killed',
    );
  },
);
