/** A load generator in its own process, asked over an IPC channel. */
import type { ChildProcess } from 'node:child_process';
import { spawnNode } from './pinning.ts';

export interface Ask {
  id: number;
  kind: string;
  data: unknown;
}

export type Answer = { id: number; value: unknown } | { id: number; error: string };

/** The bench's side of one generator process. */
export class Child {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  constructor(entry: URL, cores: readonly number[]) {
    this.#process = spawnNode(entry, [], { cores, ipc: true });
    this.#process.on('message', (answer: Answer) => {
      const waiting = this.#pending.get(answer.id);
      this.#pending.delete(answer.id);
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.value);
    });
    this.#process.on('exit', (code, signal) => {
      const error = new Error(`load generator ${entry.pathname} ended with ${code ?? signal}`);
      for (const waiting of this.#pending.values()) waiting.reject(error);
      this.#pending.clear();
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** @throws Error with the generator's own words when it fails, or when its process ends. */
  ask(kind: string, data: unknown): Promise<unknown> {
    this.#lastId += 1;
    const ask: Ask = { id: this.#lastId, kind, data };
    return new Promise((resolve, reject) => {
      this.#pending.set(ask.id, { resolve, reject });
      this.#process.send(ask, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** The generator's side: answers asks by their kind. The process ends with the bench that started it. */
export function answerAsks(handlers: Readonly<Record<string, (data: never) => unknown>>): void {
  process.on('message', (ask: Ask) => {
    const handler = handlers[ask.kind];
    void (async () => {
      try {
        if (handler === undefined) throw new Error(`no such ask: ${ask.kind}`);
        process.send?.({ id: ask.id, value: await handler(ask.data as never) } satisfies Answer);
      } catch (error) {
        process.send?.({ id: ask.id, error: error instanceof Error ? error.message : String(error) } satisfies Answer);
      }
    })();
  });
  process.on('disconnect', () => process.exit(0));
}
