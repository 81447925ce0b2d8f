/** How long messages are kept, and legal holds: read by those who read settings, held by owners alone. */
import { z } from 'zod';
import { HOLDS_PAGE_MAX, type Retention } from '#src/compliance/retention.ts';
import { formatInstant } from '#src/base/time.ts';
import { RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '#src/protocol/limits.ts';
import { conversationId } from '#src/protocol/names.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const held = z.strictObject({ held: z.boolean() }).meta({ id: 'LegalHold' });
const seconds = z.int().min(RETENTION_SECONDS_MIN).max(RETENTION_SECONDS_MAX);
const pending = z.strictObject({
  seconds: z.int(),
  due_at: z.string(),
  requested_by: z.string(),
  requested_at: z.string(),
});
const rule = z
  .strictObject({ seconds: z.int().nullable(), held: z.boolean(), pending: pending.nullable() })
  .meta({ id: 'RetentionRule' });

const preview = z
  .strictObject({
    seconds: z.int(),
    confirm: z.string().meta({ description: 'What is typed to confirm the shortening.' }),
    messages: z.int(),
    conversations: z.int(),
    complete: z
      .boolean()
      .meta({ description: 'Whether every conversation was looked at: else there are at least so many.' }),
  })
  .meta({ id: 'RetentionPreview' });

const shortening = z.strictObject({ seconds, confirm: z.string().max(100) }).meta({ id: 'ShortenRetention' });

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
  previewRetention: consoleRoute.get(
    '/retention/preview',
    'How many messages a shorter time would take now, and what is typed to confirm it.',
    {
      access: 'access:write',
      vendor: 'closed',
      query: z.strictObject({
        seconds: z
          .string()
          .regex(/^\d{1,10}$/)
          .transform(Number)
          .pipe(seconds),
      }),
      replies: { 200: preview },
      errors: ['busy', 'unavailable'],
    },
  ),
  shortenRetention: consoleRoute.put(
    '/retention/shortening',
    'Has messages kept for a shorter time a day from now. Until then it can be taken back.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'retention.shortening_planned',
      body: shortening,
      replies: { 200: rule },
    },
  ),
  keepRetention: consoleRoute.delete('/retention/shortening', 'Takes a shortening back that waits for its day.', {
    access: 'access:write',
    vendor: 'closed',
    audit: 'retention.shortening_taken_back',
    replies: { 200: rule },
  }),
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
  const { shortening: planned } = retention;
  const pendingView = () => {
    const waiting = planned.pending;
    if (waiting === null) return null;
    const { dueAt, requestedAt, requestedBy, seconds: after } = waiting;
    const times = { due_at: formatInstant(dueAt), requested_at: formatInstant(requestedAt) };
    return { seconds: after, ...times, requested_by: requestedBy };
  };
  const viewOf = ({ seconds: now, isHeld }: RetentionRule) => ({ seconds: now, held: isHeld, pending: pendingView() });
  return page(retentionRoutes, {
    listHolds: ({ query }) => ({ status: 200, body: retention.holds(query.after, query.limit) }),
    readRetention: () => ({ status: 200, body: viewOf(retention.rule) }),
    previewRetention: async ({ query }) => {
      return { status: 200, body: { seconds: query.seconds, ...(await retention.preview(query.seconds)) } };
    },
    shortenRetention: async ({ by, body }) => {
      await planned.plan(body.seconds, body.confirm, by);
      return { status: 200, body: viewOf(retention.rule) };
    },
    keepRetention: async ({ by }) => {
      await planned.takeBack(by);
      return { status: 200, body: viewOf(retention.rule) };
    },
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
