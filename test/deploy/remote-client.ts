/**
 * A client on another machine, as far as one machine goes: it finds every host on loopback, speaks from an address of its
 * own in 127.0.0.0/8, and takes the certificate of the tests for the hosts that stand in it alone.
 */
import { request as openPlain } from 'node:http';
import { Agent, request as openSecure } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { LookupFunction } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { TestSocket } from '#test/support/socket.ts';
import { CERTIFICATE } from './proxy.ts';

export interface RemoteReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface RemoteCall {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | object;
  readonly token?: string;
}

const lookup = ((_host, options, callback) => {
  if (options.all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
}) as LookupFunction;

export class RemoteClient {
  readonly address: string;
  /** Keeps its connections, as browsers do. */
  readonly #agent: Agent;

  constructor(address: string) {
    this.address = address;
    this.#agent = new Agent({ keepAlive: true, lookup, localAddress: address, ca: CERTIFICATE });
  }

  /** Ends the connections that it keeps. */
  close(): void {
    this.#agent.destroy();
  }

  /** One request; a body that is no bytes is sent as JSON. */
  async call(method: string, url: string, { body, headers = {}, token }: RemoteCall = {}): Promise<RemoteReply> {
    const isJson = body !== undefined && !(body instanceof Uint8Array);
    const sent = isJson ? Buffer.from(JSON.stringify(body)) : body;
    const options = {
      method,
      headers: {
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(sent === undefined ? {} : { 'content-length': String(sent.byteLength) }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
    };
    const request = url.startsWith('https:')
      ? openSecure(url, { ...options, agent: this.#agent })
      : openPlain(url, { ...options, lookup, localAddress: this.address, agent: false });
    const answered = new Promise<RemoteReply>((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response) => {
        buffer(response).then((bytes) => {
          resolve({
            ...{ status: response.statusCode ?? 0, headers: response.headers },
            ...{ bytes, text: bytes.toString('utf8') },
          });
        }, reject);
      });
    });
    request.end(sent);
    return await deadline(answered, PATIENCE_MILLIS, `${method} ${url} to be answered`);
  }

  /** Opens a socket there. */
  async socket(url: string): Promise<TestSocket> {
    const raw = new WebSocket(url.replace(/^http/, 'ws'), { lookup, localAddress: this.address, ca: CERTIFICATE });
    const socket = new TestSocket(raw);
    const opened = new Promise<void>((resolve, reject) => {
      raw.once('open', () => resolve());
      raw.once('error', reject);
    });
    await deadline(opened, PATIENCE_MILLIS, 'the socket to open');
    return socket;
  }
}
