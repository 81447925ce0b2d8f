/** The socket's vocabulary: every event the server may send, with the shape of its `data` (SOC-03, SOC-04). */
import { z } from 'zod';
import { commandEvent, responseEvent } from '../bots/commands.ts';
import { conversation, participant, RECEIPT_STATES } from '../conversations/conversations.ts';
import { message } from '../conversations/messages.ts';
import { meetingNews } from '../meetings/meetings.ts';
import { count, seq, username } from '../names.ts';
import { SIGNAL_KINDS, type SignalKind } from '../calls/signals.ts';

const reminder = z.strictObject({
  reminder_id: z.string(),
  calendar_id: z.string(),
  entry_id: z.string(),
  /** Which occurrence of a series. */
  recurrence_id: z.string().optional(),
  /** Left out where the alarm has an instant of its own. */
  start_at: z.string().optional(),
  title: z.string(),
  location: z.string().optional(),
  action: z.enum(['display', 'audio']),
  remind_at: z.string(),
  /** Whether it comes more than a minute late: the server was down. */
  late: z.boolean(),
});
export type ReminderData = z.infer<typeof reminder>;

const presence = z.strictObject({ user: username, state: z.enum(['online', 'away', 'offline']) });

const receipt = z.strictObject({ user: username, seq, state: z.enum(RECEIPT_STATES) });

const convOnly = z.strictObject({ conversation_id: z.string() });

/** Somebody was asked into a room; who was asked says no; who asked, or a moderator, takes it back. */
export const INVITATION_ACTIONS = ['invited', 'declined', 'withdrawn'] as const;

/** Type → shape of `data`. Fields that depend on who reads (unread, pins of a list, mutes) are in none (SOC-10). */
export const EVENT_DATA = {
  'message.new': message,
  'message.edit': message,
  'message.delete': message,
  /** In large rooms the last one of a second, with how many there were and the newest of them (HINT_PARTICIPANTS_MAX). */
  receipt: z.strictObject({
    ...receipt.shape,
    conversation_id: z.string(),
    count: count.optional(),
    sample: z.array(receipt).optional(),
  }),
  signal: z.strictObject({
    to: z.string(),
    kind: z.enum(SIGNAL_KINDS as [SignalKind, ...SignalKind[]]),
    step: z.string(),
    call: z.string().optional(),
    seq: count.optional(),
    body: z.record(z.string(), z.unknown()),
    /** Left out where the server itself speaks: a call that is over, ringing that ends. */
    sender: username.optional(),
  }),
  /** In large rooms the last one of a second, with how many there were and the newest of them (HINT_PARTICIPANTS_MAX). */
  typing: z.strictObject({ user: username, count: count.optional(), sample: z.array(username).optional() }),
  /** With `conv` of a large room: how many are there, and the newest of who changed in the second (HINT_PARTICIPANTS_MAX). */
  presence: z.union([presence, z.strictObject({ count, sample: z.array(presence) })]),
  inbox: conversation,
  'conversation.updated': conversation,
  /** What was done, and how the emoji stands on the message after it: names beyond REACTION_USERS_MAX are left out. */
  reaction: z.strictObject({
    seq,
    user: username,
    emoji: z.string(),
    added: z.boolean(),
    count,
    users: z.array(username),
  }),
  pin: z.strictObject({ seq, user: username, pinned: z.boolean() }),
  /** Without `conv` it is of a meeting, whose lobby is no part of a conversation (MTG-01). */
  membership: z.union([
    z.strictObject({
      /** The last three are of an invitation, and go to who it is about alone: without a `rev`, since nobody came or went. */
      action: z.enum(['joined', 'left', 'removed', 'role', ...INVITATION_ACTIONS]),
      user: username,
      participants: z.array(participant),
      participant_count: count,
      /** Of the room that somebody is invited to. */
      title: z.string().optional(),
    }),
    meetingNews,
  ]),
  unit: z.strictObject({ unit_id: z.string() }),
  draft: z.strictObject({ conversation_id: z.string(), body: z.string().nullable(), updated_at: z.string() }),
  avatar: z.strictObject({ user: username, rev: count }),
  purge: z.strictObject({ conversation_id: z.string(), before_seq: seq }),
  group: z.strictObject({ group_id: z.string(), rev: count }),
  'conversation.deleted': convOnly,
  'calendar.changed': z.strictObject({ calendar_id: z.string(), sync_seq: count }),
  /** To who organises, or proposed, and to their delegates in that calendar: `GET /v1/proposals` has what there is now. */
  'calendar.proposal': z.strictObject({ calendar_id: z.string(), entry_id: z.string() }),
  /** An alarm of an entry in a calendar of the reader's own; told once, or once more under the same `reminder_id`. */
  'calendar.reminder': reminder,
  'directory.changed': z.strictObject({ user: username, rev: count }),
  'guest.recovery.requested': z.strictObject({}),
  /** To a person who has used four fifths of a quota, once a day for each. */
  'quota.warning': z.strictObject({ quota: z.string(), used: count, limit: count }),
  /** For the bot alone, and for the caller alone. */
  command: commandEvent,
  'command.response': responseEvent,
  /** The answer to a frame of this connection that was refused (SOC-08). */
  error: z.strictObject({ code: z.string(), error: z.string() }),
} as const satisfies Record<string, z.ZodType>;

export type EventType = keyof typeof EVENT_DATA;
export const EVENT_TYPES = Object.keys(EVENT_DATA) as EventType[];
export type PresenceState = 'online' | 'away' | 'offline';
export type MembershipAction = 'joined' | 'left' | 'removed' | 'role';
export type InvitationAction = (typeof INVITATION_ACTIONS)[number];

/** The envelope (SOC-03). `ts` is Unix seconds. `rev` is the conversation's change counter after this event. */
export interface EventEnvelope {
  type: EventType;
  conv?: string;
  seq?: number;
  ts: number;
  data: object;
  rev?: number;
  rev_count?: number;
}

/**
 * The event as JSON, encoded once for all who get it. `data` may be JSON already: a message is stored in the form
 * it is sent in, so posting, paging and catching up share one encoding.
 */
export function encodeEvent(envelope: Omit<EventEnvelope, 'data'>, data: string): string {
  let head = `{"type":"${envelope.type}"`;
  if (envelope.conv !== undefined) head += `,"conv":"${envelope.conv}"`;
  if (envelope.seq !== undefined) head += `,"seq":${envelope.seq}`;
  head += `,"ts":${envelope.ts},"data":${data}`;
  if (envelope.rev !== undefined) head += `,"rev":${envelope.rev},"rev_count":${envelope.rev_count ?? 1}`;
  return `${head}}`;
}
