/** How long messages are kept, and legal holds: read by those who read settings, held by owners alone. */
import { z } from 'zod';
import { HOLDS_PAGE_MAX, type Retention } from '#src/compliance/retention.ts';
import { conversationId } from '#src/protocol/names.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const held = z.strictObject({ held: z.boolean() }).meta({ id: 'LegalHold' });
const rule = z.strictObject({ seconds: z.int().nullable(), held: z.boolean() }).meta({ id: 'RetentionRule' });

const hold = z
  .strictObject({ conversation_id: z.string(), since: z.string(), held_by: z.string() })
  .meta({ id: 'HeldConversation' });

export const retentionRoutes = {
  listHolds: consoleRoute.get('/holds', 'Conversations under a legal hold of their own.', {
    access: 'access:write',
    vendor: 'closed',
    query: z.strictObject({
      after: conversationId.optional(),
      limit: z.coerce.number().int().min(1).max(HOLDS_PAGE_MAX).default(HOLDS_PAGE_MAX),
    }),
    replies: { 200: z.strictObject({ items: z.array(hold), next: z.string().nullable() }).meta({ id: 'Holds' }) },
  }),
  readRetention: consoleRoute.get(
    '/retention',
    'How long messages are kept in the whole installation, and whether everything is held.',
    { access: 'settings:read', vendor: 'closed', replies: { 200: rule } },
  ),
  holdInstallation: consoleRoute.put(
    '/retention/hold',
    'Begins or ends a legal hold over everything: nothing goes by its time, and nothing may be purged.',
    { access: 'access:write', vendor: 'closed', audit: 'legal_hold.changed', body: held, replies: { 200: rule } },
  ),
  holdConversation: consoleRoute.put(
    '/conversations/:id/hold',
    'Begins or ends a legal hold over one conversation. Its participants are not told.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'legal_hold.changed',
      body: held,
      replies: { 204: null },
      errors: ['conversation_forbidden'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeRetentionPage({ retention }: { readonly retention: Retention }): ConsolePage {
  const viewOf = ({ seconds, isHeld }: RetentionRule) => ({ seconds, held: isHeld });
  return page(retentionRoutes, {
    listHolds: ({ query }) => ({ status: 200, body: retention.holds(query.after, query.limit) }),
    readRetention: () => ({ status: 200, body: viewOf(retention.rule) }),
    holdInstallation: async ({ by, body }) => {
      return { status: 200, body: viewOf(await retention.hold(body.held, by)) };
    },
    holdConversation: async ({ by, body, parameters }) => {
      const { id } = parameters;
      if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
      await retention.holdConversation(id, body.held, by);
      return { status: 204 };
    },
  });
}
