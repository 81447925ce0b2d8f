/** A client's socket as bytes: it says what it is told to, answers no ping, and reads only when it is told to. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Person, TestServer } from './server.ts';
import { deadline, PATIENCE_MILLIS } from './waiting.ts';

/** The handshake's request for the person's device, as text. */
export function handshakeOf({ session }: Person): string {
  return [
    `GET /v1/ws?token=${session.token}&device=${session.device_id} HTTP/1.1`,
    'host: parley.test',
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
    '',
    '',
  ].join('\r\n');
}

/** One text frame of a client: whole, masked, below 126 bytes (RFC 6455, section 5.2). */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length > 125) throw new Error('A frame of this length has another head.');
  const mask = randomBytes(4);
  const masked = payload.map((byte, at) => byte ^ (mask[at % 4] as number));
  return Buffer.concat([Buffer.of(0x81, 0x80 | payload.length), mask, masked]);
}

export class RawSocket {
  readonly tcp: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #ended: Promise<void>;

  private constructor(tcp: Socket) {
    this.tcp = tcp;
    tcp.on('error', () => undefined);
    this.#ended = new Promise((resolve) => tcp.once('close', () => resolve()));
  }

  /** Shakes hands as the person, and reads nothing behind the answer. */
  static async open(server: TestServer, person: Person): Promise<RawSocket> {
    const socket = new RawSocket(connect({ host: '127.0.0.1', port: Number(new URL(server.messaging).port) }));
    const upgraded = new Promise<string>((resolve) => {
      socket.tcp.once('data', (bytes: Buffer) => {
        socket.tcp.pause();
        socket.#chunks.push(bytes);
        resolve(bytes.toString('latin1'));
      });
    });
    socket.tcp.write(handshakeOf(person));
    assert.match(await deadline(upgraded, PATIENCE_MILLIS, 'the upgrade'), /^HTTP\/1\.1 101 /);
    return socket;
  }

  /** Reads on to the end of the connection; what arrived since the start. */
  async readOn(millis: number = PATIENCE_MILLIS): Promise<Buffer> {
    this.tcp.on('data', (bytes: Buffer) => this.#chunks.push(bytes));
    this.tcp.resume();
    await deadline(this.#ended, millis, 'the connection to end');
    return Buffer.concat(this.#chunks);
  }

  end(): void {
    this.tcp.destroy();
  }
}

/** The payloads of unmasked frames after the handshake: texts, and the code of the closing frame. */
export function readFrames(bytes: Buffer): { texts: string[]; closeCode: number | undefined } {
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
