/** Chance that can be had again: everything drawn follows from a seed. */

export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1, without 1: the generator mulberry32. */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.unit() < share;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.unit() * items.length)];
    if (items.length === 0) throw new Error('There is nothing to pick from.');
    return item as T;
  }

  /** A generator of its own, whose draws do not depend on how often others draw. */
  fork(): SeededRandom {
    return new SeededRandom(this.whole(0, 2 ** 32 - 1));
  }
}

/** A seed that differs from run to run. */
export function freshSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] as number;
}
