/** A peer that does not read: it is cut off with a documented code, bounded in memory, and costs the others nothing. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { say, start } from '#test/messaging/conversing.ts';

const READERS = 4;
/** Far beyond what the kernel's buffers of one loopback connection take. */
const MESSAGES = 1_500;
const BODY = 'x'.repeat(16_000);
/** Resident memory that the server may gain while 24 MB are withheld from each of several readers. */
const GROWTH_BYTES_MAX = 150 * 1024 * 1024;

/** A socket as bytes: it shakes hands, and then reads only when it is told to. */
class IdleReader {
  readonly #tcp: Socket;
  readonly #chunks: Buffer[] = [];

  private constructor(tcp: Socket) {
    this.#tcp = tcp;
  }

  static async open(server: TestServer, { session }: Person): Promise<IdleReader> {
    const { port } = new URL(server.messaging);
    const tcp = connectTcp({ host: '127.0.0.1', port: Number(port) });
    tcp.on('error', () => undefined);
    const reader = new IdleReader(tcp);
    const upgraded = new Promise<string>((resolve) => {
      tcp.once('data', (bytes: Buffer) => {
        tcp.pause();
        reader.#chunks.push(bytes);
        resolve(bytes.toString('latin1'));
      });
    });
    tcp.write(
      [
        `GET /v1/ws?token=${session.token}&device=${session.device_id} HTTP/1.1`,
        'host: parley.test',
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
        '',
        '',
      ].join('\r\n'),
    );
    assert.match(await deadline(upgraded, PATIENCE_MILLIS, 'the upgrade'), /^HTTP\/1\.1 101 /);
    return reader;
  }

  /** Reads on to the end; what arrived since the start. */
  async readOn(): Promise<Buffer> {
    const ended = new Promise<void>((resolve) => this.#tcp.once('close', () => resolve()));
    this.#tcp.on('data', (bytes: Buffer) => this.#chunks.push(bytes));
    this.#tcp.resume();
    await deadline(ended, PATIENCE_MILLIS, 'the connection to end');
    return Buffer.concat(this.#chunks);
  }

  end(): void {
    this.#tcp.destroy();
  }
}

/** The payloads of unmasked frames after the handshake: texts, and the code of the closing frame. */
function readFrames(bytes: Buffer): { texts: string[]; closeCode: number | undefined } {
  const texts: string[] = [];
  let at = bytes.indexOf('\r\n\r\n') + 4;
  while (at + 2 <= bytes.length) {
    const opcode = (bytes[at] as number) & 0x0f;
    const short = (bytes[at + 1] as number) & 0x7f;
    const begins = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    at = begins + length;
    if (at > bytes.length) break;
    const payload = bytes.subarray(begins, at);
    if (opcode === 8) return { texts, closeCode: payload.readUInt16BE(0) };
    if (opcode === 1) texts.push(payload.toString('utf8'));
  }
  return { texts, closeCode: undefined };
}

function residentBytes(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

async function closedTooSlow(server: TestServer): Promise<number> {
  const { body } = await server.api<{ sockets: { closed: Record<string, number> } }>(undefined, 'GET', '/healthz');
  return body.sockets.closed['tooSlow'] ?? 0;
}

test('SOC-12 a peer that stops reading is closed with 4002, bounded, and the others hear everything', async () => {
  const server = await startServer({ environment: { PARLEY_SOCKET_BUFFER_BYTES: '65536' } });
  const idle: IdleReader[] = [];
  try {
    const { ann, ben } = await server.people('ann', 'ben');
    const slow = Object.values(await server.people('sam', 'sid', 'sue', 'syd'));
    const { id } = await start(server, ann, 'room', ['ben', ...slow.map(({ username }) => username)]);
    const attentive = await connect(server, ben);
    for (const person of slow) idle.push(await IdleReader.open(server, person));
    const earlier = residentBytes(server.pid);
    let most = earlier;
    for (let count = 0; count < MESSAGES; count += 10) {
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
    for (const reader of idle) {
      const { texts, closeCode } = readFrames(await reader.readOn());
      assert.equal(closeCode, 4002);
      // What it did hear has no gap: nothing was sent to it after the first event it missed.
      const seqs = texts.map((text) => JSON.parse(text) as { type: string; seq: number });
      const news = seqs.filter(({ type }) => type === 'message.new').map(({ seq }) => seq);
      assert.deepEqual(
        news,
        Array.from({ length: news.length }, (_, index) => index + 1),
      );
      assert.ok(news.length < MESSAGES);
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
