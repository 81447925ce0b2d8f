/** Files of attachments and the one writer of their records: what is shared, removed, found again and checked. */
import assert from 'node:assert/strict';
import fs, { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Refusal } from '#src/protocol/errors.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { checkFolder } from '#storage/check/check.ts';
import { removeReference, writeReference } from '#storage/conversations/attachment-references.ts';
import { QuotaGate } from '#src/limits/quotas.ts';
import { Attachments, HOLD_MILLIS, UNPOSTED_MILLIS } from '#storage/attachments/attachments.ts';
import { adoptUpload, blobPath, measureBlob, prepareBlobs, uploadPath } from '#storage/attachments/blobs.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import { lanePath, openFolder } from '#storage/engine/folder.ts';
import { openLane, type LaneEnvironment } from '#storage/engine/lane.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const START = Date.UTC(2026, 0, 10);
const CONVERSATION = 'c_000000000000000000000a';

interface Stage {
  readonly folder: string;
  readonly lane: LaneEnvironment;
  readonly attachments: Attachments;
  /** Closes what it has open, once. */
  readonly close: () => Promise<void>;
  now: number;
}

async function setStage(t: TestContext): Promise<Stage> {
  const folder = temporaryFolder(t);
  openFolder(folder, 1, '2026-01-10T00:00:00Z');
  await (await Accounts.open(folder)).close();
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  const stage = { folder, lane, now: START } as { -readonly [K in keyof Stage]: Stage[K] };
  const quotas = new QuotaGate({ limits: { attachment_bytes: 20_000 }, now: () => stage.now, near: () => undefined });
  const options = { lanes: [lane], now: () => stage.now, requireQuota: quotas.require };
  stage.attachments = await Attachments.open(folder, options);
  let closing: Promise<void> | undefined;
  stage.close = async () => {
    closing ??= stage.attachments.close().then(() => lane.close());
    await closing;
  };
  t.after(stage.close);
  return stage;
}

async function write(folder: string, id: string, ...texts: string[]): Promise<string> {
  const writer = UploadWriter.open(folder, id);
  for (const text of texts) writer.append(Buffer.from(text));
  await writer.settle();
  const hash = await writer.hash();
  await writer.close();
  return hash;
}

/** An attachment of ada that no message has. */
async function finished({ attachments, folder }: Stage, text: string): Promise<string> {
  const id = await attachments.create('ada', text.length, 'a');
  await attachments.finish(id, await write(folder, id, text), 'text/plain');
  return id;
}

test('an upload is hashed while it is written, and read again where a part came earlier', async (t) => {
  const folder = temporaryFolder(t);
  await prepareBlobs(folder);
  assert.equal(await write(folder, 'att_1', 'one ', 'two'), contentHashOf('one two'));
  assert.equal(await write(folder, 'att_1', ' three'), contentHashOf('one two three'));
  const writer = UploadWriter.open(folder, 'att_1');
  assert.equal(writer.offset, 13);
  writer.append(Buffer.from('damaged'));
  await writer.undo();
  assert.deepEqual([writer.offset, String(writer.head(3))], [13, 'one']);
  await writer.close();
  const hash = contentHashOf('one two three');
  await adoptUpload(folder, 'att_1', hash);
  await adoptUpload(folder, 'att_1', hash);
  assert.deepEqual(await measureBlob(folder, hash), { bytes: 13, hash });
  assert.equal(await measureBlob(folder, contentHashOf('absent')), undefined);
  assert.throws(() => blobPath(folder, '../../etc/passwd'), /64 hex digits/);
  assert.throws(() => uploadPath(folder, '../att_1'), /named by its id/);
});

test('what the disk refused while more arrived is not forgotten', async (t) => {
  const folder = temporaryFolder(t);
  await prepareBlobs(folder);
  const writer = UploadWriter.open(folder, 'att_1');
  t.mock.method(fs, 'fdatasync', (_file: number, done: (error: Error) => void) => {
    setImmediate(done, Object.assign(new Error('write failed'), { code: 'EIO' }));
  });
  // The second one is behind the span that the disk is given at a time.
  for (let part = 0; part < 2; part += 1) writer.append(Buffer.alloc(16 * 1024 * 1024));
  await assert.rejects(writer.settle(), { code: 'EIO' });
  await assert.rejects(writer.settleContent(), { code: 'EIO' });
  await writer.close();
});

test('uploads that begin at once share the quota and the limit of their person', async (t) => {
  const { attachments } = await setStage(t);
  const begin = async (owner: string, count: number) =>
    await Promise.allSettled(Array.from({ length: count }, () => attachments.create(owner, 0, 'a')));
  // Each is charged 4,096 bytes of 20,000.
  const begun = await begin('ada', 6);
  const ids = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  assert.equal(new Set(ids).size, 4);
  const refusals = begun.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Refusal).code] : []));
  assert.deepEqual(refusals, ['quota_exceeded', 'quota_exceeded']);
  await Promise.all(ids.slice(0, 2).map((id) => attachments.discard(id)));
  assert.deepEqual(
    (await begin('ada', 3)).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  assert.equal((await begin('bob', 1))[0]?.status, 'fulfilled');
});

test('a content goes with its last attachment', async (t) => {
  const stage = await setStage(t);
  const [one, two] = [await finished(stage, 'same'), await finished(stage, 'same')];
  const file = blobPath(stage.folder, contentHashOf('same'));
  assert.equal(existsSync(uploadPath(stage.folder, one)), false);
  await stage.attachments.discard(one);
  assert.equal(existsSync(file), true);
  await stage.attachments.discard(two);
  assert.equal(existsSync(file), false);
  await assert.rejects(stage.attachments.discard(two), { code: 'attachment_not_found' });
});

test('what a message has stays, what lost its last one goes, and what is being posted waits', async (t) => {
  const stage = await setStage(t);
  const { attachments, lane } = stage;
  const id = await finished(stage, 'posted');
  await attachments.hold(id);
  assert.deepEqual(await attachments.release([id]), []);
  await lane.commit(writeReference(CONVERSATION, 1, id));
  await attachments.posted(id);
  await assert.rejects(attachments.discard(id), { code: 'attachment_in_use' });
  assert.deepEqual(await attachments.release([id]), [id]);
  assert.notEqual(attachments.find(id), undefined);
  await lane.commit(removeReference(CONVERSATION, 1, id));
  assert.deepEqual(await attachments.release([id, 'att_never']), [id, 'att_never']);
  assert.equal(attachments.find(id), undefined);
  assert.equal(existsSync(blobPath(stage.folder, contentHashOf('posted'))), false);
});

test('a hold whose message is never heard of ends by itself', async (t) => {
  const stage = await setStage(t);
  const id = await finished(stage, 'held');
  await stage.attachments.hold(id);
  stage.now += HOLD_MILLIS;
  assert.deepEqual(await stage.attachments.release([id]), [id]);
  assert.equal(stage.attachments.find(id), undefined);
});

test('what nobody went on with or posted for a day is removed, and nothing else', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, lane } = stage;
  const posted = await finished(stage, 'posted');
  await lane.commit(writeReference(CONVERSATION, 1, posted));
  const unposted = await finished(stage, 'unposted');
  const [abandoned, slow, open] = [
    await attachments.create('ada', 10, 'a'),
    await attachments.create('ada', 10, 'b'),
    await attachments.create('bob', 10, 'c'),
  ];
  for (const id of [abandoned, slow, open]) {
    await write(folder, id, 'half');
    utimesSync(uploadPath(folder, id), START / 1000, START / 1000);
  }
  stage.now = START + UNPOSTED_MILLIS - 1;
  assert.equal(await attachments.sweep(() => false), false);
  assert.notEqual(attachments.find(unposted), undefined);
  stage.now = START + UNPOSTED_MILLIS + 1;
  utimesSync(uploadPath(folder, slow), stage.now / 1000, stage.now / 1000);
  assert.equal(await attachments.sweep((id) => id === open), false);
  const left = [posted, unposted, abandoned, slow, open].map((id) => attachments.find(id) !== undefined);
  assert.deepEqual(left, [true, false, false, true, true]);
  assert.equal(existsSync(uploadPath(folder, abandoned)), false);
  assert.equal(existsSync(blobPath(folder, contentHashOf('unposted'))), false);
  // What was moved on is found again where it went.
  await attachments.discard(slow);
  assert.equal(attachments.find(slow), undefined);
});

test('the window of the quota moves by days', async (t) => {
  const stage = await setStage(t);
  const { attachments } = stage;
  await attachments.create('ada', 20_000, 'a');
  await assert.rejects(attachments.create('ada', 1, 'b'), { code: 'quota_exceeded' });
  await attachments.create('bob', 1, 'b');
  stage.now = START + 29 * 86_400_000;
  await assert.rejects(attachments.create('ada', 1, 'b'), { code: 'quota_exceeded' });
  stage.now = START + 30 * 86_400_000;
  await attachments.create('ada', 20_000, 'b');
});

test('files that no record knows are removed at the start', async (t) => {
  const stage = await setStage(t);
  const kept = await finished(stage, 'kept');
  const begun = await stage.attachments.create('ada', 10, 'a');
  await write(stage.folder, begun, 'half');
  const stray = blobPath(stage.folder, contentHashOf('stray'));
  mkdirSync(dirname(stray), { recursive: true });
  writeFileSync(stray, 'stray');
  writeFileSync(uploadPath(stage.folder, 'att_stray'), 'stray');
  const reserved = stage.attachments.admission.reserve('bob', 10);
  await write(stage.folder, reserved, 'half');
  assert.equal(await stage.attachments.removeOrphans(), 2);
  assert.equal(existsSync(uploadPath(stage.folder, reserved)), true);
  stage.attachments.admission.release(reserved);
  assert.equal(await stage.attachments.removeOrphans(), 1);
  assert.equal(existsSync(stray), false);
  assert.equal(existsSync(blobPath(stage.folder, contentHashOf('kept'))), true);
  assert.equal(existsSync(uploadPath(stage.folder, begun)), true);
  assert.notEqual(stage.attachments.find(kept), undefined);
});

test('parley check names an attachment whose content is gone or was changed, and one that is in no message', async (t) => {
  const stage = await setStage(t);
  const [gone, changed] = [await finished(stage, 'gone'), await finished(stage, 'changed')];
  // A check brings logs to their files, and wants a folder that nobody has open.
  await stage.close();
  assert.deepEqual((await checkFolder(stage.folder)).problems, []);
  rmSync(blobPath(stage.folder, contentHashOf('gone')));
  writeFileSync(blobPath(stage.folder, contentHashOf('changed')), 'CHANGED');
  const { problems } = await checkFolder(stage.folder);
  assert.deepEqual(
    problems.toSorted(),
    [
      `Among the attachments, attachments [${gone}] has no content on disk.`,
      `Among the attachments, attachments [${changed}] has a content that was changed on disk.`,
    ].toSorted(),
  );
});
