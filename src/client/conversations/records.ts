/**
 * Messages, conversations and inbox entries as the client keeps them: the wire's words, except that every time is an
 * instant in milliseconds under a name of its own, so that nobody takes the number for a string (TIM-02).
 */
import type { z } from 'zod';
import type { Conversation, conversationReply, inboxItem } from '#src/protocol/conversations/conversations.ts';
import type { ForwardOrigin, message, Message } from '#src/protocol/conversations/messages.ts';
import { readInstant } from '../instants.ts';
import { clientError } from '../parley-error.ts';

export type WireMessage = z.infer<typeof message>;
export type WireInboxItem = z.infer<typeof inboxItem>;

export interface ChatMessage extends Omit<Message, 'created_at' | 'edited_at' | 'deleted_at' | 'forward'> {
  createdAt: number;
  editedAt?: number;
  deletedAt?: number;
  /** Whose words they are, and from when. */
  forward?: { sender: string; createdAt: number };
}

export interface ChatConversation extends Omit<Conversation, 'created_at' | 'archived_at'> {
  createdAt: number;
  /** Since when the room is archived; left out for one that takes messages. */
  archivedAt?: number;
}

/** One conversation of the caller, with what is the caller's alone. */
export interface InboxEntry {
  conversation: ChatConversation;
  lastMessage?: ChatMessage;
  unread: number;
  /** What counts as unread is behind this seq: the caller has read up to it, joined there, or what was before is gone. */
  unreadAfter: number;
  /** How many of the unread mention the caller. */
  mentions: number;
  delivered: number;
  read: number;
  /** Whether it stands with the person's favourites, and under what category of theirs; null for none. */
  isFavourite: boolean;
  category: string | null;
  /** Until when it is muted, in milliseconds; null when it is not. */
  mutedUntil: number | null;
  /** Whether the caller hides it: it comes back with the next message. */
  isHidden: boolean;
  draft?: string;
}

/** A message from the wire. @throws ParleyError `answer_unreadable` when it is not one. */
export function readMessage(wire: WireMessage | Message): ChatMessage {
  if (!isRecord(wire) || !Number.isSafeInteger(wire.seq)) throw clientError('answer_unreadable', { field: 'seq' });
  const { created_at, edited_at, deleted_at, forward, body, ...rest } = wire as Message;
  return {
    ...rest,
    ...(body === undefined ? {} : { body }),
    createdAt: readInstant(created_at, 'created_at'),
    ...(edited_at === undefined ? {} : { editedAt: readInstant(edited_at, 'edited_at') }),
    ...(deleted_at === undefined ? {} : { deletedAt: readInstant(deleted_at, 'deleted_at') }),
    ...(forward === undefined ? {} : { forward: readOrigin(forward) }),
  };
}

function readOrigin({ sender, created_at }: ForwardOrigin): { sender: string; createdAt: number } {
  return { sender, createdAt: readInstant(created_at, 'forward.created_at') };
}

type Own = Pick<z.infer<typeof conversationReply>, 'hidden' | 'last_common_read'>;

/** A conversation from the wire. @throws ParleyError `answer_unreadable` when it is not one. */
export function readConversation(wire: object): ChatConversation {
  const record = wire as Conversation;
  if (!isRecord(wire) || typeof record.id !== 'string' || !Number.isSafeInteger(record.rev)) {
    throw clientError('answer_unreadable', { field: 'id' });
  }
  // How far the others have read moves without a change of the record.
  const { created_at, archived_at, last_common_read: _moves, hidden: _own, ...rest } = record as Conversation & Own;
  const createdAt = readInstant(created_at, 'created_at');
  return {
    ...rest,
    createdAt,
    ...(archived_at === undefined ? {} : { archivedAt: readInstant(archived_at, 'archived_at') }),
  };
}

/** An inbox item from the wire: an entry, or the id of a conversation that the caller left. */
export function readInboxItem(wire: WireInboxItem): InboxEntry | { gone: string } {
  if (wire.gone !== undefined) return { gone: wire.gone };
  if (wire.conversation === undefined) throw clientError('answer_unreadable', { field: 'conversation' });
  const mutedUntil = wire.muted_until ?? null;
  return {
    conversation: readConversation(wire.conversation),
    ...(wire.last_message === undefined ? {} : { lastMessage: readMessage(wire.last_message) }),
    unread: wire.unread ?? 0,
    unreadAfter: wire.unread_after ?? wire.read ?? 0,
    mentions: wire.mention_count ?? 0,
    delivered: wire.delivered ?? 0,
    read: wire.read ?? 0,
    isFavourite: wire.favourite === true,
    category: wire.category ?? null,
    mutedUntil: mutedUntil === null ? null : readInstant(mutedUntil, 'muted_until'),
    isHidden: wire.hidden === true,
    ...(wire.draft === undefined ? {} : { draft: wire.draft }),
  };
}

/** Whether a value from JSON is an object with names. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
