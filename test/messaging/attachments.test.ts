/** Attachments from upload to removal, over a real server with two shards (ATT-01). */
import assert from 'node:assert/strict';
import { LINK_SECONDS, openLink, signLink } from '#src/messaging/attachments/attachment-links.ts';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { blobPath } from '#storage/attachments/blobs.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { append, attach, begin, download, fetchBytes, idOf, tus, upload } from './attaching.ts';
import { assertRefused, post, start } from './conversing.ts';

const { server, ada, bob, eve } = await shareServer(['ada', 'bob', 'eve'], { shards: 2 });
const room = await start(server, ada, 'room', ['bob'], 'Files');
const other = await start(server, bob, 'room', ['eve'], 'Elsewhere');

/** Bytes that no other test uploads. */
function content(seed: string, bytes: number): Buffer {
  const block = createHash('sha512').update(seed).digest();
  return Buffer.alloc(bytes, block);
}
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), content('png', 500)]);

test('ATT-01 a file is uploaded in pieces, posted, and read by whoever takes part', async () => {
  const bytes = content('pieces', 300_000);
  const path = await begin(server, ada, bytes.length, { name: 'отчёт.bin' });
  assert.equal((await append(server, ada, path, 0, bytes.subarray(0, 100_000))).status, 204);
  const head = await tus(server, ada, 'HEAD', path);
  assert.deepEqual(
    [head.status, head.headers.get('upload-offset'), head.headers.get('upload-length')],
    [200, '100000', '300000'],
  );
  assertRefused(await attach(server, ada, room.id, idOf(path)), 409, 'attachment_unfinished', 'body.attachment');
  assert.equal((await append(server, ada, path, 100_000, bytes.subarray(100_000))).status, 204);
  const posted = await attach(server, ada, room.id, idOf(path), { name: '../отчёт.bin', type: 'text/html', size: 7 });
  assert.equal(posted.status, 201, posted.text);
  // What the client says of type and size is replaced by what the server found.
  assert.deepEqual(posted.body.body, {
    attachment: idOf(path),
    name: 'отчёт.bin',
    type: 'application/octet-stream',
    size: 300_000,
  });
  const read = await download(server, bob, idOf(path), room.id);
  assert.equal(read.status, 200);
  assert.equal(contentHashOf(read.bytes), contentHashOf(bytes));
  assert.equal(read.headers.get('content-length'), '300000');
  assert.equal(
    read.headers.get('content-disposition'),
    `attachment; filename="_____.bin"; filename*=UTF-8''%D0%BE%D1%82%D1%87%D1%91%D1%82.bin`,
  );
  assert.equal(read.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(read.headers.get('content-security-policy'), "default-src 'none'; sandbox");
});

test('ATT-01 nobody else reads it: not a stranger, not in another conversation, not after leaving', async () => {
  const id = await upload(server, ada, content('membership', 2_000));
  // Its uploader reads it in a conversation, too, and nowhere before it was posted.
  assertRefused(await download(server, ada, id, room.id), 404, 'attachment_not_found');
  const small = await start(server, ada, 'room', ['bob', 'eve'], 'Small');
  assert.equal((await attach(server, ada, small.id, id)).status, 201);
  assert.equal((await download(server, eve, id, small.id)).status, 200);
  assertRefused(await download(server, eve, id, room.id), 403, 'conversation_forbidden');
  assertRefused(await download(server, eve, id, other.id), 404, 'attachment_not_found');
  // What no attachment is called is none either.
  for (const wrong of ['1', other.id, id.slice(0, -1)]) {
    assertRefused(await download(server, eve, wrong, other.id), 404, 'attachment_not_found');
  }
  assertRefused(await download(server, undefined, id, small.id), 401, 'token_missing');
  const left = await server.api(eve, 'DELETE', `/v1/conversations/${small.id}/participants/eve`);
  assert.equal(left.status, 204, left.text);
  assertRefused(await download(server, eve, id, small.id), 403, 'conversation_forbidden');
  assertRefused(await attach(server, eve, other.id, id), 404, 'attachment_not_found', 'body.attachment');
});

test('ATT-01 the last message that has it takes it along, a forward keeps it', async () => {
  const bytes = content('forward', 3_000);
  const id = await upload(server, ada, bytes);
  const first = await attach(server, ada, room.id, id);
  const forward = await attach(server, bob, other.id, id);
  assert.equal(forward.status, 201, forward.text);
  assert.equal((await download(server, eve, id, other.id)).status, 200);
  const gone = await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${first.body.seq}`);
  assert.equal(gone.status, 200);
  assertRefused(await download(server, ada, id, room.id), 404, 'attachment_not_found');
  assert.equal((await download(server, bob, id, other.id)).status, 200);
});

test('the form that was posted first is answered to a repeat, whatever became of the file', async () => {
  const id = await upload(server, ada, content('repeat', 1_000));
  const form = {
    kind: 'media',
    body: { attachment: id, name: 'a', type: 'a/b', size: 1 },
    client_msg_id: 'repeat-of-a-file',
  };
  const first = await post(server, ada, room.id, form);
  assert.equal(first.status, 201, first.text);
  const again = await post(server, ada, room.id, { ...form, body: { ...form.body, attachment: 'att_gone' } });
  assert.equal(again.status, 200);
  assert.deepEqual(again.body, first.body);
  const edit = { body: { ...form.body, caption: 'c', type: 'text/html' } };
  const path = `/v1/conversations/${room.id}/messages/${first.body.seq}`;
  const edited = await server.api<{ body: unknown }>(ada, 'PATCH', path, edit);
  assert.deepEqual(edited.body.body, {
    attachment: id,
    name: 'a',
    type: 'application/octet-stream',
    size: 1_000,
    caption: 'c',
  });
  const second = await upload(server, ada, content('another', 10));
  const swapped = { body: { ...form.body, attachment: second } };
  assertRefused(await server.api(ada, 'PATCH', path, swapped), 400, 'field_invalid', 'body.attachment');
});

test('two uploads of the same bytes share one content on disk', async () => {
  const bytes = content('shared', 5_000);
  const [one, two] = [await upload(server, ada, bytes), await upload(server, bob, bytes)];
  assert.notEqual(one, two);
  const file = blobPath(server.folder, contentHashOf(bytes));
  assert.equal(existsSync(file), true);
  assert.equal((await tus(server, ada, 'DELETE', `/v1/attachments/${one}`)).status, 204);
  assertRefused(await tus(server, ada, 'DELETE', `/v1/attachments/${one}`), 404, 'attachment_not_found');
  assert.equal(existsSync(file), true);
  assertRefused(await tus(server, ada, 'DELETE', `/v1/attachments/${two}`), 404, 'attachment_not_found');
  assert.equal((await tus(server, bob, 'DELETE', `/v1/attachments/${two}`)).status, 204);
  assert.equal(existsSync(file), false);
});

test('what a message has is not discarded', async () => {
  const id = await upload(server, ada, content('in use', 100));
  await attach(server, ada, room.id, id);
  assertRefused(await tus(server, ada, 'DELETE', `/v1/attachments/${id}`), 409, 'attachment_in_use');
});

test('ATT-01 ranges and conditions', async () => {
  const id = await upload(server, ada, PNG, 'a.png');
  const posted = await attach(server, ada, room.id, id);
  assert.equal((posted.body.body as { type: string }).type, 'image/png');
  const whole = await download(server, ada, id, room.id);
  const tag = whole.headers.get('etag') ?? '';
  assert.equal(tag, `"${contentHashOf(PNG)}"`);
  assert.match(whole.headers.get('content-disposition') ?? '', /^inline;/);
  const cases: [range: string, status: number, contentRange: string | null, bytes: Buffer][] = [
    ['bytes=0-0', 206, 'bytes 0-0/508', PNG.subarray(0, 1)],
    ['bytes=100-199', 206, 'bytes 100-199/508', PNG.subarray(100, 200)],
    ['bytes=500-', 206, 'bytes 500-507/508', PNG.subarray(500)],
    ['bytes=-8', 206, 'bytes 500-507/508', PNG.subarray(500)],
    ['bytes=-5000', 206, 'bytes 0-507/508', PNG],
    ['bytes=507-9999', 206, 'bytes 507-507/508', PNG.subarray(507)],
    ['bytes=0-1,4-5', 200, null, PNG],
  ];
  for (const [range, status, contentRange, bytes] of cases) {
    const reply = await download(server, bob, id, room.id, { range });
    assert.deepEqual([range, reply.status, reply.headers.get('content-range')], [range, status, contentRange]);
    assert.deepEqual(reply.bytes, bytes);
  }
  for (const range of ['bytes=508-', 'bytes=5-4', 'bytes=-0', 'bytes=-', 'items=0-1', 'bytes=a-b', 'bytes=1-2,x']) {
    assertRefused(await download(server, bob, id, room.id, { range }), 400, 'range_invalid');
  }
  const unchanged = await download(server, bob, id, room.id, { 'if-none-match': `"x", W/${tag}` });
  assert.deepEqual([unchanged.status, unchanged.bytes.length], [304, 0]);
  assert.equal((await download(server, bob, id, room.id, { 'if-none-match': '"x"' })).status, 200);
  const same = { range: 'bytes=0-3', 'if-range': tag };
  assert.equal((await download(server, bob, id, room.id, same)).status, 206);
  assert.equal((await download(server, bob, id, room.id, { ...same, 'if-range': '"old"' })).status, 200);
  assertRefused(await download(server, bob, id, 'nowhere'), 400, 'query_invalid', 'conversation');
});

test('a link opens the attachment without a credential, for the person it was made for, while they may read it', async () => {
  const id = await upload(server, ada, content('link', 1_000));
  const posted = await attach(server, ada, room.id, id);
  const linkOf = `/v1/attachments/${id}/link?conversation=${room.id}`;
  const reply = await server.api<{ path: string; expires_at: string }>(bob, 'GET', linkOf);
  assert.equal(reply.status, 200, reply.text);
  const { path } = reply.body;
  const read = await fetchBytes(server, path, { range: 'bytes=10-19' });
  assert.deepEqual([read.status, read.bytes], [206, content('link', 1_000).subarray(10, 20)]);
  assertRefused(await server.api(eve, 'GET', linkOf), 403, 'conversation_forbidden');
  const [, link = ''] = path.split('link=');
  const [payload = '', signature = ''] = link.split('.');
  const forged = Buffer.from(JSON.stringify([room.id, 'ada', 4_000_000_000])).toString('base64url');
  for (const bad of [`${forged}.${signature}`, `${payload}.`, payload, `${payload}.${signature.slice(1)}A`, '.']) {
    const refusal = await fetchBytes(server, `/v1/attachments/${id}/content?link=${bad}`);
    assertRefused(refusal, 401, 'attachment_link_invalid');
  }
  const elsewhere = await upload(server, ada, content('link of another', 10));
  assertRefused(
    await fetchBytes(server, `/v1/attachments/${elsewhere}/content?link=${link}`),
    401,
    'attachment_link_invalid',
  );
  await server.api(ada, 'DELETE', `/v1/conversations/${room.id}/messages/${posted.body.seq}`);
  assertRefused(await fetchBytes(server, path), 404, 'attachment_not_found');
});

test('a deleted message has its file removed from the disk, and so has a deleted conversation', async () => {
  const [one, two] = [content('deleted', 7_000), content('purged', 7_001)];
  const files = [one, two].map((bytes) => blobPath(server.folder, contentHashOf(bytes)));
  const short = await start(server, ada, 'room', ['bob'], 'Short');
  const first = await attach(server, ada, short.id, await upload(server, ada, one));
  await attach(server, ada, short.id, await upload(server, ada, two));
  assert.deepEqual(
    files.map((file) => existsSync(file)),
    [true, true],
  );
  await server.api(ada, 'DELETE', `/v1/conversations/${short.id}/messages/${first.body.seq}`);
  await server.api(ada, 'DELETE', `/v1/conversations/${short.id}`);
  await until(() => files.every((file) => !existsSync(file)), 'both contents to be off the disk');
});

test('ATT-01 a link opens up to its last second, by the key that signs and by the one before, and for its attachment alone', () => {
  const [now, old, present] = [1_795_248_000, Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const claims = { attachment: 'att_one', conversation: 'c_one', user: 'ada', expires: now + LINK_SECONDS };
  const opened = (key: Uint8Array, at: number, attachment = claims.attachment) =>
    openLink([present, old], attachment, signLink(key, claims), at);
  for (const key of [present, old]) assert.deepEqual(opened(key, now + LINK_SECONDS - 1), claims);
  assert.equal(LINK_SECONDS, 300);
  const invalid = { code: 'attachment_link_invalid' };
  assert.throws(() => opened(present, now + LINK_SECONDS), invalid);
  assert.throws(() => opened(present, now, 'att_two'), invalid);
  assert.throws(() => opened(Buffer.alloc(32, 3), now), invalid);
});
