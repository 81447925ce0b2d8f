/** Webhooks of rooms and event subscriptions of bots: listing, making, ending (BOT-01). A secret is shown once. */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import type { Integrations } from '#src/integrations/integrations.ts';
import { botCommandsReply } from '#src/protocol/bots/commands.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { conversationId } from '#src/protocol/names.ts';
import {
  madeSubscription,
  makeSubscription,
  subscription,
  subscriptionsReply,
} from '#src/protocol/bots/subscriptions.ts';
import { madeWebhook, makeWebhook, WEBHOOKS_MAX, webhooksReply } from '#src/protocol/bots/webhooks.ts';
import { page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

const read = { access: 'settings:read', audit: null } as const;
const write = { access: 'settings:write', vendor: 'closed' } as const;

/** Webhooks in one page of the list. */
const WEBHOOKS_PAGE_MAX = 200;

export const botIntegrationsRoutes = {
  listAllWebhooks: {
    ...read,
    method: 'get',
    path: '/webhooks',
    summary: 'Webhooks of all rooms, with their last use and without their tokens.',
    vendor: 'depersonalised',
    query: z.strictObject({
      after: z
        .string()
        .refine((text) => isId('hook', text))
        .optional(),
      limit: z.coerce.number().int().min(1).max(WEBHOOKS_PAGE_MAX).default(WEBHOOKS_PAGE_MAX),
    }),
    replies: { 200: webhooksReply.extend({ next: z.string().nullable() }).meta({ id: 'AllWebhooks' }) },
    errors: [],
  },
  listWebhooks: {
    ...read,
    method: 'get',
    path: '/conversations/:id/webhooks',
    summary: 'Webhooks of a room, with their last use and without their tokens.',
    vendor: 'depersonalised',
    replies: { 200: webhooksReply },
    errors: [],
  },
  makeWebhook: {
    ...write,
    method: 'post',
    path: '/conversations/:id/webhooks',
    summary: 'Makes a webhook for a room; its token is in the answer and never shown again.',
    audit: 'webhook.made',
    body: makeWebhook,
    replies: { 201: madeWebhook },
    errors: [
      'conversation_forbidden',
      'conversation_archived',
      'participants_fixed',
      'conversation_full',
      'webhooks_full',
      'rate_limited',
      'unavailable',
    ],
  },
  revokeWebhook: {
    ...write,
    method: 'delete',
    path: '/conversations/:id/webhooks/:webhook',
    summary: 'Ends a webhook at once. What it posted stays.',
    audit: 'webhook.revoked',
    replies: { 204: null },
    errors: ['conversation_forbidden', 'webhook_not_found'],
  },
  listCommands: {
    ...read,
    method: 'get',
    path: '/bots/:id/commands',
    summary: 'Slash commands that a bot offers in its conversations.',
    vendor: 'depersonalised',
    replies: { 200: botCommandsReply },
    errors: ['bot_not_found'],
  },
  listSubscriptions: {
    ...read,
    method: 'get',
    path: '/bots/:id/subscriptions',
    summary: "A bot's event subscriptions. Their URLs may hold secrets, so that it is closed to vendors.",
    vendor: 'closed',
    replies: { 200: subscriptionsReply },
    errors: ['bot_not_found'],
  },
  makeSubscription: {
    ...write,
    method: 'post',
    path: '/bots/:id/subscriptions',
    summary: "Has events of a bot's conversations sent to a URL; the secret that signs them is shown once.",
    audit: 'subscription.made',
    body: makeSubscription,
    replies: { 201: madeSubscription },
    errors: ['bot_not_found', 'bot_not_active', 'subscriptions_full', 'target_private', 'encryption_locked'],
  },
  enableSubscription: {
    ...write,
    method: 'post',
    path: '/bots/:id/subscriptions/:subscription/enable',
    summary: 'Enables a subscription that was disabled; it hears what happens from now on.',
    audit: 'subscription.enabled',
    replies: { 200: subscription },
    errors: ['subscription_not_found'],
  },
  removeSubscription: {
    ...write,
    method: 'delete',
    path: '/bots/:id/subscriptions/:subscription',
    summary: 'Ends a subscription; what waits is not sent.',
    audit: 'subscription.removed',
    replies: { 204: null },
    errors: ['subscription_not_found'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export function makeBotIntegrationsPage(integrations: Integrations): ConsolePage {
  const { subscriptions, webhooks } = integrations;
  return page(botIntegrationsRoutes, {
    listAllWebhooks: ({ query }) => ({ status: 200, body: webhooks.listAll(query.after, query.limit) }),
    listCommands: (request) => ({
      status: 200,
      body: { items: [...integrations.commands(named(request, 'id'))], next: null },
    }),
    listWebhooks: async (request) => {
      const { shown } = request;
      const room = named(request, 'id');
      if (shown === undefined) return { status: 200, body: { items: webhooks.list(room), next: null } };
      // A vendor knows a room by what stands for its id.
      const all = await shown(webhooks.listAll(undefined, WEBHOOKS_MAX).items);
      return { status: 200, body: { items: all.filter(({ conversation_id: id }) => id === room), next: null } };
    },
    makeWebhook: async (request) => ({
      status: 201,
      body: await webhooks.make(conversationOf(request), request.body.name, request.by),
    }),
    revokeWebhook: async (request) => {
      await webhooks.revoke(conversationOf(request), named(request, 'webhook'), request.by);
      return { status: 204 };
    },
    listSubscriptions: (request) => ({
      status: 200,
      body: { items: subscriptions.list(named(request, 'id')), next: null },
    }),
    makeSubscription: async (request) => ({
      status: 201,
      body: await subscriptions.make(named(request, 'id'), request.body, request.by),
    }),
    enableSubscription: async (request) => ({
      status: 200,
      body: await subscriptions.enable(named(request, 'id'), named(request, 'subscription'), request.by),
    }),
    removeSubscription: async (request) => {
      await subscriptions.remove(named(request, 'id'), named(request, 'subscription'), request.by);
      return { status: 204 };
    },
  });
}

function named({ parameters }: ConsoleRequest, name: string): string {
  return parameters[name] ?? '';
}

/** @throws Refusal `conversation_forbidden` for what no conversation could have for an id. */
function conversationOf(request: ConsoleRequest): string {
  const id = named(request, 'id');
  if (!conversationId.safeParse(id).success) throw new Refusal('conversation_forbidden');
  return id;
}
