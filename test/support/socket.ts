/** A client's socket in tests: keeps every event, in order, and waits for those a test is about. */
import { WebSocket } from 'ws';
import type { Person, TestServer } from './server.ts';
import { deadline, PATIENCE_MILLIS } from './waiting.ts';

export interface TestEvent {
  readonly type: string;
  readonly conv?: string;
  readonly seq?: number;
  readonly ts: number;
  readonly data: Record<string, unknown>;
  readonly rev?: number;
  readonly rev_count?: number;
}

export interface SocketOptions {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

export class TestSocket {
  readonly events: TestEvent[] = [];
  /** The raw texts of the events. */
  readonly texts: string[] = [];
  readonly raw: WebSocket;
  closed: { code: number; reason: string } | undefined;
  #changed: (() => void)[] = [];

  constructor(raw: WebSocket) {
    this.raw = raw;
    raw.on('message', (data) => {
      const text = (data as Buffer).toString('utf8');
      this.texts.push(text);
      this.events.push(JSON.parse(text) as TestEvent);
      this.#wake();
    });
    raw.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#wake();
    });
    raw.on('error', () => undefined);
  }

  send(frame: unknown): void {
    this.raw.send(typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame));
  }

  /** The first event that matches, arrived already or still to come. */
  async event(matches: string | ((event: TestEvent) => boolean), what?: string): Promise<TestEvent> {
    const test = typeof matches === 'string' ? (event: TestEvent) => event.type === matches : matches;
    return await this.#until(() => this.events.find(test), what ?? `the event ${String(matches)}`);
  }

  /** The first `count` events that match, in order. */
  async eventsOf(type: string, count: number): Promise<TestEvent[]> {
    return await this.#until(() => {
      const found = this.events.filter((event) => event.type === type);
      return found.length >= count ? found.slice(0, count) : undefined;
    }, `${count} events ${type}`);
  }

  async closing(): Promise<{ code: number; reason: string }> {
    return await this.#until(() => this.closed, 'the socket to close');
  }

  /** Ends the connection and waits for it. */
  async close(): Promise<void> {
    this.raw.close();
    await this.closing();
  }

  async #until<T>(look: () => T | undefined, what: string): Promise<T> {
    const wait = async (): Promise<T> => {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => this.#changed.push(resolve));
      }
    };
    return await deadline(wait(), PATIENCE_MILLIS, `${what}; got ${this.events.map((event) => event.type).join(', ')}`);
  }

  #wake(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

/** Opens a person's socket, on the device of their session unless the query says otherwise. */
export async function connect(server: TestServer, person: Person, options: SocketOptions = {}): Promise<TestSocket> {
  const { token, device_id: device } = person.session;
  const query = options.query ?? `token=${token}&device=${device}`;
  const url = `${server.messaging.replace(/^http/, 'ws')}/v1/ws?${query}`;
  const raw = new WebSocket(url, [...(options.protocols ?? [])], { headers: { ...options.headers } });
  const socket = new TestSocket(raw);
  await deadline(
    new Promise<void>((resolve, reject) => {
      raw.once('open', () => resolve());
      raw.once('error', reject);
    }),
    PATIENCE_MILLIS,
    'the socket to open',
  );
  return socket;
}

/** The answer to an upgrade that is refused. */
export async function refusedUpgrade(
  server: TestServer,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Record<string, unknown>; body: { code: string; error: string } }> {
  const raw = new WebSocket(`${server.messaging.replace(/^http/, 'ws')}/v1/ws${query}`, { headers: { ...headers } });
  raw.on('error', () => undefined);
  const answered = new Promise<{
    status: number;
    headers: Record<string, unknown>;
    body: { code: string; error: string };
  }>((resolve, reject) => {
    raw.once('open', () => reject(new Error('The upgrade was accepted.')));
    raw.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) });
      });
    });
  });
  return await deadline(answered, PATIENCE_MILLIS, 'the upgrade to be refused');
}
