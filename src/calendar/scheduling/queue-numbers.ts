/** Numbers that keep the order in which things were put on their way, over restarts. */
import type { Clock } from '#src/base/clock.ts';

/** Numbers within a millisecond; what is sent faster borrows from the next ones. */
const PER_MILLI = 64;

export class QueueNumbers {
  readonly #clock: Clock;
  #last: number;

  /** @param last the highest that is in use. */
  constructor(clock: Clock, last: number) {
    this.#clock = clock;
    this.#last = last;
  }

  readonly next = (): number => {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#clock.now()) * PER_MILLI);
    return this.#last;
  };
}
