/** Uploads that come whole in the request that begins them: kept when they are whole, and gone when they are not (ATT-01). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request as openRequest, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { readMetric } from '#test/support/metrics.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { attach, download, idOf, sendWhole, tus } from './attaching.ts';
import { startClamd } from './clamd.ts';
import { assertRefused, assertUsedUp, start } from './conversing.ts';

const clamd = await startClamd();
const {
  server,
  console: ask,
  stop,
} = await startConsoleServer({
  shards: 2,
  environment: {
    PARLEY_ATTACHMENT_QUOTA_BYTES: '1000000',
    PARLEY_ATTACHMENT_TYPES: 'image/*,text/plain,application/octet-stream',
    PARLEY_CLAMD_ADDRESS: clamd.address,
  },
});
after(stop);
const { ada, bob } = await server.people('ada', 'bob');
const room = await start(server, ada, 'room', ['bob'], 'Files');

/** Sends the head of a whole upload and a part of its bytes; the rest never comes. */
function sendPart(to: TestServer, who: Person, bytes: Uint8Array, length: number): ClientRequest {
  const headers = {
    authorization: `Bearer ${who.session.token}`,
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-length': String(length),
    'content-length': String(length),
  };
  const sent = openRequest(`${to.messaging}/v1/attachments`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  sent.write(bytes);
  return sent;
}

const uploadsOf = (folder: string): string[] => readdirSync(join(folder, 'uploads'));

test('ATT-01 a file in one request is an attachment when that is answered, whichever thread took it', async () => {
  // Each request is a connection of its own, and the kernel puts them on both shards.
  for (let count = 0; count < 8; count += 1) {
    const bytes = randomBytes(20_000);
    const made = await sendWhole(server, ada, bytes);
    assert.deepEqual([made.status, made.headers.get('upload-offset')], [201, '20000']);
    const id = idOf(made.headers.get('location') ?? '');
    const head = await tus(server, ada, 'HEAD', `/v1/attachments/${id}`);
    assert.deepEqual([head.status, head.headers.get('upload-offset')], [200, '20000']);
    const posted = await attach(server, ada, room.id, id);
    assert.deepEqual([posted.status, (posted.body.body as { size: number }).size], [201, 20_000]);
    assert.deepEqual((await download(server, bob, id, room.id)).bytes, bytes);
  }
  assert.deepEqual(uploadsOf(server.folder), []);
});

test('the same bytes twice are one content, and stay until the last attachment with them goes', async () => {
  const bytes = randomBytes(5_000);
  const replies = await Promise.all([
    sendWhole(server, ada, bytes),
    sendWhole(server, bob, bytes),
    sendWhole(server, ada, bytes),
  ]);
  const paths = replies.map((reply) => reply.headers.get('location') ?? '');
  assert.equal(new Set(paths).size, 3);
  assert.equal((await tus(server, ada, 'DELETE', paths[0] ?? '')).status, 204);
  assert.equal((await tus(server, bob, 'DELETE', paths[1] ?? '')).status, 204);
  assert.equal((await attach(server, ada, room.id, idOf(paths[2] ?? ''))).status, 201);
  assert.deepEqual((await download(server, bob, idOf(paths[2] ?? ''), room.id)).bytes, bytes);
});

test('what is refused on its way leaves nothing: no file, no charge, no place among the unposted', async () => {
  const { cy } = await server.people('cy');
  const sum = (of: Uint8Array) => ({ 'upload-checksum': `sha256 ${createHash('sha256').update(of).digest('base64')}` });
  const bytes = randomBytes(900_000);
  const elf = Buffer.concat([Buffer.from('\x7fELF', 'latin1'), bytes.subarray(4)]);
  const refused: Parameters<typeof assertRefused>[] = [
    [await sendWhole(server, cy, bytes, sum(bytes.subarray(1))), 400, 'checksum_mismatch'],
    [await sendWhole(server, cy, elf), 400, 'attachment_type_forbidden'],
    [await sendWhole(server, cy, Buffer.concat([Buffer.from('EICAR'), bytes])), 409, 'attachment_infected'],
  ];
  assertUsedUp(await sendWhole(server, cy, Buffer.alloc(1_000_001, 'a')), 'attachment_bytes', 1_000_000);
  clamd.mode = 'talks nonsense';
  refused.push([await sendWhole(server, cy, bytes), 503, 'virus_scan_unavailable']);
  clamd.mode = 'works';
  for (const one of refused) assertRefused(...one);
  const made = await sendWhole(server, cy, bytes, sum(bytes));
  assert.equal(made.status, 201, made.text);
  assertUsedUp(await sendWhole(server, cy, bytes), 'attachment_bytes', 1_000_000);
  assert.deepEqual(uploadsOf(server.folder), []);
  const refusals = await readMetric(server, 'parley_attachments_refusals_total');
  assert.deepEqual(refusals, {
    attachment_infected: 1,
    attachment_type_forbidden: 1,
    checksum_mismatch: 1,
    quota_exceeded: 2,
    virus_scan_unavailable: 1,
  });
});

test('uploads at once share the quota of their person, and a connection that breaks gives back what it had', async () => {
  const { dee } = await server.people('dee');
  const bytes = randomBytes(300_000);
  const half = sendPart(server, dee, bytes, 600_000);
  await until(() => uploadsOf(server.folder).length === 1, 'the first bytes on the disk');
  // 600,000 are on their way.
  assertUsedUp(await sendWhole(server, dee, randomBytes(400_001)), 'attachment_bytes', 1_000_000);
  assert.equal((await sendWhole(server, dee, randomBytes(100_000))).status, 201);
  half.destroy();
  await until(() => uploadsOf(server.folder).length === 0, 'the half of a file to go');
  await until(
    async () => (await sendWhole(server, dee, randomBytes(900_000))).status === 201,
    'the quota to be given back',
  );
});

test('when a shard dies, files on their way are cut off and given back, whether it writes attachments or not', async (t) => {
  const other = await startServer({
    shards: 2,
    environment: { PARLEY_DEBUG_HOOKS: '1', PARLEY_ATTACHMENT_QUOTA_BYTES: '2900000' },
  });
  t.after(() => other.stop());
  const who = await other.person('ada');
  const own = await start(other, who, 'room', [], 'Mine');
  const bytes = randomBytes(200_000);
  const begin = async (count: number) => {
    const parts = Array.from({ length: count }, () => sendPart(other, who, bytes.subarray(0, 100_000), bytes.length));
    await until(() => uploadsOf(other.folder).length === count, 'so many files to begin');
    return parts;
  };
  // Where the kernel puts twelve connections is chance, yet not all are on one shard.
  const first = await begin(12);
  const closed = first.map((part) => new Promise((resolve) => part.once('close', resolve)));
  // The first signal is for the shard that writes attachments: nobody else knows what was reserved.
  process.kill(other.pid, 'SIGUSR2');
  await Promise.all(closed);
  await until(() => uploadsOf(other.folder).length === 0, 'the parts to go');
  const take = async () => {
    const reply = await sendWhole(other, who, bytes).catch(() => undefined);
    return reply?.status === 201 ? idOf(reply.headers.get('location') ?? '') : undefined;
  };
  const id = await until(take, 'the file to be taken');
  assert.equal((await attach(other, who, own.id, id)).status, 201);
  assert.deepEqual((await download(other, who, id, own.id)).bytes, bytes);
  // The second one is for the other shard, whose files go and whose bytes are given back.
  const second = await begin(12);
  process.kill(other.pid, 'SIGUSR2');
  await until(() => uploadsOf(other.folder).length < 12, 'the files of that shard to go');
  for (const part of second) part.destroy();
  await until(() => uploadsOf(other.folder).length === 0, 'the others to go');
  // Thirteen and one that is there are 2,800,000: one that was not given back would be too many.
  for (let count = 0; count < 13; count += 1) assert.notEqual(await until(take, `file ${count} to be taken`), '');
});

test('a file in one request is sealed where encryption at rest is on, and refused while it is locked', async () => {
  const key = { master_key: randomBytes(32).toString('hex') };
  assert.equal((await ask('POST', '/encryption/enable', key)).status, 200);
  const who = await server.person('eve');
  const own = await start(server, who, 'room', [], 'Mine');
  const bytes = randomBytes(200_000);
  const made = await sendWhole(server, who, bytes);
  assert.equal(made.status, 201, made.text);
  const id = idOf(made.headers.get('location') ?? '');
  assert.equal((await attach(server, who, own.id, id)).status, 201);
  const read = await download(server, who, id, own.id);
  assert.deepEqual(read.bytes, bytes);
  assert.match(read.headers.get('etag') ?? '', /^"s[0-9a-f]{64}"$/);
  // What was there before is being sealed meanwhile.
  await until(() => uploadsOf(server.folder).length === 0, 'nothing to be left of what was on its way');
  assert.equal((await ask('POST', '/encryption/lock')).status, 200);
  // Each request is a connection of its own, and the kernel puts them on both shards, which are told one after the other.
  const answers = async () =>
    await Promise.all(Array.from({ length: 8 }, async () => await sendWhole(server, who, bytes)));
  const refused = await until(async () => {
    const replies = await answers();
    return replies.every(({ status }) => status !== 201) && replies;
  }, 'every thread to have forgotten the key');
  for (const reply of refused) assertRefused(reply, 503, 'encryption_locked');
  await until(() => uploadsOf(server.folder).length === 0, 'nothing to be left of what was refused');
  await server.end('SIGTERM');
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
});
