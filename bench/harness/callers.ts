/** People who call each other, in a generator process. */
import { Child } from './child.ts';

export interface CallersOrder {
  host: string;
  port: number;
  /** Who calls whom: the caller's session, the callee's name, and the devices of the callee. */
  pairs: { token: string; path: string; callee: string; devices: { path: string; token: string }[]; caller: string }[];
}

export interface CallsOrder {
  run: string;
  calls: number;
  callsPerSecond: number;
}

export interface CallsResult {
  /** Nanoseconds from when an invite was due until the last device rang. */
  ring: Float64Array;
  /** Nanoseconds from the join until the last of the other devices was told. */
  settle: Float64Array;
  lag: Float64Array;
  statuses: Record<number, number>;
}

export class Callers {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  /** Connects everyone. */
  static async connect(order: CallersOrder, cores: readonly number[]): Promise<Callers> {
    const child = new Child(new URL('callers.child.ts', import.meta.url), cores);
    try {
      await child.ask('connect', order);
    } catch (error) {
      await child.stop();
      throw error;
    }
    return new Callers(child);
  }

  /** Makes the calls on their schedule; each rings everywhere, is joined by one device and hung up. */
  async run(order: CallsOrder): Promise<CallsResult> {
    return (await this.#child.ask('run', order)) as CallsResult;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
