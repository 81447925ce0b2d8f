/**
 * Tells the main thread in which conversations something happened that subscriptions listen to: their ids, once a turn,
 * from the shard that has the conversation. A conversation that nobody listens to costs one look into a set.
 */
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';

export class ActivityNotifier {
  readonly #tell: (conversations: readonly string[]) => void;
  #watched: ReadonlySet<string> = new Set();
  readonly #stirred = new Set<string>();

  constructor(tell: (conversations: readonly string[]) => void) {
    this.#tell = tell;
  }

  /** The bots as they stand now; `isHere` says which conversations are this shard's. */
  watch(bots: BotSnapshot, isHere: (conversation: string) => boolean): void {
    const listening = bots.filter(({ isActive, subscribed }) => isActive && subscribed.length > 0);
    this.#watched = new Set(listening.flatMap(({ conversations }) => conversations).filter(isHere));
  }

  /** An event is published to this topic. */
  note(topic: string): void {
    if (!this.#watched.has(topic)) return;
    this.#stirred.add(topic);
    if (this.#stirred.size > 1) return;
    setImmediate(() => {
      const all = [...this.#stirred];
      this.#stirred.clear();
      this.#tell(all);
    });
  }
}
