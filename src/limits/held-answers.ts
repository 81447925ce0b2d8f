/**
 * Refusals that are answered late. Whoever is refused over and over goes on as fast as it is answered, so the answer
 * waits: sixty-four connections in a loop are sixty-four requests a second then, and not thousands.
 */
import type { Refusal } from '#src/protocol/errors.ts';

/** How long an answer waits: the least that a `Retry-After` says. */
export const HOLD_MILLIS = 1_000;
/** Answers of one listener, on one thread, that wait at once, at some hundred bytes each. For one more, none waits. */
export const HELD_MAX = 4_096;

export class HeldAnswers {
  #waiting = 0;

  /** Calls back when the refusal may be answered: at once, or a while later. */
  hold({ isHeld }: Pick<Refusal, 'isHeld'>, answer: () => void): void {
    if (!isHeld || this.#waiting >= HELD_MAX) return answer();
    this.#waiting += 1;
    setTimeout(() => {
      this.#waiting -= 1;
      answer();
    }, HOLD_MILLIS);
    return undefined;
  }
}
