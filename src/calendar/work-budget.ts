/**
 * How much of the calendar's thread one person may take: a token bucket of CPU milliseconds for each. What a person asks
 * is answered at once while the bucket has anything, and in slices with rests between them afterwards, so that no
 * question and no number of questions of one person costs the others more than WORK_MILLIS_PER_SECOND.
 */
import { RoundRobin } from '#src/limits/round-robin.ts';

/** A tenth of a core, for as long as somebody asks. */
export const WORK_MILLIS_PER_SECOND = 100;
/** What may be taken at once: a first synchronisation of 10,000 objects takes some 100 ms, a year's overview 50. */
export const WORK_BURST_MILLIS = 300;
/** People whose buckets are kept; of more, those that asked longest ago start afresh. */
export const WORKERS_MAX = 10_000;

interface Bucket {
  left: number;
  at: number;
}

export class WorkBudgets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;
  /** Slices of one person follow each other, one in a turn of the thread. */
  readonly roundRobin: RoundRobin;

  /** `now` in milliseconds from any origin, never going back. */
  constructor({
    now = () => performance.now(),
    roundRobin = new RoundRobin(),
  }: { now?: () => number; roundRobin?: RoundRobin } = {}) {
    this.#now = now;
    this.roundRobin = roundRobin;
  }

  /** Takes milliseconds of work from a person's bucket; answers how long they rest, in milliseconds, 0 for not at all. */
  charge(user: string, millis: number): number {
    const now = this.#now();
    const bucket = this.#buckets.get(user) ?? { left: WORK_BURST_MILLIS, at: now };
    const refilled = bucket.left + ((now - bucket.at) * WORK_MILLIS_PER_SECOND) / 1_000;
    bucket.left = Math.min(WORK_BURST_MILLIS, refilled) - millis;
    bucket.at = now;
    // Behind all others again: whoever asked longest ago is forgotten first.
    this.#buckets.delete(user);
    this.#buckets.set(user, bucket);
    if (this.#buckets.size > WORKERS_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string);
    return bucket.left >= 0 ? 0 : (-bucket.left * 1_000) / WORK_MILLIS_PER_SECOND;
  }
}
