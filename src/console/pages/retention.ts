/** How long messages are kept, and legal holds: read by those who read settings, held by owners alone. */
import { z } from 'zod';
import type { Retention } from '#src/coordinator/retention.ts';
import { conversationId } from '#src/protocol/names.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { RetentionRule } from '#storage/retention.ts';
import { actorOf } from '../principal.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../route.ts';

const held = z.strictObject({ held: z.boolean() }).meta({ id: 'LegalHold' });
const rule = z.strictObject({ seconds: z.int().nullable(), held: z.boolean() }).meta({ id: 'RetentionRule' });

export const retentionRoutes = {
  readRetention: {
    method: 'get',
    path: '/retention',
    summary: 'How long messages are kept in the whole installation, and whether everything is held.',
    access: 'settings:read',
    vendor: 'closed',
    audit: null,
    replies: { 200: rule },
    errors: [],
  },
  holdInstallation: {
    method: 'put',
    path: '/retention/hold',
    summary: 'Begins or ends a legal hold over everything: nothing goes by its time, and nothing may be purged.',
    access: 'access:write',
    vendor: 'closed',
    audit: 'legal_hold.changed',
    body: held,
    replies: { 200: rule },
    errors: [],
  },
  holdConversation: {
    method: 'put',
    path: '/conversations/:id/hold',
    summary: 'Begins or ends a legal hold over one conversation. Its participants are not told.',
    access: 'access:write',
    vendor: 'closed',
    audit: 'legal_hold.changed',
    body: held,
    replies: { 204: null },
    errors: ['conversation_forbidden'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export function makeRetentionPage({ retention }: { readonly retention: Retention }): ConsolePage {
  const viewOf = ({ seconds, isHeld }: RetentionRule) => ({ seconds, held: isHeld });
  return page(retentionRoutes, {
    readRetention: () => ({ status: 200, body: viewOf(retention.rule) }),
    holdInstallation: async ({ principal, address, body }) => {
      const by = { actor: actorOf(principal), address };
      return { status: 200, body: viewOf(await retention.hold(body.held, by)) };
    },
    holdConversation: async ({ principal, address, body, parameters }) => {
      const { id = '' } = parameters;
      if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
      await retention.holdConversation(id, body.held, { actor: actorOf(principal), address });
      return { status: 204 };
    },
  });
}
