/**
 * A queue that is fair by key: each key has a list, and the lists are served in turn (round robin), so that somebody
 * who fills it waits for themself. Work that goes first has lists of its own, served before all others.
 *
 *     first   [ann's office: ●]                      ──┐
 *     others  [flood: ●●●●●●●●●] [ben: ●] [cleo: ●]  ──┴─► flood, ben, cleo, flood, flood …
 */
import { Refusal } from '#src/protocol/errors.ts';

export interface FairQueueOptions {
  /** Pieces of work at once. */
  readonly atOnce: number;
  /**
   * Pieces that wait, of either kind. For one more, the last of the longest list is refused with `busy`, which is the
   * new one where its own list is the longest.
   */
  readonly waitingMax: number;
}

interface Waiter {
  readonly begin: () => void;
  readonly refuse: (refusal: Refusal) => void;
}

type Lists = Map<string, Waiter[]>;

export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #first: Lists = new Map();
  readonly #others: Lists = new Map();
  #running = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Pieces of work under way or waiting. */
  get size(): number {
    return this.#running + sizeOf(this.#first) + sizeOf(this.#others);
  }

  /** Does the work when its turn comes. @throws Refusal `busy`. */
  async run<T>(key: string, work: () => Promise<T>, goesFirst = false): Promise<T> {
    if (this.#running < this.#options.atOnce) this.#running += 1;
    // The one that ends hands its place over, so that the number of those running stays as it is.
    else await this.#wait(goesFirst ? this.#first : this.#others, key);
    try {
      return await work();
    } finally {
      const next = takeNext(this.#first) ?? takeNext(this.#others);
      if (next === undefined) this.#running -= 1;
      else next.begin();
    }
  }

  async #wait(lists: Lists, key: string): Promise<void> {
    const own = lists.get(key) ?? [];
    if (sizeOf(lists) >= this.#options.waitingMax) {
      const longest = [...lists.values()].reduce((most, list) => (list.length > most.length ? list : most), own);
      if (longest.length <= own.length + 1) throw new Refusal('busy');
      longest.pop()?.refuse(new Refusal('busy'));
    }
    lists.set(key, own);
    await new Promise<void>((begin, refuse) => own.push({ begin, refuse }));
  }
}

function sizeOf(lists: Lists): number {
  let size = 0;
  for (const list of lists.values()) size += list.length;
  return size;
}

/** Takes the first of the list whose turn it is; the list goes behind all others. */
function takeNext(lists: Lists): Waiter | undefined {
  for (const [key, list] of lists) {
    lists.delete(key);
    const next = list.shift();
    if (list.length > 0) lists.set(key, list);
    if (next !== undefined) return next;
  }
  return undefined;
}
