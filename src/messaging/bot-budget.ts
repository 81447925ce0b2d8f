/**
 * How many requests each bot may make, counted over all shards at once: one number a bot in memory that the threads
 * share, so that a bot gets neither more by many connections nor less by one.
 *
 * The number is the moment at which the bot has used up nothing any more. A request moves it on by its share of a
 * second; one that would move it further ahead than the burst is refused and moves nothing.
 */
import { BOT_REQUESTS_BURST, BOT_REQUESTS_PER_SECOND } from '#src/protocol/bots.ts';

const SHARE_NANOS = 1_000_000_000n / BigInt(BOT_REQUESTS_PER_SECOND);
const AHEAD_NANOS_MAX = SHARE_NANOS * BigInt(BOT_REQUESTS_BURST);

export class BotBudget {
  readonly #quietAt: BigInt64Array;

  /** Over the memory of `makeBotBudget`, the same for all threads. */
  constructor(shared: SharedArrayBuffer) {
    this.#quietAt = new BigInt64Array(shared);
  }

  /**
   * Takes one request from the budget of the bot at that place. `nowNanos` only moves forward and is the same on all
   * threads. Answers 0, or after how many whole seconds there is room again.
   */
  take(place: number, nowNanos: bigint): number {
    for (;;) {
      const before = Atomics.load(this.#quietAt, place);
      const from = before > nowNanos ? before : nowNanos;
      const after = from + SHARE_NANOS;
      const beyond = after - nowNanos - AHEAD_NANOS_MAX;
      if (beyond > 0n) return Math.ceil(Number(beyond) / 1e9);
      // Another thread may have taken one meanwhile; then its number is the one to go on from.
      if (Atomics.compareExchange(this.#quietAt, place, before, after) === before) return 0;
    }
  }
}
