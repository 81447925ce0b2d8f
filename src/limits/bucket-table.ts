/**
 * Token buckets in memory that all threads share, so that nobody gets more by many connections nor less by one: a
 * set-associative table with two choices of set. It counts by the generic cell rate algorithm (GCRA): a bucket is one
 * number, the moment at which nothing of it is used up any more.
 *
 *     name ──keyed hash──► set A [tag time]×4     the bucket is the one whose tag is the name's, in either set;
 *                      └─► set B [tag time]×4     else the place that is nearest to full again becomes it
 *
 * Places are claimed without a lock: two threads that claim one place at the same moment cost its callers one request.
 */
import { getRandomValues } from 'node:crypto';
import { KEY_WORDS, KeyedHash } from './keyed-hash.ts';

const SETS = 65_536;
const WAYS = 4;

/** Buckets in use at once; for one more in two full sets, the one of the eight that is nearest to full is forgotten. */
export const BUCKETS_MAX = SETS * WAYS;

const TIMES_BYTES = BUCKETS_MAX * BigInt64Array.BYTES_PER_ELEMENT;
const TAGS_BYTES = BUCKETS_MAX * Int32Array.BYTES_PER_ELEMENT;

/** What a thread needs to count with the others: 3 MiB of buckets, and the key that places names among them. */
export interface LimiterMemory {
  readonly buckets: SharedArrayBuffer;
  readonly key: Uint32Array;
}

/** An empty table with a key of its own: made once at each start, so that no place can be known before. */
export function makeLimiterMemory(): LimiterMemory {
  const key = getRandomValues(new Uint32Array(KEY_WORDS));
  return { buckets: new SharedArrayBuffer(TIMES_BYTES + TAGS_BYTES), key };
}

/** What a bucket allows. */
export interface Rate {
  /** What one request moves the bucket's moment on by. */
  readonly shareNanos: bigint;
  /** How far ahead of now the moment may be. */
  readonly aheadNanosMax: bigint;
}

/** So many requests a second for ever, and so many at once after some quiet. */
export function makeRate(perSecond: number, burst: number): Rate {
  const shareNanos = BigInt(Math.max(1, Math.round(1e9 / perSecond)));
  return { shareNanos, aheadNanosMax: shareNanos * BigInt(Math.max(1, Math.round(burst))) };
}

export class BucketTable {
  readonly #times: BigInt64Array;
  readonly #tags: Int32Array;
  readonly #hash: KeyedHash;

  constructor({ buckets, key }: LimiterMemory) {
    this.#times = new BigInt64Array(buckets, 0, BUCKETS_MAX);
    this.#tags = new Int32Array(buckets, TIMES_BYTES, BUCKETS_MAX);
    this.#hash = new KeyedHash(key);
  }

  /**
   * Takes one request from a bucket: `family` tells buckets of one name apart. `nowNanos` only moves forward and is the
   * same on all threads. Answers 0, or takes nothing and answers after how many nanoseconds there is room again.
   */
  take(family: number, name: string, { shareNanos, aheadNanosMax }: Rate, nowNanos: bigint): number {
    const place = this.#claim(family, name);
    for (;;) {
      const before = Atomics.load(this.#times, place);
      const after = (before > nowNanos ? before : nowNanos) + shareNanos;
      const beyond = after - nowNanos - aheadNanosMax;
      if (beyond > 0n) return Number(beyond);
      // Another thread may have taken one meanwhile; then its number is the one to go on from.
      if (Atomics.compareExchange(this.#times, place, before, after) === before) return 0;
    }
  }

  /** Moves a bucket by so many requests, forward or, where they are given back, backward; it never owes more than all. */
  move(family: number, name: string, { shareNanos, aheadNanosMax }: Rate, count: number, nowNanos: bigint): void {
    const place = this.#claim(family, name);
    for (;;) {
      const before = Atomics.load(this.#times, place);
      const moved = (before > nowNanos ? before : nowNanos) + shareNanos * BigInt(count);
      const after = moved > nowNanos + aheadNanosMax ? nowNanos + aheadNanosMax : moved;
      if (Atomics.compareExchange(this.#times, place, before, after) === before) return;
    }
  }

  /** How far a bucket's moment is ahead of now, in nanoseconds: 0 for one of which nothing is used. Takes nothing. */
  ahead(family: number, name: string, nowNanos: bigint): number {
    const place = this.#find(family, name);
    if (place === -1) return 0;
    const time = Atomics.load(this.#times, place);
    return time > nowNanos ? Number(time - nowNanos) : 0;
  }

  /** The place of a bucket that is there, or -1. */
  #find(family: number, name: string): number {
    this.#hash.digest(family, name);
    const { low, high } = this.#hash;
    for (let way = 0; way < 2 * WAYS; way += 1) {
      const place = placeOf(low, way);
      if (Atomics.load(this.#tags, place) === high) return place;
    }
    return -1;
  }

  /** The place of a bucket, which begins full where it was not there. */
  #claim(family: number, name: string): number {
    for (;;) {
      const found = this.#find(family, name);
      if (found !== -1) return found;
      const { low, high } = this.#hash;
      let fullest = placeOf(low, 0);
      for (let way = 1; way < 2 * WAYS; way += 1) {
        const place = placeOf(low, way);
        if (Atomics.load(this.#times, place) < Atomics.load(this.#times, fullest)) fullest = place;
      }
      const tag = Atomics.load(this.#tags, fullest);
      if (Atomics.compareExchange(this.#tags, fullest, tag, high) !== tag) continue;
      Atomics.store(this.#times, fullest, 0n);
      return fullest;
    }
  }
}

/** The sets of a hash are its two halves of 16 bits. Their ways take turns, so that the emptier set is filled first. */
function placeOf(low: number, way: number): number {
  const set = (way & 1) === 0 ? low & (SETS - 1) : low >>> 16;
  return set * WAYS + (way >> 1);
}
