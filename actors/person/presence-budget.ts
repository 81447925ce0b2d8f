/**
 * How much presence a shard tells a second. After a restart everybody comes back at once, and in a bad network people
 * flap; what that makes is hints, and messages must not wait behind them.
 */

/**
 * Frames of presence a second. A frame costs some 5 µs, and this is a fortieth of a core. Beyond it nothing is dropped:
 * who changed is told later, as they are then.
 */
export const PRESENCE_FRAMES_PER_SECOND_MAX = 5_000;

const SECOND_MILLIS = 1_000;

export class PresenceBudget {
  #since = Number.NEGATIVE_INFINITY;
  #frames = 0;

  /** Whether somebody's presence may be told now, in milliseconds. */
  isOpen(now: number): boolean {
    // A clock that was set back must not close it for hours.
    if (now < this.#since || now >= this.#since + SECOND_MILLIS) {
      this.#since = now;
      // Who has more friends than a second allows for takes from the seconds that follow.
      this.#frames = Math.max(0, this.#frames - PRESENCE_FRAMES_PER_SECOND_MAX);
    }
    return this.#frames < PRESENCE_FRAMES_PER_SECOND_MAX;
  }

  /** Counts what was told. */
  spend(frames: number): void {
    this.#frames += frames;
  }
}
