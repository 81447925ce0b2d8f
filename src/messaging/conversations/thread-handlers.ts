/** Handlers of one message's surroundings: the thread that began with it, and who has read it. */
import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { USERNAME } from '#src/protocol/names.ts';
import { readMessage, readReaders } from '#storage/conversations/conversation-reader.ts';
import { readReplies as readThread } from '#storage/conversations/thread-records.ts';
import { pathSeq, readable, type ClientRequest, type Handler } from '../http/caller.ts';
import { type Readable } from '../access/readable-conversation.ts';

export const readReplies: Handler = (request) => {
  const { record, tables, seq } = readableMessage(request);
  const { after_seq: afterSeq, limit } = request.query as z.infer<typeof forms.repliesQuery>;
  const page = readThread(tables, record, seq, { afterSeq, limit });
  const next = page.next === undefined ? 'null' : `"${page.next}"`;
  return { status: 200, json: `{"items":[${page.items.join(',')}],"next":${next}}` };
};

/** Watermarks that are looked at in one go, about a millisecond of the shard; others have their turn in between. */
const LOOKED_AT_ONCE = 1_000;

/** In a room of 20,000 the first page looks at everybody, in twenty steps. */
export const readReadBy: Handler = async (request) => {
  const { record, tables, seq, json } = readableMessage(request);
  const { after, limit } = request.query as z.infer<typeof forms.readByQuery>;
  if (after !== undefined && !USERNAME.test(after)) throw new Refusal('cursor_invalid', { field: 'after' });
  const { sender } = JSON.parse(json) as Message;
  const found: string[] = [];
  // The first page counts them all; for another, one more than asked tells whether there is a next.
  const isEnough = () => after !== undefined && found.length > limit;
  for (let from = after, isFirst = true; (isFirst || from !== undefined) && !isEnough(); isFirst = false) {
    if (!isFirst) await setImmediate();
    const step = readReaders(tables, record.id, { seq, except: sender, after: from, limit: LOOKED_AT_ONCE });
    found.push(...step.readers);
    from = step.last;
  }
  const items = found.slice(0, limit).map((user) => ({ user }));
  const next = found.length > limit ? (items.at(-1)?.user ?? null) : null;
  return {
    status: 200,
    json: JSON.stringify({ items, next, ...(after === undefined ? { count: found.length } : {}) }),
  };
};

/** @throws Refusal `conversation_forbidden`, `message_not_found`. */
function readableMessage(request: ClientRequest): Readable & { readonly seq: number; readonly json: string } {
  const found = readable(request);
  const seq = pathSeq(request);
  const json = readMessage(found.tables, found.record, seq);
  if (json === undefined) throw new Refusal('message_not_found');
  return { ...found, seq, json };
}
