/** Connections, requests and frames with TLS and without it, from a generator process. */
import { Child } from './child.ts';

export interface SecuredTarget {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

export interface RequestsOrder extends SecuredTarget {
  readonly path: string;
  readonly token: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface FramesOrder extends SecuredTarget {
  /** A socket each. */
  readonly socketPaths: readonly string[];
  readonly postPath: string;
  readonly token: string;
  /** One at a time: the next when every socket has the last. */
  readonly posts: number;
}

export interface Done {
  readonly count: number;
  readonly seconds: number;
}

export class Secured {
  readonly #child: Child;

  constructor(cores: readonly number[]) {
    this.#child = new Child(new URL('secured.child.ts', import.meta.url), cores);
  }

  /** Connects anew all the time, each with a whole handshake, so many at once. @throws Error for one that fails. */
  async connects(order: SecuredTarget & Pick<RequestsOrder, 'connections' | 'seconds'>): Promise<Done> {
    return (await this.#child.ask('connects', order)) as Done;
  }

  /** Reads over connections that stay open. @throws Error for an answer that is not 200. */
  async requests(order: RequestsOrder): Promise<Done> {
    return (await this.#child.ask('requests', order)) as Done;
  }

  /** Posts, and counts the frames of it that reach each socket. @throws Error for one that does not. */
  async frames(order: FramesOrder): Promise<Done> {
    return (await this.#child.ask('frames', order)) as Done;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
