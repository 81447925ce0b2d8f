/** Backups of attachments: every content that a message of the backup has is in it, and comes back. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Accounts } from '#storage/accounts/accounts.ts';
import { Attachments } from '#storage/attachments/attachments.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { blobPath } from '#storage/attachments/blobs.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import { checkFolder } from '#storage/check/check.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { ActorHost, makeRoom } from '#test/actors/actor-host.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const NOW = Date.UTC(2026, 0, 10);
const ROOM = 'c_0000000000000000000001';

interface Stage {
  readonly folder: string;
  readonly host: ActorHost;
  readonly attachments: Attachments;
  readonly pauses: Int32Array;
}

async function setStage(t: TestContext): Promise<Stage> {
  const folder = temporaryFolder(t);
  openFolder(folder, 1, '2026-01-10T00:00:00Z');
  await (await Accounts.open(folder)).close();
  const host = new ActorHost(folder, []);
  t.after(() => host.close());
  await makeRoom(host, ROOM, ['bob']);
  const pauses = new Int32Array(new SharedArrayBuffer(4));
  const lanes = [host.lane.environment];
  const attachments = await Attachments.open(folder, { lanes, now: () => NOW, pauses });
  t.after(() => attachments.close());
  return { folder, host, attachments, pauses };
}

async function send({ attachments, folder, host }: Stage, text: string): Promise<{ id: string; seq: number }> {
  const id = await attachments.create('alice', text.length, 'a');
  const writer = UploadWriter.open(folder, id);
  writer.append(Buffer.from(text));
  await writer.settle();
  await attachments.finish(id, await writer.hash(), 'text/plain');
  await writer.close();
  const body = { attachment: id, name: 'a', type: 'text/plain', size: text.length };
  const reply = await host.reply(ROOM, { kind: 'post', user: 'alice', device: 'd_1', form: { kind: 'media', body } });
  return { id, seq: reply.body['seq'] as number };
}

test('ATT-01 a backup has the contents of its messages, and restoring brings them back', async (t) => {
  const stage = await setStage(t);
  for (const text of ['one', 'two']) await send(stage, text);
  const out = join(temporaryFolder(t), 'backup');
  const report = await backupFolder(stage.folder, out);
  assert.deepEqual([report['attachments'], report['attachment_bytes'], report['attachments_damaged']], [2, 6, 0]);
  const restored = join(temporaryFolder(t), 'restored');
  assert.equal((await restoreFolder(out, restored))['attachments'], 2);
  assert.equal(readFileSync(blobPath(restored, contentHashOf('two')), 'utf8'), 'two');
  assert.deepEqual((await checkFolder(restored)).problems, []);
});

test('an earlier backup gives what it has, if it is what it was', async (t) => {
  const stage = await setStage(t);
  for (const text of ['same', 'damaged']) await send(stage, text);
  const root = temporaryFolder(t);
  const [first, second] = [join(root, 'first'), join(root, 'second')];
  await backupFolder(stage.folder, first);
  writeFileSync(blobPath(first, contentHashOf('damaged')), 'DAMAGED');
  await send(stage, 'new');
  assert.equal((await backupFolder(stage.folder, second, first))['attachments'], 3);
  const node = (folder: string, text: string) => statSync(blobPath(folder, contentHashOf(text))).ino;
  assert.equal(node(second, 'same'), node(first, 'same'));
  assert.notEqual(node(second, 'damaged'), node(first, 'damaged'));
  assert.equal(readFileSync(blobPath(second, contentHashOf('damaged')), 'utf8'), 'damaged');
  assert.equal((await restoreFolder(second, join(root, 'restored')))['attachments'], 3);
  await assert.rejects(backupFolder(stage.folder, join(root, 'third'), root), /not a finished backup/);
  assert.equal(existsSync(join(root, 'third')), false);
});

test('a backup whose contents were changed, or whose list was, is not restored', async (t) => {
  const stage = await setStage(t);
  await send(stage, 'one');
  const root = temporaryFolder(t);
  const out = join(root, 'backup');
  await backupFolder(stage.folder, out);
  const blob = blobPath(out, contentHashOf('one'));
  writeFileSync(blob, 'ONE');
  await assert.rejects(restoreFolder(out, join(root, 'a')), /is missing from the backup, or is not what was backed up/);
  rmSync(blob);
  await assert.rejects(restoreFolder(out, join(root, 'a')), /is missing from the backup/);
  appendFileSync(join(out, 'blobs.txt'), 'one more line\n');
  await assert.rejects(restoreFolder(out, join(root, 'a')), /blobs\.txt has \d+ bytes, not the \d+/);
  assert.equal(existsSync(join(root, 'a')), false);
});

test('what is damaged on disk is counted and does not keep the rest from being backed up', async (t) => {
  const stage = await setStage(t);
  for (const text of ['gone', 'changed', 'sound']) await send(stage, text);
  rmSync(blobPath(stage.folder, contentHashOf('gone')));
  writeFileSync(blobPath(stage.folder, contentHashOf('changed')), 'CHANGED');
  const out = join(temporaryFolder(t), 'backup');
  const report = await backupFolder(stage.folder, out);
  assert.deepEqual([report['attachments'], report['attachments_damaged']], [2, 2]);
});

test('while a backup is made, nothing is removed that a message could have had', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, host, pauses } = stage;
  const { id, seq } = await send(stage, 'kept');
  const unposted = await attachments.create('alice', 3, 'b');
  Atomics.add(pauses, 0, 1);
  await host.reply(ROOM, { kind: 'deleteMessage', user: 'alice', device: 'd_1', seq });
  assert.deepEqual(await attachments.release([id]), []);
  await assert.rejects(attachments.discard(id), { code: 'busy' });
  await attachments.discard(unposted);
  assert.equal(existsSync(blobPath(folder, contentHashOf('kept'))), true);
  Atomics.sub(pauses, 0, 1);
  assert.deepEqual(await attachments.release([id]), [id]);
  assert.equal(existsSync(blobPath(folder, contentHashOf('kept'))), false);
});

test('a writer that takes the place of one that died removes nothing until what that one knew is over', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, host } = stage;
  const { id, seq } = await send(stage, 'restart');
  await host.reply(ROOM, { kind: 'deleteMessage', user: 'alice', device: 'd_1', seq });
  let now = NOW;
  const lanes = [host.lane.environment];
  // The pages of both are those of one process here, so the first one has to be done with its log.
  await attachments.close();
  const next = await Attachments.open(folder, { lanes, now: () => now, quietUntil: NOW + 10 });
  assert.deepEqual(await next.release([id]), []);
  now += 10;
  assert.deepEqual(await next.release([id]), [id]);
  assert.equal(next.find(id), undefined);
  await next.close();
});
