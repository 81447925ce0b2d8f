/** Search in the messages that the caller may read. */
import { parseInstant } from '#src/base/time.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { SEARCH_HIGHLIGHTS_MAX, type SearchForm } from '#src/protocol/conversations/search.ts';
import { searchedText } from '#src/protocol/conversations/searched-text.ts';
import { messageJson, readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import { numbered } from '#storage/engine/keys.ts';
import { highlight, readTerms } from '#storage/search/search-query.ts';
import { runSearch } from '#storage/search/search-run.ts';
import { isHit, type Place, type SearchRequest } from '#storage/search/search-walk.ts';
import type { ClientRequest, Handler } from '../http/caller.ts';
import { decodeCursor, encodeCursor } from '../http/cursors.ts';

/** Finds messages, the newest first. `next` is where to go on, and says nothing of whether there is more to find. */
export const searchMessages: Handler = async (request) => {
  const { service, user, reach, cancellation } = request;
  const form = request.query as SearchForm;
  service.rights.require('message.search', user);
  const search = readRequest(form);
  const from = form.cursor === undefined ? undefined : readCursor(form.cursor);
  if (form.conversation !== undefined) requireReadable(request, form.conversation);
  const { conversation, limit } = form;
  const result = await service.searches.run(
    user,
    cancellation,
    async () =>
      await runSearch({
        environments: service.lanes.environments,
        user,
        isWanted: (id) => (conversation === undefined || id === conversation) && reach?.has(id) !== false,
        request: search,
        from,
        limit,
        pause: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return !cancellation.isCancelled;
        },
        clock: monotonicMillis,
      }),
  );
  if (result === undefined) throw new Refusal('unavailable');
  const items = result.hits.flatMap((hit) => itemOf(request, hit, search) ?? []);
  const next = result.next === undefined ? 'null' : `"${writeCursor(result.next)}"`;
  return { status: 200, json: `{"items":[${items.join(',')}],"next":${next}}` };
};

/** @throws Refusal `search_too_short`, `query_invalid`. */
function readRequest(form: SearchForm): SearchRequest {
  const read = readTerms(form.q);
  if (read === 'too_short') throw new Refusal('search_too_short', { field: 'q' });
  if (read === 'too_many') throw new Refusal('query_invalid', { field: 'q' });
  const { sender, kind } = form;
  const [after = -Infinity, before = Infinity] = [form.after, form.before].map((text) => parseInstant(text ?? ''));
  return { ...read, sender, kind, after, before };
}

/** @throws Refusal `conversation_forbidden` for one that is not there and one that is not theirs (MSG-11); `storage_damaged`. */
function requireReadable(request: ClientRequest, conversation: string): void {
  request.service.lanes.requireReadable(conversation);
  const { tables } = refreshed(request, conversation);
  const isTheirs =
    request.reach?.has(conversation) !== false && readMember(tables, conversation, request.user) !== undefined;
  if (!isTheirs || readConversation(tables, conversation) === undefined) throw new Refusal('conversation_forbidden');
}

function refreshed(request: ClientRequest, conversation: string) {
  const environment = request.service.lanes.read(conversation);
  environment.refresh();
  return environment;
}

/** A message found, as it stands now, or undefined when it is no longer one that the caller finds. */
function itemOf(request: ClientRequest, { conversation, seq }: Place, search: SearchRequest): string | undefined {
  const { tables } = refreshed(request, conversation);
  const record = readConversation(tables, conversation);
  const isTheirs = record !== undefined && readMember(tables, conversation, request.user) !== undefined;
  const stored = isTheirs && seq > record.floorSeq ? tables.messages.get(numbered(seq, conversation)) : undefined;
  if (stored === undefined || !isHit(stored, search)) return undefined;
  const json = messageJson(tables, conversation, seq, stored);
  const marks = highlight(searchedText(JSON.parse(json) as Message), search.terms, SEARCH_HIGHLIGHTS_MAX);
  return `${json.slice(0, -1)},"highlights":${JSON.stringify(marks)}}`;
}

function writeCursor({ time, conversation, seq }: Place): string {
  return encodeCursor([time, conversation, seq]);
}

/** @throws Refusal `cursor_invalid`. */
function readCursor(text: string): Place {
  const [time, conversation, seq] = decodeCursor(text, 'cursor', [3]);
  if (!Number.isSafeInteger(time) || typeof conversation !== 'string' || !Number.isSafeInteger(seq)) {
    throw new Refusal('cursor_invalid', { field: 'cursor' });
  }
  return { time: time as number, conversation, seq: seq as number };
}
