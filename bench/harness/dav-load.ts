/** DAV load from a generator process. */
import { Child } from './child.ts';

export interface DavTarget {
  host: string;
  port: number;
  authorization: string;
}

/** One request, sent so many times. */
export interface DavRepeat {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  count: number;
  connections: number;
}

/** Objects of the benches, put one by one into a collection. */
export interface PutOrder {
  path: string;
  first: number;
  count: number;
  seriesEvery: number;
  connections: number;
}

export interface DavResult {
  seconds: number;
  /** Nanoseconds to the whole answer, by request. */
  latency: Float64Array;
  /** Nanoseconds to the first byte of its body. */
  first: Float64Array;
  statuses: Record<number, number>;
  /** The last answer. */
  body: string;
}

export class DavLoad {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async open(target: DavTarget, cores: readonly number[]): Promise<DavLoad> {
    const load = new DavLoad(new Child(new URL('dav-load.child.ts', import.meta.url), cores));
    await load.#child.ask('open', target);
    return load;
  }

  async repeat(order: DavRepeat): Promise<DavResult> {
    return (await this.#child.ask('repeat', order)) as DavResult;
  }

  async put(order: PutOrder): Promise<DavResult> {
    return (await this.#child.ask('put', order)) as DavResult;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
