/** Clients that come back after a restart, in generator processes. */
import { Child } from './child.ts';

export interface ReturnOrder {
  host: string;
  port: number;
  clients: { socketPath: string; token: string }[];
  /** `inbox` reads the inbox, after the client's cursor once it has one; anything else is a path read as it is. */
  reads: string;
  /** The seq that each client's one room has reached meanwhile; absent at the first visit, which has missed nothing. */
  missedSeq?: number;
}

export interface CameBack {
  /** From the start until the last client was caught up. */
  seconds: number;
  /** Per client: handshake and catch-up. */
  tookNanos: Float64Array;
  failed: number;
  /** The first few reasons. */
  failures: string[];
}

/** A client needs two descriptors for a moment; see the limit of 20,000 per process. */
const CLIENTS_PER_PROCESS = 5_000;

export class Returning {
  readonly #children: Child[];

  constructor(clients: number, cores: readonly number[]) {
    const count = Math.max(1, Math.ceil(clients / CLIENTS_PER_PROCESS));
    this.#children = Array.from(
      { length: count },
      () => new Child(new URL('returning.child.ts', import.meta.url), cores),
    );
  }

  /** Brings everyone (back) at once and waits for the last. */
  async bringBack(order: ReturnOrder): Promise<CameBack> {
    const share = Math.ceil(order.clients.length / this.#children.length);
    const parts = (await Promise.all(
      this.#children.map((child, i) =>
        child.ask('bringBack', { ...order, clients: order.clients.slice(i * share, (i + 1) * share) }),
      ),
    )) as CameBack[];
    return {
      seconds: Math.max(...parts.map((part) => part.seconds)),
      tookNanos: Float64Array.from(parts.flatMap((part) => [...part.tookNanos])),
      failed: parts.reduce((sum, part) => sum + part.failed, 0),
      failures: parts.flatMap((part) => part.failures).slice(0, 5),
    };
  }

  /** How many sockets have been closed since they were brought back, by close code. */
  async closed(): Promise<Map<number, number>> {
    const parts = (await Promise.all(this.#children.map((child) => child.ask('closed', {})))) as Record<
      number,
      number
    >[];
    const total = new Map<number, number>();
    for (const [code, count] of parts.flatMap((part) => Object.entries(part))) {
      total.set(Number(code), (total.get(Number(code)) ?? 0) + count);
    }
    return total;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }
}
