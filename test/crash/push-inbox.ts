/** What a push provider was handed for its devices, life after life of the server: what it took, and what it turned away. */
import { setTimeout as pause } from 'node:timers/promises';
import { Subscription, type Asked, type LoopbackProvider } from '#test/push/loopback-provider.ts';
import type { SeededRandom } from '#test/support/random.ts';

/** How many pushes a busy provider turns away while the server is to be killed: those wait in the outbox. */
const BUSY_SHARE = 0.25;
/** How long it takes at most until a push is with its device and answered: others are taken meanwhile. */
const TAKING_MILLIS_MAX = 20;

/** A push of a message that was taken. */
export interface Taken {
  readonly device: string;
  readonly conversation: string;
  readonly seq: number;
  readonly topic: string;
  /** Which life of the server it was. */
  readonly life: number;
  /** When it was answered, on the clock of the tests. */
  readonly at: number;
}

/** What a device was told of a call, and in which life of the server. */
export interface Rung {
  readonly device: string;
  readonly call: string;
  readonly life: number;
  isOver: boolean;
}

export class PushInbox {
  readonly taken: Taken[] = [];
  readonly rung = new Map<string, Rung>();
  /** Rises with each kill. */
  life = 1;
  /** Whether it turns some away. */
  isBusy = false;
  turnedAway = 0;
  readonly #provider: LoopbackProvider;
  readonly #random: SeededRandom;
  readonly #subscriptions = new Map<string, { readonly device: string; readonly subscription: Subscription }>();

  constructor(provider: LoopbackProvider, random: SeededRandom) {
    this.#provider = provider;
    this.#random = random;
    provider.answer = (asked) => this.#answer(asked);
  }

  /** A subscription of its own for a device. */
  subscribe(device: string): Subscription {
    const subscription = new Subscription(`${this.#provider.url}/push/${device}`);
    this.#subscriptions.set(new URL(subscription.endpoint).pathname, { device, subscription });
    return subscription;
  }

  async close(): Promise<void> {
    await this.#provider.close();
  }

  async #answer(asked: Asked): Promise<{ status: number }> {
    const { life } = this;
    const known = this.#subscriptions.get(asked.path);
    if (known === undefined) return { status: 404 };
    if (this.isBusy && this.#random.chance(BUSY_SHARE)) {
      this.turnedAway += 1;
      return { status: 429 };
    }
    await pause(this.#random.whole(0, TAKING_MILLIS_MAX));
    const { device, subscription } = known;
    const { call, cancelled, conversation_id: conversation, seq } = subscription.read(asked.body);
    if (typeof call === 'string') this.#tell({ device, call, life, isOver: cancelled === true });
    else {
      const topic = String(asked.headers['topic']);
      const at = performance.now();
      this.taken.push({ device, conversation: String(conversation), seq: Number(seq), topic, life, at });
    }
    return { status: 201 };
  }

  #tell({ isOver, ...told }: Rung): void {
    const name = `${told.device} ${told.call}`;
    const rung = this.rung.get(name);
    if (!isOver) this.rung.set(name, { ...told, isOver: false });
    // A push that was turned away, or cut off by the kill, is taken back all the same.
    else if (rung !== undefined) rung.isOver = true;
  }
}
