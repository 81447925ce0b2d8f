/** Counts what callers do against the named policies of `policies.ts`. */
import { Refusal } from '#src/protocol/errors.ts';
import { BucketTable, makeRate, type LimiterMemory, type Rate } from './bucket-table.ts';
import { POLICY_NAMES, type Policies, type PolicyName } from './policies.ts';
import { RoundRobin } from './round-robin.ts';

/** Buckets that one policy may divide a caller's requests among. */
const STRICT_MAX = 64;
const NANOS_PER_SECOND = 1e9;
const NANOS_PER_MILLI = 1e6;
/** How long a paced request waits for its turn, within the time of a request; one that would wait longer is refused. [rate_limited] */
export const PACED_MILLIS_MAX = 5_000;
const PACED_NANOS_MAX = BigInt(PACED_MILLIS_MAX * NANOS_PER_MILLI);

interface Counted {
  readonly rate: Rate;
  /** Buckets of one request each, in which a strict promise is kept; 1 for a bucket of all. */
  readonly lanes: number;
  /** Tells the buckets of one caller in different policies apart. */
  readonly family: number;
}

export class Limiter {
  /** Of one person one request begins in each turn of this thread. */
  readonly roundRobin = new RoundRobin();
  readonly #table: BucketTable;
  readonly #counted: ReadonlyMap<PolicyName, Counted>;
  readonly #nowNanos: () => bigint;

  /** `nowNanos` only moves forward and is the same on all threads. */
  constructor(memory: LimiterMemory, policies: Policies, nowNanos: () => bigint = () => process.hrtime.bigint()) {
    this.#table = new BucketTable(memory);
    this.#nowNanos = nowNanos;
    const counted = POLICY_NAMES.flatMap((name, at): [PolicyName, Counted][] => {
      const { burst, perSecond, strict = false } = policies[name];
      if (burst === 0) return [];
      const lanes = strict ? Math.min(burst, STRICT_MAX) : 1;
      const rate = strict ? makeRate(perSecond / lanes, 1) : makeRate(perSecond, burst);
      return [[name, { rate, lanes, family: at * STRICT_MAX }]];
    });
    this.#counted = new Map(counted);
  }

  /** Counts one request of a caller. @throws Refusal `rate_limited` with the seconds until there is room again. */
  take(name: PolicyName, who: string): void {
    const seconds = this.secondsUntil(name, who);
    if (seconds > 0) throw this.#refusal(name, who, seconds);
  }

  /**
   * Counts so many more for a request that was counted and turns out to weigh as much; never more than the burst has
   * beside that one, so that it passes after some quiet. Counts nothing for a strict policy.
   * @throws Refusal `rate_limited`, having counted none of them.
   */
  takeMore(name: PolicyName, who: string, more: number): void {
    const counted = this.#counted.get(name);
    if (counted === undefined || counted.lanes > 1) return;
    const { aheadNanosMax, shareNanos } = counted.rate;
    const beside = aheadNanosMax - shareNanos;
    const wanted = shareNanos * BigInt(more);
    const rate = { aheadNanosMax, shareNanos: wanted < beside ? wanted : beside };
    const nanos = this.#table.take(counted.family, who, rate, this.#nowNanos());
    if (nanos > 0) throw this.#refusal(name, who, Math.ceil(nanos / NANOS_PER_SECOND));
  }

  /**
   * Counts one request of a caller, also where there is no room yet: answers after how many milliseconds there is, for
   * callers that are served later rather than refused. @throws Refusal `rate_limited` where that is beyond `PACED_MILLIS_MAX`.
   */
  pace(name: PolicyName, who: string): number {
    const counted = this.#counted.get(name);
    if (counted === undefined) return 0;
    const { rate } = counted;
    const now = this.#nowNanos();
    const patient = { ...rate, aheadNanosMax: rate.aheadNanosMax + PACED_NANOS_MAX };
    const beyond = this.#table.take(counted.family, who, patient, now);
    if (beyond > 0) throw this.#refusal(name, who, Math.ceil((beyond + Number(PACED_NANOS_MAX)) / NANOS_PER_SECOND));
    const over = this.#table.ahead(counted.family, who, now) - Number(rate.aheadNanosMax);
    return Math.max(0, over / NANOS_PER_MILLI);
  }

  /** Counts one request and answers 0, or counts nothing and answers after how many seconds there is room again. */
  secondsUntil(name: PolicyName, who: string): number {
    const counted = this.#counted.get(name);
    if (counted === undefined) return 0;
    const now = this.#nowNanos();
    let least = Infinity;
    for (let lane = 0; lane < counted.lanes; lane += 1) {
      const nanos = this.#table.take(counted.family + lane, who, counted.rate, now);
      if (nanos === 0) return 0;
      least = Math.min(least, nanos);
    }
    return Math.ceil(least / NANOS_PER_SECOND);
  }

  /** Counts what happened without asking whether there was room; a negative count gives back. */
  spend(name: PolicyName, who: string, count = 1): void {
    const counted = this.#counted.get(name);
    if (counted !== undefined) this.#table.move(counted.family, who, counted.rate, count, this.#nowNanos());
  }

  /** How many requests of a caller are counted now; they grow fewer by the policy's rate. Counts nothing. */
  used(name: PolicyName, who: string): number {
    const counted = this.#counted.get(name);
    if (counted === undefined) return 0;
    const ahead = this.#table.ahead(counted.family, who, this.#nowNanos());
    return Math.ceil(ahead / Number(counted.rate.shareNanos));
  }

  /** How many more requests of a caller would pass now. Counts nothing. */
  left(name: PolicyName, who: string): number {
    const counted = this.#counted.get(name);
    if (counted === undefined) return Infinity;
    return Number(counted.rate.aheadNanosMax / counted.rate.shareNanos) - this.used(name, who);
  }

  /** @throws Refusal `rate_limited` where nothing is left. Counts nothing: failures are counted with `spend`. */
  check(name: PolicyName, who: string): void {
    const counted = this.#counted.get(name);
    if (counted === undefined || this.left(name, who) >= 1) return;
    const { aheadNanosMax, shareNanos } = counted.rate;
    const over = this.#table.ahead(counted.family, who, this.#nowNanos()) - Number(aheadNanosMax - shareNanos);
    throw this.#refusal(name, who, Math.max(1, Math.ceil(over / NANOS_PER_SECOND)));
  }

  /** Whoever was told already is told late: a loop costs no more than its first turns. */
  #refusal(name: PolicyName, who: string, seconds: number): Refusal {
    const isHeld = this.secondsUntil('refusal', `${name} ${who}`) > 0;
    return new Refusal('rate_limited', { retryAfter: seconds, isHeld });
  }
}
