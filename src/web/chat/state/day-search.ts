/** Finds where in a conversation a day begins: messages are numbered in the order of their times, so halving finds it. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { readInstant } from '#src/client/instants.ts';

/**
 * The seq of the first message from an instant on, in milliseconds; undefined where all are older. A conversation of a million
 * messages takes twenty small requests.
 * @throws ParleyError
 */
export async function firstSeqFrom(client: ParleyClient, conv: string, at: number): Promise<number | undefined> {
  const head = client.conversations.get(conv)?.headSeq ?? 0;
  let [low, high] = [1, head + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const query = { after_seq: middle - 1, limit: 1 };
    const [message] = (await client.call('readMessages', { params: { id: conv }, query })).items;
    // Those in front may have been purged: then it is the next one that is there.
    if (message === undefined || readInstant(message.created_at, 'created_at') >= at) high = middle;
    else low = message.seq + 1;
  }
  return low > head ? undefined : low;
}
