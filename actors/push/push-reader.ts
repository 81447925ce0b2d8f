/** What the push decision reads of conversations: from any lane, as it is on disk, at most a page of each. */
import { PUSH_BADGE_MAX } from '#src/protocol/limits.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import {
  readConversation,
  readMember,
  readPersonal,
  readWatermark,
  type Tables,
} from '#storage/conversations/conversation-reader.ts';
import { countUnread, readLaneInbox } from '#storage/conversations/inbox-reader.ts';
import { readInvitationsOf, type WaitingInvitation } from '#storage/conversations/room-invitations.ts';
import { numbered } from '#storage/engine/keys.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import { MESSAGE_FLAGS, messageRecord } from '#storage/engine/records.ts';
import { saysAny, wordedText, type WordedText } from '#storage/search/word-phrases.ts';
import type { Posted, RecipientStatus } from './decision.ts';

export interface PushReaderOptions {
  readonly environments: readonly LaneEnvironment[];
  readonly laneOf: (conversation: string) => LaneEnvironment;
}

/** A message as stored, read once for all the people it may be pushed to. */
export type PushedMessage = Message & { readonly seq: number };

export class PushReader {
  readonly #options: PushReaderOptions;
  /** The page read last: many people are decided on the same few messages, one after the other. */
  #page: { readonly name: string; readonly messages: readonly PushedMessage[] } = { name: '', messages: [] };

  constructor(options: PushReaderOptions) {
    this.#options = options;
  }

  /** Lets reads see everything that is committed by now. */
  refresh(): void {
    this.#page = { name: '', messages: [] };
    for (const environment of this.#options.environments) environment.refresh();
  }

  /** How a person stands to a conversation; undefined where they do not take part, or it is gone. */
  standing(user: string, conversation: string): RecipientStatus | undefined {
    const { tables } = this.#options.laneOf(conversation);
    const record = readConversation(tables, conversation);
    const member = record === undefined ? undefined : readMember(tables, conversation, user);
    if (record === undefined || member === undefined) return undefined;
    const { mutedUntil } = readPersonal(tables, conversation, user);
    return {
      ...readWatermark(tables, conversation, user),
      joinedSeq: member.joinedSeq,
      floorSeq: record.floorSeq,
      headSeq: record.headSeq,
      isPair: record.kind !== 'room',
      mutedUntil: mutedUntil === undefined ? 0 : Date.parse(mutedUntil),
    };
  }

  /** The invitation of a person to a room that waits; undefined where it is answered, over, or its inviter lost the right. */
  invitation(user: string, conversation: string, now: number): WaitingInvitation | undefined {
    const { tables } = this.#options.laneOf(conversation);
    return readInvitationsOf(tables, user, now).find((one) => one.invitation.conversation === conversation);
  }

  /** The messages from `first` to `last`, in order. */
  messages(conversation: string, first: number, last: number): readonly PushedMessage[] {
    const name = `${conversation} ${first} ${last}`;
    if (this.#page.name === name) return this.#page.messages;
    const { tables } = this.#options.laneOf(conversation);
    const range = { start: numbered(first, conversation), end: numbered(last + 1, conversation) };
    const messages = [...tables.messages.getRange(range)].map(({ value }) => parse(value));
    this.#page = { name, messages };
    return messages;
  }

  /** Conversations of a person in which something was posted at or after `since`, in milliseconds since 1970. */
  activeSince(user: string, since: number): string[] {
    return this.#inbox(user).flatMap(({ id, activeAt }) => (activeAt >= since ? [id] : []));
  }

  /** Unread messages of all conversations that are not muted, up to PUSH_BADGE_MAX. */
  badge(user: string, now: number): number {
    let unread = 0;
    for (const { id, tables, record } of this.#inbox(user)) {
      if (unread >= PUSH_BADGE_MAX) break;
      const { read } = readWatermark(tables, id, user);
      if (read >= record.headSeq) continue;
      const { mutedUntil } = readPersonal(tables, id, user);
      if (mutedUntil !== undefined && Date.parse(mutedUntil) > now) continue;
      unread += countUnread(tables, record, user, read);
    }
    return Math.min(unread, PUSH_BADGE_MAX);
  }

  #inbox(user: string) {
    return this.#options.environments.flatMap(({ tables }: { tables: Tables }, lane) =>
      readLaneInbox(tables, lane, user, 0).flatMap(({ id, record }) =>
        record === undefined ? [] : [{ id, tables, record, activeAt: record.activeAt }],
      ),
    );
  }
}

/** What the decision needs of a message, for one person, who watches for this (`phraseOf`). */
export function postedFor(user: string, message: PushedMessage, watched: readonly string[]): Posted {
  const { seq, sender, deleted_at: deletedAt, created_at: createdAt } = message;
  const mentions = names(message, user) || (watched.length > 0 && says(message, watched));
  return { seq, sender, isDeleted: deletedAt !== undefined, at: Date.parse(createdAt), mentions };
}

/** By name: who muted a conversation did not want to hear what is for everybody there. */
function names({ mentions = [] }: PushedMessage, user: string): boolean {
  return mentions.some((mention) => 'username' in mention && mention.username === user);
}

/** Texts of messages in words: made once for all the people whom one may be pushed to. */
const worded = new WeakMap<PushedMessage, WordedText>();

function says(message: PushedMessage, watched: readonly string[]): boolean {
  if (message.kind !== 'text' || typeof message.body !== 'string') return false;
  const text = worded.get(message) ?? wordedText(message.body);
  worded.set(message, text);
  return saysAny(text, watched);
}

function parse(stored: Buffer): PushedMessage {
  const message = JSON.parse(messageRecord.json(stored)) as PushedMessage;
  const isDeleted = (messageRecord.flags(stored) & MESSAGE_FLAGS.deleted) !== 0;
  return isDeleted && message.deleted_at === undefined ? { ...message, deleted_at: message.created_at } : message;
}
