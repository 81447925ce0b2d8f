/** Attachments while encryption at rest is on: what lies on disk, what is served, and what a locked server does (ATT-01). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import { Attachments } from '#storage/attachments/attachments.ts';
import { blobPath, thumbnailPath } from '#storage/attachments/blobs.ts';
import { checkFolder } from '#storage/check/check.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { readMetric } from '#test/support/metrics.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { append, attach, begin, download, fetchBytes, idOf, tus, upload } from './attaching.ts';
import { assertRefused, say, start } from './conversing.ts';

const MASTER_KEY = randomBytes(32).toString('hex');

/** Whether any file of a folder holds these bytes. */
function holds(folder: string, needle: Buffer): boolean {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => {
    const path = join(folder, name);
    return statSync(path).isFile() && readFileSync(path).includes(needle);
  });
}

async function again(server: TestServer, who: Person): Promise<Person> {
  return { ...who, session: await server.signIn(who.username, who.password) };
}

test('ATT-01 turning encryption on seals what is there and what comes; a locked server gives what it can', async (t) => {
  const folder = temporaryFolder(t);
  const [before, after] = [randomBytes(300_000), randomBytes(300_000)];
  const picture = await sharp({ create: { width: 400, height: 400, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const open = await startServer({ shards: 2, folder });
  t.after(() => open.stop());
  const { ada } = await open.people('ada', 'ben');
  const room = await start(open, ada, 'room', [], 'Mine');
  const old = await upload(open, ada, before);
  assert.equal((await attach(open, ada, room.id, old)).status, 201);
  const half = await begin(open, ada, 10);
  assert.equal((await append(open, ada, half, 0, Buffer.from('first'))).status, 204);
  assert.equal(existsSync(blobPath(folder, contentHashOf(before))), true);
  await open.stop();

  const sealing = await startServer({ shards: 2, folder, environment: { PARLEY_MASTER_KEY: MASTER_KEY } });
  t.after(() => sealing.stop());
  const her = await again(sealing, ada);
  await until(() => !existsSync(blobPath(folder, contentHashOf(before))), 'the old content to be sealed');
  const fresh = await upload(sealing, her, after);
  const drawn = await upload(sealing, her, picture);
  for (const id of [fresh, drawn]) assert.equal((await attach(sealing, her, room.id, id)).status, 201);
  for (const [id, bytes] of [
    [old, before],
    [fresh, after],
  ] as const) {
    assert.deepEqual((await download(sealing, her, id, room.id)).bytes, bytes);
    const range = await download(sealing, her, id, room.id, { range: 'bytes=65530-200000' });
    assert.deepEqual([range.status, contentHashOf(range.bytes)], [206, contentHashOf(bytes.subarray(65_530, 200_001))]);
    assert.equal(holds(join(folder, 'blobs'), bytes.subarray(1_000, 1_100)), false);
  }
  // What is written is not sealed, in a secret chat neither.
  const chat = await start(sealing, her, 'secret', ['ben']);
  await say(sealing, her, chat.id, 'read by whoever has the disk');
  await until(() => holds(join(folder, 'lanes'), Buffer.from('read by whoever has the disk')), 'the log to be applied');
  // Neither the files’ names nor what is known of them tells what is inside.
  for (const bytes of [before, after]) {
    const hash = contentHashOf(bytes);
    assert.equal(
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => name.includes(hash)),
      false,
    );
  }
  const path = `/v1/attachments/${drawn}/thumbnail?conversation=${room.id}&size=128`;
  const headers = { authorization: `Bearer ${her.session.token}` };
  const small = await fetchBytes(sealing, path, headers);
  assert.equal((await sharp(small.bytes).metadata()).width, 128);
  const tag = (await download(sealing, her, drawn, room.id)).headers.get('etag') ?? '';
  const name = tag.slice(1, -1);
  assert.match(name, /^s[0-9a-f]{64}$/);
  assert.equal(readFileSync(thumbnailPath(folder, name, 128)).includes(small.bytes.subarray(20, 60)), false);
  await sealing.stop();
  assert.deepEqual((await checkFolder(folder)).problems, []);

  const locked = await startServer({ shards: 2, folder });
  t.after(() => locked.stop());
  const here = await again(locked, ada);
  for (const id of [old, fresh]) assertRefused(await download(locked, here, id, room.id), 503, 'encryption_locked');
  const token = { authorization: `Bearer ${here.session.token}` };
  assertRefused(await fetchBytes(locked, path, token), 503, 'encryption_locked');
  assertRefused(await tus(locked, here, 'POST', '/v1/attachments', { 'upload-length': '5' }), 503, 'encryption_locked');
  const offered = await locked.api<{ rights: string[] }>(here, 'GET', '/v1/me/capabilities');
  assert.ok(!offered.body.rights.includes('attachment.upload'));
  assertRefused(await append(locked, here, half, 5, Buffer.from('later')), 503, 'encryption_locked');
  // How far an upload is can be seen, and what is there can be posted on.
  assert.equal((await tus(locked, here, 'HEAD', half)).headers.get('upload-offset'), '5');
  assert.equal((await attach(locked, here, room.id, old)).status, 201);
  await locked.stop();

  const last = await startServer({ shards: 2, folder, environment: { PARLEY_MASTER_KEY: MASTER_KEY } });
  t.after(() => last.stop());
  const atLast = await again(last, ada);
  assert.equal((await append(last, atLast, half, 5, Buffer.from('later'))).status, 204);
  assert.equal((await attach(last, atLast, room.id, idOf(half))).status, 201);
  assert.equal((await download(last, atLast, idOf(half), room.id)).bytes.toString(), 'firstlater');
  await last.stop();
  const attachments = await Attachments.open(folder, { lanes: [], now: () => Date.now() });
  assert.deepEqual(await attachments.countContents(), { sealed: 4, plain: 0 });
  await attachments.close();
});

test('an owner’s enabling, locking and unlocking reach every thread, and the coverage counts files', async (t) => {
  const { server, console: ask, stop } = await startConsoleServer({ shards: 2 });
  t.after(stop);
  const { ada } = await server.people('ada');
  const room = await start(server, ada, 'room', [], 'Mine');
  const bytes = randomBytes(1_000);
  const id = await upload(server, ada, bytes);
  assert.equal((await attach(server, ada, room.id, id)).status, 201);
  const counts = async () => (await ask<{ attachments: object }>('GET', '/encryption/coverage')).body.attachments;
  assert.deepEqual(await counts(), { sealed: 0, plain: 1 });
  const key = { master_key: MASTER_KEY };
  assert.equal((await ask('POST', '/encryption/enable', key)).status, 200);
  const isSealed = async () => JSON.stringify(await counts()) === JSON.stringify({ sealed: 1, plain: 0 });
  await until(isSealed, 'the file to be sealed');
  await until(async () => {
    const contents = await readMetric(server, 'parley_attachments_contents');
    return contents['sealed'] === 1 && contents['plain'] === 0;
  }, 'the metric to say so');
  // Connections are spread over the threads: some requests meet each of them.
  const statuses = async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => download(server, ada, id, room.id)));
    return [...new Set(replies.map(({ status }) => status))];
  };
  assert.deepEqual(await statuses(), [200]);
  assert.equal((await ask('POST', '/encryption/lock')).status, 200);
  await until(async () => (await statuses()).join() === '503', 'every thread to have forgotten the key');
  assert.equal((await ask('POST', '/encryption/unlock', key)).status, 200);
  await until(async () => (await statuses()).join() === '200', 'every thread to have the key');
  // Another key for the vault’s secrets leaves the files as they are.
  assert.equal((await ask('POST', '/encryption/rotate-data')).status, 200);
  assert.deepEqual((await download(server, ada, id, room.id)).bytes, bytes);
});
