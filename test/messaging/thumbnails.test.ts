/** Thumbnails: what pictures get one, what bad ones end in, and that nobody else notices (ATT-01). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { thumbnailPath } from '#storage/attachments/blobs.ts';
import { readMetric } from '#test/support/metrics.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { attach, fetchBytes, tus, upload, type Download } from './attaching.ts';
import { assertRefused, start } from './conversing.ts';

const { server, ada, bob, eve } = await shareServer(['ada', 'bob', 'eve'], { shards: 2 });
const room = await start(server, ada, 'room', ['bob'], 'Pictures');

type Format = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif';

/** A picture of one colour, so many pixels wide and high. */
async function picture(format: Format, width: number, height: number, shade = 0): Promise<Buffer> {
  const background = { r: 200, g: shade, b: 20 };
  return await sharp({ create: { width, height, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
}

async function posted(bytes: Buffer): Promise<string> {
  const id = await upload(server, ada, bytes);
  assert.equal((await attach(server, ada, room.id, id)).status, 201);
  return id;
}

async function thumbnail(id: string, size: string | number, who = bob, headers = {}): Promise<Download> {
  const path = `/v1/attachments/${id}/thumbnail?conversation=${room.id}&size=${size}`;
  return await fetchBytes(server, path, { authorization: `Bearer ${who.session.token}`, ...headers });
}

/** A PNG that says it is this large and holds these bytes as its picture. */
function png(width: number, height: number, data: Buffer): Buffer {
  const chunk = (type: string, body: Buffer) => {
    const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function crc32(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

test('ATT-01 pictures of every kind get thumbnails that fit their squares, read by whoever takes part', async () => {
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif'] as const) {
    const id = await posted(await picture(format, 900, 300));
    for (const [size, width, height] of [
      [128, 128, 43],
      [320, 320, 107],
      // A small picture stays as small as it is.
      [1024, 900, 300],
    ] as const) {
      const reply = await thumbnail(id, size);
      assert.deepEqual([format, reply.status, reply.headers.get('content-type')], [format, 200, 'image/webp']);
      const made = await sharp(reply.bytes).metadata();
      assert.deepEqual([made.format, made.width, made.height], ['webp', width, height]);
      assert.equal(reply.headers.get('content-security-policy'), "default-src 'none'; sandbox");
    }
    assertRefused(await thumbnail(id, 128, eve), 403, 'conversation_forbidden');
  }
});

test('a thumbnail is turned as the picture says, and says nothing else of it', async () => {
  const source = await sharp({ create: { width: 400, height: 200, channels: 3, background: 'red' } })
    .withExif({ IFD0: { Copyright: 'Ada Lovelace' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  assert.equal(source.includes('Ada Lovelace'), true);
  const reply = await thumbnail(await posted(source), 128);
  const made = await sharp(reply.bytes).metadata();
  assert.deepEqual([made.width, made.height], [64, 128]);
  assert.deepEqual([made.exif, made.icc, made.xmp, made.orientation], [undefined, undefined, undefined, undefined]);
  assert.equal(reply.bytes.includes('Lovelace'), false);
});

test('of a moving picture the first frame is taken', async () => {
  const frames = await Promise.all(
    ['red', 'blue'].map((background) =>
      sharp({ create: { width: 20, height: 20, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const moving = await sharp(frames, { join: { animated: true } })
    .gif()
    .toBuffer();
  const reply = await thumbnail(await posted(moving), 128);
  const made = await sharp(reply.bytes).metadata();
  assert.deepEqual([made.height, made.pages ?? 1], [20, 1]);
});

test('bombs, floods, cut and lying files have no thumbnail, and the next picture has one', async () => {
  const whole = await picture('jpeg', 600, 600, 7);
  const zeros = deflateSync(Buffer.alloc(1024));
  const hostile: Record<string, Buffer> = {
    'a pixel flood': png(60_000, 60_000, zeros),
    'one pixel more than may be': png(64_000_001, 1, deflateSync(Buffer.alloc(1 + 3 * 64_000_001))),
    'a picture with nothing in it': png(3_000, 3_000, zeros),
    'half a file': whole.subarray(0, whole.length / 2),
    'a head alone': whole.subarray(0, 20),
    'noise with a head': Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(5_000, 0xa5)]),
    'a drawing': Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="9" height="9"/></svg>',
    ),
    'a drawing with the head of a GIF': Buffer.from('GIF89a<svg xmlns="http://www.w3.org/2000/svg"/>'),
    'a text': Buffer.from('just a text'),
    'a tiff': await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .tiff()
      .toBuffer(),
    nothing: Buffer.alloc(0),
  };
  for (const [name, bytes] of Object.entries(hostile)) {
    const id = await posted(bytes);
    // Twice: the second time nobody tries.
    for (const size of [128, 128, 1024]) {
      const reply = await thumbnail(id, size);
      assert.equal(reply.status, 404, name);
      assertRefused(reply, 404, 'thumbnail_not_found');
    }
  }
  assert.equal((await thumbnail(await posted(await picture('png', 50, 50, 9)), 128)).status, 200);
});

test('a picture of 32 MiB has a thumbnail, and one byte more is too much', async () => {
  const small = await picture('jpeg', 30, 30, 3);
  const padded = (bytes: number) => Buffer.concat([small, Buffer.alloc(bytes - small.length)]);
  assert.equal((await thumbnail(await posted(padded(32 * 1024 * 1024)), 128)).status, 200);
  assertRefused(await thumbnail(await posted(padded(32 * 1024 * 1024 + 1)), 128), 404, 'thumbnail_not_found');
});

test('sizes are a few, and a condition is answered without the picture', async () => {
  const id = await posted(await picture('png', 60, 60, 5));
  for (const size of ['0', '129', '99999', 'x', '']) {
    assertRefused(await thumbnail(id, size), 400, 'query_invalid', 'size');
  }
  const first = await thumbnail(id, 128);
  const tag = first.headers.get('etag') ?? '';
  const again = await thumbnail(id, 128, bob, { 'if-none-match': tag });
  assert.deepEqual([again.status, again.bytes.length], [304, 0]);
  assert.notEqual((await thumbnail(id, 320)).headers.get('etag'), tag);
});

test('thumbnails are counted: made once however often they are read, and those that could not be made', async () => {
  const counted = async () => {
    const { failed = 0, made = 0 } = await readMetric(server, 'parley_attachments_thumbnails_total');
    return { failed, made };
  };
  const before = await counted();
  const good = await posted(await picture('png', 31, 17, 99));
  for (let n = 0; n < 3; n += 1) assert.equal((await thumbnail(good, 128)).status, 200);
  const bad = await posted(png(64, 64, Buffer.from('no picture')));
  for (let n = 0; n < 2; n += 1) assert.equal((await thumbnail(bad, 128)).status, 404);
  assert.deepEqual(await counted(), { failed: before.failed + 1, made: before.made + 1 });
  assert.deepEqual(await readMetric(server, 'parley_attachments_thumbnails_waiting'), { '': 0 });
});

test('a thumbnail goes with its picture', async () => {
  const id = await posted(await picture('webp', 500, 500, 77));
  const [{ headers }] = await Promise.all([thumbnail(id, 128), thumbnail(id, 320), thumbnail(id, 128)]);
  const [hash = ''] = (headers.get('etag') ?? '').slice(1).split('.');
  const files = [128, 320].map((size) => thumbnailPath(server.folder, hash, size));
  assert.deepEqual(
    files.map((file) => existsSync(file)),
    [true, true],
  );
  assertRefused(await tus(server, ada, 'DELETE', `/v1/attachments/${id}`), 409, 'attachment_in_use');
  assert.equal((await server.api(ada, 'DELETE', `/v1/conversations/${room.id}`)).status, 204);
  await until(() => files.every((file) => !existsSync(file)), 'the thumbnails to be off the disk');
});
