/**
 * Tells the main thread in which conversations something happened that subscriptions listen to: their ids, once a turn,
 * from the shard that has the conversation. A conversation that nobody listens to costs one look into a set.
 */
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';

export interface ActivityNotifierOptions {
  /** Whether a conversation is this shard's. */
  readonly isHere: (conversation: string) => boolean;
  readonly tell: (conversations: readonly string[]) => void;
}

export class ActivityNotifier {
  readonly #options: ActivityNotifierOptions;
  #watched: ReadonlySet<string> = new Set();
  readonly #active = new Set<string>();

  constructor(options: ActivityNotifierOptions) {
    this.#options = options;
  }

  /** The bots as they stand now. */
  watch(bots: BotSnapshot): void {
    const listening = bots.filter(({ isActive, subscribed }) => isActive && subscribed.length > 0);
    this.#watched = new Set(listening.flatMap(({ conversations }) => conversations).filter(this.#options.isHere));
  }

  /** An event is published to this topic. */
  note(topic: string): void {
    if (!this.#watched.has(topic)) return;
    this.#active.add(topic);
    if (this.#active.size > 1) return;
    setImmediate(() => {
      const all = [...this.#active];
      this.#active.clear();
      this.#options.tell(all);
    });
  }
}
