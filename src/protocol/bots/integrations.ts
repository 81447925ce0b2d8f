/** What a messaging thread asks of the main thread about webhooks, commands and subscriptions: plain data. */
import type { BotCommand } from './commands.ts';
import type { MadeSubscription, MakeSubscription, Subscription } from './subscriptions.ts';
import type { MadeWebhook, Webhook } from './webhooks.ts';

/** Who acts, as the audit trail has it. Whether they may is settled by whoever asks. */
interface By {
  readonly actor: string;
  readonly address: string | null;
}

/** Name → what it is asked with, and what it answers. Each may refuse with the codes of the route it is for. */
export type IntegrationServices = {
  'webhooks.make': { ask: { conversation: string; name: string; by: By }; answer: MadeWebhook };
  'webhooks.list': { ask: { conversation: string }; answer: readonly Webhook[] };
  'webhooks.revoke': { ask: { conversation: string; webhook: string; by: By }; answer: null };
  'commands.put': { ask: { bot: string; commands: readonly BotCommand[]; by: By }; answer: null };
  /** `event` is the one that is sent; answers when the bot's subscriptions have it on disk. */
  'commands.deliver': {
    ask: { bot: string; conversation: string; invocation: string; event: string };
    answer: null;
  };
  'subscriptions.make': { ask: { bot: string; form: MakeSubscription; by: By }; answer: MadeSubscription };
  'subscriptions.list': { ask: { bot: string }; answer: readonly Subscription[] };
  'subscriptions.remove': { ask: { bot: string; subscription: string; by: By }; answer: null };
};
