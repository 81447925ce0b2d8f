/** A WebSocket client over a bare TCP socket that counts frames instead of decoding them. */
import { connect, type Socket } from 'node:net';
import type { Dialect } from './dialect.ts';
import { clientFrame, FrameReader, OPCODE, type FrameSink } from './frames.ts';

/** Where a socket goes. The source address varies, so that ten thousand of them do not run out of local ports. */
export interface SocketAddress {
  host: string;
  port: number;
  path: string;
  dialect: Dialect;
  localAddress?: string;
}

/**
 * Gets text frames. `at` is where the payload begins; the bytes are valid during the call only, and only the first
 * 40 of the payload are sure to be there unless `wantsWhole`.
 */
export interface TextSink {
  readonly wantsWhole: boolean;
  text(bytes: Buffer, at: number, length: number, socket: RawSocket): void;
  closed(code: number, socket: RawSocket): void;
}

/** All sockets of a process read into this one buffer: a read is looked at before the next one begins. */
const readBuffer = Buffer.allocUnsafe(256 * 1024);

const PONG = clientFrame(OPCODE.pong, '');
const NO_STATUS = 1006;
const ENGINE_PING = '2'.charCodeAt(0);
const ENGINE_OPEN = '0'.charCodeAt(0);
const ENGINE_MESSAGE = '4'.charCodeAt(0);
const SOCKET_CONNECT = '0'.charCodeAt(0);
/** 16 bytes in base 64. A server only echoes its hash, so all sockets may share one. */
const KEY = Buffer.from('parley-benchmark').toString('base64');

export class RawSocket implements FrameSink {
  readonly index: number;
  readonly #sink: TextSink;
  readonly #dialect: Dialect;
  readonly #reader: FrameReader;
  readonly #socket: Socket;
  #head: Buffer | undefined = Buffer.alloc(0);
  #closeCode = NO_STATUS;
  #ready: ((error?: Error) => void) | undefined;
  /** Resolves when the upgrade, and in Socket.IO the connect packet, is answered. */
  readonly opened: Promise<void>;
  reads = 0;

  constructor(index: number, address: SocketAddress, sink: TextSink) {
    this.index = index;
    this.#sink = sink;
    this.#dialect = address.dialect;
    this.#reader = new FrameReader(this);
    this.opened = new Promise((resolve, reject) => {
      this.#ready = (error) => {
        this.#ready = undefined;
        if (error === undefined) resolve();
        else reject(error);
      };
    });
    this.#socket = connect({
      host: address.host,
      port: address.port,
      ...(address.localAddress === undefined ? {} : { localAddress: address.localAddress }),
      noDelay: true,
      onread: { buffer: readBuffer, callback: (count) => this.#read(count) },
    });
    this.#socket.on('connect', () => this.#socket.write(upgradeRequest(address)));
    this.#socket.on('error', (error) => this.#ready?.(error));
    this.#socket.on('close', () => {
      this.#ready?.(new Error('the server closed the connection during the handshake'));
      this.#sink.closed(this.#closeCode, this);
    });
  }

  get wantsWhole(): boolean {
    return this.#sink.wantsWhole;
  }

  sendText(text: string | Buffer): void {
    this.#socket.write(clientFrame(OPCODE.text, text));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  frame(opcode: number, bytes: Buffer, at: number, length: number): void {
    if (opcode === OPCODE.text) this.#text(bytes, at, length);
    else if (opcode === OPCODE.ping) {
      this.#socket.write(length === 0 ? PONG : clientFrame(OPCODE.pong, bytes.subarray(at, at + length)));
    } else if (opcode === OPCODE.close) {
      this.#closeCode = length >= 2 ? bytes.readUInt16BE(at) : 1005;
      this.#socket.end();
    }
  }

  #read(count: number): boolean {
    this.reads += 1;
    if (this.#head === undefined) this.#reader.read(readBuffer, count);
    else this.#handshake(Buffer.concat([this.#head, readBuffer.subarray(0, count)]));
    return true;
  }

  #handshake(head: Buffer): void {
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#head = head;
      return;
    }
    const status = head.toString('latin1', 0, Math.min(end, 40));
    if (!status.startsWith('HTTP/1.1 101')) {
      this.#ready?.(new Error(`the upgrade was answered ${JSON.stringify(status)}`));
      this.#socket.destroy();
      return;
    }
    this.#head = undefined;
    if (this.#dialect === 'plain') this.#ready?.();
    const rest = Buffer.from(head.subarray(end + 4));
    if (rest.length > 0) this.#reader.read(rest, rest.length);
  }

  #text(bytes: Buffer, at: number, length: number): void {
    if (this.#dialect === 'socket.io') {
      const first = bytes[at];
      if (first === ENGINE_PING) return this.sendText('3');
      if (first === ENGINE_OPEN) return this.sendText('40');
      if (first === ENGINE_MESSAGE && bytes[at + 1] === SOCKET_CONNECT) return this.#ready?.();
    }
    this.#sink.text(bytes, at, length, this);
  }
}

function upgradeRequest(address: SocketAddress): string {
  return (
    `GET ${address.path} HTTP/1.1\r\nHost: ${address.host}:${address.port}\r\nUpgrade: websocket\r\n` +
    `Connection: Upgrade\r\nSec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n`
  );
}

/** Source addresses within 127.0.0.0/8: each brings its own 28,000 local ports. */
export function sourceAddress(index: number): string {
  return `127.0.0.${2 + (index % 8)}`;
}
