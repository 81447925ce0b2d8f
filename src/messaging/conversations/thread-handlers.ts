/** Handlers of one message's surroundings: the thread that began with it, and who has read it. */
import type { z } from 'zod';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
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

export const readReadBy: Handler = (request) => {
  const { record, tables, seq, json } = readableMessage(request);
  const { after, limit } = request.query as z.infer<typeof forms.readByQuery>;
  if (after !== undefined && !USERNAME.test(after)) throw new Refusal('cursor_invalid', { field: 'after' });
  if (record.participantCount > HINT_PARTICIPANTS_MAX) throw new Refusal('read_by_hidden');
  const { sender } = JSON.parse(json) as Message;
  // One more than asked tells whether there is a next page.
  const readers = readReaders(tables, record.id, { seq, except: sender, after, limit });
  const items = readers.slice(0, limit).map((user) => ({ user }));
  const next = readers.length > limit ? (items.at(-1)?.user ?? null) : null;
  return { status: 200, json: JSON.stringify({ items, next }) };
};

/** @throws Refusal `conversation_forbidden`, `message_not_found`. */
function readableMessage(request: ClientRequest): Readable & { readonly seq: number; readonly json: string } {
  const found = readable(request);
  const seq = pathSeq(request);
  const json = readMessage(found.tables, found.record, seq);
  if (json === undefined) throw new Refusal('message_not_found');
  return { ...found, seq, json };
}
