/** A push provider on loopback: HTTP/1.1 and HTTP/2 over TLS on one port, whatever it is asked, answering as a test says. */
import { createECDH, createHmac, hkdfSync, createDecipheriv, randomBytes, type ECDH } from 'node:crypto';
import { once } from 'node:events';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { makeCertificate } from '#test/support/certificate.ts';
import { until } from '#test/support/waiting.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** `1.1` or `2.0`. */
  readonly version: string;
}

export interface Answered {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const { certificate: CERTIFICATE, key: KEY } = makeCertificate(Date.now(), 30);

export class LoopbackProvider {
  readonly asked: Asked[] = [];
  /** How many connections were ever made to it. */
  connections = 0;
  answer: (asked: Asked) => Answered | Promise<Answered> = () => ({ status: 201 });
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Http2SecureServer) {
    this.#server = server;
    server.on('secureConnection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async open(): Promise<LoopbackProvider> {
    const server = createSecureServer({ key: KEY, cert: CERTIFICATE, allowHTTP1: true });
    const provider = new LoopbackProvider(server);
    server.listen(0, 'localhost');
    await once(server, 'listening');
    return provider;
  }

  get url(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What it was asked on a path, once that is so much. */
  async askedOn(path: string, count: number): Promise<Asked[]> {
    const find = () => this.asked.filter((asked) => asked.path.startsWith(path));
    await until(() => find().length >= count, `${count} requests to ${path}; got ${find().length}`);
    return find();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { headers, method, url: path, httpVersion: version } = request;
    const asked = { method, path, headers, body: Buffer.concat(chunks), version };
    this.asked.push(asked);
    const { body = '', headers: own = {}, status } = await this.answer(asked);
    response.writeHead(status, own);
    response.end(body);
  }
}

/** A browser's subscription, which can read what is pushed to it (RFC 8291, RFC 8188). */
export class Subscription {
  readonly #pair: ECDH = createECDH('prime256v1');
  readonly #auth = randomBytes(16);
  readonly endpoint: string;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
    this.#pair.generateKeys();
  }

  get address() {
    const keys = { p256dh: this.#pair.getPublicKey('base64url'), auth: this.#auth.toString('base64url') };
    return { provider: 'webpush', endpoint: this.endpoint, keys } as const;
  }

  /** The payload of a push that is JSON. */
  read(body: Buffer): Record<string, unknown> {
    return JSON.parse(this.textOf(body)) as Record<string, unknown>;
  }

  /** The payload of a push. */
  textOf(body: Buffer): string {
    const [salt, idLength] = [body.subarray(0, 16), body.readUInt8(20)];
    const sender = body.subarray(21, 21 + idLength);
    const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]) =>
      createHmac('sha256', key).update(Buffer.concat(parts)).digest();
    const agreed = hmac(this.#auth, this.#pair.computeSecret(sender));
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#pair.getPublicKey(), sender, Buffer.of(1)]);
    const input = hmac(agreed, info);
    const derive = (name: string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${name}\0`, bytes));
    const cipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    cipher.setAuthTag(body.subarray(-16));
    const padded = Buffer.concat([cipher.update(body.subarray(21 + idLength, -16)), cipher.final()]);
    return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8');
  }
}
