/** How much each bot and webhook may do, counted over all shards at once. */
import {
  BOT_CONVERSATION_BURST,
  BOT_CONVERSATION_PER_SECOND,
  BOT_REQUESTS_BURST,
  BOT_REQUESTS_PER_SECOND,
  BOTS_MAX,
} from '#src/protocol/bots/bots.ts';
import { RESPONSE_TOKEN_MILLIS, RESPONSES_PER_INVOCATION_MAX } from '#src/protocol/bots/commands.ts';
import { WEBHOOK_POSTS_BURST, WEBHOOK_POSTS_PER_SECOND, WEBHOOKS_MAX } from '#src/protocol/bots/webhooks.ts';
import { placeOf } from '../http/rate-limiter.ts';
import { makeBudget, takeFrom, type Budget } from '../http/shared-budget.ts';

const REQUESTS = makeBudget(BOT_REQUESTS_PER_SECOND, BOT_REQUESTS_BURST);
const WEBHOOK_POSTS = makeBudget(WEBHOOK_POSTS_PER_SECOND, WEBHOOK_POSTS_BURST);

/** What is counted beside requests, each under a name of its own. */
const NAMED = {
  conversation: makeBudget(BOT_CONVERSATION_PER_SECOND, BOT_CONVERSATION_BURST),
  responses: makeBudget(1000 / RESPONSE_TOKEN_MILLIS, RESPONSES_PER_INVOCATION_MAX),
} as const satisfies Record<string, Budget>;

export class BotBudget {
  readonly #quietAt: BigInt64Array;

  /** Over the memory of `makeBotBudget`, the same for all threads. */
  constructor(shared: SharedArrayBuffer) {
    this.#quietAt = new BigInt64Array(shared);
  }

  /**
   * Takes one request from the budget of the bot or webhook at that place. `nowNanos` only moves forward and is the
   * same on all threads. Answers 0, or after how many whole seconds there is room again.
   */
  take(place: number, nowNanos: bigint): number {
    return takeFrom(this.#quietAt, place, place < BOTS_MAX ? REQUESTS : WEBHOOK_POSTS, nowNanos);
  }

  /** The same of what a bot does in a conversation, or for one command. Two names that meet in a place share it. */
  takeNamed(what: keyof typeof NAMED, name: string, nowNanos: bigint): number {
    const place = BOTS_MAX + WEBHOOKS_MAX + placeOf(`${what} ${name}`);
    return takeFrom(this.#quietAt, place, NAMED[what], nowNanos);
  }
}
