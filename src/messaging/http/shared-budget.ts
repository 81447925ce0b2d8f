/**
 * Budgets of requests in memory that the threads share, so that nobody gets more by many connections nor less by one.
 *
 * A budget is one number: the moment at which nothing of it is used up any more. A request moves it on by its share of
 * a second; one that would move it further ahead than the burst is refused and moves nothing.
 */

export interface Budget {
  /** What one request moves the moment on by. */
  readonly shareNanos: bigint;
  /** How far ahead of now the moment may be. */
  readonly aheadNanosMax: bigint;
}

/** A budget of so many requests a second for ever, and so many at once. */
export function makeBudget(perSecond: number, burst: number): Budget {
  const shareNanos = BigInt(Math.round(1e9 / perSecond));
  return { shareNanos, aheadNanosMax: shareNanos * BigInt(Math.round(burst)) };
}

/**
 * Takes one request from the budget at that place. `nowNanos` only moves forward and is the same on all threads.
 * Answers 0, or after how many whole seconds there is room again.
 */
export function takeFrom(places: BigInt64Array, place: number, budget: Budget, nowNanos: bigint): number {
  for (;;) {
    const before = Atomics.load(places, place);
    const from = before > nowNanos ? before : nowNanos;
    const after = from + budget.shareNanos;
    const beyond = after - nowNanos - budget.aheadNanosMax;
    if (beyond > 0n) return Math.ceil(Number(beyond) / 1e9);
    // Another thread may have taken one meanwhile; then its number is the one to go on from.
    if (Atomics.compareExchange(places, place, before, after) === before) return 0;
  }
}
