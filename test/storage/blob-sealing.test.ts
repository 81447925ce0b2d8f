/** Contents that are sealed on disk: ranges of them, what was changed, and the sealing of those that lay there before. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Accounts } from '#storage/accounts/accounts.ts';
import { sealContents } from '#storage/attachments/attachment-sealing.ts';
import { Attachments } from '#storage/attachments/attachments.ts';
import { Content, ContentVault, writeSealedCopy } from '#storage/attachments/blob-contents.ts';
import { ContentKeys, SEALED_CHUNK_BYTES, SEALED_HEAD_BYTES, storedBytes } from '#storage/attachments/blob-sealing.ts';
import {
  adoptUpload,
  blobPath,
  prepareBlobs,
  sealedBlobPath,
  sealedUploadPath,
  uploadPath,
} from '#storage/attachments/blobs.ts';
import { checkFolder } from '#storage/check/check.ts';
import { lanePath, openFolder } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const NOW = Date.UTC(2026, 0, 10);
const SECRET = Buffer.alloc(64, 'secret of the attachments');
const unlocked = () => new ContentVault({ state: 'unlocked', secret: SECRET });

async function sealedContent(t: TestContext, bytes: Buffer): Promise<{ folder: string; name: string }> {
  const folder = temporaryFolder(t);
  await prepareBlobs(folder);
  writeFileSync(uploadPath(folder, 'att_1'), bytes);
  const content = { bytes: bytes.length, hash: contentHashOf(bytes) };
  const keys = new ContentKeys(SECRET);
  const name = await writeSealedCopy(uploadPath(folder, 'att_1'), sealedUploadPath(folder, 'att_1'), content, keys);
  await adoptUpload(folder, 'att_1', name);
  return { folder, name };
}

async function read(folder: string, name: string, start: number, end: number, vault = unlocked()): Promise<Buffer> {
  const content = await Content.open(folder, name, vault);
  try {
    const pieces: Buffer[] = [];
    for await (const piece of content.read(start, end)) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces);
  } finally {
    await content.close();
  }
}

test('a sealed content is read whole and in ranges, whatever chunks they begin and end in', async (t) => {
  const size = 9 * SEALED_CHUNK_BYTES + 17;
  const bytes = randomBytes(size);
  const { folder, name } = await sealedContent(t, bytes);
  const stored = readFileSync(blobPath(folder, name));
  assert.equal(stored.length, storedBytes(size));
  assert.equal(stored.includes(bytes.subarray(0, 32)), false);
  const edges = [
    0,
    1,
    SEALED_CHUNK_BYTES - 1,
    SEALED_CHUNK_BYTES,
    4 * SEALED_CHUNK_BYTES,
    size - 18,
    size - 17,
    size - 1,
  ];
  for (const start of edges) {
    for (const end of edges.filter((edge) => edge >= start)) {
      assert.equal(contentHashOf(await read(folder, name, start, end)), contentHashOf(bytes.subarray(start, end + 1)));
    }
  }
  const empty = await sealedContent(t, Buffer.alloc(0));
  assert.equal((await read(empty.folder, empty.name, 0, -1)).length, 0);
});

test('the name tells nobody without the key what is inside, and the same bytes have the same name', async (t) => {
  const bytes = Buffer.from('a file that somebody knows');
  const { name } = await sealedContent(t, bytes);
  assert.match(name, /^s[0-9a-f]{64}$/);
  assert.equal(name.includes(contentHashOf(bytes)), false);
  assert.equal((await sealedContent(t, bytes)).name, name);
  assert.notEqual(new ContentKeys(randomBytes(64)).nameOf(contentHashOf(bytes)), name);
});

test('a content that was changed, cut off, put together anew or put in the place of another does not open', async (t) => {
  const bytes = randomBytes(3 * SEALED_CHUNK_BYTES);
  const { folder, name } = await sealedContent(t, bytes);
  const path = blobPath(folder, name);
  const whole = readFileSync(path);
  const attempt = async (change: (copy: Buffer) => Buffer) => {
    writeFileSync(path, change(Buffer.from(whole)));
    await assert.rejects(read(folder, name, 0, bytes.length - 1));
  };
  const flip = (at: number) => (copy: Buffer) => {
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  for (const at of [0, 8, 15, 20, SEALED_HEAD_BYTES - 1, SEALED_HEAD_BYTES, whole.length - 1]) await attempt(flip(at));
  const chunk = SEALED_CHUNK_BYTES + 16;
  const [first, second, third] = [0, 1, 2].map((index) =>
    whole.subarray(SEALED_HEAD_BYTES + index * chunk, SEALED_HEAD_BYTES + (index + 1) * chunk),
  ) as [Buffer, Buffer, Buffer];
  const head = whole.subarray(0, SEALED_HEAD_BYTES);
  await attempt(() => Buffer.concat([head, second, first, third]));
  await attempt(() => Buffer.concat([head, first, second]));
  await attempt((copy) => copy.subarray(0, -1));
  await attempt((copy) => Buffer.concat([copy, Buffer.of(0)]));
  // A shorter length in the head, and the file cut to it.
  await attempt((copy) => {
    copy.writeBigUInt64BE(BigInt(2 * SEALED_CHUNK_BYTES), 8);
    return copy.subarray(0, storedBytes(2 * SEALED_CHUNK_BYTES));
  });
  writeFileSync(path, whole);
  assert.equal(contentHashOf(await read(folder, name, 0, bytes.length - 1)), contentHashOf(bytes));
  await assert.rejects(read(folder, name, 0, 9, new ContentVault({ state: 'unlocked', secret: randomBytes(64) })));
  await assert.rejects(read(folder, name, 0, 9, new ContentVault({ state: 'locked' })), { code: 'encryption_locked' });
});

test('turning encryption on seals what lay there, passes over what is damaged, and goes on after it was stopped', async (t) => {
  const folder = temporaryFolder(t);
  openFolder(folder, 1, '2026-01-10T00:00:00Z');
  await (await Accounts.open(folder)).close();
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  const openAttachments = async () => await Attachments.open(folder, { lanes: [lane], now: () => NOW });
  let attachments = await openAttachments();
  t.after(async () => {
    await attachments.close();
    await lane.close();
  });
  /** A check brings the log to its file, which somebody else who writes it would not know of. */
  const check = async () => {
    await attachments.close();
    const { problems } = await checkFolder(folder);
    attachments = await openAttachments();
    return problems;
  };
  const texts = ['one', 'two', 'three', 'damaged'];
  const ids: string[] = [];
  for (const text of [...texts, 'one']) {
    const id = await attachments.create('ada', text.length, 'a');
    const writer = UploadWriter.open(folder, id);
    writer.append(Buffer.from(text));
    await writer.settle();
    await attachments.finish(id, await writer.hash(), 'text/plain');
    await writer.close();
    ids.push(id);
  }
  writeFileSync(blobPath(folder, contentHashOf(Buffer.from('damaged'))), 'DAMAGED');
  assert.deepEqual(await attachments.countContents(), { sealed: 0, plain: 4 });
  const keys = new ContentKeys(SECRET);
  // Stopped behind the first, with what a crash leaves of the second.
  const isSealed = (text: string) => existsSync(blobPath(folder, keys.nameOf(contentHashOf(text))));
  await sealContents(folder, attachments, keys, () => !texts.some(isSealed));
  assert.equal((await attachments.countContents()).plain, 3);
  const left = attachments.unsealedAfter('') ?? '';
  writeFileSync(sealedBlobPath(folder, left), 'half');
  await attachments.removeOrphans();
  assert.equal(existsSync(sealedBlobPath(folder, left)), false);
  const outcome = await sealContents(folder, attachments, keys, () => true);
  assert.equal(outcome.left, 1);
  assert.deepEqual(await attachments.countContents(), { sealed: 3, plain: 1 });
  for (const [index, text] of [...texts, 'one'].entries()) {
    const name = attachments.find(ids[index] ?? '')?.hash ?? '';
    if (text === 'damaged') {
      assert.equal(name, contentHashOf(Buffer.from('damaged')));
      continue;
    }
    assert.equal(name, keys.nameOf(contentHashOf(Buffer.from(text))));
    assert.equal(String(await read(folder, name, 0, text.length - 1)), text);
    assert.equal(existsSync(blobPath(folder, contentHashOf(Buffer.from(text)))), false);
  }
  writeFileSync(blobPath(folder, contentHashOf(Buffer.from('damaged'))), 'damaged');
  assert.deepEqual(await check(), []);
  truncateSync(blobPath(folder, keys.nameOf(contentHashOf(Buffer.from('two')))), 100);
  assert.deepEqual(await check(), [`Among the attachments, attachments [${ids[1]}] has 100 bytes on disk, not 104.`]);
  // The last attachment of a sealed content takes it along.
  await attachments.discard(ids[0] ?? '');
  assert.equal(existsSync(blobPath(folder, keys.nameOf(contentHashOf(Buffer.from('one'))))), true);
  await attachments.discard(ids[4] ?? '');
  assert.equal(existsSync(blobPath(folder, keys.nameOf(contentHashOf(Buffer.from('one'))))), false);
});
