/** The HTTP forms of webhooks, slash commands and event subscriptions on the messaging service. */
import { botCommands, commandsReply, invocation, invokeCommand, respond } from './commands.ts';
import { route, type Route } from '../route.ts';
import { madeSubscription, makeSubscription, subscriptionsReply } from './subscriptions.ts';
import {
  madeWebhook,
  makeWebhook,
  webhookPost,
  webhookPosted,
  webhooksReply,
  WEBHOOK_FORM_BYTES_MAX,
} from './webhooks.ts';

const forbidden = 'conversation_forbidden';
const right = 'right_missing';

export const INTEGRATION_ROUTES = {
  makeWebhook: route.post(
    '/v1/conversations/:id/webhooks',
    'Makes a URL that posts into this room; its token is in the answer and never shown again.',
    {
      rate: 'create',
      body: makeWebhook,
      replies: { 201: madeWebhook },
      errors: [forbidden, right, 'conversation_archived', 'participants_fixed', 'conversation_full', 'webhooks_full'],
    },
  ),
  readWebhooks: route.get(
    '/v1/conversations/:id/webhooks',
    'The webhooks of this room, with their last use and without their tokens.',
    { replies: { 200: webhooksReply }, errors: [forbidden, right] },
  ),
  revokeWebhook: route.delete(
    '/v1/conversations/:id/webhooks/:webhook',
    'Ends a webhook at once. What it posted stays.',
    { replies: { 204: null }, errors: [forbidden, right, 'webhook_not_found'] },
  ),
  postWebhook: route.post(
    '/v1/hooks/:token',
    "Posts a text as the webhook's own bot. 201 for a new one, 200 with the first one's place for a repeat.",
    {
      auth: 'none',
      body: webhookPost,
      formField: 'payload',
      formBytesMax: WEBHOOK_FORM_BYTES_MAX,
      replies: { 200: webhookPosted, 201: webhookPosted },
      errors: [forbidden, right, 'call_step_is_signalling', 'conversation_archived', 'webhook_not_found'],
    },
  ),
  readCommands: route.get(
    '/v1/conversations/:id/commands',
    'The slash commands that bots offer in this conversation.',
    { replies: { 200: commandsReply }, errors: [forbidden, right] },
  ),
  invokeCommand: route.post(
    '/v1/conversations/:id/commands',
    'Gives a command to a bot of this conversation. Nothing is posted; the bot answers if it likes.',
    {
      rate: 'post',
      body: invokeCommand,
      replies: { 202: invocation },
      errors: [forbidden, right, 'command_not_found', 'command_ambiguous'],
    },
  ),
  putBotCommands: route.put(
    '/v1/bots/self/commands',
    "Sets the calling bot's slash commands, in the place of those before.",
    { body: botCommands, replies: { 200: botCommands }, errors: [right] },
  ),
  readBotCommands: route.get('/v1/bots/self/commands', "The calling bot's slash commands.", {
    replies: { 200: botCommands },
    errors: [right],
  }),
  postResponse: route.post(
    '/v1/bots/self/responses',
    'Answers a command to its caller alone, on the devices that are connected. Not stored.',
    { body: respond, replies: { 202: null }, errors: [right, forbidden, 'response_token_invalid'] },
  ),
  makeSubscription: route.post(
    '/v1/bots/self/subscriptions',
    "Has events of the calling bot's conversations sent to a URL; the secret that signs them is shown once.",
    {
      body: makeSubscription,
      replies: { 201: madeSubscription },
      errors: [right, 'subscriptions_full', 'target_private', 'encryption_locked'],
    },
  ),
  readSubscriptions: route.get(
    '/v1/bots/self/subscriptions',
    "The calling bot's subscriptions, without their secrets.",
    { replies: { 200: subscriptionsReply }, errors: [right] },
  ),
  removeSubscription: route.delete(
    '/v1/bots/self/subscriptions/:subscription',
    'Ends a subscription; what waits is not sent.',
    { replies: { 204: null }, errors: [right, 'subscription_not_found'] },
  ),
} as const satisfies Record<string, Route>;
