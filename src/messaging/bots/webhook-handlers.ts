/** Handlers of incoming webhooks. Posting by one asks nobody but the conversation: no other thread has to be up. */
import type { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { isCallStep, type Message, type PostMessage } from '#src/protocol/conversations/messages.ts';
import { rightsIn } from '#src/protocol/conversations/rights.ts';
import type * as forms from '#src/protocol/bots/webhooks.ts';
import { ask, pathConversation, readable, type Call, type Handler, type Reply } from '../http/caller.ts';
import { askMain } from './integration-calls.ts';
import { preview } from '../conversations/message-handlers.ts';
import { webhookText } from './webhook-text.ts';

export const makeWebhook: Handler = async (call) => {
  const { name } = call.body as z.infer<typeof forms.makeWebhook>;
  const conversation = managed(call);
  const made = await askMain(call, { kind: 'makeWebhook', conversation, name, by: byPerson(call) });
  return { status: 201, json: JSON.stringify(made) };
};

export const readWebhooks: Handler = async (call) => {
  const found = await askMain(call, { kind: 'readWebhooks', conversation: managed(call) });
  return { status: 200, json: JSON.stringify(found) };
};

export const revokeWebhook: Handler = async (call) => {
  const conversation = managed(call);
  const { webhook = '' } = call.params;
  if (!isId('hook', webhook)) throw new Refusal('webhook_not_found');
  await askMain(call, { kind: 'revokeWebhook', conversation, webhook, by: byPerson(call) });
  return { status: 204, json: '' };
};

/** Posts as the webhook's bot, whose visit has settled which conversation that is. */
export const postWebhook: Handler = async (call) => {
  const post = call.body as forms.WebhookPost;
  const { client_msg_id: clientMsgId } = post;
  const form: PostMessage = {
    kind: 'text',
    body: webhookText(post),
    ...(clientMsgId && { client_msg_id: clientMsgId }),
  };
  // Old clients would take it for a step of a call, whoever posted it (MSG-06).
  if (isCallStep(form)) throw new Refusal('call_step_is_signalling');
  const [conversation = ''] = call.reach ?? [];
  const { device, user } = call;
  const posted = await ask<Reply>(call, `conversation:${conversation}`, { kind: 'post', form, user, device });
  const reply = preview(call, posted, 201);
  // Whoever has the URL may write, and read nothing: not even what became of its message since.
  const { conversation_id, seq, created_at } = JSON.parse(reply.json) as Message;
  return { status: reply.status, json: JSON.stringify({ conversation_id, seq, created_at }) };
};

/**
 * The conversation of the path, if its webhooks are the caller's to manage.
 * @throws Refusal `conversation_forbidden`, `right_missing`, `participants_fixed` for what is no room.
 */
function managed(call: Call): string {
  const { member, record } = readable(call);
  if (record.kind !== 'room') throw new Refusal('participants_fixed');
  if (!rightsIn(record.kind, member.role).includes('webhook.manage')) throw new Refusal('right_missing');
  return pathConversation(call);
}

function byPerson({ user }: Call): { readonly actor: string; readonly address: null } {
  return { actor: `user:${user}`, address: null };
}
