/** Webhooks, commands and subscriptions put together: how the messaging threads reach them, and how bots hear of them. */
import { refused, type Address, type Answer, type Tell } from '#actors/runtime/actor.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { Clock } from '#src/base/clock.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { BotCommand } from '#src/protocol/bots/commands.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { IntegrationAsk } from '#src/protocol/bots/integrations.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
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
        const answer = await ask(`conversation:${conversation}`, message, SEAT_MILLIS);
        if (!answer.ok) throw new Refusal(answer.code, { field: answer.field ?? undefined });
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

  /** The answer to a messaging thread. */
  async serve(ask: IntegrationAsk): Promise<Answer> {
    try {
      return { ok: true, value: await this.#serve(ask) };
    } catch (error) {
      if (error instanceof Refusal) return refused(error.code, error.field, error.retryAfter);
      this.#options.log.error('an integration failed', { kind: ask.kind, error });
      return refused('internal');
    }
  }

  async #serve(ask: IntegrationAsk): Promise<unknown> {
    const { deliveries, subscriptions, webhooks } = this;
    switch (ask.kind) {
      case 'makeWebhook':
        return await webhooks.make(ask.conversation, ask.name, ask.by);
      case 'readWebhooks':
        return { items: webhooks.list(ask.conversation), next: null };
      case 'revokeWebhook':
        await webhooks.revoke(ask.conversation, ask.webhook, ask.by);
        return null;
      case 'putCommands':
        return await this.#putCommands(ask);
      case 'makeSubscription':
        return await subscriptions.make(ask.bot, ask.form, ask.by);
      case 'readSubscriptions':
        return { items: subscriptions.list(ask.bot), next: null };
      case 'removeSubscription':
        await subscriptions.remove(ask.bot, ask.subscription, ask.by);
        return null;
      default:
        await deliveries.command(ask.bot, ask.conversation, ask.invocation, ask.event);
        return null;
    }
  }

  async #putCommands({ bot, by, commands }: Extract<IntegrationAsk, { kind: 'putCommands' }>): Promise<unknown> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      draft.putDocument(botCommandRecords, bot, { commands });
      const details = { commands: commands.map(({ name }) => name) };
      draft.audit(clock.now(), { event: 'bot.commands_set', ...by, subject: `bot:${bot}`, details });
    });
    await this.announce(readBotSnapshot(accounts));
    return { commands };
  }
}
