/**
 * A shard's place on the messaging port: the apps of the socket library that serve it, over plain HTTP or TLS.
 *
 * An app of the library keeps the certificate that it was made with. Over TLS, one app therefore only takes connections
 * and hands each to the app of the present certificate (`addChildAppDescriptor`: the library's way to spread
 * connections over threads). A new certificate makes a new app that takes its place: the port is never let go of, and the app
 * from before serves the connections that it has. `addServerName` would reach those clients alone that name a host.
 */
import { createPrivateKey, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, SSLApp, us_listen_socket_close, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import type { Certificate } from '#src/tls/certificate.ts';

/**
 * Apps of earlier certificates that may go on with their connections. Certificates are renewed every other month; beyond it
 * the oldest app is closed with the connections that it still has, which come back by themselves.
 */
export const EARLIER_APPS_MAX = 4;

export interface ListenerOptions {
  /** Undefined for plain HTTP. */
  readonly certificate: Certificate | undefined;
  /** The data folder, where a file lies for the moment in which the library reads it. */
  readonly folder: string;
  readonly shard: number;
  /** Gives an app its routes. */
  readonly register: (app: TemplatedApp) => void;
}

/** What the types of the library leave out of its apps. */
interface ParentApp {
  getDescriptor: () => number;
  addChildAppDescriptor: (descriptor: number) => void;
  removeChildAppDescriptor: (descriptor: number) => void;
}

export class Listener {
  readonly #options: ListenerOptions;
  /** Takes the connections. */
  readonly #front: TemplatedApp;
  /** Those that serve, the present one last. Over plain HTTP that is the front itself. */
  readonly #apps: TemplatedApp[] = [];
  #shown: string | undefined;
  #socket: us_listen_socket | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    const { certificate } = options;
    if (certificate === undefined) {
      this.#front = App();
      this.#apps.push(this.#front);
    } else {
      this.#front = this.#overTls(certificate);
      this.#serveBy(this.#overTls(certificate), certificate);
    }
  }

  /** Gives the routes to what serves. Later apps get theirs when they are made. */
  register(): void {
    for (const app of this.#apps) this.#options.register(app);
  }

  /** Takes connections on a port; false when another program has it. */
  listen(host: string, port: number): boolean {
    this.#front.listen(host, port, (socket) => {
      this.#socket = socket === false ? undefined : socket;
    });
    return this.#socket !== undefined;
  }

  /** Has new connections see a certificate; one that they see already changes nothing. @throws Error where the library does not take it; nothing has changed then. */
  renew(certificate: Certificate): void {
    if (certificate.chain === this.#shown) return;
    const app = this.#overTls(certificate);
    this.#options.register(app);
    this.#serveBy(app, certificate);
    while (this.#apps.length > EARLIER_APPS_MAX + 1) this.#apps.shift()?.close();
  }

  /** Sockets that hear a topic. */
  numSubscribers(topic: string): number {
    return this.#apps.reduce((sum, app) => sum + app.numSubscribers(topic), 0);
  }

  publish(topic: string, event: string): void {
    for (const app of this.#apps) app.publish(topic, event);
  }

  /** Takes no more connections. */
  stop(): void {
    if (this.#socket !== undefined) us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  /** Cuts every connection. The thread must not end before. */
  close(): void {
    this.stop();
    for (const app of new Set([this.#front, ...this.#apps])) app.close();
  }

  #serveBy(app: TemplatedApp, { chain }: Certificate): void {
    const front = this.#front as unknown as ParentApp;
    const before = this.#apps.at(-1);
    front.addChildAppDescriptor(descriptorOf(app));
    if (before !== undefined) front.removeChildAppDescriptor(descriptorOf(before));
    this.#apps.push(app);
    this.#shown = chain;
  }

  /** The library reads certificates from files alone: one is there for as long as it reads, its key sealed under a passphrase of the moment. */
  #overTls({ chain, key }: Certificate): TemplatedApp {
    const passphrase = randomBytes(32).toString('hex');
    const sealed = createPrivateKey(key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase,
    }) as string;
    const path = join(this.#options.folder, `tls-${process.pid}-${this.#options.shard}.pem`);
    try {
      writeFileSync(path, `${sealed}${chain}`, { mode: 0o600 });
      return SSLApp({ cert_file_name: path, key_file_name: path, passphrase });
    } finally {
      rmSync(path, { force: true });
    }
  }
}

function descriptorOf(app: TemplatedApp): number {
  return (app as unknown as ParentApp).getDescriptor();
}
