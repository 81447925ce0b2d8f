/**
 * Bots: what a bot's token may do on the messaging service, as tables that every thread decides by (CRD-04, BOT-01).
 *
 * A bot acts where it is both listed by an administrator and a participant, and does there what its scopes name. Its
 * username begins with a prefix that no person may take, so that nobody mistakes one for the other.
 */
import { z } from 'zod';
import { type BotScope } from './bot-scopes.ts';
import type { BotCommand } from './commands.ts';
import type { EventType } from '../sockets/events.ts';
import type { MessagingRoute } from '../routes.ts';
import type { SubscribedEvent } from './subscriptions.ts';

/** What the username of every bot begins with, and that of no person. */
export const BOT_USER_PREFIX = 'bot.';

export function isBotUser(username: string): boolean {
  return username.startsWith(BOT_USER_PREFIX);
}

/** A bot's own part of its username; with the prefix it is a username. */
export const botName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,59}$/);

/** Route → the scopes that a bot needs, all of them; null where no bot is let in. A route without a row does not compile. */
export const BOT_ROUTE_SCOPES: Readonly<Record<MessagingRoute, readonly BotScope[] | null>> = {
  // What a bot creates would not be in its list.
  createConversation: null,
  readConversation: ['conversations:read'],
  changeConversation: ['conversations:write'],
  deleteConversation: ['conversations:write'],
  readParticipants: ['conversations:read'],
  addParticipants: ['conversations:write'],
  // Nobody asks a bot: it is in the rooms that it was put into.
  readRoomInvitations: null,
  acceptRoomInvitation: null,
  declineRoomInvitation: null,
  readPendingInvitations: ['conversations:read'],
  withdrawRoomInvitation: ['conversations:write'],
  // A link is for people, and somebody answers for whom it lets in.
  makeRoomLink: null,
  readRoomLinks: null,
  revokeRoomLink: null,
  joinByRoomLink: null,
  changeParticipant: ['conversations:write'],
  removeParticipant: ['conversations:write'],
  readRights: ['conversations:read'],
  // The rights of people's accounts: a bot has none of them.
  readCapabilities: null,
  postMessage: ['messages:write'],
  readMessages: ['messages:read'],
  readMessage: ['messages:read'],
  editMessage: ['messages:write'],
  deleteMessage: ['messages:write'],
  removePreview: ['messages:write'],
  putRetention: ['conversations:write'],
  purgeMessages: ['conversations:write'],
  addReaction: ['reactions:write', 'messages:read'],
  removeReaction: ['reactions:write', 'messages:read'],
  readPins: ['messages:read'],
  addPin: ['pins:write'],
  removePin: ['pins:write'],
  // A bot comes in where somebody asks it in.
  listRooms: null,
  joinRoom: null,
  // A bot has no list that anybody looks at.
  putPlacement: null,
  // A draft is what a person has begun to write, a mute is for ears, and who hides has an inbox.
  putDraft: null,
  readDraft: null,
  deleteDraft: null,
  putMute: null,
  putHidden: null,
  postReceipt: ['receipts:write'],
  readChanges: ['messages:read', 'conversations:read'],
  // Its items carry the last message.
  readInbox: ['conversations:read', 'messages:read'],
  // A bot has no device that sleeps.
  putPush: null,
  readPush: null,
  deletePush: null,
  readPresence: ['presence:read'],
  readConversationPresence: ['presence:read'],
  searchMessages: ['messages:read'],
  postSignal: ['signals:write'],
  readCalls: ['signals:read'],
  readIceServers: ['signals:write'],
  // Who may speak in a room by a URL is for its people.
  makeWebhook: null,
  readWebhooks: null,
  revokeWebhook: null,
  postWebhook: null,
  // A bot that gave commands to bots could do so in a circle.
  readCommands: null,
  invokeCommand: null,
  putBotCommands: ['commands:write'],
  readBotCommands: ['commands:write'],
  postResponse: ['commands:write'],
  makeSubscription: ['events:subscribe'],
  readSubscriptions: ['events:subscribe'],
  removeSubscription: ['events:subscribe'],
  readMentions: ['messages:read'],
  readReplies: ['messages:read'],
  readReadBy: ['messages:read'],
};

/** Event → the scope that lets a bot's socket hear it; null for what is no bot's. An event without a row does not compile. */
export const BOT_EVENT_SCOPES: Readonly<Record<EventType, BotScope | null>> = {
  'message.new': 'messages:read',
  'message.edit': 'messages:read',
  'message.delete': 'messages:read',
  receipt: 'messages:read',
  signal: 'signals:read',
  typing: 'presence:read',
  presence: 'presence:read',
  inbox: 'conversations:read',
  'conversation.updated': 'conversations:read',
  reaction: 'messages:read',
  pin: 'messages:read',
  membership: 'conversations:read',
  unit: null,
  draft: null,
  avatar: null,
  purge: 'messages:read',
  group: null,
  'conversation.deleted': 'conversations:read',
  'calendar.changed': null,
  'calendar.proposal': null,
  'calendar.reminder': null,
  'quota.warning': null,
  'directory.changed': null,
  'guest.recovery.requested': null,
  command: 'commands:write',
  'command.response': null,
  // The answer to a frame goes to its own socket, past this table.
  error: null,
};

/** What both frames, typing and presence, need. */
export const BOT_FRAME_SCOPE: BotScope = 'presence:write';

/** Bots of an installation, revoked ones too, whose names stay taken: every thread holds all of them. [bots_full] */
export const BOTS_MAX = 1_000;

/** Conversations in one bot's list: what an administrator still reads. [field_invalid] */
export const BOT_CONVERSATIONS_MAX = 200;

/** Requests and frames of one bot a second, over all threads: ten busy people's worth. [rate_limited] */
export const BOT_REQUESTS_PER_SECOND = 50;
/** Requests that a bot which was quiet may make at once: catching up with its conversations. [rate_limited] */
export const BOT_REQUESTS_BURST = 100;

/**
 * Messages of one bot in one conversation: bots that answer each other in a circle, by messages or through services
 * outside, are held to this. [bot_conversation_limited]
 */
export const BOT_CONVERSATION_PER_SECOND = 1;
export const BOT_CONVERSATION_BURST = 60;

/** The routes that it counts. */
export const BOT_POSTING_ROUTES: readonly MessagingRoute[] = ['postMessage', 'editMessage'];

/** A bot as the threads know it: plain data, so that it crosses threads. */
export interface BotGrant {
  /** A webhook is a bot that has a URL for a token, one conversation, and nothing to do but to post there. */
  readonly kind: 'bot' | 'webhook';
  readonly id: string;
  /** The username it acts as. */
  readonly user: string;
  readonly device: string;
  /** SHA-256 of its token's secret, hex. */
  readonly hash: string;
  readonly isActive: boolean;
  /** Whether its token ended without another in its place. */
  readonly isTokenOver: boolean;
  readonly scopes: readonly BotScope[];
  readonly conversations: readonly string[];
  readonly commands: readonly BotCommand[];
  /** What is sent to URLs of its subscriptions. */
  readonly subscribed: readonly SubscribedEvent[];
}

/** All bots, revoked ones too. */
export type BotSnapshot = readonly BotGrant[];

/** What happened, for the audit trail. */
export type BotAuditEvent = 'webhook.request' | 'bot.request' | 'bot.frame' | 'bot.disconnected';

/** One thing that a bot did, as a shard saw it: plain data. */
export interface BotFact {
  readonly event: BotAuditEvent;
  readonly bot: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly address: string;
  /** Upper case; empty for what is no request. */
  readonly method: string;
  /** The route's pattern, or the kind of a frame; empty for a path that no route has. */
  readonly route: string;
  readonly conversation: string | null;
  /** What it was answered; a frame that was taken has 0, the end of a socket its close code. */
  readonly status: number;
  readonly code: string | null;
  /** How many alike this stands for: more than 1 only for what was refused before it was looked at. */
  readonly count: number;
}

/** What a shard hands over to be written. The number lets a batch that was written already be known again. */
export interface BotAuditBatch {
  /** The shard's thread, by a name of its own that no other thread ever had. */
  readonly source: string;
  readonly number: number;
  readonly facts: readonly BotFact[];
}
