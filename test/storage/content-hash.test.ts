/** Names of contents: BLAKE3 now, SHA-256 before, and both in one folder. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Accounts } from '#storage/accounts/accounts.ts';
import { writeReference } from '#storage/conversations/attachment-references.ts';
import { sealContents } from '#storage/attachments/attachment-sealing.ts';
import { Attachments } from '#storage/attachments/attachments.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { ContentKeys } from '#storage/attachments/blob-sealing.ts';
import { blobPath, measureBlob, prepareBlobs } from '#storage/attachments/blobs.ts';
import { checkFolder } from '#storage/check/check.ts';
import { contentHashOf, makeContentHash } from '#storage/attachments/content-hash.ts';
import { lanePath, openFolder } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

/** Of the letters abc: the second one is the example of FIPS 180-4, the first of the reference of BLAKE3. */
const BLAKE3 = 'b6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85';
const SHA256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

test('a content is named by its BLAKE3, and compared by the kind of its name', () => {
  assert.equal(contentHashOf('abc'), BLAKE3);
  for (const like of [BLAKE3, SHA256]) {
    const hash = makeContentHash(like);
    hash.update(Buffer.from('a'));
    hash.update(Buffer.from('xbcx').subarray(1, 3));
    assert.equal(hash.digest(), like);
  }
});

test('contents of the older kind are read, checked, backed up and sealed where they lie', async (t) => {
  const folder = temporaryFolder(t);
  openFolder(folder, 1, '2026-01-10T00:00:00Z');
  await (await Accounts.open(folder)).close();
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  const attachments = await Attachments.open(folder, {
    lanes: [lane],
    now: () => Date.UTC(2026, 0, 10),
  });
  t.after(async () => {
    await attachments.close();
    await lane.close();
  });
  await prepareBlobs(folder);
  const id = await attachments.create('ada', 3, 'a');
  const writer = UploadWriter.open(folder, id);
  writer.append(Buffer.from('abc'));
  await writer.settle();
  await writer.close();
  await attachments.finish(id, SHA256, 'text/plain');
  await lane.commit(writeReference('c_000000000000000000000a', 1, id));
  assert.equal(blobPath(folder, SHA256).endsWith(`/blobs/ba/78/${SHA256}`), true);
  assert.equal(blobPath(folder, BLAKE3).endsWith(`/blobs/64/${BLAKE3}`), true);
  assert.deepEqual(await measureBlob(folder, SHA256), { bytes: 3, hash: SHA256 });
  assert.equal(await attachments.removeOrphans(), 0);

  const out = join(temporaryFolder(t), 'backup');
  const { attachments: copied, attachments_damaged: damaged } = await backupFolder(folder, out);
  assert.deepEqual([copied, damaged], [1, 0]);
  const restored = join(temporaryFolder(t), 'restored');
  await restoreFolder(out, restored);
  assert.equal(readFileSync(blobPath(restored, SHA256), 'utf8'), 'abc');

  writeFileSync(blobPath(folder, SHA256), 'abd');
  const problemsOf = async () => (await checkFolder(folder)).problems.filter((problem) => problem.includes('content'));
  assert.deepEqual(await problemsOf(), [
    `Among the attachments, attachments [${id}] has a content that was changed on disk.`,
  ]);
  writeFileSync(blobPath(folder, SHA256), 'abc');
  assert.deepEqual(await problemsOf(), []);
  const keys = new ContentKeys(new Uint8Array(64));
  assert.deepEqual(await sealContents(folder, attachments, keys, () => true), { sealed: 1, left: 0 });
  assert.equal(attachments.find(id)?.hash, keys.nameOf(SHA256));
  assert.equal(existsSync(blobPath(folder, SHA256)), false);
});
