/** Medians with their range, and ratios of rounds that ran side by side. */

export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** Median, lowest and highest. @throws RangeError for no values at all. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const low = sorted[0];
  const high = sorted.at(-1);
  if (low === undefined || high === undefined) throw new RangeError('no values to take a median of');
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? high;
  const lower = sorted[Math.ceil(middle) - 1] ?? low;
  return { median: (lower + upper) / 2, low, high };
}

/** Whether a range of ratios spans 1, which means that no difference was shown. */
export function isNoDifference(ratio: Spread): boolean {
  return ratio.low <= 1 && ratio.high >= 1;
}
