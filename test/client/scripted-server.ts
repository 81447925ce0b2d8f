/** A server on loopback that answers as the test tells it to: HTTP and sockets of coordinator and messaging in one. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly token: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** An answer; `cut` takes the request in and breaks the connection instead, `hang` never answers. */
export type Answer =
  | { status?: number; body?: unknown; text?: string; headers?: Record<string, string> }
  | 'cut'
  | 'hang';
export type Script = (asked: Asked) => Answer | Promise<Answer>;

export const CURRENT = { 'x-service-protocol': '1', 'x-service-protocol-min': '0' };

/** An error body with its status. The sentence is not one of the catalogue, so that a test sees which one it reads. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: { code, error: `The server says ${code}.` },
});

/** A session as the coordinator answers it, whose token says which one it is. */
export const sessionOf = (user: string, number = 1, life = 900) => {
  const iat = Math.floor(Date.now() / 1000);
  return { token: `${user}-${number}`, exp: iat + life, iat, rnw: iat + 86_400, user, device_id: `d_${user}` };
};

export class ScriptedServer {
  /** Everything asked over HTTP, in order, as `GET /v1/inbox`. */
  readonly asked: (Asked & { name: string })[] = [];
  /** The handshakes, in order: what their query and their headers said. */
  readonly handshakes: Asked[] = [];
  readonly sockets: WebSocket[] = [];
  /** Frames that clients sent. */
  readonly frames: unknown[] = [];
  /** What a handshake is refused with; undefined lets it through. */
  refuseHandshake: ((asked: Asked) => number | undefined) | undefined;
  readonly #scripts: [method: string, path: RegExp, script: Script][] = [];
  readonly #http: Server;
  readonly #ws = new WebSocketServer({ noServer: true });

  constructor() {
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#http.on('upgrade', (request, socket, head) => {
      const asked = askedOf(request, '');
      this.handshakes.push(asked);
      const status = this.refuseHandshake?.(asked);
      if (status !== undefined) {
        socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
        return;
      }
      this.#ws.handleUpgrade(request, socket, head, (ws) => {
        this.sockets.push(ws);
        ws.on('message', (data) => this.frames.push(JSON.parse((data as Buffer).toString('utf8'))));
      });
    });
    this.on('GET /v1/inbox', () => ({ body: { items: [], next: null, sync: 'sync-1' } }));
    this.on('GET /v1/me/capabilities', () => ({ body: { rights: [] } }));
    // Asked by itself at some moment: an answer would come between whatever a test is about.
    this.on('GET /v1/presence', () => 'hang');
    this.on('POST /v1/auth/login', ({ body }) => ({ body: sessionOf(String(body['username'])) }));
    this.on('POST /v1/auth/logout', () => ({ body: { status: 'ok' } }));
  }

  async listen(): Promise<this> {
    this.#http.listen(0, '127.0.0.1');
    await once(this.#http, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Scripts a route, `:id` standing for any segment. The latest script of a route is the one that answers. */
  on(route: string, script: Script): void {
    const [method = '', path = ''] = route.split(' ');
    this.#scripts.unshift([method, new RegExp(`^${path.replaceAll(/:[a-z]+/g, '[^/]+')}$`), script]);
  }

  /** How often a route was asked, by a part of its name. */
  count(name: string): number {
    return this.asked.filter((asked) => asked.name.includes(name)).length;
  }

  /** Sends an event to every socket that is open. */
  send(event: unknown): void {
    const text = typeof event === 'string' ? event : JSON.stringify(event);
    for (const socket of this.sockets) if (socket.readyState === socket.OPEN) socket.send(text);
  }

  /** Closes every open socket with a code. */
  closeSockets(code: number): void {
    for (const socket of this.sockets) if (socket.readyState === socket.OPEN) socket.close(code);
  }

  async close(): Promise<void> {
    for (const socket of this.#ws.clients) socket.terminate();
    this.#http.close();
    this.#http.closeAllConnections();
    await once(this.#http, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    request.setEncoding('utf8');
    for await (const chunk of request) text += String(chunk);
    const asked = askedOf(request, text);
    this.asked.push({ ...asked, name: `${asked.method} ${asked.path}` });
    const script = this.#scripts.find(([method, path]) => method === asked.method && path.test(asked.path))?.[2];
    const answer = await (script?.(asked) ?? refusal(404, 'path_not_found'));
    if (answer === 'hang') return;
    if (answer === 'cut') {
      response.destroy();
      return;
    }
    const { status = 200, body, headers = {} } = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...CURRENT, ...headers });
    response.end(answer.text ?? (body === undefined ? '' : JSON.stringify(body)));
  }
}

function askedOf(request: IncomingMessage, text: string): Asked {
  const url = new URL(request.url ?? '/', 'http://loopback');
  return {
    method: request.method ?? '',
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    token: request.headers.authorization?.replace('Bearer ', ''),
    headers: request.headers,
    body: text === '' ? {} : JSON.parse(text),
  };
}
