/** The buckets of `src/protocol/rate-limits.ts` as a shard takes from them. */
import { Refusal } from '#src/protocol/errors.ts';
import { RATE_LIMITS, RATE_NAMES, RATE_PLACES, type RateName } from '#src/protocol/rate-limits.ts';
import { makeBudget, takeFrom, type Budget } from './shared-budget.ts';

interface Bucket {
  readonly budget: Budget;
  readonly places: BigInt64Array;
}

export class RateLimiter {
  readonly #buckets: ReadonlyMap<RateName, Bucket>;
  readonly #nowNanos: () => bigint;

  /**
   * Over the memory of `makeRateMemory`, the same for all threads. `times` multiplies what every bucket allows; 0
   * allows everything. `nowNanos` only moves forward and is the same on all threads.
   */
  constructor(memory: SharedArrayBuffer, times: number, nowNanos: () => bigint = () => process.hrtime.bigint()) {
    const all = new BigInt64Array(memory);
    const limited = times === 0 ? [] : RATE_NAMES;
    const buckets = limited.map((name, at): [RateName, Bucket] => {
      const { perSecond, burst } = RATE_LIMITS[name];
      const places = all.subarray(at * RATE_PLACES, (at + 1) * RATE_PLACES);
      return [name, { budget: makeBudget(perSecond * times, Math.max(1, burst * times)), places }];
    });
    this.#buckets = new Map(buckets);
    this.#nowNanos = nowNanos;
  }

  /** Counts one request of a person or an address. @throws Refusal `rate_limited` with the seconds to wait. */
  take(name: RateName, who: string): void {
    const seconds = this.secondsUntil(name, who);
    if (seconds > 0) throw new Refusal('rate_limited', { retryAfter: seconds });
  }

  /** Counts one request and answers 0, or counts nothing and answers after how many seconds there is room again. */
  secondsUntil(name: RateName, who: string): number {
    const bucket = this.#buckets.get(name);
    return bucket === undefined ? 0 : takeFrom(bucket.places, placeOf(who), bucket.budget, this.#nowNanos());
  }
}

/** The bucket that a route's requests count in. */
export function rateOf({ method, rate }: { readonly method: string; readonly rate?: RateName }): RateName {
  return rate ?? (method === 'get' || method === 'head' ? 'read' : 'change');
}

/** FNV-1a over the UTF-16 units: names are short, and a few people on one place are no harm. */
export function placeOf(who: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < who.length; at += 1) hash = Math.imul(hash ^ who.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (RATE_PLACES - 1);
}
