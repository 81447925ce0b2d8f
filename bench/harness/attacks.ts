/** A hostile person: requests of any kind from a generator process, as many at once as it likes. */
import { Child } from './child.ts';

/** One request. In `url` and `body`, `{n}` is a number of its own and `{id}` the `id` of the answer before. */
export interface HostileRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body is sent compressed, and says so. */
  readonly gzip?: boolean;
}

export interface AttackOrder {
  /** Sent one after the other, over and over, by each of the connections. */
  readonly requests: readonly HostileRequest[];
  readonly connections: number;
  readonly seconds: number;
}

export interface AttackResult {
  /** Status → answers; 0 for requests that got none before the end. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly bytes: number;
}

export class Attacks {
  readonly #child: Child;

  constructor(cores: readonly number[]) {
    this.#child = new Child(new URL('attacks.child.ts', import.meta.url), cores);
  }

  /** Attacks for so many seconds; requests that are under way then are broken off. */
  async run(order: AttackOrder): Promise<AttackResult> {
    return (await this.#child.ask('run', order)) as AttackResult;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
