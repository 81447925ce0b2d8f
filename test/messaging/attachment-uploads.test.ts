/** Uploads that go wrong: wrong offsets and lengths, hostile names and types, broken connections, quotas (ATT-01). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { request as openRequest } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { uploadPath } from '#storage/attachments/blobs.ts';
import { readMetric } from '#test/support/metrics.ts';
import { startServer } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { makeContentHash } from '#storage/attachments/content-hash.ts';
import { append, attach, begin, download, idOf, metadata, offsetOf, tus, upload } from './attaching.ts';
import { startClamd } from './clamd.ts';
import { assertRefused, assertUsedUp, start } from './conversing.ts';

const clamd = await startClamd();
const MIB = 1024 * 1024;
const { server, ada, bob } = await shareServer(['ada', 'bob'], {
  shards: 2,
  environment: {
    PARLEY_ATTACHMENT_BYTES_MAX: String(300 * MIB),
    PARLEY_ATTACHMENT_QUOTA_BYTES: String(600 * MIB),
  },
});
const room = await start(server, ada, 'room', ['bob'], 'Files');

test('an offset that is not where the upload is changes nothing', async () => {
  const path = await begin(server, ada, 10);
  assert.equal((await append(server, ada, path, 0, Buffer.from('12345'))).status, 204);
  for (const offset of [0, 4, 6]) {
    assertRefused(await append(server, ada, path, offset, Buffer.from('x')), 409, 'upload_offset_wrong');
  }
  assertRefused(await append(server, ada, path, 5, Buffer.from('123456')), 400, 'upload_too_long');
  assert.equal(await offsetOf(server, ada, path), 5);
  assert.equal((await append(server, ada, path, 5, Buffer.from('67890'))).status, 204);
  assertRefused(await append(server, ada, path, 10, Buffer.from('')), 409, 'upload_complete');
});

test('a body without a length may not be longer than the upload', async () => {
  const path = await begin(server, ada, 10);
  const headers = {
    authorization: `Bearer ${ada.session.token}`,
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '0',
    'transfer-encoding': 'chunked',
  };
  const sent = openRequest(`${server.messaging}${path}`, { method: 'PATCH', headers });
  sent.end(Buffer.alloc(11));
  const [response] = await once(sent, 'response');
  assert.equal(response.statusCode, 400);
  response.resume();
  assert.equal(await offsetOf(server, ada, path), 0);
});

test('headers that are not those of tus 1.0.0 are refused, each by its name', async () => {
  const length = { 'upload-length': '5' };
  const create = (headers: Record<string, string>, body?: Uint8Array) =>
    tus(server, ada, 'POST', '/v1/attachments', headers, body);
  assertRefused(await create({ ...length, 'tus-resumable': '0.2.2' }), 400, 'tus_version_unknown');
  assertRefused(await create({}), 400, 'header_invalid', 'upload-length');
  for (const bad of ['-1', '1e3', ' ', '5.0', '9999999999999999']) {
    assertRefused(await create({ 'upload-length': bad }), 400, 'header_invalid', 'upload-length');
  }
  assertRefused(await create({ ...length, 'upload-defer-length': '1' }), 400, 'header_invalid', 'upload-defer-length');
  assertRefused(
    await create({ ...length, 'upload-metadata': 'filename ***' }),
    400,
    'header_invalid',
    'upload-metadata',
  );
  assertRefused(
    await create({ ...length, 'upload-metadata': 'filename /w==' }),
    400,
    'header_invalid',
    'upload-metadata',
  );
  assertRefused(await create({ ...length, 'content-type': 'text/plain' }), 400, 'upload_body_type');
  assertRefused(await create({ 'upload-length': String(300 * MIB + 1) }), 400, 'attachment_too_large');
  // Nobody but the session says whose an upload is (GOV-03).
  for (const key of ['sender', 'from', 'user', 'owner']) {
    const claim = { ...length, 'upload-metadata': `${key} ${Buffer.from('bob').toString('base64')}` };
    assertRefused(await create(claim), 400, 'field_unknown', `upload-metadata.${key}`);
  }
  assertRefused(await tus(server, undefined, 'POST', '/v1/attachments', length), 401, 'token_missing');
  const path = await begin(server, ada, 5);
  for (const method of ['HEAD', 'PATCH', 'DELETE']) {
    const headers = { 'upload-offset': '0' };
    const reply = await tus(server, bob, method, path, headers, method === 'PATCH' ? Buffer.from('x') : undefined);
    assert.equal(reply.status, 404, method);
  }
  assertRefused(await tus(server, ada, 'PUT', path), 404, 'method_not_found');
});

test('the first bytes may come with the creation, and a checksum tells what was damaged on its way', async () => {
  const bytes = randomBytes(1_000);
  const sum = (of: Uint8Array) => ({ 'upload-checksum': `sha256 ${createHash('sha256').update(of).digest('base64')}` });
  const headers = { 'upload-length': '1000', 'upload-metadata': metadata('a') };
  const made = await tus(server, ada, 'POST', '/v1/attachments', headers, bytes.subarray(0, 400));
  assert.deepEqual([made.status, made.headers.get('upload-offset')], [201, '400']);
  const path = made.headers.get('location') ?? '';
  const wrong = await append(server, ada, path, 400, bytes.subarray(400), sum(bytes));
  assertRefused(wrong, 400, 'checksum_mismatch');
  assert.equal(await offsetOf(server, ada, path), 400);
  const right = await append(server, ada, path, 400, bytes.subarray(400), sum(bytes.subarray(400)));
  assert.equal(right.status, 204);
  const md5 = { 'upload-checksum': 'md5 AAAA' };
  assertRefused(await append(server, ada, path, 1000, Buffer.of(), md5), 400, 'header_invalid', 'upload-checksum');
  const empty = await tus(server, ada, 'POST', '/v1/attachments', { 'upload-length': '0' });
  assert.equal(empty.status, 201);
  const id = idOf(empty.headers.get('location') ?? '');
  assert.equal((await attach(server, ada, room.id, id)).status, 201);
  const read = await download(server, bob, id, room.id);
  assert.deepEqual([read.status, read.bytes.length], [200, 0]);
});

test('hostile names and types are made harmless', async () => {
  const names: [given: string, disposition: RegExp][] = [
    ['../../etc/passwd', /filename="passwd"/],
    ['C:\\evil\\a.exe', /filename="a.exe"/],
    ['cod\u202egpj.exe', /filename="codgpj.exe"/],
    ['a"\r\nset-cookie: b=c', /filename="a_set-cookie: b=c"/],
    ['..', /filename="file"/],
    [`${'é'.repeat(300)}.png`, /\.png"/],
  ];
  const html = Buffer.from('<!doctype html><script>alert(1)</script>');
  for (const [name, disposition] of names) {
    const id = await upload(server, ada, html, name);
    const posted = await attach(server, ada, room.id, id, { name: name.slice(0, 100), type: 'text/html' });
    assert.equal(posted.status, 201, posted.text);
    assert.equal((posted.body.body as { type: string }).type, 'text/plain');
    const read = await download(server, bob, id, room.id);
    assert.match(read.headers.get('content-disposition') ?? '', disposition);
    assert.match(read.headers.get('content-disposition') ?? '', /^attachment;/);
    assert.equal(read.headers.get('content-type'), 'text/plain; charset=utf-8');
  }
});

test('a connection that breaks loses nothing that arrived, and the next request goes on at once', async () => {
  const bytes = randomBytes(900_000);
  const path = await begin(server, ada, bytes.length);
  const headers = {
    authorization: `Bearer ${ada.session.token}`,
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '0',
    'content-length': String(bytes.length),
  };
  const sent = openRequest(`${server.messaging}${path}`, { method: 'PATCH', headers });
  sent.on('error', () => undefined);
  sent.write(bytes.subarray(0, 600_000));
  const file = uploadPath(server.folder, idOf(path));
  await until(() => existsSync(file) && readFileSync(file).length > 0, 'the first bytes on the disk');
  // The connection is still open, as one is whose other end lost its network: the server makes it let go.
  const offset = await offsetOf(server, ada, path);
  assert.ok(offset > 0 && offset <= 600_000, `it is at ${offset}`);
  assert.equal((await append(server, ada, path, offset, bytes.subarray(offset))).status, 204);
  const id = idOf(path);
  assert.equal((await attach(server, ada, room.id, id)).status, 201);
  assert.deepEqual((await download(server, bob, id, room.id)).bytes, bytes);
  sent.destroy();
});

test('a quota in a window of days is kept to the byte, and an upload that is discarded is given back', async () => {
  const cy = await server.person('cy');
  const first = await begin(server, cy, 300 * MIB);
  const second = await begin(server, cy, 300 * MIB - 4096);
  const one = { 'upload-length': '4097' };
  assertUsedUp(await tus(server, cy, 'POST', '/v1/attachments', one), 'attachment_bytes', 600 * MIB);
  const last = await begin(server, cy, 4096);
  // Even an empty file is charged a block.
  const empty = { 'upload-length': '0' };
  assertUsedUp(await tus(server, cy, 'POST', '/v1/attachments', empty), 'attachment_bytes', 600 * MIB);
  for (const path of [first, second, last]) assert.equal((await tus(server, cy, 'DELETE', path)).status, 204);
  await begin(server, cy, 300 * MIB);
  assert.equal((await readMetric(server, 'parley_attachments_refusals_total'))['quota_exceeded'], 2);
});

test('uploads that wait to be posted are bounded, and posting makes room', async () => {
  const dee = await server.person('dee');
  const conversation = await start(server, dee, 'room', ['bob'], 'Many');
  const paths: string[] = [];
  for (let index = 0; index < 100; index += 1) paths.push(await begin(server, dee, 1));
  const one = { 'upload-length': '1' };
  assertRefused(await tus(server, dee, 'POST', '/v1/attachments', one), 409, 'uploads_full');
  const [path = ''] = paths;
  assert.equal((await append(server, dee, path, 0, Buffer.from('x'))).status, 204);
  assert.equal((await attach(server, dee, conversation.id, idOf(path))).status, 201);
  await until(
    async () => (await tus(server, dee, 'POST', '/v1/attachments', one)).status === 201,
    'room for another upload',
  );
});

test('three times 256 MiB go up, and down, in bounded memory', async () => {
  const total = 256 * MIB;
  const before = residentMiB(server.pid);
  let peak = before;
  const look = () => {
    peak = Math.max(peak, residentMiB(server.pid));
  };
  for (const name of ['fay', 'gus', 'hal']) {
    const who = await server.person(name);
    const own = await start(server, who, 'room', [], 'Mine');
    const path = await begin(server, who, total);
    const headers = {
      authorization: `Bearer ${who.session.token}`,
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': '0',
    };
    const init = { method: 'PATCH', headers, body: blocks(total, look), duplex: 'half' } as RequestInit;
    const response = await fetch(`${server.messaging}${path}`, init);
    assert.equal(response.status, 204, await response.text());
    assert.equal((await attach(server, who, own.id, idOf(path))).status, 201);
    const read = await fetch(`${server.messaging}/v1/attachments/${idOf(path)}?conversation=${own.id}`, { headers });
    const hash = makeContentHash();
    let received = 0;
    for await (const chunk of read.body as unknown as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      hash.update(chunk);
      look();
    }
    assert.equal(received, total);
    assert.equal(`"${hash.digest()}"`, read.headers.get('etag'));
  }
  // What passes is twelve times this.
  assert.ok(peak - before < 128, `the server grew from ${before} to ${peak} MiB`);
});

/** A stream of so many bytes, in pieces of 1 MiB. */
function blocks(total: number, look: () => void): ReadableStream<Uint8Array> {
  const block = randomBytes(MIB);
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === total) return controller.close();
      sent += block.length;
      look();
      return controller.enqueue(block);
    },
  });
}

function residentMiB(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}

test('types are limited by what is inside, and a virus scanner that is on has to be heard', async (context) => {
  const guarded = await startServer({
    shards: 2,
    environment: { PARLEY_ATTACHMENT_TYPES: 'image/*,text/plain', PARLEY_CLAMD_ADDRESS: clamd.address },
  });
  context.after(() => guarded.stop());
  const person = await guarded.person('ada');
  const put = async (bytes: Uint8Array) => {
    const path = await begin(guarded, person, bytes.length, { name: 'picture.png' });
    return { path, reply: await append(guarded, person, path, 0, bytes) };
  };
  const elf = await put(Buffer.concat([Buffer.from('\x7fELF', 'latin1'), randomBytes(100)]));
  assertRefused(elf.reply, 400, 'attachment_type_forbidden');
  assertRefused(await tus(guarded, person, 'DELETE', elf.path), 404, 'attachment_not_found');
  const infected = await put(Buffer.from('this is EICAR, they say'));
  assertRefused(infected.reply, 409, 'attachment_infected');
  assertRefused(await tus(guarded, person, 'DELETE', infected.path), 404, 'attachment_not_found');
  assert.equal((await put(Buffer.from('nothing to see'))).reply.status, 204);
  clamd.mode = 'talks nonsense';
  const unsure = await put(Buffer.from('nobody looked at this'));
  assertRefused(unsure.reply, 503, 'virus_scan_unavailable');
  assert.equal(unsure.reply.headers.get('retry-after'), '1');
  clamd.mode = 'works';
  // The bytes are there: asking how far the upload is finishes it.
  assert.equal(await offsetOf(guarded, person, unsure.path), 21);
  const conversation = await start(guarded, person, 'room', [], 'Mine');
  assert.equal((await attach(guarded, person, conversation.id, idOf(unsure.path))).status, 201);
  assert.deepEqual(await readMetric(guarded, 'parley_attachments_uploads_total'), { created: 4, finished: 2 });
  assert.deepEqual(await readMetric(guarded, 'parley_attachments_received_bytes_total'), { '': 104 + 23 + 14 + 21 });
  assert.deepEqual(await readMetric(guarded, 'parley_attachments_scans_total'), {
    clean: 2,
    infected: 1,
    unavailable: 1,
  });
  assert.deepEqual(await readMetric(guarded, 'parley_attachments_refusals_total'), {
    attachment_infected: 1,
    attachment_not_found: 2,
    attachment_type_forbidden: 1,
    virus_scan_unavailable: 1,
  });
});
