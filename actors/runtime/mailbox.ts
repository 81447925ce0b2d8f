/**
 * A mailbox: what waits for one actor, bounded, in three lanes. Stop and inspect never wait behind traffic, and
 * what rings a phone does not wait behind chat.
 *
 *     filled by asks and tells of any thread ─► system │ urgent │ main ─► drained by the actor's turns
 *     full ─► offer answers false (an ask is refused `busy`), or the oldest of the same lossy kind makes room
 */

export type Priority = 'system' | 'urgent' | 'main';

/** System messages are the runtime's own and few; this only stops a fault from growing without bound. */
const SYSTEM_MAX = 64;

export class Mailbox<Item> {
  readonly #lanes: Record<Priority, Queue<Item>> = { system: new Queue(), urgent: new Queue(), main: new Queue() };
  readonly #max: number;

  /** `max` bounds the urgent and main lanes together. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Puts an item in, or answers false when there is no room. */
  offer(item: Item, priority: Priority): boolean {
    const full = priority === 'system' ? this.#lanes.system.length >= SYSTEM_MAX : this.traffic >= this.#max;
    if (full) return false;
    this.#lanes[priority].push(item);
    return true;
  }

  /**
   * Puts a lossy item in. When there is no room, the oldest waiting item that `replaces` accepts makes way for it.
   * Answers false when something was lost: that one, or the new item if there was none.
   */
  offerLossy(item: Item, replaces: (waiting: Item) => boolean): boolean {
    if (this.offer(item, 'main')) return true;
    if (this.#lanes.main.removeFirst(replaces)) this.#lanes.main.push(item);
    return false;
  }

  /** The next item: system before urgent before main, each in order of arrival. */
  take(): Item | undefined {
    return this.#lanes.system.shift() ?? this.#lanes.urgent.shift() ?? this.#lanes.main.shift();
  }

  /** What waits in each lane. */
  get depths(): Record<Priority, number> {
    const { system, urgent, main } = this.#lanes;
    return { system: system.length, urgent: urgent.length, main: main.length };
  }

  /** What waits, the runtime's own messages left out. */
  get traffic(): number {
    return this.#lanes.urgent.length + this.#lanes.main.length;
  }

  get length(): number {
    return this.traffic + this.#lanes.system.length;
  }
}

/** First in, first out over one array with a moving head: shift() of a long array copies it each time. */
class Queue<Item> {
  #items: Item[] = [];
  #head = 0;

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined as Item;
    this.#head += 1;
    // Give the memory back once half of it is spent, at a cost that is constant per item.
    if (this.#head > 32 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  removeFirst(matches: (item: Item) => boolean): boolean {
    for (let i = this.#head; i < this.#items.length; i += 1) {
      if (!matches(this.#items[i] as Item)) continue;
      this.#items.splice(i, 1);
      return true;
    }
    return false;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }
}
