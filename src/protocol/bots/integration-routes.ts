/** The HTTP forms of webhooks, slash commands and event subscriptions on the messaging service. */
import { botCommands, commandsReply, invocation, invokeCommand, respond } from './commands.ts';
import type { Route } from '../route.ts';
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
  makeWebhook: {
    method: 'post',
    path: '/v1/conversations/:id/webhooks',
    summary: 'Makes a URL that posts into this room; its token is in the answer and never shown again.',
    auth: 'session',
    rate: 'create',
    body: makeWebhook,
    replies: { 201: madeWebhook },
    errors: [forbidden, right, 'participants_fixed', 'conversation_full', 'webhooks_full'],
  },
  readWebhooks: {
    method: 'get',
    path: '/v1/conversations/:id/webhooks',
    summary: 'The webhooks of this room, with their last use and without their tokens.',
    auth: 'session',
    replies: { 200: webhooksReply },
    errors: [forbidden, right],
  },
  revokeWebhook: {
    method: 'delete',
    path: '/v1/conversations/:id/webhooks/:webhook',
    summary: 'Ends a webhook at once. What it posted stays.',
    auth: 'session',
    replies: { 204: null },
    errors: [forbidden, right, 'webhook_not_found'],
  },
  postWebhook: {
    method: 'post',
    path: '/v1/hooks/:token',
    summary: "Posts a text as the webhook's own bot. 201 for a new one, 200 with the first one's place for a repeat.",
    auth: 'none',
    body: webhookPost,
    formField: 'payload',
    formBytesMax: WEBHOOK_FORM_BYTES_MAX,
    replies: { 200: webhookPosted, 201: webhookPosted },
    errors: [forbidden, right, 'call_step_is_signalling', 'webhook_not_found'],
  },
  readCommands: {
    method: 'get',
    path: '/v1/conversations/:id/commands',
    summary: 'The slash commands that bots offer in this conversation.',
    auth: 'session',
    replies: { 200: commandsReply },
    errors: [forbidden, right],
  },
  invokeCommand: {
    method: 'post',
    path: '/v1/conversations/:id/commands',
    summary: 'Gives a command to a bot of this conversation. Nothing is posted; the bot answers if it likes.',
    auth: 'session',
    rate: 'post',
    body: invokeCommand,
    replies: { 202: invocation },
    errors: [forbidden, right, 'command_not_found', 'command_ambiguous'],
  },
  putBotCommands: {
    method: 'put',
    path: '/v1/bots/self/commands',
    summary: "Sets the calling bot's slash commands, in the place of those before.",
    auth: 'session',
    body: botCommands,
    replies: { 200: botCommands },
    errors: [right],
  },
  readBotCommands: {
    method: 'get',
    path: '/v1/bots/self/commands',
    summary: "The calling bot's slash commands.",
    auth: 'session',
    replies: { 200: botCommands },
    errors: [right],
  },
  postResponse: {
    method: 'post',
    path: '/v1/bots/self/responses',
    summary: 'Answers a command to its caller alone, on the devices that are connected. Not stored.',
    auth: 'session',
    body: respond,
    replies: { 202: null },
    errors: [right, forbidden, 'response_token_invalid'],
  },
  makeSubscription: {
    method: 'post',
    path: '/v1/bots/self/subscriptions',
    summary: "Has events of the calling bot's conversations sent to a URL; the secret that signs them is shown once.",
    auth: 'session',
    body: makeSubscription,
    replies: { 201: madeSubscription },
    errors: [right, 'subscriptions_full', 'target_private', 'encryption_locked'],
  },
  readSubscriptions: {
    method: 'get',
    path: '/v1/bots/self/subscriptions',
    summary: "The calling bot's subscriptions, without their secrets.",
    auth: 'session',
    replies: { 200: subscriptionsReply },
    errors: [right],
  },
  removeSubscription: {
    method: 'delete',
    path: '/v1/bots/self/subscriptions/:subscription',
    summary: 'Ends a subscription; what waits is not sent.',
    auth: 'session',
    replies: { 204: null },
    errors: [right, 'subscription_not_found'],
  },
} as const satisfies Record<string, Route>;
