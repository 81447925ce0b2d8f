/** Handlers of incoming webhooks. Posting by one asks nobody but the conversation: no other thread has to be up. */
import type { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { isCallStep, type Message, type PostMessage } from '#src/protocol/conversations/messages.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import type * as forms from '#src/protocol/bots/webhooks.ts';
import { ask, pathConversation, readable, type ClientRequest, type Handler, type Reply } from '../http/caller.ts';
import { askIntegrations } from './integration-calls.ts';
import { preview } from '../conversations/message-handlers.ts';
import { webhookText } from './webhook-text.ts';

export const makeWebhook: Handler = async (request) => {
  const { name } = request.body as z.infer<typeof forms.makeWebhook>;
  const conversation = managed(request);
  request.service.access.requireMessage(request, conversation);
  const made = await askIntegrations(request, 'webhooks.make', { conversation, name, by: byPerson(request) });
  return { status: 201, json: JSON.stringify(made) };
};

export const readWebhooks: Handler = async (request) => {
  const items = await askIntegrations(request, 'webhooks.list', { conversation: managed(request) });
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

export const revokeWebhook: Handler = async (request) => {
  const conversation = managed(request);
  const { webhook = '' } = request.params;
  if (!isId('hook', webhook)) throw new Refusal('webhook_not_found');
  await askIntegrations(request, 'webhooks.revoke', { conversation, webhook, by: byPerson(request) });
  return { status: 204, json: '' };
};

/** Posts as the webhook's bot, whose visit has settled which conversation that is. */
export const postWebhook: Handler = async (request) => {
  const post = request.body as forms.WebhookPost;
  const { client_msg_id: clientMsgId } = post;
  const form: PostMessage = {
    kind: 'text',
    body: webhookText(post),
    ...(clientMsgId && { client_msg_id: clientMsgId }),
  };
  // Old clients would take it for a step of a call, whoever posted it (MSG-06).
  if (isCallStep(form)) throw new Refusal('call_step_is_signalling');
  const [conversation = ''] = request.reach ?? [];
  const { device, user } = request;
  const posted = await ask<Reply>(request, `conversation:${conversation}`, { kind: 'post', form, user, device });
  const reply = preview(request, posted, 201);
  // Whoever has the URL may write, and read nothing: not even what became of its message since.
  const { conversation_id, seq, created_at } = JSON.parse(reply.json) as Message;
  return { status: reply.status, json: JSON.stringify({ conversation_id, seq, created_at }) };
};

/**
 * The conversation of the path, if its webhooks are the caller's to manage.
 * @throws Refusal `conversation_forbidden`, `right_missing`, `participants_fixed` for what is no room.
 */
function managed(request: ClientRequest): string {
  const { member, record } = readable(request);
  if (record.kind !== 'room') throw new Refusal('participants_fixed');
  if (!rightsIn(record.kind, member.role).includes('webhook.manage')) throw new Refusal('right_missing');
  return pathConversation(request);
}

function byPerson({ user }: ClientRequest): { readonly actor: string; readonly address: null } {
  return { actor: `user:${user}`, address: null };
}
