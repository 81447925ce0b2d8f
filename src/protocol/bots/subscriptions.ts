/**
 * Outgoing event subscriptions: a URL that is sent, signed, what happens in a bot's conversations, as far as its scopes
 * let it hear it. `docs/protocol.md` says how a receiver checks a delivery.
 */
import { z } from 'zod';
import type { BotScope } from './bot-scopes.ts';

/** Event → the scope that a bot needs to be sent it. */
export const SUBSCRIBED_EVENT_SCOPES = {
  'message.new': 'messages:read',
  'message.edit': 'messages:read',
  'message.delete': 'messages:read',
  membership: 'conversations:read',
  command: 'commands:write',
} as const satisfies Record<string, BotScope>;
export type SubscribedEvent = keyof typeof SUBSCRIBED_EVENT_SCOPES;
const SUBSCRIBED_EVENTS = Object.keys(SUBSCRIBED_EVENT_SCOPES) as [SubscribedEvent, ...SubscribedEvent[]];

/** Subscriptions of one bot. [subscriptions_full] */
export const SUBSCRIPTIONS_PER_BOT_MAX = 5;

/** POST /v1/bots/self/subscriptions. */
export const makeSubscription = z
  .strictObject({
    url: z.url({ protocol: /^https?$/ }).max(2_000),
    events: z
      .array(z.enum(SUBSCRIBED_EVENTS))
      .min(1)
      .refine((events) => new Set(events).size === events.length),
  })
  .meta({ id: 'MakeSubscription' });
export type MakeSubscription = z.infer<typeof makeSubscription>;

const fields = {
  id: z.string(),
  bot: z.string().meta({ description: "The bot's id." }),
  url: z.string(),
  events: z.array(z.enum(SUBSCRIBED_EVENTS)),
  state: z.enum(['active', 'disabled']),
  created_by: z.string(),
  created_at: z.string(),
  failing_since: z.string().nullable(),
  last_failure: z.string().nullable().meta({ description: 'Of the last attempt that failed: a status or a reason.' }),
};

export const subscription = z.strictObject(fields).meta({ id: 'Subscription' });
export type Subscription = z.infer<typeof subscription>;

export const madeSubscription = z
  .strictObject({ ...fields, secret: z.string().meta({ description: 'Signs what is sent. Shown once.' }) })
  .meta({ id: 'MadeSubscription' });
export type MadeSubscription = z.infer<typeof madeSubscription>;

export const subscriptionsReply = z
  .strictObject({ items: z.array(subscription), next: z.null() })
  .meta({ id: 'Subscriptions' });
