/** Programs of the machine that tests start: whether they are there, where they listen, and what they said when they end. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { deadline, PATIENCE_MILLIS } from './waiting.ts';

/** What a test is skipped with where the program is not installed, else false. */
export function unlessInstalled(program: string, args: readonly string[]): string | false {
  return spawnSync(program, args).error === undefined ? false : `${program} is not installed`;
}

/** Below those that Linux gives to whoever asks for any (`ip_local_port_range`), and above those with a name. */
const [PORT_LEAST, PORT_MOST] = [12_000, 31_999];

/**
 * A port of loopback that nobody had a moment ago, and that the kernel gives nobody who asks for any: for programs that
 * can't be asked which one they took, and for those that go away and come back to it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORT_LEAST, PORT_MOST + 1);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
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

  get pid(): number {
    return this.#child.pid as number;
  }

  get said(): string {
    return this.#said;
  }

  /** @throws Error with everything it said, where it has ended by itself. */
  assertRuns(): void {
    const { exitCode, spawnfile } = this.#child;
    if (exitCode !== null) throw new Error(`${spawnfile} ended with ${exitCode}: ${this.#said}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill(signal);
    await deadline(gone, PATIENCE_MILLIS, `${this.#child.spawnfile} to end`);
  }
}
