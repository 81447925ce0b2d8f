/** The budget of one expansion: how much work any object may cause. */

/**
 * Steps of one expansion over all rules of an object: a day looked at, a period entered, a candidate made. One step is
 * some tens of nanoseconds, so that the worst object ends well under 50 ms; a window of ten years of a daily rule with
 * filters takes 4,000. When it is spent the expansion ends and says that it is cut.
 */
export const MAX_STEPS = 200_000;

/** Counts down. */
export class StepBudget {
  #left: number;

  constructor(steps: number = MAX_STEPS) {
    this.#left = steps;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Takes that many steps; false when they are not there, and ever after. */
  take(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
