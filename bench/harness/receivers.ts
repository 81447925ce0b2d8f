/** Sockets that receive, spread over as many generator processes as their file descriptors need. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './child.ts';
import { waitFor } from './deadline.ts';
import type { Dialect } from './dialect.ts';

export interface ConnectOrder {
  host: string;
  port: number;
  dialect: Dialect;
  paths: string[];
}

export interface Connected {
  seconds: number;
}

/** What the sockets got since the last reset. Times are of `nanosNow`, by the index of the post. */
export interface Received {
  sockets: number;
  /** Sockets that did not get exactly the posts that were announced, and messages beyond them. */
  wrongSockets: number;
  messages: number;
  receipts: number;
  typings: number;
  others: number;
  /** Reads from the kernel: several frames that left in one write arrive in one. */
  reads: number;
  firstAt: Float64Array;
  lastAt: Float64Array;
  /** Post numbers in the order the witness got them. */
  order: number[];
  closed: Record<number, number>;
}

/** A process may have 20,000 descriptors by the usual hard limit; half of it leaves room. */
const SOCKETS_PER_PROCESS = 10_000;

/** A server that delivers nothing for this long has lost something. */
const DELIVERY_SECONDS = 60;

export class Receivers {
  readonly #children: Child[];
  #posts = 0;
  #sockets = 0;

  private constructor(children: Child[]) {
    this.#children = children;
  }

  /** Connects a socket per path, all of one server. */
  static async connect(order: ConnectOrder, cores: readonly number[]): Promise<Receivers> {
    const count = Math.max(1, Math.ceil(order.paths.length / SOCKETS_PER_PROCESS));
    const children = Array.from(
      { length: count },
      () => new Child(new URL('receivers.child.ts', import.meta.url), cores),
    );
    const receivers = new Receivers(children);
    const share = Math.ceil(order.paths.length / count);
    try {
      await Promise.all(
        children.map((child, i) =>
          child.ask('connect', { ...order, paths: order.paths.slice(i * share, (i + 1) * share) }),
        ),
      );
    } catch (error) {
      await receivers.stop();
      throw error;
    }
    receivers.#sockets = order.paths.length;
    return receivers;
  }

  get sockets(): number {
    return this.#sockets;
  }

  get pids(): number[] {
    return this.#children.map((child) => child.pid);
  }

  /** Waits until no frame has come for a while: what connecting set off (presence) has been delivered. */
  async settle(quietMillis = 300): Promise<void> {
    let before = -1;
    await waitFor('the sockets to fall silent', DELIVERY_SECONDS, async () => {
      const now = await this.#sum('frames');
      if (now === before) return true;
      before = now;
      await sleep(quietMillis);
      return false;
    });
  }

  /** Starts a count of so many posts. */
  async reset(posts: number): Promise<void> {
    this.#posts = posts;
    await Promise.all(this.#children.map((child) => child.ask('reset', { posts })));
  }

  /** Waits until every socket got every post. False when the deadline passes first; `received` says what is missing. */
  async allDelivered(seconds = DELIVERY_SECONDS): Promise<boolean> {
    const whole = this.#posts * this.#sockets;
    try {
      await waitFor('every delivery', seconds, async () => (await this.#sum('messages')) >= whole);
      return true;
    } catch {
      return false;
    }
  }

  /** What all processes got together: of a post's times the first and the last. */
  async received(): Promise<Received> {
    const parts = (await Promise.all(this.#children.map((child) => child.ask('collect', {})))) as Received[];
    const [first, ...rest] = parts;
    if (first === undefined) throw new Error('no generator process');
    const total = first;
    for (const part of rest) {
      for (const key of ['sockets', 'wrongSockets', 'messages', 'receipts', 'typings', 'others', 'reads'] as const) {
        total[key] += part[key];
      }
      part.firstAt.forEach((at, i) => (total.firstAt[i] = Math.min(total.firstAt[i] ?? at, at)));
      part.lastAt.forEach((at, i) => (total.lastAt[i] = Math.max(total.lastAt[i] ?? at, at)));
      for (const [code, count] of Object.entries(part.closed)) {
        total.closed[Number(code)] = (total.closed[Number(code)] ?? 0) + count;
      }
    }
    return total;
  }

  /** How many sockets the server has closed so far, by code. */
  async closed(): Promise<Record<number, number>> {
    const parts = (await Promise.all(this.#children.map((child) => child.ask('closed', {})))) as Record<
      number,
      number
    >[];
    const total: Record<number, number> = {};
    for (const part of parts) {
      for (const [code, count] of Object.entries(part)) total[Number(code)] = (total[Number(code)] ?? 0) + count;
    }
    return total;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }

  async #sum(kind: 'frames' | 'messages'): Promise<number> {
    const parts = (await Promise.all(this.#children.map((child) => child.ask(kind, {})))) as number[];
    return parts.reduce((sum, part) => sum + part, 0);
  }
}
