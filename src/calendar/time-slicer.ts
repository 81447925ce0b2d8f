/** Long work on the thread that everybody's requests go through, in slices with a turn for the others between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long one request is worked on before others get their turn, in milliseconds. */
export const SLICE_MILLIS = 5;

export class TimeSlicer {
  #began = performance.now();

  /** Whether the slice is used up. */
  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MILLIS;
  }

  /** Gives others their turn, where the slice is used up. */
  async pass(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#began = performance.now();
  }
}
