/**
 * What a person keeps and said in their conversations, also in those that they left: read from the lanes block by block,
 * with a turn of the thread for everybody else between any two. Of what others said there is nothing in it.
 */
import type { Message } from '#src/protocol/conversations/messages.ts';
import { attachmentOf } from '#storage/conversations/attachment-references.ts';
import { readConversation, readMember, readPersonal, type Tables } from '#storage/conversations/conversation-reader.ts';
import { readMembershipIds } from '#storage/conversations/inbox-reader.ts';
import { indexedUpTo, POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { numbered } from '#storage/engine/keys.ts';
import { messageRecord, senderCounts, type ConversationRecord } from '#storage/engine/records.ts';

/** Conversations whose ids are read in one turn. */
const CONVERSATIONS_AT_ONCE = 200;
/** Blocks of messages looked up in one turn, of those in which the person said nothing: a lookup of one key each. */
const BLOCKS_AT_ONCE = 64;

/** What is told of a conversation, or of a message in it, in the order in which it is read. */
export type OwnWords = { readonly conversation: object } | { readonly messages: readonly OwnMessage[] };

export interface OwnMessage {
  readonly message: Pick<Message, 'conversation_id' | 'seq' | 'kind' | 'created_at'> & Partial<Message>;
  /** The attachment that it names. */
  readonly attachment: string | undefined;
}

/** Conversations by lane and id, each with the person's messages behind it, in order; at most a block of them at once. */
export async function* readOwnWords(lanes: Pick<Lanes, 'environments'>, user: string): AsyncGenerator<OwnWords> {
  for (const environment of lanes.environments) {
    for (let after = ''; ;) {
      environment.refresh();
      const ids = readMembershipIds(environment.tables, user, after, CONVERSATIONS_AT_ONCE);
      for (const id of ids) yield* readConversationOf(environment, id, user);
      if (ids.length < CONVERSATIONS_AT_ONCE) break;
      after = ids.at(-1) ?? '';
    }
    await new Promise(setImmediate);
  }
}

async function* readConversationOf(environment: LaneEnvironment, id: string, user: string): AsyncGenerator<OwnWords> {
  const { tables } = environment;
  environment.refresh();
  const record = readConversation(tables, id);
  if (record === undefined) return;
  yield { conversation: conversationOf(tables, record, user) };
  for (let from = 0; from < record.headSeq;) {
    environment.refresh();
    // It may have been deleted, and its floor raised, since the last block.
    const present = readConversation(tables, id);
    if (present === undefined) return;
    from = nextOwn(tables, present, user, Math.max(from, present.floorSeq));
    const messages = from < record.headSeq ? readBlock(tables, id, user, from, record.headSeq) : [];
    if (messages.length > 0) yield { messages };
    from = endOfBlock(from);
    await new Promise(setImmediate);
  }
}

/** What of a conversation is theirs. What it is called now is told to those who take part. */
function conversationOf(tables: Tables, record: ConversationRecord, user: string): object {
  const member = readMember(tables, record.id, user);
  const { category, draft, favourite, mutedUntil } = readPersonal(tables, record.id, user);
  return {
    id: record.id,
    kind: record.kind,
    takes_part: member !== undefined,
    ...(member === undefined ? {} : { role: member.role }),
    ...(member === undefined || record.title === undefined ? {} : { title: record.title }),
    ...(draft === undefined ? {} : { draft: { body: draft.body, updated_at: draft.updatedAt } }),
    ...(mutedUntil === undefined ? {} : { muted_until: mutedUntil }),
    ...(favourite === true ? { favourite } : {}),
    ...(category === undefined ? {} : { category }),
  };
}

function endOfBlock(from: number): number {
  return (Math.floor(from / POSTED_BLOCK) + 1) * POSTED_BLOCK;
}

/**
 * From where on the next messages may be theirs: by the counts of the blocks, BLOCKS_AT_ONCE at most. Of the last block
 * nothing is counted yet.
 */
function nextOwn(tables: Tables, { headSeq, id }: ConversationRecord, user: string, from: number): number {
  const counted = indexedUpTo(headSeq);
  let next = from;
  for (let looked = 0; looked < BLOCKS_AT_ONCE - 1 && next < counted; looked += 1) {
    const stored = tables.senders.get(numbered(endOfBlock(next) / POSTED_BLOCK, id));
    if (stored === undefined || senderCounts.decode(stored).some(([sender]) => sender === user)) return next;
    next = endOfBlock(next);
  }
  return next;
}

/** Their messages behind `from` up to the end of its block, or to `head`. */
function readBlock(tables: Tables, id: string, user: string, from: number, head: number): OwnMessage[] {
  const end = Math.min(endOfBlock(from), head);
  const range = { start: numbered(from + 1, id), end: numbered(end + 1, id) };
  return [...tables.messages.getRange(range)].flatMap(({ value }) => {
    if (messageRecord.facts(value).sender !== user) return [];
    const message = JSON.parse(messageRecord.json(value)) as Message;
    return message.deleted_at === undefined ? [ownMessage(message)] : [];
  });
}

/** A message without what others put into it: what they wrote that was passed on, and what a linked page says. */
function ownMessage({ sender, preview: _page, reactions: _others, ...message }: Message): OwnMessage {
  const { body, ...passedOn } = message;
  if (message.forward === undefined || message.forward.sender === sender) {
    return { message, attachment: attachmentOf(body) };
  }
  return { message: passedOn, attachment: undefined };
}
