/** Conversations: their record, and the forms that create and change them. */
import { z } from 'zod';
import {
  CATEGORY_LENGTH_MAX,
  CHANGES_REPLY_MAX,
  INBOX_PAGE_MAX,
  PAGE_LENGTH_DEFAULT,
  PAGE_LENGTH_MAX,
  PARTICIPANTS_PER_REQUEST_MAX,
  RETENTION_SECONDS_MAX,
  RETENTION_SECONDS_MIN,
  PURPOSE_LENGTH_MAX,
  TEXT_LENGTH_MAX,
  TITLE_LENGTH_MAX,
  TOPIC_LENGTH_MAX,
} from '../limits.ts';
import { message } from './messages.ts';
import { count, seq, username } from '../names.ts';

export const CONVERSATION_KINDS = ['direct', 'secret', 'room'] as const;
export type ConversationKind = (typeof CONVERSATION_KINDS)[number];

export const ROLES = ['owner', 'moderator', 'member', 'guest'] as const;
export type Role = (typeof ROLES)[number];

export const participant = z.strictObject({ user: username, role: z.enum(ROLES) }).meta({ id: 'Participant' });

/** The record that answers and events carry. Nothing in it depends on who asks (SOC-10). */
export const conversation = z
  .strictObject({
    id: z.string(),
    kind: z.enum(CONVERSATION_KINDS),
    title: z.string().optional(),
    /** What a room is about now, and what it is for. */
    topic: z.string().optional(),
    purpose: z.string().optional(),
    /** The number of its picture; left out while it has none. */
    avatar: count.optional(),
    /** `organisation` for a public room; left out for one that only its people know of. */
    visibility: z.literal('organisation').optional(),
    /** When a room was archived; left out for one that takes messages. */
    archived_at: z.string().optional(),
    created_at: z.string(),
    created_by: username,
    head_seq: count,
    rev: count,
    epoch: z.string(),
    participant_count: count,
    /** How long messages are kept here, in seconds; left out for as long as the installation keeps them. */
    retention_seconds: z.int().optional(),
    participants: z.array(participant).optional(),
  })
  .meta({ id: 'Conversation' });

export interface Participant {
  user: string;
  role: Role;
}

export interface Conversation {
  id: string;
  kind: ConversationKind;
  title?: string;
  topic?: string;
  purpose?: string;
  avatar?: number;
  visibility?: 'organisation';
  archived_at?: string;
  created_at: string;
  created_by: string;
  head_seq: number;
  rev: number;
  epoch: string;
  participant_count: number;
  retention_seconds?: number;
  participants?: Participant[];
}

/** As an answer to adding people has it: who of them was not added, and asked. */
export const addedReply = conversation
  .extend({
    /** Those of the request who have an invitation that waits; left out where everybody takes part. */
    invited: z.array(username).optional(),
  })
  .meta({ id: 'ConversationAdded' });

/** As GET answers it: how far the others have all read depends on who asks, and is computed for them. */
export const conversationReply = conversation
  .extend({
    /** Up to where every other participant has read; left out in rooms of more than HINT_PARTICIPANTS_MAX. */
    last_common_read: count.optional(),
    /** Of the conversation read by itself, while the caller hides it from their inbox. */
    hidden: z.literal(true).optional(),
  })
  .meta({ id: 'ConversationRead' });

const title = z.string().trim().min(1).max(TITLE_LENGTH_MAX);
const topic = z.string().trim().min(1).max(TOPIC_LENGTH_MAX);
const purpose = z.string().trim().min(1).max(PURPOSE_LENGTH_MAX);

/** Who may find a room: its people alone, or everybody of the organisation. */
export const VISIBILITIES = ['private', 'organisation'] as const;
export type Visibility = (typeof VISIBILITIES)[number];
const visibility = z.enum(VISIBILITIES);
const people = z.array(username).max(PARTICIPANTS_PER_REQUEST_MAX);

/** POST /v1/conversations. The caller takes part without being named, and owns a room it creates. */
export const createConversation = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('direct'), participants: people.length(1) }),
    z.strictObject({ kind: z.literal('secret'), participants: people.length(1) }),
    z
      .strictObject({
        kind: z.literal('room'),
        title: title.optional(),
        topic: topic.optional(),
        purpose: purpose.optional(),
        visibility: visibility.optional(),
        participants: people.default([]),
      })
      // What nobody could find by its name is not public.
      .refine((room) => room.visibility !== 'organisation' || room.title !== undefined, { path: ['title'] }),
  ])
  .meta({ id: 'CreateConversation' });

/** PATCH /v1/conversations/{id}: the fields that are named change; null takes a text away. */
export const changeConversation = z
  .strictObject({
    title: title.optional(),
    topic: topic.nullable().optional(),
    purpose: purpose.nullable().optional(),
    visibility: visibility.optional(),
    archived: z.boolean().optional(),
  })
  .refine((form) => Object.keys(form).length > 0)
  .meta({ id: 'ChangeConversation' });
export type ChangeConversation = z.infer<typeof changeConversation>;

/** PUT …/retention: how long messages are kept, or `null` for as long as the installation keeps them. */
export const putRetention = z
  .strictObject({ seconds: z.int().min(RETENTION_SECONDS_MIN).max(RETENTION_SECONDS_MAX).nullable() })
  .meta({ id: 'PutRetention' });

/** POST …/participants. */
export const addParticipants = z
  .strictObject({ participants: people.min(1), role: z.enum(ROLES).default('member') })
  .meta({ id: 'AddParticipants' });

/** PATCH …/participants/{username}. */
export const changeParticipant = z.strictObject({ role: z.enum(ROLES) }).meta({ id: 'ChangeParticipant' });

export const RECEIPT_STATES = ['delivered', 'read'] as const;
export type ReceiptState = (typeof RECEIPT_STATES)[number];

/** POST …/receipts: everything up to and including `seq` (RCP-01). */
export const postReceipt = z.strictObject({ state: z.enum(RECEIPT_STATES), seq }).meta({ id: 'PostReceipt' });

/** PUT …/draft. Drafts are the person's own and reach their own devices only. */
export const putDraft = z.strictObject({ body: z.string().min(1).max(TEXT_LENGTH_MAX) }).meta({ id: 'PutDraft' });

/** PUT …/placement: whether it stands with the caller's favourites, and under what category of theirs. */
export const placement = z
  .strictObject({ favourite: z.boolean(), category: z.string().trim().min(1).max(CATEGORY_LENGTH_MAX).nullable() })
  .meta({ id: 'Placement' });

/** PUT …/mute: until an instant, or `null` to unmute. */
export const putMute = z.strictObject({ until: z.iso.datetime().nullable() }).meta({ id: 'PutMute' });

/** PUT …/hidden: hides what came up to `seq` from the caller's inbox until more comes; `null` shows it again. */
export const putHidden = z.strictObject({ seq: count.nullable() }).meta({ id: 'PutHidden' });
export const hiddenReply = z.strictObject({ hidden: z.boolean() }).meta({ id: 'Hidden' });

const decimal = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)
  .pipe(count);
const pageLength = (most: number) => decimal.pipe(z.number().min(1).max(most));

/** GET …/messages: the newest page, or the page on one side of a seq (MSG-12). */
export const historyQuery = z
  .strictObject({
    after_seq: decimal.optional(),
    before_seq: decimal.pipe(z.number().min(1)).optional(),
    limit: pageLength(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
  })
  .refine((query) => query.after_seq === undefined || query.before_seq === undefined, { path: ['before_seq'] });

/** DELETE …/messages: everything in front of a seq. */
export const purgeQuery = z.strictObject({ before_seq: decimal.pipe(z.number().min(1)) });

/** GET …/messages/{seq}/replies: the page of a thread behind a seq. */
export const repliesQuery = z.strictObject({
  after_seq: decimal.default(0),
  limit: pageLength(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});

/** GET …/messages/{seq}/read-by, by username. */
export const readByQuery = z.strictObject({
  after: z.string().max(512).optional(),
  limit: pageLength(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});

export const readByReply = z
  .strictObject({
    items: z.array(z.strictObject({ user: username })),
    next: z.string().nullable(),
    /** How many have read it; of the first page. */
    count: count.optional(),
  })
  .meta({ id: 'ReadBy' });

/** GET /v1/mentions. A page may be shorter than `limit` while there are more: go on until `next` is null. */
export const mentionsQuery = z.strictObject({
  after: z.string().max(2048).optional(),
  limit: pageLength(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});

export const mentionsReply = z
  .strictObject({ items: z.array(z.strictObject({ message, unread: z.boolean() })), next: z.string().nullable() })
  .meta({ id: 'Mentions' });

export const historyReply = z
  .strictObject({ items: z.array(message), next: z.string().nullable() })
  .meta({ id: 'History' });

/** GET …/participants. */
export const participantsQuery = z.strictObject({
  after: z.string().max(512).optional(),
  limit: pageLength(PARTICIPANTS_PER_REQUEST_MAX).default(PAGE_LENGTH_MAX),
});
export const participantsReply = z
  .strictObject({ items: z.array(participant), next: z.string().nullable() })
  .meta({ id: 'Participants' });

/** GET …/changes. */
export const changesQuery = z.strictObject({ after_rev: decimal });

export const watermark = z.strictObject({ user: username, delivered: count, read: count }).meta({ id: 'Watermark' });

/** One stored change, in the envelope of the event that announced it. */
export const change = z
  .strictObject({
    type: z.string(),
    conv: z.string(),
    seq: z.int().min(1).optional(),
    ts: z.int(),
    data: z.record(z.string(), z.unknown()),
    rev: z.int().min(1),
    rev_count: z.literal(1),
  })
  .meta({ id: 'Change' });

/**
 * All changes after a rev in order (`complete`), or none of them and the fresh state to start from: never a silent
 * hole. At most CHANGES_REPLY_MAX changes come in one answer.
 */
export const changesReply = z
  .strictObject({
    complete: z.boolean(),
    items: z.array(change).max(CHANGES_REPLY_MAX),
    rev: count,
    head_seq: count,
    epoch: z.string(),
    watermarks: z.array(watermark),
  })
  .meta({ id: 'Changes' });

/**
 * GET /v1/inbox. `after` takes the `next` of a page to go on with it, or the `sync` of an earlier walk to get only
 * what changed since, however long ago that was.
 */
export const inboxQuery = z.strictObject({
  after: z.string().max(512).optional(),
  limit: pageLength(INBOX_PAGE_MAX).default(PAGE_LENGTH_DEFAULT),
});

export const inboxItem = z
  .strictObject({
    conversation: conversation.optional(),
    /** Set instead of `conversation` when the caller no longer takes part. */
    gone: z.string().optional(),
    last_message: message.optional(),
    unread: count.optional(),
    /** What counts as unread is behind this seq: the caller has read up to it, joined there, or what was before is gone. */
    unread_after: count.optional(),
    /** How many of the unread mention the caller. */
    mention_count: count.optional(),
    delivered: count.optional(),
    read: count.optional(),
    muted_until: z.string().nullable().optional(),
    /** Set while the caller hides it from their inbox: it comes back with the next message. */
    hidden: z.literal(true).optional(),
    /** Left out where it is none of the caller's favourites, and where it has no category. */
    favourite: z.literal(true).optional(),
    category: z.string().optional(),
    draft: z.string().optional(),
  })
  .meta({ id: 'InboxItem' });

export const inboxReply = z
  .strictObject({ items: z.array(inboxItem), next: z.string().nullable(), sync: z.string() })
  .meta({ id: 'Inbox' });

/** GET /v1/presence: who is not offline, of the people whose presence the caller is told of. */
export const presenceReply = z
  .strictObject({
    items: z.array(z.strictObject({ user: username, state: z.enum(['online', 'away']) })),
    next: z.null(),
  })
  .meta({ id: 'Presences' });

/** GET /v1/conversations/{id}/presence: how many are not offline, and HINT_SAMPLE_MAX of them, the newest first. */
export const conversationPresenceReply = z
  .strictObject({ count, sample: z.array(z.strictObject({ user: username, state: z.enum(['online', 'away']) })) })
  .meta({ id: 'ConversationPresence' });

export const draftReply = z.strictObject({ body: z.string(), updated_at: z.string() }).meta({ id: 'Draft' });
export const muteReply = z.strictObject({ until: z.string().nullable() }).meta({ id: 'Mute' });
export const pinsReply = z.strictObject({ items: z.array(message), next: z.null() }).meta({ id: 'Pins' });
