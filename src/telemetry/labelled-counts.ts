/** Counts by a label value, with a bound on how many different values there may be. */
import type { Sample } from './metrics.ts';

/**
 * Different values one label keeps, unless its owner says otherwise. The largest vocabulary, the error codes, is half
 * of it; beyond it lies a defect of a caller, which must cost accuracy and not memory.
 */
export const LABEL_VALUES_MAX = 512;

/** Where the counts of values beyond the bound go. */
export const OVERFLOW_LABEL = 'other';

export class LabelledCounts {
  readonly #counts = new Map<string, number>();
  readonly #valuesMax: number;
  readonly #overflow: string;

  /**
   * @param valuesMax different values kept apart; every further one is counted as `overflow`. A value once kept is
   * kept for the life of the thread, so a count that went up under a name comes down under the same.
   */
  constructor(valuesMax = LABEL_VALUES_MAX, overflow = OVERFLOW_LABEL) {
    this.#valuesMax = valuesMax;
    this.#overflow = overflow;
  }

  add(value: string, n = 1): void {
    const count = this.#counts.get(value);
    if (count !== undefined) this.#counts.set(value, count + n);
    else this.#addNew(value, n);
  }

  #addNew(value: string, n: number): void {
    const kept = this.#counts.size - (this.#counts.has(this.#overflow) ? 1 : 0);
    const label = kept < this.#valuesMax ? value : this.#overflow;
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + n);
  }

  /** The counts, each with the given label values before and after its own. */
  samples(before: readonly string[] = [], after: readonly string[] = []): Sample[] {
    return Array.from(this.#counts, ([value, count]) => ({ labels: [...before, value, ...after], value: count }));
  }
}
