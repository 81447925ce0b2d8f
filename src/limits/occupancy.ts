/** Places that are held for a while: so many in all, and one for each caller, so that nobody holds those of others. */
import { Refusal } from '#src/protocol/errors.ts';

export class Occupancy {
  readonly #most: number;
  readonly #inside = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a place; what it answers gives the place back. @throws Refusal `busy` where none is left, or one is held. */
  enter(who: string): () => void {
    if (this.#inside.size >= this.#most || this.#inside.has(who)) throw new Refusal('busy');
    this.#inside.add(who);
    return () => {
      this.#inside.delete(who);
    };
  }
}
