/** Programs of the machine that tests start: whether they are there, where they listen, and what they said when they end. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { deadline, PATIENCE_MILLIS } from './waiting.ts';

/** What a test is skipped with where the program is not installed, else false. */
export function unlessInstalled(program: string, args: readonly string[]): string | false {
  return spawnSync(program, args).error === undefined ? false : `${program} is not installed`;
}

/** A port of loopback that nobody had a moment ago: for programs that can't be asked which one they took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export class RealProgram {
  readonly #child: ChildProcess;
  #said = '';

  /** Starts it; standard output and error are kept together. */
  constructor(command: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(command, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#said += chunk.toString('utf8')));
    }
  }

  get said(): string {
    return this.#said;
  }

  /** @throws Error with everything it said, where it has ended by itself. */
  assertRuns(): void {
    const { exitCode, spawnfile } = this.#child;
    if (exitCode !== null) throw new Error(`${spawnfile} ended with ${exitCode}: ${this.#said}`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await deadline(gone, PATIENCE_MILLIS, `${this.#child.spawnfile} to end`);
  }
}
