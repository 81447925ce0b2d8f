/** Long work on a thread that others wait for, in slices with a turn for them between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long others wait for their turn, in milliseconds. */
const SLICE_MILLIS = 3;

export class Slices {
  #began = performance.now();

  /** Whether the slice is used up: asked between small pieces of the work, of some ten microseconds each. */
  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MILLIS;
  }

  /** Gives others their turn; a new slice begins. */
  async pass(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}
