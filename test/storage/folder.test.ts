/** The data folder: one server at a time, and nothing that is not Parley's is touched. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FOLDER_FORMAT, FolderError, lockFolder, openFolder, readManifest, writeManifest } from '#storage/folder.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

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
  writeFileSync(join(folder, 'thesis.txt'), 'x');
  assert.throws(() => openFolder(folder, 4, NOW), FolderError);
  assert.deepEqual(readdirSync(folder), ['thesis.txt']);
});

test('a manifest that cannot be read or is of a newer format is refused', (t) => {
  const folder = temporaryFolder(t);
  const manifest = openFolder(folder, 4, NOW);
  writeManifest(folder, { ...manifest, format: FOLDER_FORMAT + 1 });
  assert.throws(() => readManifest(folder), /has format 3; this server knows up to 2\. Use a newer one\./);
  for (const text of ['{"format":', '{}', '{"format":1,"epoch":"e","lanes":65,"created_at":""}']) {
    writeFileSync(join(folder, 'manifest.json'), text);
    assert.throws(() => readManifest(folder), /has no readable manifest\.json/);
  }
});

test('a folder is one process’s at a time, and free again when it lets go', (t) => {
  const folder = temporaryFolder(t);
  const lock = lockFolder(folder);
  assert.throws(() => lockFolder(folder), { message: `${folder} is in use by process ${process.pid}.` });
  lock.release();
  lockFolder(folder).release();
  assert.deepEqual(readdirSync(folder), []);
});

test('a lock of a process that is gone, or of another one with its number, is taken over', (t) => {
  const folder = temporaryFolder(t);
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(join(folder, 'lock'), JSON.stringify({ pid, started: '1' }));
  lockFolder(folder).release();
  writeFileSync(join(folder, 'lock'), JSON.stringify({ pid: process.pid, started: '1' }));
  lockFolder(folder).release();
  writeFileSync(join(folder, 'lock'), 'torn');
  lockFolder(folder).release();
  assert.deepEqual(readdirSync(folder), []);
});
