/** A histogram of fixed buckets that only grows: any number of readers may read it, and none of them resets it. */
import type { HistogramSample } from './metrics.ts';

export class Histogram {
  readonly #bounds: Float64Array;
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds upper bounds of the buckets, inclusive, rising; one bucket without a bound comes after them. */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /**
   * Counts a value. What is not a number, infinite or below zero is no measurement and is left out: one of them
   * would spoil the sum for the life of the thread.
   */
  observe(value: number): void {
    if (!(value >= 0 && value < Infinity)) return;
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= (this.#bounds[middle] as number)) high = middle;
      else low = middle + 1;
    }
    (this.#counts[low] as number) += 1;
    this.#sum += value;
  }

  /** The state as plain values. */
  sample(labels: readonly string[]): HistogramSample {
    return { labels, counts: Array.from(this.#counts), sum: this.#sum };
  }
}

/** How many values a histogram has counted. */
export function countOf(sample: Pick<HistogramSample, 'counts'>): number {
  return sample.counts.reduce((total, count) => total + count, 0);
}

/**
 * The value below which the share `q` of all values lies, taken as evenly spread within their bucket, or null where
 * nothing was counted. Values above the last bound are told as that bound: the histogram knows no more.
 */
export function quantile(bounds: readonly number[], counts: readonly number[], q: number): number | null {
  const rank = q * countOf({ counts });
  if (rank === 0) return null;
  let below = 0;
  for (const [index, bound] of bounds.entries()) {
    const count = counts[index] ?? 0;
    if (count > 0 && below + count >= rank) {
      const least = bounds[index - 1] ?? 0;
      return least + (bound - least) * ((rank - below) / count);
    }
    below += count;
  }
  return bounds.at(-1) ?? null;
}
