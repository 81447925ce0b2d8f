/** NATS servers with JetStream that tests start: one, or three that keep everything three times. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectToStream } from '#storage/stream/stream-connection.ts';
import { streamName } from '#storage/stream/stream-names.ts';
import { freePort, RealProgram } from './real-program.ts';
import { until } from './waiting.ts';

/** How long servers may take until they have chosen who leads their JetStream. */
const NATS_MILLIS = 60_000;

export class TestNats {
  readonly #folder: string;
  readonly #ports: readonly number[];
  readonly #routes: readonly number[];
  readonly #more: string;
  readonly #servers: (RealProgram | undefined)[] = [];

  private constructor(folder: string, ports: readonly number[], routes: readonly number[], more: string) {
    [this.#folder, this.#ports, this.#routes, this.#more] = [folder, ports, routes, more];
  }

  /** Starts so many servers, or the first of them; `more` are further lines of their configuration. */
  static async start(
    count: 1 | 3,
    more = 'jetstream { store_dir: "STORE" }',
    running: number = count,
  ): Promise<TestNats> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-nats-'));
    const ports: number[] = [];
    const routes: number[] = [];
    for (let server = 0; server < count; server += 1) {
      ports.push(await freePort());
      routes.push(await freePort());
    }
    const nats = new TestNats(folder, ports, routes, more);
    for (let server = 0; server < running; server += 1) nats.run(server);
    await nats.settled();
    return nats;
  }

  /** What `PARLEY_CLUSTER` is. */
  get urls(): string {
    return this.#ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
  }

  /** The processes of the servers that run. */
  get pids(): number[] {
    return this.#servers.flatMap((server) => server?.pid ?? []);
  }

  /** Bytes of all changes that the stream of an installation has, as one server keeps them. */
  async streamBytes(installation = 'parley'): Promise<number> {
    const urls = this.urls.split(',');
    const { manager, nats } = await connectToStream({ urls, authoritiesFile: undefined, credentialsFile: undefined });
    try {
      return (await manager.streams.info(streamName(installation))).state.bytes;
    } finally {
      await nats.close();
    }
  }

  run(server: number): void {
    const file = join(this.#folder, `${server}.conf`);
    const lines = [
      `listen: 127.0.0.1:${this.#ports[server]}`,
      `server_name: n${server}`,
      this.#more.replace('STORE', join(this.#folder, `store-${server}`)),
    ];
    if (this.#ports.length > 1) {
      const routes = this.#routes.map((port) => `nats://127.0.0.1:${port}`).join(', ');
      lines.push(`cluster { name: test, listen: 127.0.0.1:${this.#routes[server]}, routes: [${routes}] }`);
    }
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.#servers[server] = new RealProgram('nats-server', ['-c', file]);
  }

  /** Resolves when every server that runs takes connections, and a majority has chosen who leads. */
  async settled(): Promise<void> {
    await until(() => this.#servers.every((server) => server === undefined || isUp(server)), 'NATS', NATS_MILLIS);
    for (const [server, port] of this.#ports.entries()) {
      if (this.#servers[server] !== undefined)
        await until(async () => await takesConnections(port), 'NATS', NATS_MILLIS);
    }
    if (this.#ports.length === 1) return;
    await until(
      () => this.#servers.some((server) => server?.said.includes('JetStream cluster new metadata leader') === true),
      'a leader of JetStream',
      NATS_MILLIS,
    );
  }

  async kill(server: number): Promise<void> {
    await this.#servers[server]?.stop('SIGKILL');
    this.#servers[server] = undefined;
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server?.stop('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function isUp(server: RealProgram): boolean {
  server.assertRuns();
  return server.said.includes('Server is ready');
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const isTaken = await promise;
  socket.destroy();
  return isTaken;
}
