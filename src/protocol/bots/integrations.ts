/** What a messaging thread asks of the main thread about webhooks, commands and subscriptions: plain data. */
import type { BotCommand } from './commands.ts';
import type { MakeSubscription } from './subscriptions.ts';

/** `actor` and `address` are those of the audit trail. Whether they may is settled by whoever asks. */
interface By {
  readonly actor: string;
  readonly address: string | null;
}

export type IntegrationAsk =
  | { readonly kind: 'makeWebhook'; readonly conversation: string; readonly name: string; readonly by: By }
  | { readonly kind: 'readWebhooks'; readonly conversation: string }
  | { readonly kind: 'revokeWebhook'; readonly conversation: string; readonly webhook: string; readonly by: By }
  | { readonly kind: 'putCommands'; readonly bot: string; readonly commands: readonly BotCommand[]; readonly by: By }
  | { readonly kind: 'makeSubscription'; readonly bot: string; readonly form: MakeSubscription; readonly by: By }
  | { readonly kind: 'readSubscriptions'; readonly bot: string }
  | { readonly kind: 'removeSubscription'; readonly bot: string; readonly subscription: string; readonly by: By }
  | {
      readonly kind: 'command';
      readonly bot: string;
      readonly conversation: string;
      readonly invocation: string;
      /** The event, as it is sent. */
      readonly event: string;
    };
