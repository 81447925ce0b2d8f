/** A server for the demo: a child process over a temporary folder that goes with it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The program that `npm start` runs. */
const START = join(import.meta.dirname, 'start.ts');
/** How long a start or a stop may take before the demo gives up. A start takes about a second. */
const PATIENCE_MILLIS = 10_000;

export interface ServerUrls {
  readonly coordinator: string;
  readonly messaging: string;
  readonly calendar: string;
}

export class ThrowawayServer {
  readonly folder: string;
  #process: ChildProcess | undefined;
  #urls: ServerUrls | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Starts one on free ports over a new folder. @throws Error when it does not become ready. */
  static async start(): Promise<ThrowawayServer> {
    const server = new ThrowawayServer(await mkdtemp(join(tmpdir(), 'parley-demo-')));
    await server.start();
    return server;
  }

  get urls(): ServerUrls {
    if (this.#urls === undefined) throw new Error('The server has not started.');
    return this.#urls;
  }

  /** Starts the process, after a stop on the ports it had before. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [START], { env: this.#environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    const { promise, resolve, reject } = Promise.withResolvers<ServerUrls>();
    const late = setTimeout(() => reject(new Error('The server did not become ready.')), PATIENCE_MILLIS);
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{"event":"ready"')) resolve(JSON.parse(line) as ServerUrls);
    });
    child.once('exit', () => reject(new Error(`The server ended before it was ready.\n${said.join('\n')}`)));
    try {
      this.#urls = await promise;
    } finally {
      clearTimeout(late);
    }
  }

  /** Asks the process to stop, as an operator does, and waits until it is gone. One that does not go is killed. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MILLIS);
    child.kill('SIGTERM');
    await gone;
    clearTimeout(late);
  }

  /** Stops it and removes its folder. */
  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The demo's own settings alone: those of an installation on this machine are none of its business. */
  #environment(): Record<string, string | undefined> {
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_'));
    const portOf = (url: string | undefined) => (url === undefined ? '0' : new URL(url).port);
    return {
      ...Object.fromEntries(others),
      PARLEY_DATA: this.folder,
      PARLEY_COORDINATOR_PORT: portOf(this.#urls?.coordinator),
      PARLEY_MESSAGING_PORT: portOf(this.#urls?.messaging),
      PARLEY_CALENDAR_PORT: portOf(this.#urls?.calendar),
      PARLEY_SHARDS: '4',
      PARLEY_LANES: '4',
      PARLEY_LANE_SIZE: '1',
      PARLEY_DRAIN_SECONDS: '1',
      PARLEY_LOG_LEVEL: 'warn',
    };
  }
}
