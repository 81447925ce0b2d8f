/** What handlers of webhooks, commands and subscriptions share: who asks, and the way to the main thread. */
import type { Answer } from '#actors/runtime/actor.ts';
import { MAIN } from '#actors/runtime/thread-runtime.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { IntegrationAsk } from '#src/protocol/bots/integrations.ts';
import type { Bot } from './bot-access.ts';
import type { ClientRequest } from '../http/caller.ts';

/** Asks the main thread. @throws Refusal with its code, or `unavailable` while it does not answer. */
export async function askMain<T>({ service }: ClientRequest, ask: IntegrationAsk): Promise<T> {
  const millis = service.config.requestSeconds * 1000;
  const answer: Answer = await service.runtime.askService(MAIN, '@integrations', ask, millis);
  if (answer.ok) return answer.value as T;
  throw new Refusal(answer.code, { field: answer.field ?? undefined, retryAfter: answer.retryAfter ?? undefined });
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
