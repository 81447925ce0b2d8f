/** What tests of the search index do: people say things, somebody searches page by page, a plain scan says what is right. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { searchedText } from '#src/protocol/conversations/searched-text.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { readConversation, readHistory } from '#storage/conversations/conversation-reader.ts';
import { fold } from '#storage/search/search-folding.ts';
import { matches, readTerms } from '#storage/search/search-query.ts';
import { runSearch } from '#storage/search/search-run.ts';
import type { Place, SearchRequest } from '#storage/search/search-walk.ts';
import { post, type ActorHost } from '#test/actors/actor-host.ts';

export const ROOM = 'c_0000000000000000000001';
export const OTHER = 'c_0000000000000000000002';

export interface Asked {
  readonly user?: string;
  readonly limit?: number;
  /** Time for each page; with 0 it looks as little further as it can. */
  readonly millisMax?: number;
  readonly filter?: Partial<SearchRequest>;
  /** Between two pages. */
  readonly onPage?: (hits: readonly Place[]) => Promise<void>;
}

export function requestOf(query: string, filter: Partial<SearchRequest> = {}): SearchRequest {
  const read = readTerms(query);
  if (typeof read === 'string') throw new Error(`${query} is no query: ${read}.`);
  return { ...read, sender: undefined, kind: undefined, after: -Infinity, before: Infinity, ...filter };
}

/** Everything found, page after page, as `conversation/seq`. */
export async function search(host: ActorHost, query: string, asked: Asked = {}): Promise<string[]> {
  const { user = 'alice', limit = 1_000, millisMax = 60_000, filter = {}, onPage } = asked;
  const found: string[] = [];
  for (let from: Place | undefined; ;) {
    const result = await runSearch({
      environments: [host.environment],
      user,
      isWanted: () => true,
      request: requestOf(query, filter),
      from,
      limit,
      pause: async () => {
        await nextTurn();
        return true;
      },
      clock: monotonicMillis,
      millisMax,
    });
    if (result === undefined) throw new Error('The search was broken off.');
    found.push(...result.hits.map(({ conversation, seq }) => `${conversation}/${seq}`));
    if (result.next === undefined) return found;
    await onPage?.(result.hits);
    from = result.next;
  }
}

/** What a scan of all messages finds, the newest first. */
export function scan(
  host: ActorHost,
  query: string,
  ids: readonly string[],
  filter: Partial<SearchRequest> = {},
): string[] {
  const { terms, sender, kind, after, before } = requestOf(query, filter);
  return ids
    .flatMap((id) => {
      const record = readConversation(host.tables, id);
      if (record === undefined) return [];
      return readHistory(host.tables, record, { afterSeq: 0, limit: 100_000 }).items.map(
        (json) => JSON.parse(json) as Message,
      );
    })
    .filter((message) => {
      const at = Date.parse(message.created_at);
      return (
        at >= after &&
        at < before &&
        (sender === undefined || message.sender === sender) &&
        (kind === undefined || message.kind === kind) &&
        message.deleted_at === undefined &&
        matches(fold(searchedText(message)), terms)
      );
    })
    .toSorted(
      (a, b) =>
        Date.parse(b.created_at) - Date.parse(a.created_at) ||
        (a.conversation_id < b.conversation_id ? -1 : a.conversation_id > b.conversation_id ? 1 : b.seq - a.seq),
    )
    .map(({ conversation_id: id, seq }) => `${id}/${seq}`);
}

/** Posts texts one after the other, `apart` milliseconds of the actors' clock between them, alice and bob in turn. */
export async function sayAll(host: ActorHost, id: string, texts: readonly string[], apart = 1): Promise<void> {
  const asks: Promise<unknown>[] = [];
  for (const [index, text] of texts.entries()) {
    asks.push(host.reply(id, post(index % 2 === 0 ? 'alice' : 'bob', text)));
    // The clock is read when the actor gets to the message, so a turn passes between two of them.
    if (apart > 0) {
      await nextTurn();
      await nextTurn();
      host.now += apart;
    }
  }
  await Promise.all(asks);
}
