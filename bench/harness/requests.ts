/** HTTP load from a generator process: posters and readers. */
import { Child } from './child.ts';

export interface OpenOrder {
  host: string;
  port: number;
  connections: number;
}

/** A request to send. A POST gets a message body of its own each time; `token` is a session's. */
export interface Target {
  method: 'GET' | 'POST';
  path: string;
  token: string;
  /** What a sampled answer must hold: a message, or so many items. */
  expect?: 'message' | number;
}

export interface RunOrder {
  /** Keeps the client_msg_ids of runs against one server apart. */
  run: string;
  /** Number of the first post; texts are numbered on from there. */
  first: number;
  count: number;
  /** Requests are spread over the targets in turn. */
  targets: Target[];
  /** Open loop at this rate; without it a closed loop. */
  perSecond?: number;
  /** A closed loop ends by then even if `count` is not reached. */
  seconds?: number;
  /** Every how many-th answer is decoded and checked. */
  verifyEvery: number;
}

export interface RunResult {
  count: number;
  seconds: number;
  /** Nanoseconds from the intended instant to the answer. */
  latency: Float64Array;
  /** Open loop: nanoseconds by which the generator itself was late. */
  lag: Float64Array;
  /** Instant of `nanosNow` at which each post was due, by its index. */
  intendedAt: Float64Array;
  statuses: Record<number, number>;
  lost: number;
  /** Sampled answers that did not hold what they had to. */
  wrong: number;
  bytes: number;
}

export class Requests {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  /** Opens so many keep-alive connections to one server. */
  static async open(order: OpenOrder, cores: readonly number[]): Promise<Requests> {
    const child = new Child(new URL('requests.child.ts', import.meta.url), cores);
    const requests = new Requests(child);
    try {
      await child.ask('open', order);
    } catch (error) {
      await child.stop();
      throw error;
    }
    return requests;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** To call before CPU is read and a run begins: opens anew the connections that were silent for long. */
  async prepare(): Promise<void> {
    await this.#child.ask('prepare', {});
  }

  async run(order: RunOrder): Promise<RunResult> {
    return (await this.#child.ask('run', order)) as RunResult;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}

/** Answers other than those of success, as text, or undefined when there are none. */
export function refusals(result: RunResult): string | undefined {
  const bad = Object.entries(result.statuses).filter(([status]) => !['200', '201'].includes(status));
  if (bad.length === 0 && result.wrong === 0) return undefined;
  return `${bad.map(([status, count]) => `${count} answers ${status}`).join(', ')} ${result.wrong} wrong bodies`.trim();
}
