/** HTTP as bytes over a socket, for what no client library would send. */
import { connect, type Socket } from 'node:net';
import type { Person, TestServer } from '#test/support/server.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';

export interface RawAnswer {
  readonly status: number;
  readonly body: unknown;
}

export class RawConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #ended = false;
  #changed: (() => void)[] = [];

  constructor(server: TestServer) {
    this.socket = connect(Number(new URL(server.messaging).port), '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** The next answer on this connection, with the body that its length announces unless it answers a HEAD. */
  async answer(options: { toHead?: boolean } = {}): Promise<RawAnswer> {
    const found = await this.#until(() => this.#take(options.toHead ?? false), 'an answer');
    if (found === 'ended') throw new Error('The connection ended without an answer.');
    return found;
  }

  /** Waits until the server ends the connection; what had arrived that was no whole answer. */
  async ending(): Promise<string> {
    await this.#until(() => undefined, 'the end of the connection');
    return this.#received.toString('utf8');
  }

  #take(toHead: boolean): RawAnswer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return undefined;
    const head = this.#received.subarray(0, headEnd).toString('latin1');
    const length = toHead ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const end = headEnd + 4 + length;
    if (this.#received.length < end) return undefined;
    const text = this.#received.subarray(headEnd + 4, end).toString('utf8');
    this.#received = this.#received.subarray(end);
    return { status: Number(head.slice(9, 12)), body: text === '' ? undefined : JSON.parse(text) };
  }

  async #until<T>(look: () => T | undefined, what: string): Promise<T | 'ended'> {
    const wait = async (): Promise<T | 'ended'> => {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        if (this.#ended) return 'ended';
        await new Promise<void>((resolve) => this.#changed.push(resolve));
      }
    };
    return await deadline(wait(), PATIENCE_MILLIS, what);
  }

  #wake(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

/** A request's head as text: request line, host, the person's token, and these headers. */
export function headOf(request: string, who: Person | undefined, headers: readonly string[] = []): string {
  const authorization = who === undefined ? [] : [`authorization: Bearer ${who.session.token}`];
  return [`${request} HTTP/1.1`, 'host: parley.test', ...authorization, ...headers, '', ''].join('\r\n');
}

/** Sends bytes on a connection of their own and answers the first answer. */
export async function sendRaw(server: TestServer, bytes: string | Uint8Array): Promise<RawAnswer> {
  const connection = new RawConnection(server);
  connection.socket.write(bytes);
  try {
    return await connection.answer();
  } finally {
    connection.socket.destroy();
  }
}
