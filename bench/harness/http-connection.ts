/** A keep-alive HTTP/1.1 connection for load generators: one request at a time, no more parsing than it needs. */
import { connect, type Socket } from 'node:net';

export interface HttpAddress {
  host: string;
  port: number;
  localAddress?: string;
}

/** Gets the status and, when it was asked to keep it, the body. */
export type Answered = (status: number, bytes: number, body: Buffer | undefined) => void;

const readBuffer = Buffer.allocUnsafe(256 * 1024);
const END = Buffer.from('\r\n\r\n');
/** uWebSockets.js closes a connection that was silent for ten seconds; peers take turns, so theirs may be. */
const FRESH_MILLIS = 5_000;
/** What a request that got no answer counts as. */
export const CONNECTION_LOST = 0;

export class HttpConnection {
  readonly #socket: Socket;
  #answered: Answered | undefined;
  #keepsBody = false;
  #head: Buffer | undefined;
  #status = 0;
  #length = 0;
  #missing = -1;
  #parts: Buffer[] = [];
  #lost: string | undefined;
  #usedAt = performance.now();
  readonly opened: Promise<void>;

  constructor(address: HttpAddress) {
    this.#socket = connect({
      host: address.host,
      port: address.port,
      ...(address.localAddress === undefined ? {} : { localAddress: address.localAddress }),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (count) => {
          this.#read(readBuffer.subarray(0, count));
          return true;
        },
      },
    });
    this.opened = new Promise((resolve, reject) => {
      this.#socket.on('connect', resolve);
      this.#socket.on('error', reject);
    });
    // Whoever does not await `opened` learns of the failure from the answer to its request.
    this.opened.catch(() => undefined);
    this.#socket.on('error', (error) => (this.#lost = error.message));
    this.#socket.on('close', () => {
      this.#lost ??= 'closed by the server';
      this.#finish(CONNECTION_LOST);
    });
  }

  /** Whether it is open and was used a moment ago. A server may close one that is not, just as a request is sent. */
  get isFresh(): boolean {
    return this.#lost === undefined && performance.now() - this.#usedAt < FRESH_MILLIS;
  }

  /** Sends a whole request. The answer comes once; status 0 means the connection was lost. */
  request(request: string, keepsBody: boolean, answered: Answered): void {
    if (this.#answered !== undefined) throw new Error('one request at a time on a connection');
    this.#answered = answered;
    this.#keepsBody = keepsBody;
    this.#missing = -1;
    if (this.#lost !== undefined) {
      // Later, as every answer comes: a caller that goes on from its answer must not go deeper with each.
      setImmediate(() => this.#finish(CONNECTION_LOST));
      return;
    }
    this.#usedAt = performance.now();
    this.#socket.write(request);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#missing >= 0) return this.#take(chunk);
    const head = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk]);
    const end = head.indexOf(END);
    if (end < 0) {
      this.#head = Buffer.from(head);
      return;
    }
    this.#head = undefined;
    const text = head.toString('latin1', 0, end);
    this.#status = Number(text.slice(9, 12));
    this.#length = contentLength(text, this.#status);
    this.#missing = this.#length;
    this.#take(head.subarray(end + END.length));
  }

  #take(chunk: Buffer): void {
    if (this.#keepsBody && chunk.length > 0) this.#parts.push(Buffer.from(chunk));
    this.#missing -= chunk.length;
    if (this.#missing < 0) throw new Error('the answer is longer than its content-length');
    if (this.#missing === 0) this.#finish(this.#status);
  }

  #finish(status: number): void {
    const answered = this.#answered;
    if (answered === undefined) return;
    const body = this.#keepsBody && status !== CONNECTION_LOST ? Buffer.concat(this.#parts) : undefined;
    this.#answered = undefined;
    this.#missing = -1;
    this.#parts = [];
    answered(status, this.#length, body);
  }
}

/** @throws Error for a chunked answer, which no server of these benches gives. */
function contentLength(head: string, status: number): number {
  const found = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (found !== undefined) return Number(found);
  if (status === 204 || status === 304) return 0;
  throw new Error(`an answer without content-length: ${head.slice(0, 60)}`);
}

/** The text of a request with a session's credential. */
export function requestText(method: string, path: string, host: string, token: string, body?: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const type = 'Content-Type: application/json\r\n';
  return `${head}${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
