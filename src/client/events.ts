/** The events an application listens to: the server's vocabulary with its times read, and the client's own. */
import type { z } from 'zod';
import type { EVENT_DATA, EventType } from '#src/protocol/sockets/events.ts';
import { readInstant, readUnixSeconds } from './instants.ts';
import {
  type ChatConversation,
  type ChatMessage,
  type InboxEntry,
  isRecord,
  readConversation,
  readMessage,
} from './conversations/records.ts';
import type { AccountRights } from './conversations/rights.ts';
import type { OutboxReport } from './conversations/outbox.ts';
import type { ParleyError } from './parley-error.ts';
import type { ConnectionReport } from './connection/socket.ts';
import type { Standing } from './connection/standing.ts';

/**
 * The types this client knows. Written out because the protocol's own table drags the schema library into a page;
 * a type missing here, or one that the protocol does not have, fails the type check.
 */
const KNOWN_TYPES: Readonly<Record<EventType, true>> = {
  'message.new': true,
  'message.edit': true,
  'message.delete': true,
  receipt: true,
  signal: true,
  typing: true,
  presence: true,
  inbox: true,
  'conversation.updated': true,
  reaction: true,
  pin: true,
  membership: true,
  unit: true,
  draft: true,
  avatar: true,
  purge: true,
  group: true,
  'conversation.deleted': true,
  'calendar.changed': true,
  'calendar.proposal': true,
  'calendar.reminder': true,
  'quota.warning': true,
  'directory.changed': true,
  'guest.recovery.requested': true,
  command: true,
  'command.response': true,
  error: true,
};

type MessageEventType = 'message.new' | 'message.edit' | 'message.delete';
type ConversationEventType = 'inbox' | 'conversation.updated';
export interface DraftChange {
  conversation_id: string;
  /** Null when the draft was dropped. */
  body: string | null;
  updatedAt: number;
}

/** The `data` of an event, by type. */
export type EventData<Type extends EventType> = Type extends MessageEventType
  ? ChatMessage
  : Type extends ConversationEventType
    ? ChatConversation
    : Type extends 'draft'
      ? DraftChange
      : z.infer<(typeof EVENT_DATA)[Type]>;

/** An event of the socket, or a change read after a break: the application cannot tell and need not. */
export interface ServerEvent<Type extends EventType = EventType> {
  type: Type;
  conv?: string;
  seq?: number;
  /** When it happened, in milliseconds since the Unix epoch. */
  at: number;
  data: EventData<Type>;
  rev?: number;
  rev_count?: number;
}

/** Any event, as a union that `type` tells apart. */
export type AnyServerEvent = { [Type in EventType]: ServerEvent<Type> }[EventType];

/** What the client itself has to say. */
export interface LocalEvents {
  /** The socket opened, is waiting to reconnect, or has stopped for good. */
  connection: ConnectionReport;
  /** The client became behind, too old or current (VER-04). */
  standing: { standing: Standing };
  /** The session is over: the person has to sign in again. `code` says why. */
  'signed-out': { code: string };
  /**
   * The session has a new token and a new refresh token, and those before end 30 seconds later: who keeps `client.session` over a
   * reload keeps this one, and hands it to other tabs that share it (`adoptSession`).
   */
  renewed: { expiresAt: number };
  /**
   * The person's rights were read anew, because they changed or may have while the socket was away: offer what `rights` grants,
   * and ask for those of the conversations in view again.
   */
  rights: { rights: AccountRights };
  /** A conversation appeared, or was read afresh: draw it anew from its mirror. */
  afresh: { conv: string };
  /** What the inbox says of a conversation, the person's own state of it with it: told of each that changed, before `caught-up`. */
  'inbox-entry': { entry: InboxEntry };
  /** A conversation is gone for this person. */
  gone: { conv: string };
  /** The person hides a conversation from their inbox now, on whatever device, or it is back there. */
  hidden: { conv: string; isHidden: boolean };
  /** Watermarks of a conversation moved while away: draw who read what anew from its mirror. */
  watermarks: { conv: string };
  /** Everything missed while away was told. */
  'caught-up': { conversations: number };
  /** What became of a message of the outbox. */
  outbox: OutboxReport;
  /** Something in the background failed and is being tried again, or was given up. Nothing was lost. */
  trouble: { error: ParleyError };
}

export type ClientEvents = { [Type in EventType]: ServerEvent<Type> } & LocalEvents;

/**
 * An event from the wire, or undefined for what this client does not know: a type that came later than it, or
 * something that is no event at all. Clients ignore those.
 * @throws ParleyError `answer_unreadable` for an event of a known type whose times cannot be read.
 */
export function readEvent(wire: unknown): AnyServerEvent | undefined {
  if (!isRecord(wire)) return undefined;
  const { type, conv, seq, ts, data, rev, rev_count } = wire;
  if (typeof type !== 'string' || !Object.hasOwn(KNOWN_TYPES, type)) return undefined;
  if (typeof ts !== 'number' || !isRecord(data)) return undefined;
  return {
    type,
    ...(typeof conv === 'string' ? { conv } : {}),
    ...(Number.isSafeInteger(seq) ? { seq } : {}),
    at: readUnixSeconds(ts),
    data: readData(type as EventType, data),
    ...(Number.isSafeInteger(rev) ? { rev, rev_count: Number.isSafeInteger(rev_count) ? rev_count : 1 } : {}),
  } as AnyServerEvent;
}

function readData(type: EventType, data: Record<string, unknown>): unknown {
  switch (type) {
    case 'message.new':
    case 'message.edit':
    case 'message.delete':
      return readMessage(data as unknown as Parameters<typeof readMessage>[0]);
    case 'inbox':
    case 'conversation.updated':
      return readConversation(data);
    case 'draft': {
      const { updated_at, ...rest } = data;
      return { ...rest, updatedAt: readInstant(String(updated_at), 'updated_at') };
    }
    default:
      return data;
  }
}
