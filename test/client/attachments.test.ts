/** The SDK's uploads and downloads against a real server, over a network that breaks (ATT-01). */
import assert from 'node:assert/strict';
import { openAsBlob, writeFileSync } from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { UPLOAD_PIECE_BYTES, WHOLE_BYTES_MAX } from '#src/client/conversations/attachments.ts';
import type { Fetch } from '#src/client/connection/http.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { attach } from '#test/messaging/attaching.ts';
import { start } from '#test/messaging/conversing.ts';
import { hastyTimers, makeHastyTimers } from './hasty-timers.ts';

const { server, ada } = await shareServer(['ada'], { shards: 2 });
const room = await start(server, ada, 'room', [], 'Mine');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

function clientOf(fetch?: Fetch, timers = hastyTimers): ParleyClient {
  const client = ParleyClient.resume({
    coordinatorUrl: server.coordinator,
    messagingUrl: server.messaging,
    session: ada.session,
    timers,
    random: () => 0,
    ...(fetch === undefined ? {} : { fetch }),
  });
  after(() => client.close());
  return client;
}

/** A fetch whose n-th upload of a piece does as told: nothing is sent, or its answer is lost. */
function breaking(ways: Readonly<Record<number, 'unsent' | 'unanswered'>>): { fetch: Fetch; pieces: () => number } {
  let pieces = 0;
  const fetch: Fetch = async (input, init) => {
    if (init?.method !== 'PATCH') return await globalThis.fetch(input, init);
    pieces += 1;
    const way = ways[pieces];
    if (way === 'unsent') throw new TypeError('fetch failed');
    const response = await globalThis.fetch(input, init);
    if (way === 'unanswered') throw new TypeError('fetch failed');
    return response;
  };
  return { fetch, pieces: () => pieces };
}

test('ATT-01 an upload goes on where it stopped when requests and answers are lost', async (t) => {
  const bytes = randomBytes(2 * UPLOAD_PIECE_BYTES + 1_000);
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, bytes);
  const { fetch, pieces } = breaking({ 1: 'unsent', 2: 'unanswered', 4: 'unsent' });
  const client = clientOf(fetch);
  const told: number[] = [];
  const id = await client.attachments.upload(await openAsBlob(path), {
    name: 'снимок.bin',
    onProgress: (sent) => told.push(sent),
  });
  // Lost, stored without an answer, stored, lost, stored.
  assert.equal(pieces(), 5);
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
  assert.equal(told.at(-1), bytes.length);
  const posted = await attach(server, ada, room.id, id);
  assert.equal(posted.status, 201, posted.text);
  const read = await client.attachments.download(id, room.id);
  assert.equal(sha256(new Uint8Array(await read.arrayBuffer())), sha256(bytes));
  const range = await client.attachments.download(id, room.id, { range: [10, 19] });
  assert.deepEqual(Buffer.from(await range.arrayBuffer()), bytes.subarray(10, 20));
  const { path: link } = await client.attachments.link(id, room.id);
  assert.equal((await fetch(`${server.messaging}${link}`)).status, 200);
  await assert.rejects(client.attachments.thumbnail(id, room.id, 128), { code: 'thumbnail_not_found' });
});

test('an upload that was aborted is resumed by its id', async () => {
  const file = new Blob([randomBytes(UPLOAD_PIECE_BYTES + 10)]);
  const controller = new AbortController();
  const { attachments } = clientOf();
  let begun = '';
  const options = {
    signal: controller.signal,
    onBegun: (id: string) => (begun = id),
    onProgress: (sent: number) => void (sent > 0 && controller.abort()),
  };
  await assert.rejects(attachments.upload(file, options), { code: 'transfer_aborted' });
  const seen: number[] = [];
  assert.equal(await attachments.upload(file, { resume: begun, onProgress: (sent) => void seen.push(sent) }), begun);
  assert.deepEqual(seen, [UPLOAD_PIECE_BYTES, UPLOAD_PIECE_BYTES + 10]);
  await attachments.discard(begun);
  await assert.rejects(attachments.discard(begun), { code: 'attachment_not_found' });
});

test('what is refused is not tried again, and a network that stays away is given up', async () => {
  const { attachments } = clientOf();
  const huge = { size: 2 ** 45, slice: () => new Blob() } as unknown as Blob;
  await assert.rejects(attachments.upload(huge), { code: 'attachment_too_large' });
  let tries = 0;
  const away = clientOf(
    async (input, init) => {
      if (typeof input === 'string' && !input.includes('/v1/attachments')) return await globalThis.fetch(input, init);
      tries += 1;
      throw new TypeError('fetch failed');
    },
    // The last waits are 8 seconds each.
    makeHastyTimers(8_000),
  );
  await assert.rejects(away.attachments.upload(new Blob(['x'])), { code: 'network_failed' });
  assert.equal(tries, 8);
});

test('a small file goes up in the request that begins it, one byte more in two, and a lost answer is asked for again', async () => {
  for (const [size, methods] of [
    [WHOLE_BYTES_MAX, ['POST', 'POST']],
    [WHOLE_BYTES_MAX + 1, ['POST', 'POST', 'PATCH']],
  ] as const) {
    const seen: (string | undefined)[] = [];
    const { attachments } = clientOf(async (input, init) => {
      const reply = await globalThis.fetch(input, init);
      if (typeof input === 'string' && !input.includes('/v1/attachments')) return reply;
      if (init?.method !== 'GET') seen.push(init?.method);
      if (seen.length === 1) throw new TypeError('fetch failed');
      return reply;
    });
    const bytes = randomBytes(size);
    const told: number[] = [];
    const id = await attachments.upload(new Blob([bytes]), { onProgress: (sent) => void told.push(sent) });
    assert.deepEqual(seen, methods);
    assert.equal(told.at(-1), size);
    assert.equal((await attach(server, ada, room.id, id)).status, 201);
    const read = await attachments.download(id, room.id);
    assert.equal(sha256(new Uint8Array(await read.arrayBuffer())), sha256(bytes));
  }
});

test('an empty file is one', async () => {
  const { attachments } = clientOf();
  const id = await attachments.upload(new Blob([]));
  assert.equal((await attach(server, ada, room.id, id)).status, 201);
  assert.equal((await (await attachments.download(id, room.id)).arrayBuffer()).byteLength, 0);
});
