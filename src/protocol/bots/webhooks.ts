/**
 * Incoming webhooks: a URL that posts into one room (BOT-01). Whoever has the URL speaks as the webhook's own bot, and
 * can do nothing else: not read, not post elsewhere, not choose a name.
 */
import { z } from 'zod';
import { BODY_BYTES_MAX, TEXT_LENGTH_MAX } from '../limits.ts';
import { clientMsgId, username } from '../names.ts';

/** Webhooks of an installation that are not revoked: every thread holds all of them. [webhooks_full] */
export const WEBHOOKS_MAX = 2_000;

/** Of them for one room: what its moderators still know the purpose of. [webhooks_full] */
export const WEBHOOKS_PER_CONVERSATION_MAX = 10;

/** Webhooks that one person makes in an hour; each one made leaves its name in the directory. [rate_limited] */
export const WEBHOOKS_MADE_PER_HOUR_MAX = 30;

/** Posts of one webhook a second, over all threads, and at once after a quiet time. [rate_limited] */
export const WEBHOOK_POSTS_PER_SECOND = 1;
export const WEBHOOK_POSTS_BURST = 30;

/** A body whose JSON stands in a form: each byte of it may take three. [body_too_large] */
export const WEBHOOK_FORM_BYTES_MAX = 3 * BODY_BYTES_MAX;

/** Attachments and blocks of one post, as many as Slack takes. [field_invalid] */
export const WEBHOOK_ATTACHMENTS_MAX = 100;
export const WEBHOOK_BLOCKS_MAX = 50;

/** How a webhook is shown: characters that name somebody, and none that garble a list. */
export const displayName = z
  .string()
  .max(100)
  .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u);

/** POST …/webhooks. */
export const makeWebhook = z.strictObject({ name: displayName }).meta({ id: 'MakeWebhook' });

const dropped = z.unknown().optional().meta({ description: 'Dropped: it changes nothing and is stored nowhere.' });
const piece = z.record(z.string(), z.unknown());

/**
 * POST /v1/hooks/{token}: the text, and nothing about who says it. What senders made for Slack add is taken: texts of
 * attachments and blocks join the text; names, icons and channels are dropped before anything reads them (GOV-05).
 */
export const webhookPost = z
  .strictObject({
    text: z.string().max(TEXT_LENGTH_MAX).optional(),
    client_msg_id: clientMsgId.optional(),
    attachments: z.array(piece).max(WEBHOOK_ATTACHMENTS_MAX).optional(),
    blocks: z.array(piece).max(WEBHOOK_BLOCKS_MAX).optional(),
    username: dropped,
    icon_emoji: dropped,
    icon_url: dropped,
    channel: dropped,
    mrkdwn: dropped,
    link_names: dropped,
  })
  .meta({ id: 'WebhookPost' });
export type WebhookPost = z.infer<typeof webhookPost>;

export const webhookPosted = z
  .strictObject({ conversation_id: z.string(), seq: z.int().min(1), created_at: z.string() })
  .meta({ id: 'WebhookPosted' });

const fields = {
  id: z.string(),
  name: z.string(),
  conversation_id: z.string(),
  sender: username.meta({ description: 'The username that its messages have; begins with "bot.".' }),
  created_by: z.string(),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  last_used_address: z.string().nullable(),
};

export const webhook = z.strictObject(fields).meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhook>;

export const madeWebhook = z
  .strictObject({ ...fields, token: z.string(), path: z.string().meta({ description: 'Behind the messaging URL.' }) })
  .meta({ id: 'MadeWebhook', description: 'The token is shown once.' });
export type MadeWebhook = z.infer<typeof madeWebhook>;

export const webhooksReply = z.strictObject({ items: z.array(webhook), next: z.null() }).meta({ id: 'Webhooks' });
