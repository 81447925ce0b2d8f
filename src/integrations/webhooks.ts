/**
 * Incoming webhooks (BOT-01): made for a room by its moderators or in the console, posting as a bot of their own until
 * they are revoked. The bot is a participant of its room, so that everybody sees who may speak there, and whoever may
 * remove participants may silence it. The threads decide by what is pushed to them, as for bots.
 */
import { hashSecret, makeSecret } from '#src/identity/credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { BOT_USER_PREFIX, type BotSnapshot } from '#src/protocol/bots/bots.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  WEBHOOKS_MAX,
  WEBHOOKS_PER_CONVERSATION_MAX,
  type MadeWebhook,
  type Webhook,
} from '#src/protocol/bots/webhooks.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { botUses, readBotSnapshot, webhookRecords, type WebhookRecord } from './bot-records.ts';
import { putBotEntry } from '#src/directory/directory.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

export interface WebhooksOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly announce: (snapshot: BotSnapshot) => Promise<void>;
  readonly directoryChanged: (user: string, rev: number) => void;
  /**
   * Makes it a participant of its room, or no longer one.
   * @throws Refusal `conversation_forbidden`, `conversation_archived`, `participants_fixed`, `conversation_full`.
   */
  readonly seat: (conversation: string, user: string, isSeated: boolean) => Promise<void>;
}

export class Webhooks {
  readonly #options: WebhooksOptions;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  /**
   * Makes a webhook for a room; whether `by` may is settled already.
   * @throws Refusal `webhooks_full`, `rate_limited`, and as `seat` does; then nothing was made.
   */
  async make(conversation: string, name: string, by: AuditActor): Promise<MadeWebhook> {
    const { seat } = this.#options;
    this.#options.limiter.take('webhook_made', by.actor);
    const secret = makeSecret();
    const { id, record, rev } = await this.#store(conversation, name, hashSecret(secret), by);
    await this.#announce(record.user, rev);
    try {
      await seat(conversation, record.user, true);
    } catch (error) {
      await this.revoke(conversation, id, { actor: 'server', address: null });
      throw error;
    }
    const token = `${id}_${secret}`;
    return { ...this.#listed(id, record), token, path: `/v1/hooks/${token}` };
  }

  /** The webhooks of a room, in the order of their making. */
  list(conversation: string): Webhook[] {
    const all = this.#options.accounts.documents(webhookRecords);
    return all.flatMap(({ id, document }) =>
      document.conversation === conversation ? [this.#listed(id, document)] : [],
    );
  }

  /** The webhooks of all rooms, in the order of their making, behind one. */
  listAll(after: string | undefined, limit: number): { items: Webhook[]; next: string | null } {
    const range = { ...(after === undefined ? {} : { after }), limit };
    const items = this.#options.accounts
      .documents(webhookRecords, range)
      .map(({ id, document }) => this.#listed(id, document));
    return { items, next: items.length < limit ? null : (items.at(-1)?.id ?? null) };
  }

  /** Ends a webhook of that room at once. @throws Refusal `webhook_not_found`. */
  async revoke(conversation: string, id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, seat } = this.#options;
    const now = clock.now();
    const { user, rev } = await accounts.change((draft) => {
      const record = draft.document(webhookRecords, id);
      if (record?.conversation !== conversation) throw new Refusal('webhook_not_found');
      draft.removeDocument(webhookRecords, id);
      draft.removeDocument(botUses, id);
      const details = { name: record.displayName, conversation };
      draft.audit(now, { event: 'webhook.revoked', ...by, subject: `webhook:${id}`, details });
      const entry = { displayName: record.displayName, state: 'left' } as const;
      return { user: record.user, rev: putBotEntry(draft, record.user, entry) };
    });
    await this.#announce(user, rev);
    // The room may be gone, or its moderators were faster.
    await seat(conversation, user, false).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }

  async #store(conversation: string, name: string, hash: string, by: AuditActor) {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('hook', now);
    const user = `${BOT_USER_PREFIX}${id.replace('_', '.')}`;
    // In turns, so that two do not both find the last place free.
    return await this.#inTurn(async () => {
      const known = accounts.documents(webhookRecords).map(({ document }) => document);
      const here = known.filter((one) => one.conversation === conversation).length;
      if (known.length >= WEBHOOKS_MAX || here >= WEBHOOKS_PER_CONVERSATION_MAX) throw new Refusal('webhooks_full');
      const device = makeId('d', now);
      const record: WebhookRecord = {
        ...{ user, displayName: name, conversation, device, hash },
        createdBy: by.actor,
        createdAt: now,
      };
      const rev = await accounts.change((draft) => {
        draft.putDocument(webhookRecords, id, record);
        draft.audit(now, { event: 'webhook.made', ...by, subject: `webhook:${id}`, details: { name, conversation } });
        return putBotEntry(draft, user, { displayName: name, state: 'active' });
      });
      return { id, record, rev };
    });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  async #announce(user: string, rev: number): Promise<void> {
    const { accounts, announce, directoryChanged } = this.#options;
    await announce(readBotSnapshot(accounts));
    directoryChanged(user, rev);
  }

  #listed(id: string, record: WebhookRecord): Webhook {
    const use = this.#options.accounts.document(botUses, id);
    return {
      id,
      name: record.displayName,
      conversation_id: record.conversation,
      sender: record.user,
      created_by: record.createdBy,
      created_at: formatInstant(record.createdAt),
      last_used_at: use === undefined ? null : formatInstant(use.usedAt),
      last_used_address: use?.address ?? null,
    };
  }
}
