/** Webhooks, commands and subscriptions put together: how the messaging threads reach them, and how bots hear of them. */
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf, type ServiceHandlers } from '#actors/runtime/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { BotCommand } from '#src/protocol/bots/commands.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { IntegrationServices } from '#src/protocol/bots/integrations.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { Alerts } from '#src/monitoring/alerts.ts';
import { botCommandRecords, botRecords, readBotSnapshot } from './bot-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { SubscriptionDeliveries } from './subscription-deliveries.ts';
import { Subscriptions } from './subscriptions.ts';
import { Webhooks } from './webhooks.ts';

/** How long a conversation may take to seat a bot. */
const SEAT_MILLIS = 10_000;

export interface IntegrationsOptions {
  readonly accounts: Accounts;
  readonly alerts: Pick<Alerts, 'note'>;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly vault: Vault;
  readonly lanes: Pick<Lanes, 'read'>;
  readonly epoch: string;
  readonly log: Logger;
  readonly allowPrivateTargets: PrivateTargets;
  /** Hands the bots to every thread; resolves when each decides by them, or is known to be gone. */
  readonly announce: (snapshot: BotSnapshot) => Promise<void>;
  readonly directoryChanged: (user: string, rev: number) => void;
  /** Reaches the actor of an address on whatever thread it lives. */
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
}

export class Integrations {
  readonly webhooks: Webhooks;
  readonly subscriptions: Subscriptions;
  readonly deliveries: SubscriptionDeliveries;
  readonly #options: IntegrationsOptions;

  constructor(options: IntegrationsOptions) {
    const { alerts, ask } = options;
    this.#options = options;
    const announce = async (snapshot: BotSnapshot) => await this.announce(snapshot);
    this.deliveries = new SubscriptionDeliveries({
      ...options,
      disable: async (id, reason) => {
        await this.subscriptions.disable(id, reason);
        await alerts.note('subscription_disabled', id.replace('_', ':'), `deliveries failed: ${reason}`);
      },
    });
    this.subscriptions = new Subscriptions({
      ...options,
      announce,
      begun: async () => await this.deliveries.settle(),
      ended: async (id) => await this.deliveries.forget(id),
    });
    this.webhooks = new Webhooks({
      ...options,
      announce,
      seat: async (conversation, user, isSeated) => {
        const message = { kind: 'seat', user, device: '', isSeated };
        valueOf(await ask(`conversation:${conversation}`, message, SEAT_MILLIS));
      },
    });
  }

  /** Hands the bots to every thread, and has subscriptions hear by them from here on. */
  async announce(snapshot: BotSnapshot): Promise<void> {
    await this.#options.announce(snapshot);
    await this.deliveries.settle();
  }

  /** The slash commands that a bot offers. @throws Refusal `bot_not_found`. */
  commands(bot: string): readonly BotCommand[] {
    const { accounts } = this.#options;
    if (accounts.document(botRecords, bot) === undefined) throw new Refusal('bot_not_found');
    return accounts.document(botCommandRecords, bot)?.commands ?? [];
  }

  /** What messaging threads ask of these. */
  get services(): ServiceHandlers<IntegrationServices> {
    const { deliveries, subscriptions, webhooks } = this;
    return {
      'webhooks.make': async ({ by, conversation, name }) => await webhooks.make(conversation, name, by),
      'webhooks.list': ({ conversation }) => webhooks.list(conversation),
      'webhooks.revoke': async ({ by, conversation, webhook }) => await webhooks.revoke(conversation, webhook, by),
      'commands.put': async ({ bot, by, commands }) => await this.#putCommands(bot, commands, by),
      'commands.deliver': async ({ bot, conversation, event, invocation }) =>
        await deliveries.command(bot, conversation, invocation, event),
      'subscriptions.make': async ({ bot, by, form }) => await subscriptions.make(bot, form, by),
      'subscriptions.list': ({ bot }) => subscriptions.list(bot),
      'subscriptions.remove': async ({ bot, by, subscription }) => await subscriptions.remove(bot, subscription, by),
    };
  }

  async #putCommands(bot: string, commands: readonly BotCommand[], by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      draft.putDocument(botCommandRecords, bot, { commands });
      const details = { commands: commands.map(({ name }) => name) };
      draft.audit(clock.now(), { event: 'bot.commands_set', ...by, subject: `bot:${bot}`, details });
    });
    await this.announce(readBotSnapshot(accounts));
  }
}
