/** What is stored of bots, of webhooks, which are bots of one purpose, and of what bots offer and listen to. */
import type { BotScope } from '#src/protocol/bots/bot-scopes.ts';
import type { BotGrant, BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { BotCommand } from '#src/protocol/bots/commands.ts';
import type { SubscribedEvent } from '#src/protocol/bots/subscriptions.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

export interface BotRecord {
  /** The username it acts as: the prefix of bots and its name. */
  readonly user: string;
  readonly displayName: string;
  readonly scopes: readonly BotScope[];
  readonly conversations: readonly string[];
  /** The one device that it has. */
  readonly device: string;
  /** SHA-256 of its token's secret, hex. */
  readonly hash: string;
  /** Actors of the audit trail, and milliseconds since 1970. */
  readonly createdBy: string;
  readonly createdAt: number;
  readonly tokenIssuedAt: number;
  /** When its token ended without another in its place: by a restore. */
  readonly tokenEndedAt?: number | undefined;
  readonly revokedBy: string | null;
  readonly revokedAt: number | null;
}

export const botRecords = defineCollection<BotRecord>('bots', { version: 1 });

/** A bot's last use: apart from the bot, which only people change. Those of webhooks lie here too. */
export interface BotUse {
  /** Milliseconds since 1970. */
  readonly usedAt: number;
  readonly address: string;
}

export const botUses = defineCollection<BotUse>('bot_uses', { version: 1 });

export interface WebhookRecord extends Pick<
  BotRecord,
  'user' | 'displayName' | 'device' | 'hash' | 'createdBy' | 'createdAt'
> {
  readonly conversation: string;
}

/** One that is revoked is removed: its name is made of its id, which nobody gets again. */
export const webhookRecords = defineCollection<WebhookRecord>('webhooks', { version: 1 });

/** By the bot's id. */
export const botCommandRecords = defineCollection<{ readonly commands: readonly BotCommand[] }>('bot_commands', {
  version: 1,
});

export interface SubscriptionRecord {
  /** The bot's id. */
  readonly bot: string;
  readonly url: string;
  readonly events: readonly SubscribedEvent[];
  readonly isEnabled: boolean;
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export const subscriptionRecords = defineCollection<SubscriptionRecord>('subscriptions', { version: 1 });

/** All bots, and the webhooks that are not revoked, as the threads decide by them. */
export function readBotSnapshot(accounts: Pick<AccountsReader, 'documents'>): BotSnapshot {
  const commands = new Map(accounts.documents(botCommandRecords).map(({ id, document }) => [id, document.commands]));
  const subscribed = new Map<string, Set<SubscribedEvent>>();
  for (const { document } of accounts.documents(subscriptionRecords)) {
    if (!document.isEnabled) continue;
    subscribed.set(document.bot, new Set([...(subscribed.get(document.bot) ?? []), ...document.events]));
  }
  const bots = accounts.documents(botRecords).map(({ id, document }): BotGrant => ({
    kind: 'bot',
    id,
    user: document.user,
    device: document.device,
    hash: document.hash,
    isActive: document.revokedAt === null,
    isTokenOver: document.tokenEndedAt !== undefined,
    scopes: document.scopes,
    conversations: document.conversations,
    commands: commands.get(id) ?? [],
    subscribed: [...(subscribed.get(id) ?? [])],
  }));
  const webhooks = accounts.documents(webhookRecords).map(({ id, document }): BotGrant => ({
    kind: 'webhook',
    id,
    user: document.user,
    device: document.device,
    hash: document.hash,
    isActive: true,
    isTokenOver: false,
    scopes: ['messages:write'],
    conversations: [document.conversation],
    commands: [],
    subscribed: [],
  }));
  return [...bots, ...webhooks];
}
