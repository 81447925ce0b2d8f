/** Attachments whose contents lie in an object store, against a real one: Swift with its S3 API (ATT-01, VND-10). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import sharp from 'sharp';
import { blobPath } from '#storage/attachments/blobs.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { checkFolder } from '#storage/check/check.ts';
import { consoleOf, plantOwner, type AskConsole } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { readMetric } from '#test/support/metrics.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { attach, download, fetchBytes, sendWhole, upload } from './attaching.ts';
import { assertRefused, start } from './conversing.ts';
import { BUCKET, KEY_ID, SECRET, startSwift, type Swift } from './swift.ts';

const skip = unlessInstalled('swift-ring-builder', ['--version']);
const LONG = 60_000;
const swift: Swift = skip === false ? await startSwift({ after: (end) => after(end) }) : ({} as Swift);
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
const token = await plantOwner(folder);
// The store may be at this address, and nowhere else inside.
const NEAR = { PARLEY_ALLOW_PRIVATE_TARGETS: '127.0.0.1' };
const MASTER_KEY = randomBytes(32).toString('hex');

let server: TestServer;
let ask: AskConsole;
let ada: Person;
let room: { readonly id: string };
if (skip === false) {
  server = await startServer({ shards: 2, folder, environment: NEAR });
  ask = consoleOf(server, token);
  ({ ada } = await server.people('ada'));
  room = await start(server, ada, 'room', [], 'Files');
}
after(async () => {
  if (skip === false) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function restart(): Promise<void> {
  server = await startServer({ shards: 2, folder, environment: NEAR });
  ask = consoleOf(server, token);
  ada = { ...ada, session: await server.signIn('ada', ada.password) };
}

const set = async (change: object) => {
  const reply = await ask('PUT', '/settings/external-stores', change);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};
const tried = async () => (await ask<{ ok: boolean; detail: string }>('POST', '/settings/external-stores/test')).body;
/** Uploads a content and posts it; answers its id and that of the message. */
const posted = async (bytes: Buffer, who: Person = ada) => {
  const id = await upload(server, who, bytes);
  const { body, status } = await attach(server, who, room.id, id);
  assert.equal(status, 201);
  return { id, seq: body.seq };
};
const isOnDisk = (bytes: Buffer) => existsSync(blobPath(folder, contentHashOf(bytes)));
const figure = async (name: string) => (await readMetric(server, `parley_object_store_${name}`))[''];
const settled = async (contents: number) =>
  await until(
    async () => (await figure('contents')) === contents && (await figure('removals_waiting')) === 0,
    `${contents} contents to lie in the store`,
    LONG,
  );
const alerts = async () => {
  const { body } = await ask<{ items: { kind: string; details: string }[] }>('GET', '/alerts?state=open');
  return body.items.flatMap(({ details, kind }) => (kind === 'object_store_failing' ? [details] : []));
};

const before = randomBytes(100_000);
const long = randomBytes(9 * 1024 * 1024 + 5);
let old: { id: string; seq: number };
let large: { id: string; seq: number };

test('VND-10 trying the store says what is wrong with it; by itself nothing goes there', { skip }, async () => {
  old = await posted(before);
  const form = { endpoint: swift.endpoint, bucket: BUCKET, access_key_id: KEY_ID, secret_access_key: 'egret' };
  await set(form);
  assert.deepEqual(await tried(), { ok: false, detail: 'key refused', expires_at: null });
  await set({ bucket: 'nobodys', secret_access_key: SECRET });
  assert.deepEqual(await tried(), { ok: false, detail: 'no such bucket', expires_at: null });
  await set({ endpoint: swift.endpoint.replace('127.0.0.1', 'localhost'), secret_access_key: SECRET });
  assertRefused(await ask('POST', '/settings/external-stores/test'), 400, 'target_private');
  await set({ endpoint: swift.endpoint, bucket: BUCKET, secret_access_key: SECRET });
  assert.deepEqual(await tried(), { ok: true, detail: 'wrote, read a range and removed', expires_at: null });
  assert.deepEqual(await swift.objects(), []);
  assert.equal(isOnDisk(before), true);
  assert.equal(await figure('contents'), 0);
});

test(
  'ATT-01 what lies on disk and what comes goes to the store, whole in one or in parts, and is read from there',
  { skip },
  async () => {
    await set({ keeps_attachments: true });
    large = await posted(long);
    const picture = await sharp({ create: { width: 400, height: 400, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const drawn = await posted(picture);
    const none = await posted(Buffer.alloc(0));
    await settled(4);
    assert.equal((await swift.objects()).length, 4);
    for (const bytes of [before, long, picture]) assert.equal(isOnDisk(bytes), false);
    for (const [{ id }, bytes] of [
      [old, before],
      [large, long],
      [drawn, picture],
      [none, Buffer.alloc(0)],
    ] as const) {
      const read = await download(server, ada, id, room.id);
      assert.deepEqual([read.status, contentHashOf(read.bytes)], [200, contentHashOf(bytes)]);
    }
    const range = await download(server, ada, large.id, room.id, { range: 'bytes=8388600-9437190' });
    assert.deepEqual([range.status, range.bytes.equals(long.subarray(8_388_600, 9_437_191))], [206, true]);
    const last = await download(server, ada, large.id, room.id, { range: 'bytes=-5' });
    assert.deepEqual(last.bytes, long.subarray(-5));
    assertRefused(await download(server, ada, old.id, room.id, { range: 'bytes=100000-' }), 400, 'range_invalid');
    const path = `/v1/attachments/${drawn.id}/thumbnail?conversation=${room.id}&size=128`;
    const small = await fetchBytes(server, path, { authorization: `Bearer ${ada.session.token}` });
    assert.equal((await sharp(small.bytes).metadata()).width, 128);
    // The same content once more is the object that is there.
    await posted(before);
    await until(() => !isOnDisk(before), 'the second copy to be off the disk');
    assert.equal((await swift.objects()).length, 4);
  },
);

test('ATT-01 what a purge removes is removed from the store', { skip }, async () => {
  const bytes = randomBytes(70_000);
  const { id, seq } = await posted(bytes);
  await settled(5);
  assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${seq}`)).status, 200);
  await settled(4);
  assert.equal((await swift.objects()).length, 4);
  assertRefused(await download(server, ada, id, room.id), 404, 'attachment_not_found');
});

test(
  'ATT-01 a store that is away: a code with Retry-After, uploads are kept, and all goes on when it is back',
  { skip },
  async () => {
    await swift.stop();
    const refused = await download(server, ada, old.id, room.id);
    assertRefused(refused, 503, 'object_store_unavailable');
    assert.equal(refused.headers.get('retry-after'), '5');
    const path = `/v1/attachments/${large.id}/thumbnail?conversation=${room.id}&size=128`;
    const headers = { authorization: `Bearer ${ada.session.token}` };
    assertRefused(await fetchBytes(server, path, headers), 404, 'thumbnail_not_found');
    const bytes = randomBytes(50_000);
    const { id, seq } = await posted(bytes);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
    await until(async () => (await alerts())[0] === 'econnrefused', 'the alert');
    assert.equal(await figure('up'), 0);
    assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${seq}`)).status, 200);
    const [kept, gone] = [randomBytes(60_000), await posted(randomBytes(10))];
    const stays = await posted(kept);
    assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${gone.seq}`)).status, 200);
    await swift.start();
    await settled(5);
    await until(async () => (await alerts()).length === 0, 'the alert to close');
    assert.equal((await swift.objects()).length, 5);
    assert.deepEqual((await download(server, ada, stays.id, room.id)).bytes, kept);
    assert.deepEqual((await download(server, ada, old.id, room.id)).bytes, before);
  },
);

test('CRD-14 another bucket drops the key, and what lies in the store waits for a right one', { skip }, async () => {
  assert.deepEqual((await set({ bucket: 'elsewhere' }))['dropped'], ['secret_access_key']);
  await until(async () => (await alerts())[0] === 'not set', 'the alert');
  assertRefused(await download(server, ada, old.id, room.id), 503, 'object_store_unavailable');
  await set({ bucket: BUCKET, secret_access_key: 'egret' });
  await until(
    async () => (await download(server, ada, old.id, room.id)).headers.get('retry-after') === '5',
    'the key to be tried',
  );
  await posted(randomBytes(10));
  await until(async () => (await alerts())[0] === 'key refused', 'the alert', LONG);
  await set({ secret_access_key: SECRET });
  await settled(6);
  assert.deepEqual((await download(server, ada, old.id, room.id)).bytes, before);
});

test(
  'ATT-01 what is uploaded once more is kept while the store has not got its object, and read while the store is away',
  { skip },
  async () => {
    const bytes = randomBytes(40_000);
    const known = await swift.objects();
    const { id } = await posted(bytes);
    await settled(7);
    const [gone = ''] = (await swift.objects()).filter((name) => !known.includes(name));
    await swift.client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: gone }));
    assertRefused(await download(server, ada, id, room.id), 404, 'attachment_not_found');
    await posted(bytes);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
    await until(() => !isOnDisk(bytes), 'the content to be in the store again', LONG);
    await settled(7);
    assert.equal((await swift.objects()).length, 7);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
    await swift.stop();
    assertRefused(await download(server, ada, id, room.id), 503, 'object_store_unavailable');
    await posted(bytes);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
    await server.end('SIGKILL');
    await restart();
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
    await swift.start();
    await until(() => !isOnDisk(bytes), 'the copy to be off the disk', LONG);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
  },
);

test(
  'ATT-01 a server that is killed in the middle loses nothing and leaves nothing behind; a backup says what it has not',
  { skip },
  async () => {
    const contents = Array.from({ length: 6 }, (_, index) => randomBytes(index === 0 ? 33 * 1024 * 1024 : 30_000));
    const kept: string[] = [];
    let longest: number | undefined;
    for (const bytes of contents) {
      const reply = await sendWhole(server, ada, bytes);
      const id = reply.headers.get('location')?.split('/').at(-1) ?? '';
      const sent = await attach(server, ada, room.id, id);
      assert.equal(sent.status, 201);
      longest ??= sent.body.seq;
      kept.push(id);
    }
    await until(async () => (await swift.unfinished()) > 0, 'an upload in parts to be under way');
    await server.end('SIGKILL');
    await restart();
    await settled(13);
    assert.deepEqual([(await swift.objects()).length, await swift.unfinished()], [13, 0]);
    for (const [index, id] of kept.entries()) {
      assert.equal(
        contentHashOf((await download(server, ada, id, room.id)).bytes),
        contentHashOf(contents[index] ?? ''),
      );
    }
    const out = mkdtempSync(join(tmpdir(), 'parley-backup-'));
    const report = await callControl(folder, 'backup', { out });
    assert.deepEqual([report['attachments'], report['attachments_in_object_store']], [0, 13]);
    await rm(out, { recursive: true, force: true });
    // The tests below move all that there is, over and over: one that comes in parts is enough.
    assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${longest}`)).status, 200);
    await settled(12);
  },
);

test(
  'ATT-01 encryption at rest seals what lies in the store; a locked server gives and takes nothing of it',
  { skip },
  async () => {
    const needle = before.subarray(1_000, 1_100);
    assert.equal(swift.holds(needle), true);
    const key = { master_key: MASTER_KEY };
    assert.equal((await ask('POST', '/encryption/enable', key)).status, 200);
    const sealed = async () => (await readMetric(server, 'parley_attachments_contents'))['sealed'] === 12;
    await until(sealed, 'all contents to be sealed', LONG);
    await settled(12);
    assert.equal(swift.holds(needle), false);
    for (const name of await swift.objects())
      assert.equal((await swift.bytes(name)).subarray(0, 8).toString(), 'PARLEYB1', name);
    const range = { range: 'bytes=65530-9437190' };
    const read = await download(server, ada, large.id, room.id, range);
    assert.deepEqual([read.status, read.bytes.equals(long.subarray(65_530, 9_437_191))], [206, true]);
    const fresh = randomBytes(70_000);
    const { id } = await posted(fresh);
    await settled(13);
    assert.equal(swift.holds(fresh.subarray(1_000, 1_100)), false);
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, fresh);
    assert.equal((await ask('POST', '/encryption/lock')).status, 200);
    assertRefused(await download(server, ada, id, room.id), 503, 'encryption_locked');
    await until(async () => (await alerts())[0] === 'not set', 'the alert of a key that is locked away');
    assert.equal((await ask('POST', '/encryption/unlock', key)).status, 200);
    await until(async () => (await alerts()).length === 0, 'the alert to close');
    assert.deepEqual((await download(server, ada, id, room.id)).bytes, fresh);
  },
);

test(
  'ATT-01 kept on the disk again, what lies in the store comes back, and its objects go a while later',
  { skip },
  async () => {
    const kept = randomBytes(70_000);
    const known = await swift.objects();
    const told = await posted(kept);
    await settled(14);
    const [name = ''] = (await swift.objects()).filter((one) => !known.includes(one));
    const right = await swift.bytes(name);
    const put = async (body: Buffer) =>
      await swift.client.send(new PutObjectCommand({ Bucket: BUCKET, Key: name, Body: body }));
    const wrong = Buffer.from(right);
    wrong.writeUInt8(wrong.readUInt8(wrong.length - 1) ^ 1, wrong.length - 1);
    await put(wrong);
    await set({ keeps_attachments: false });
    const failed = async () => (await readMetric(server, 'parley_object_store_moves_total'))['failed'] ?? 0;
    await until(async () => (await failed()) > 0, 'what does not open to stay in the store', LONG);
    await until(async () => (await figure('contents')) === 1, 'all others to be back', LONG);
    await put(right);
    assert.deepEqual((await download(server, ada, told.id, room.id)).bytes, kept);
    assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${told.seq}`)).status, 200);
    await until(async () => (await figure('contents')) === 0, 'nothing to be left in the store', LONG);
    await until(async () => (await figure('removals_waiting')) === 13, 'its object to be gone', LONG);
    await swift.stop();
    for (const [{ id }, bytes] of [
      [old, before],
      [large, long],
    ] as const) {
      assert.equal(contentHashOf((await download(server, ada, id, room.id)).bytes), contentHashOf(bytes));
    }
    await server.stop();
    assert.deepEqual((await checkFolder(folder)).problems, []);
  },
);
