/**
 * Event subscriptions of bots: made, listed, removed, disabled and enabled here; `subscription-deliveries.ts` sends. The
 * secret is the server's, shown once, and lies in the vault.
 */
import { makeSecret } from '#src/identity/credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { BotSnapshot } from '#src/protocol/bots/bots.ts';
import { checkedHost, isTargetUrl, type PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  SUBSCRIPTIONS_PER_BOT_MAX,
  type MadeSubscription,
  type MakeSubscription,
  type Subscription,
} from '#src/protocol/bots/subscriptions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { botRecords, readBotSnapshot, subscriptionRecords, type SubscriptionRecord } from './bot-records.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { cursorRecords, failureOf, subscriptionSecret } from './subscription-records.ts';

export interface SubscriptionsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly allowPrivateTargets: PrivateTargets;
  readonly announce: (snapshot: BotSnapshot) => Promise<void>;
  /** A subscription begins: it hears what happens from now on. */
  readonly begun: (id: string) => Promise<void>;
  /** It ended or was disabled: nothing of it is sent any more, and what waited is forgotten. */
  readonly ended: (id: string) => Promise<void>;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Those of a bot, in the order of their making. @throws Refusal `bot_not_found`. */
  list(bot: string): Subscription[] {
    const { accounts } = this.#options;
    if (accounts.document(botRecords, bot) === undefined) throw new Refusal('bot_not_found');
    const all = accounts.documents(subscriptionRecords);
    return all.flatMap(({ id, document }) => (document.bot === bot ? [this.#listed(id, document)] : []));
  }

  /**
   * Makes a subscription; what it may hear is decided at each delivery.
   * @throws Refusal `bot_not_found`, `bot_not_active`, `subscriptions_full`, `field_invalid`, `target_private`,
   * `encryption_locked`.
   */
  async make(bot: string, form: MakeSubscription, by: AuditActor): Promise<MadeSubscription> {
    const { accounts, allowPrivateTargets, begun, clock, vault } = this.#options;
    if (!isTargetUrl(form.url, ['https:', 'http:'])) throw new Refusal('field_invalid', { field: 'url' });
    const url = new URL(form.url);
    checkedHost(url, allowPrivateTargets, 'url');
    const now = clock.now();
    const id = makeId('sub', now);
    const secret = makeSecret();
    const record: SubscriptionRecord = {
      ...{ bot, url: form.url, events: form.events, isEnabled: true },
      createdBy: by.actor,
      createdAt: now,
    };
    await accounts.change((draft) => {
      const owner = draft.document(botRecords, bot);
      if (owner === undefined) throw new Refusal('bot_not_found');
      if (owner.revokedAt !== null) throw new Refusal('bot_not_active');
      // Those of one moment are counted on the draft only if they are on disk; one too many does no harm.
      if (this.list(bot).length >= SUBSCRIPTIONS_PER_BOT_MAX) throw new Refusal('subscriptions_full');
      vault.put(draft, subscriptionSecret(id), Buffer.from(secret, 'utf8'));
      draft.putDocument(subscriptionRecords, id, record);
      const details = { bot, host: url.host, events: [...form.events] };
      draft.audit(now, { event: 'subscription.made', ...by, subject: `subscription:${id}`, details });
    });
    await begun(id);
    await this.#announce();
    return { ...this.#listed(id, record), secret };
  }

  /** Ends a subscription of that bot; what waits is not sent. @throws Refusal `subscription_not_found`. */
  async remove(bot: string, id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, ended, vault } = this.#options;
    await accounts.change((draft) => {
      const record = draft.document(subscriptionRecords, id);
      if (record?.bot !== bot) throw new Refusal('subscription_not_found');
      draft.removeDocument(subscriptionRecords, id);
      vault.remove(draft, subscriptionSecret(id));
      const details = { bot, host: new URL(record.url).host };
      draft.audit(clock.now(), { event: 'subscription.removed', ...by, subject: `subscription:${id}`, details });
    });
    await ended(id);
    await this.#announce();
  }

  /** Enables one that was disabled: it hears what happens from now on. @throws Refusal `subscription_not_found`. */
  async enable(bot: string, id: string, by: AuditActor): Promise<Subscription> {
    const { accounts, begun, clock, ended } = this.#options;
    const record = await accounts.change((draft) => {
      const before = draft.document(subscriptionRecords, id);
      if (before?.bot !== bot) throw new Refusal('subscription_not_found');
      const after = { ...before, isEnabled: true };
      draft.putDocument(subscriptionRecords, id, after);
      const details = { bot, host: new URL(after.url).host };
      draft.audit(clock.now(), { event: 'subscription.enabled', ...by, subject: `subscription:${id}`, details });
      return after;
    });
    await ended(id);
    await begun(id);
    await this.#announce();
    return this.#listed(id, record);
  }

  /** Disables one whose deliveries have failed for too long. */
  async disable(id: string, reason: string): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const record = draft.document(subscriptionRecords, id);
      if (record?.isEnabled !== true) return;
      draft.putDocument(subscriptionRecords, id, { ...record, isEnabled: false });
      const details = { bot: record.bot, host: new URL(record.url).host, reason };
      const by = { actor: 'server', address: null };
      draft.audit(clock.now(), { event: 'subscription.disabled', ...by, subject: `subscription:${id}`, details });
    });
    await this.#announce();
  }

  async #announce(): Promise<void> {
    await this.#options.announce(readBotSnapshot(this.#options.accounts));
  }

  #listed(id: string, record: SubscriptionRecord): Subscription {
    const cursors = this.#options.accounts.documents(cursorRecords, { after: `${id}:`, limit: 1_000 });
    const failing = failureOf(cursors.filter((one) => one.id.startsWith(`${id}:`)).map(({ document }) => document));
    return {
      id,
      bot: record.bot,
      url: record.url,
      events: [...record.events],
      state: record.isEnabled ? 'active' : 'disabled',
      created_by: record.createdBy,
      created_at: formatInstant(record.createdAt),
      failing_since: failing === undefined ? null : formatInstant(failing.failingSince),
      last_failure: failing?.reason ?? null,
    };
  }
}
