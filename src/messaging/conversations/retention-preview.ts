/** How many messages another time for all conversations would take, counted over a shard's own lanes. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { countExpiring } from '#storage/conversations/conversation-reader.ts';
import { readConversationIds } from '#storage/conversations/inbox-reader.ts';
import { ruleOf } from '#storage/conversations/retention.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** Conversations read in one turn: some forty look-ups each, where there are a million messages in it. */
const COUNTED_AT_ONCE = 20;
/**
 * A count takes no longer; what it has then is answered as a part. 10,000 conversations of forty messages beside 90,000 empty
 * ones took 0.6 s of CPU.
 */
const COUNT_MILLIS_MAX = 8_000;

export interface ExpiringCount {
  readonly messages: number;
  readonly conversations: number;
  /** Whether every conversation was looked at: else there are at least so many. */
  readonly complete: boolean;
}

/** Counts what would be over its time if messages were kept for so many seconds. */
export async function countExpiringIn(
  lanes: Pick<Lanes, 'owned'>,
  seconds: number,
  millis: number = COUNT_MILLIS_MAX,
): Promise<ExpiringCount> {
  const until = monotonicMillis() + millis;
  let [messages, conversations] = [0, 0];
  for (const { environment } of lanes.owned) {
    for (let after: string | undefined = ''; after !== undefined;) {
      if (monotonicMillis() >= until) return { messages, conversations, complete: false };
      environment.refresh();
      const ids: readonly string[] = readConversationIds(environment.tables, after, COUNTED_AT_ONCE);
      for (const id of ids) {
        const found = countExpiring(environment.tables, id, ruleOf(seconds));
        messages += found;
        conversations += found > 0 ? 1 : 0;
      }
      after = ids.length < COUNTED_AT_ONCE ? undefined : ids.at(-1);
      await nextTurn();
    }
  }
  return { messages, conversations, complete: true };
}
