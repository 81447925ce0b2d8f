/** Where contents lie, written down: in the object store or on the disk, and which objects are to go. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Accounts } from '#storage/accounts/accounts.ts';
import { Attachments, RETURNED_MILLIS } from '#storage/attachments/attachments.ts';
import { Content, ContentVault } from '#storage/attachments/blob-contents.ts';
import { blobPath, fetchedPath } from '#storage/attachments/blobs.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import type { ObjectStore } from '#storage/attachments/object-store.ts';
import { fetchObject, writeObject } from '#storage/attachments/object-transfer.ts';
import { UploadWriter } from '#storage/attachments/upload-writer.ts';
import { checkFolder } from '#storage/check/check.ts';
import { folderPaths, lanePath, openFolder } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const START = Date.parse('2026-01-10T00:00:00Z');

/** Objects in memory, as a store has them. */
class Objects implements ObjectStore {
  readonly all = new Map<string, Buffer>();

  async read(object: string, start: number, end: number): Promise<Buffer> {
    const bytes = this.all.get(object);
    if (bytes === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
    return await Promise.resolve(bytes.subarray(start, end + 1));
  }

  async write(object: string, bytes: number, source: (position: number, length: number) => Promise<Buffer>) {
    this.all.set(object, await source(0, bytes));
  }

  async remove(object: string): Promise<void> {
    this.all.delete(object);
    await Promise.resolve();
  }
}

async function setStage(t: TestContext) {
  const folder = temporaryFolder(t);
  openFolder(folder, 1, '2026-01-10T00:00:00Z');
  await (await Accounts.open(folder)).close();
  const lane = openLane(lanePath(folder, 0), 1024 ** 3);
  const time = { now: START };
  const pauses = new Int32Array(1);
  const open = async () => await Attachments.open(folder, { lanes: [lane], now: () => time.now, pauses });
  const stage = { attachments: await open(), folder, lane, open, pauses, store: new Objects(), time };
  t.after(async () => {
    await stage.attachments.close();
    await lane.close();
  });
  return stage;
}

type Stage = Awaited<ReturnType<typeof setStage>>;

/** An attachment of ada that no message has; its id. */
async function finished({ attachments, folder }: Stage, text: string): Promise<string> {
  const id = await attachments.create('ada', text.length, 'a');
  const writer = UploadWriter.open(folder, id);
  writer.append(Buffer.from(text));
  await writer.settle();
  const hash = await writer.hash();
  await writer.close();
  await attachments.finish(id, hash, 'text/plain');
  return id;
}

async function placed({ attachments, folder, store }: Stage, name: string): Promise<string> {
  const object = randomUUID();
  await attachments.beginObject(object);
  await writeObject({ store, object }, blobPath(folder, name));
  assert.equal(await attachments.placeContent(name, object), true);
  return object;
}

test('an object is one to remove until its content lies there, and again when nothing has the content', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, store, time } = stage;
  const [id, name] = [await finished(stage, 'one'), contentHashOf('one')];
  const lost = randomUUID();
  await attachments.beginObject(lost);
  assert.deepEqual(attachments.doomedAt(time.now, 10), [lost]);
  await attachments.forgetObject(lost);
  const object = await placed(stage, name);
  assert.deepEqual([attachments.objectOf(name), attachments.doomedAt(time.now, 10)], [object, []]);
  assert.equal(existsSync(blobPath(folder, name)), false);
  const content = await Content.open(folder, name, new ContentVault(), () => ({ store, object }));
  const read: string[] = [];
  for await (const piece of content.read(1, 2)) read.push(piece.toString());
  assert.deepEqual(read, ['ne']);
  await attachments.discard(id);
  assert.deepEqual([attachments.objectOf(name), attachments.doomedAt(time.now, 10)], [undefined, [object]]);
});

test('a content that came again keeps its object, and its file goes; one that nothing has is not placed', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder } = stage;
  const name = contentHashOf('one');
  const first = await finished(stage, 'one');
  const object = await placed(stage, name);
  await finished(stage, 'one');
  assert.equal(existsSync(blobPath(folder, name)), true);
  assert.equal(await attachments.placeContent(name, randomUUID()), false);
  await attachments.removeCopy(name);
  assert.equal(existsSync(blobPath(folder, name)), false);
  await attachments.discard(first);
  assert.equal(attachments.objectOf(name), object);
  assert.equal(await attachments.placeContent(contentHashOf('nobody’s'), randomUUID()), false);
});

test('nothing is taken off the disk while a backup copies it', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, pauses } = stage;
  const name = contentHashOf('one');
  await finished(stage, 'one');
  pauses[0] = 1;
  assert.equal(await attachments.placeContent(name, randomUUID()), false);
  assert.equal(existsSync(blobPath(folder, name)), true);
  pauses[0] = 0;
  await placed(stage, name);
});

test('a content that is brought back is whole, and its object stays for whoever is reading it', async (t) => {
  const stage = await setStage(t);
  const { attachments, folder, store, time } = stage;
  const name = contentHashOf('one');
  await finished(stage, 'one');
  const object = await placed(stage, name);
  const expected = { name, bytes: 3, stored: 3 };
  store.all.set(object, Buffer.from('eno'));
  await assert.rejects(fetchObject(folder, { store, object }, expected), /not the content that it was/);
  assert.equal(existsSync(fetchedPath(folder, object)), false);
  store.all.set(object, Buffer.from('one'));
  await attachments.returnContent(name, object, await fetchObject(folder, { store, object }, expected));
  assert.deepEqual([attachments.objectOf(name), readFileSync(blobPath(folder, name), 'utf8')], [undefined, 'one']);
  assert.deepEqual(attachments.doomedAt(time.now + RETURNED_MILLIS - 1, 10), []);
  assert.deepEqual(attachments.doomedAt(time.now + RETURNED_MILLIS, 10), [object]);
});

/** What is wrong with the folder, looked at while nobody has it open. */
async function problemsOf(stage: Stage): Promise<readonly string[]> {
  await stage.attachments.close();
  const { problems } = await checkFolder(stage.folder);
  stage.attachments = await stage.open();
  return problems;
}

test('what a crash left is made good at the start, and parley check names what does not fit', async (t) => {
  const stage = await setStage(t);
  const { folder } = stage;
  const name = contentHashOf('one');
  const id = await finished(stage, 'one');
  const object = await placed(stage, name);
  writeFileSync(blobPath(folder, name), 'one');
  writeFileSync(fetchedPath(folder, object), 'half');
  assert.deepEqual(await problemsOf(stage), []);
  await stage.attachments.beginObject(object);
  const listed = await problemsOf(stage);
  assert.deepEqual(listed, [`Among the attachments, placed [${name}] has an object that is about to be removed.`]);
  await stage.attachments.forgetObject(object);
  await stage.attachments.close();
  stage.attachments = await stage.open();
  assert.deepEqual(readdirSync(folderPaths(folder).uploads), []);
  await stage.attachments.removeOrphans();
  // Whether the store still has its object is for the mover to see first.
  assert.equal(existsSync(blobPath(folder, name)), true);
  assert.equal(stage.attachments.objectOf(name), object);
  await stage.attachments.discard(id);
  assert.deepEqual(stage.attachments.doomedAt(stage.time.now, 10), [object]);
});
