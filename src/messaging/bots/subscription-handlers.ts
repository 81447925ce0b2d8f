/** Handlers of a bot's own event subscriptions. */
import { isId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MakeSubscription } from '#src/protocol/bots/subscriptions.ts';
import type { Handler } from '../http/caller.ts';
import { askIntegrations, byBot, callingBot } from './integration-calls.ts';

export const makeSubscription: Handler = async (request) => {
  const bot = callingBot(request);
  const form = request.body as MakeSubscription;
  const made = await askIntegrations(request, 'subscriptions.make', { bot: bot.id, form, by: byBot(bot) });
  return { status: 201, json: JSON.stringify(made) };
};

export const readSubscriptions: Handler = async (request) => {
  const items = await askIntegrations(request, 'subscriptions.list', { bot: callingBot(request).id });
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

export const removeSubscription: Handler = async (request) => {
  const bot = callingBot(request);
  const { subscription = '' } = request.params;
  if (!isId('sub', subscription)) throw new Refusal('subscription_not_found');
  await askIntegrations(request, 'subscriptions.remove', { bot: bot.id, subscription, by: byBot(bot) });
  return { status: 204, json: '' };
};
