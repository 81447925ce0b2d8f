/** A peer that does not read: it is cut off with a documented code, bounded in memory, and costs the others nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { residentBytes } from '#test/support/process.ts';
import { readFrames, RawSocket } from '#test/support/raw-socket.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { say, start } from '#test/messaging/conversing.ts';

const READERS = 4;
const MESSAGES = 1_500;
/**
 * After so many the readers read on: far beyond what the kernel's buffers of one loopback connection take, and soon enough,
 * as whoever does not for thirty seconds is cut without a code (silent-peers.test.ts).
 */
const WITHHELD = 1_000;
const BODY = 'x'.repeat(16_000);
/** Resident memory that the server may gain while 16 MB are withheld from each of several readers. */
const GROWTH_BYTES_MAX = 150 * 1024 * 1024;

/** The others are served meanwhile, which takes the machine's time. */
const READ_MILLIS = 60_000;

async function closedTooSlow(server: TestServer): Promise<number> {
  const { body } = await server.api<{ sockets: { closed: Record<string, number> } }>(undefined, 'GET', '/healthz');
  return body.sockets.closed['tooSlow'] ?? 0;
}

test('SOC-12 a peer that stops reading is closed with 4002, bounded, and the others hear everything', async () => {
  const server = await startServer({
    shards: 2,
    // Without the idle time, which would let them go on a slow machine: the buffer is what this is about.
    environment: { PARLEY_SOCKET_BUFFER_BYTES: '65536', PARLEY_SOCKET_IDLE_SECONDS: '960' },
  });
  const idle: RawSocket[] = [];
  try {
    const { ann, ben } = await server.people('ann', 'ben');
    const slow = Object.values(await server.people('sam', 'sid', 'sue', 'syd'));
    const { id } = await start(server, ann, 'room', ['ben', ...slow.map(({ username }) => username)]);
    const attentive = await connect(server, ben);
    for (const person of slow) idle.push(await RawSocket.open(server, person));
    const earlier = residentBytes(server.pid);
    let most = earlier;
    let ends: Promise<Buffer>[] = [];
    for (let count = 0; count < MESSAGES; count += 10) {
      if (count === WITHHELD) ends = idle.map(async (reader) => await reader.readOn(READ_MILLIS));
      await Promise.all(Array.from({ length: 10 }, () => say(server, ann, id, BODY)));
      most = Math.max(most, residentBytes(server.pid));
    }
    assert.equal((await attentive.eventsOf('message.new', MESSAGES)).at(-1)?.seq, MESSAGES);
    const heard = attentive.events.filter(({ type }) => type === 'message.new').map(({ seq }) => seq);
    assert.deepEqual(
      heard,
      Array.from({ length: MESSAGES }, (_, index) => index + 1),
    );
    assert.ok(most - earlier < GROWTH_BYTES_MAX, `${most - earlier} bytes gained`);
    for (const bytes of await Promise.all(ends)) {
      const { texts, closeCode } = readFrames(bytes);
      assert.equal(closeCode, 4002);
      // What it did hear has no gap: nothing was sent to it after the first event it missed.
      const seqs = texts.map((text) => JSON.parse(text) as { type: string; seq: number });
      const news = seqs.filter(({ type }) => type === 'message.new').map(({ seq }) => seq);
      assert.deepEqual(
        news,
        Array.from({ length: news.length }, (_, index) => index + 1),
      );
      assert.ok(news.length < WITHHELD);
    }
    await until(async () => (await closedTooSlow(server)) === READERS, 'the closed sockets to be counted');
    assert.equal(attentive.closed, undefined);
    const again = await connect(server, slow[0] as Person);
    await say(server, ann, id, 'welcome back');
    assert.equal((await again.event('message.new')).seq, MESSAGES + 1);
  } finally {
    for (const reader of idle) reader.end();
    await server.stop();
  }
});
