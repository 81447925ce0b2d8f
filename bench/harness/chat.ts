/** People who chat, in a generator process: rooms in which messages, receipts and typing go on together. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './child.ts';
import { waitFor } from './deadline.ts';
import type { Dialect } from './dialect.ts';

export interface ChatOrder {
  host: string;
  port: number;
  dialect: Dialect;
  people: { path: string; token: string; room: number }[];
  /** `people` are indexes of the people above. */
  rooms: { id: string; people: number[] }[];
}

export interface MixOrder {
  run: string;
  first: number;
  messages: number;
  messagesPerSecond: number;
  receiptsPerMessage: number;
  typingPerSecond: number;
  /** Frames that say whether their person is awake, turn by turn over everybody. */
  awakesPerSecond?: number;
}

export interface ChatResult {
  /** Nanoseconds from when a message was due until it was acknowledged, and until all of its room had it. */
  ack: Float64Array;
  toLast: Float64Array;
  lag: Float64Array;
  statuses: Record<number, number>;
  sent: { receipts: number; typings: number };
  delivered: { messages: number; receipts: number; typings: number; others: number };
  closed: number;
}

const SETTLE_SECONDS = 30;

export class Chat {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  /** Connects everyone. */
  static async connect(order: ChatOrder, cores: readonly number[]): Promise<Chat> {
    const child = new Child(new URL('chat.child.ts', import.meta.url), cores);
    try {
      await child.ask('connect', order);
    } catch (error) {
      await child.stop();
      throw error;
    }
    return new Chat(child);
  }

  /** To call before CPU is read and a run begins: opens anew the connections that were silent for long. */
  async prepare(): Promise<void> {
    await this.#child.ask('prepare', {});
  }

  /** Runs the mix and waits until nothing more is answered or delivered. */
  async run(mix: MixOrder): Promise<ChatResult> {
    await this.#child.ask('run', mix);
    await this.settle();
    return (await this.#child.ask('collect', {})) as ChatResult;
  }

  /** Waits until every request is answered and no frame has come for a while. */
  async settle(): Promise<void> {
    let before = -1;
    await waitFor('the chat to fall silent', SETTLE_SECONDS, async () => {
      const { open, delivered } = (await this.#child.ask('progress', {})) as { open: number; delivered: number };
      if (open === 0 && delivered === before) return true;
      before = delivered;
      await sleep(200);
      return false;
    });
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
