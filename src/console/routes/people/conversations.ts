/**
 * Conversations, as those who run the installation see them: which there are, who is in them, never what is said. All of it
 * is closed to vendor tokens: titles are people's own words, and who talks to whom is nothing that support needs (VND-15).
 */
import { z } from 'zod';
import {
  REGISTER_ORDERS,
  REGISTER_PAGE_MAX,
  type ConversationRegister,
} from '#src/compliance/conversation-register.ts';
import type { RoomOwners } from '#src/compliance/room-owners.ts';
import { CONVERSATION_KINDS, participant } from '#src/protocol/conversations/conversations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { PAGE_LENGTH_MAX, SEARCHED_NAME_LENGTH_MAX } from '#src/protocol/limits.ts';
import { conversationId, count, username } from '#src/protocol/names.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const missing = 'conversation_forbidden';

const registered = z
  .strictObject({
    id: z.string(),
    kind: z.enum(CONVERSATION_KINDS),
    title: z.string().optional(),
    topic: z.string().optional(),
    purpose: z.string().optional(),
    /** The number of its picture. */
    avatar: count.optional(),
    visibility: z.literal('organisation').optional(),
    archived_at: z.string().optional(),
    created_at: z.string(),
    created_by: username,
    participant_count: count,
    messages: count,
    last_activity_at: z.string(),
    orphaned: z.boolean(),
  })
  .meta({ id: 'RegisteredConversation' });

const limitOf = (most: number) => z.coerce.number().int().min(1).max(most).default(most);

export const conversationsRoutes = {
  listConversations: consoleRoute.get(
    '/conversations',
    'Conversations by when they were made, last active, size or title; searched by title or id, or those of one person.',
    {
      access: 'conversations:read',
      vendor: 'closed',
      query: z.strictObject({
        q: z.string().trim().min(1).max(SEARCHED_NAME_LENGTH_MAX).optional(),
        kind: z.enum(CONVERSATION_KINDS).optional(),
        member: username.optional(),
        orphaned: z.literal('true').optional(),
        sort: z.enum(REGISTER_ORDERS).default('created'),
        after: z.string().min(1).max(4096).optional(),
        limit: limitOf(REGISTER_PAGE_MAX),
      }),
      replies: {
        200: z.strictObject({ items: z.array(registered), next: z.string().nullable() }).meta({ id: 'Register' }),
      },
      errors: ['busy', 'cursor_invalid'],
    },
  ),
  readConversation: consoleRoute.get('/conversations/:id', 'One conversation, without what is said in it.', {
    access: 'conversations:read',
    vendor: 'closed',
    replies: { 200: registered },
    errors: [missing],
  }),
  listConversationMembers: consoleRoute.get(
    '/conversations/:id/participants',
    'Who takes part in a conversation, by username.',
    {
      access: 'conversations:read',
      vendor: 'closed',
      query: z.strictObject({ after: username.optional(), limit: limitOf(PAGE_LENGTH_MAX) }),
      replies: {
        200: z
          .strictObject({ items: z.array(participant), next: z.string().nullable() })
          .meta({ id: 'RegisteredParticipants' }),
      },
      errors: [missing],
    },
  ),
  giveOwner: consoleRoute.put(
    '/conversations/:id/owner',
    'Gives a room that nobody can run any more an owner: one of its people, or anybody where none of them may come.',
    {
      access: 'conversations:write',
      vendor: 'closed',
      audit: 'conversation.owner_given',
      body: z.strictObject({ user: username }).meta({ id: 'GiveOwner' }),
      replies: { 200: registered },
      errors: [missing, 'participant_not_found', 'participant_unknown', 'room_owned', 'busy', 'unavailable'],
    },
  ),
  archiveRoom: consoleRoute.put('/conversations/:id/archived', 'Archives a room, or brings it back.', {
    access: 'conversations:write',
    vendor: 'closed',
    audit: 'conversation.archived',
    body: z.strictObject({ archived: z.boolean() }).meta({ id: 'ArchiveRoom' }),
    replies: { 200: registered },
    errors: [missing, 'busy', 'unavailable'],
  }),
  removeRoomAvatar: consoleRoute.delete('/conversations/:id/avatar', "Takes a room's picture away.", {
    access: 'conversations:write',
    vendor: 'closed',
    audit: 'conversation.avatar_removed',
    replies: { 204: null },
    errors: [missing, 'busy', 'unavailable'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export interface ConversationsPageOptions {
  readonly conversationRegister: ConversationRegister;
  readonly roomOwners: RoomOwners;
}

export function makeConversationsPage({
  conversationRegister: register,
  roomOwners: owners,
}: ConversationsPageOptions): ConsolePage {
  return page(conversationsRoutes, {
    listConversations: async ({ query }) => {
      const { q, sort, orphaned, ...rest } = query;
      const asked = { ...rest, query: q, order: sort, isOrphaned: orphaned !== undefined };
      const { kind, member, after } = asked;
      return { status: 200, body: await register.list({ ...asked, kind, member, after }) };
    },
    readConversation: ({ parameters }) => ({ status: 200, body: register.read(idOf(parameters)) }),
    listConversationMembers: ({ parameters, query }) => ({
      status: 200,
      body: register.members(idOf(parameters), query.after, query.limit),
    }),
    giveOwner: async ({ body, by, parameters }) => {
      const id = idOf(parameters);
      await owners.give(id, body.user, by);
      return { status: 200, body: register.read(id) };
    },
    archiveRoom: async ({ body, by, parameters }) => {
      const id = idOf(parameters);
      await register.archive(id, body.archived, by);
      return { status: 200, body: register.read(id) };
    },
    removeRoomAvatar: async ({ by, parameters }) => {
      await register.removeAvatar(idOf(parameters), by);
      return { status: 204, body: undefined };
    },
  });
}

/** @throws Refusal `conversation_forbidden` for what no conversation could be called. */
function idOf({ id }: { readonly id: string }): string {
  if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
  return id;
}
