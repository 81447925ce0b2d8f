/**
 * The listeners of a host that follows: whatever comes is handed on to the host that leads, with the address it came from, and the
 * answer back, so that any host serves any client. `GET /healthz` is answered here, about this host.
 */
import {
  Agent,
  createServer,
  request as httpRequest,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent as TlsAgent, createServer as createTlsServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { Duplex } from 'node:stream';
import { refuseOnSocket, refuseResponse } from '#src/http/raw-refusal.ts';
import { errorBody, statusOf } from '#src/protocol/errors.ts';
import type { Certificate } from '#src/tls/certificate.ts';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import type { Leader } from '#storage/cluster/presence.ts';
import { asksForSocket, headerLines, headersOnward, isAmbiguous, withoutHops } from './handed-on-head.ts';

/** Requests that one listener hands on at once; further ones are refused with `busy`. */
export const HANDED_ON_MAX = 10_000;
/** How long the host that leads may take for a connection. */
const CONNECT_MILLIS = 3_000;
/** Headers of one request together, in bytes: what the services themselves take. */
const HEADER_BYTES_MAX = 32 * 1024;
const RETRY_SECONDS = 1;
const JSON_TYPE = 'application/json; charset=utf-8';

/** What a host that follows says of itself at `GET /healthz`. */
export type FollowerHealth = Pick<HealthBody, 'cluster' | 'status' | 'version'>;

export type ServiceName = keyof Leader['ports'];

export interface PassThroughOptions {
  readonly service: ServiceName;
  readonly host: string;
  readonly port: number;
  /** Headers of every answer of its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** What this listener shows; undefined where it speaks plain HTTP. */
  readonly certificate: () => Certificate | undefined;
  /** Who leads now. */
  readonly leader: () => Leader | undefined;
  /** What `GET /healthz` says. */
  readonly health: () => FollowerHealth;
}

export class PassThrough {
  readonly #options: PassThroughOptions;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  /** With the certificate that it takes from the other hosts. */
  #tls: { readonly agent: TlsAgent; readonly chain: string | undefined } | undefined;
  readonly #upgraded = new Set<Duplex>();
  /** Connections that are about to end, of which nothing is read any more. */
  readonly #refused = new WeakSet<Duplex>();
  #handedOn = 0;

  private constructor(options: PassThroughOptions) {
    this.#options = options;
    const certificate = options.certificate();
    const handler: RequestListener = (request, response) => this.#handle(request, response);
    // Node would answer what has no host with an empty body, and take the rest of the connection for the body of any upgrade.
    const bounds = { maxHeaderSize: HEADER_BYTES_MAX, requireHostHeader: false, shouldUpgradeCallback: asksForSocket };
    this.#server =
      certificate === undefined
        ? createServer(bounds, handler)
        : createTlsServer({ ...bounds, cert: certificate.chain, key: certificate.key, minVersion: 'TLSv1.2' }, handler);
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    const { headers } = options;
    this.#server.on('clientError', (error, socket) => refuseOnSocket(socket, error, headers, undefined));
    this.#server.on('connect', (_request, socket) => refuseOnSocket(socket, undefined, headers, undefined));
    this.#server.on('checkExpectation', (_request, response) => refuseResponse(response, headers, undefined));
  }

  /** Listens. Rejects when the port is taken. */
  static async open(options: PassThroughOptions): Promise<PassThrough> {
    const passing = new PassThrough(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    passing.#server.once('error', reject);
    passing.#server.listen({ host: options.host, port: options.port }, resolve);
    await promise;
    passing.#server.off('error', reject);
    return passing;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends at once whatever is under way: another host answers it when it is asked again. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    await promise;
    this.#agent.destroy();
    this.#tls?.agent.destroy();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    // Where it ended is not sure, nor is what stands behind it.
    if (this.#refused.has(request.socket)) return;
    if (isAmbiguous(request)) {
      this.#refused.add(request.socket);
      return refuseResponse(response, this.#options.headers, undefined);
    }
    const path = (request.url ?? '').split('?', 1)[0];
    if (path === '/healthz' && (request.method === 'GET' || request.method === 'HEAD')) {
      response.writeHead(200, { ...this.#options.headers, 'content-type': JSON_TYPE });
      response.end(JSON.stringify(this.#options.health()));
      return;
    }
    const leader = this.#options.leader();
    if (leader === undefined) return this.#refuse(response, 'unavailable');
    if (this.#handedOn >= HANDED_ON_MAX) return this.#refuse(response, 'busy');
    this.#handedOn += 1;
    response.once('close', () => {
      this.#handedOn -= 1;
      // What is left of a body that was answered before its end stands before the client's next request.
      request.unpipe(onward).resume();
      onward.destroy();
    });
    const onward = this.#onward(leader, request, headersOnward(request));
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutHops(answer.rawHeaders));
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    onward.once('error', () => {
      if (response.headersSent) response.destroy();
      else this.#refuse(response, 'unavailable');
    });
    request.pipe(onward);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const leader = this.#options.leader();
    if (leader === undefined) return this.#refuseUpgrade(socket);
    this.#upgraded.add(socket);
    const onward = this.#onward(leader, request, [
      ...headersOnward(request),
      ...['connection', 'Upgrade', 'upgrade', 'websocket'],
    ]);
    // Where no socket comes of it, nobody else's request goes over this connection.
    onward.shouldKeepAlive = false;
    socket.once('close', () => {
      this.#upgraded.delete(socket);
      onward.destroy();
    });
    onward.once('error', () => this.#refuseUpgrade(socket));
    onward.once('response', (answer) => {
      const lines = headerLines(withoutHops(answer.rawHeaders));
      const { statusCode = 502 } = answer;
      socket.write(
        [`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`, ...lines, 'connection: close', '', ''].join('\r\n'),
      );
      answer.pipe(socket);
      answer.once('error', () => socket.destroy());
    });
    onward.once('upgrade', (answer, other, first) => {
      if (socket.destroyed) {
        other.destroy();
        return;
      }
      socket.write(['HTTP/1.1 101 Switching Protocols', ...headerLines(answer.rawHeaders), '', ''].join('\r\n'));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) other.write(head);
      for (const [one, two] of [
        [socket, other],
        [other, socket],
      ] as const) {
        one.pipe(two);
        one.once('close', () => two.destroy());
        one.once('error', () => two.destroy());
      }
    });
    onward.end();
  }

  #onward(leader: Leader, request: IncomingMessage, headers: readonly string[]) {
    const to = {
      host: leader.address,
      port: leader.ports[this.#options.service],
      method: request.method,
      path: request.url,
      timeout: CONNECT_MILLIS,
      setHost: false,
    };
    // The library takes the names and values of headers in turn, so that those that come twice stay two.
    const asked = { ...to, headers: headers as unknown as Record<string, string> };
    const onward = leader.tls
      ? httpsRequest({ ...asked, agent: this.#tlsAgent, servername: serverName(request) })
      : httpRequest({ ...asked, agent: this.#agent });
    onward.once('socket', (socket) => {
      // One that is there already never connects, and would keep whatever listens for it.
      if (!socket.connecting) return;
      const connected = leader.tls ? 'secureConnect' : 'connect';
      const timer = setTimeout(() => onward.destroy(new Error('no connection')), CONNECT_MILLIS);
      socket.once(connected, () => clearTimeout(timer));
      onward.once('close', () => clearTimeout(timer));
    });
    return onward;
  }

  #refuse(response: ServerResponse, code: 'busy' | 'unavailable'): void {
    response.writeHead(statusOf(code), this.#refusalHeaders);
    response.end(JSON.stringify(errorBody(code)));
  }

  #refuseUpgrade(socket: Duplex): void {
    const status = statusOf('unavailable');
    const text = JSON.stringify(errorBody('unavailable'));
    const headers = { ...this.#refusalHeaders, 'content-length': Buffer.byteLength(text), connection: 'close' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'));
  }

  get #refusalHeaders(): Record<string, string | number> {
    return { ...this.#options.headers, 'content-type': JSON_TYPE, 'retry-after': RETRY_SECONDS };
  }

  /** The other hosts show the certificate that this one does, which no authority may have signed. */
  get #tlsAgent(): TlsAgent {
    const chain = this.#options.certificate()?.chain;
    if (this.#tls?.chain !== chain || this.#tls === undefined) {
      const ca = chain === undefined ? [...rootCertificates] : [...rootCertificates, chain];
      this.#tls = { agent: new TlsAgent({ keepAlive: true, ca }), chain };
    }
    return this.#tls.agent;
  }
}

/** The name that the client asked for: the one in the certificate. */
function serverName(request: IncomingMessage): string {
  const host = request.headers.host ?? '';
  return host.startsWith('[') ? '' : host.replace(/:\d+$/, '');
}
