/** What handlers of webhooks, commands and subscriptions share: who asks, and the way to the main thread. */
import { valueOf, type AnswerOf, type AskBody, type AskedName } from '#actors/runtime/thread-services.ts';
import type { IntegrationServices } from '#src/protocol/bots/integrations.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Bot } from './bot-access.ts';
import type { ClientRequest } from '../http/caller.ts';

/** Asks the main thread. @throws Refusal with its code, or `unavailable` while it does not answer. */
export async function askIntegrations<N extends AskedName<IntegrationServices>>(
  { service }: ClientRequest,
  name: N,
  body: AskBody<IntegrationServices, N>,
): Promise<AnswerOf<IntegrationServices, N>> {
  const millis = service.config.requestSeconds * 1000;
  return valueOf(await service.runtime.askMain(name, body, millis));
}

/** The bot that calls for itself. @throws Refusal `right_missing` for a person. */
export function callingBot({ reach, service, user }: ClientRequest): Bot {
  const bot = reach === undefined ? undefined : service.bots.named(user);
  if (bot === undefined) throw new Refusal('right_missing');
  return bot;
}

export function byBot(bot: Bot): { readonly actor: string; readonly address: null } {
  // Where from stands in the audit entry of the request itself.
  return { actor: `bot:${bot.id}`, address: null };
}
