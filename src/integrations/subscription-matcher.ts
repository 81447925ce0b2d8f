/**
 * What a subscription may hear, decided when it is about to be sent it: by the bot as it stands, its list, its scopes and
 * whether it takes part.
 */
import { BOT_EVENT_SCOPES } from '#src/protocol/bots/bots.ts';
import { type BotScope } from '#src/protocol/bots/bot-scopes.ts';
import type { EventEnvelope } from '#src/protocol/sockets/events.ts';
import { CHANGES_REPLY_MAX } from '#src/protocol/limits.ts';
import { SUBSCRIBED_EVENT_SCOPES, type SubscribedEvent } from '#src/protocol/bots/subscriptions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { readChanges, readConversation, readMember, type Tables } from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { botRecords, subscriptionRecords, type BotRecord, type SubscriptionRecord } from './bot-records.ts';

/** A subscription that may hear a conversation now. */
export interface Heard {
  readonly subscription: SubscriptionRecord & { readonly id: string };
  readonly bot: BotRecord;
  readonly record: ConversationRecord;
  readonly tables: Tables;
}

type AnyEvent = EventEnvelope & { readonly data: Readonly<Record<string, unknown>> };

export class SubscriptionMatcher {
  readonly #accounts: Pick<Accounts, 'document' | 'documents'>;
  readonly #lanes: Pick<Lanes, 'read'>;

  constructor(accounts: Pick<Accounts, 'document' | 'documents'>, lanes: Pick<Lanes, 'read'>) {
    this.#accounts = accounts;
    this.#lanes = lanes;
  }

  /** Every subscription with every conversation in the list of its bot, heard or not. */
  listed(): { readonly subscription: string; readonly conversation: string }[] {
    return this.#accounts.documents(subscriptionRecords).flatMap(({ id, document }) => {
      const bot = this.#accounts.document(botRecords, document.bot);
      return (bot?.conversations ?? []).map((conversation) => ({ subscription: id, conversation }));
    });
  }

  /** Undefined where the subscription may hear nothing of that conversation. */
  find(id: string, conversation: string): Heard | undefined {
    const subscription = this.#accounts.document(subscriptionRecords, id);
    if (subscription?.isEnabled !== true) return undefined;
    const bot = this.#accounts.document(botRecords, subscription.bot);
    if (bot === undefined || bot.revokedAt !== null || !bot.scopes.includes('events:subscribe')) return undefined;
    if (!bot.conversations.includes(conversation)) return undefined;
    const environment = this.#lanes.read(conversation);
    environment.refresh();
    const { tables } = environment;
    const record = readConversation(tables, conversation);
    if (record === undefined || readMember(tables, conversation, bot.user) === undefined) return undefined;
    return { subscription: { ...subscription, id }, bot, record, tables };
  }

  /** Whether an event is one that was subscribed to, within the bot's scopes, and not of its own making. */
  wants({ bot, subscription }: Heard, { data, type }: AnyEvent): boolean {
    if (!subscription.events.some((one) => one === type)) return false;
    const scope: BotScope | null = BOT_EVENT_SCOPES[type];
    if (scope === null || !bot.scopes.includes(scope)) return false;
    return data['sender'] !== bot.user;
  }

  wantsCommands({ bot, subscription }: Heard): boolean {
    const event: SubscribedEvent = 'command';
    return subscription.events.includes(event) && bot.scopes.includes(SUBSCRIBED_EVENT_SCOPES[event]);
  }
}

/** What a membership event says of a user: that they came, that they went; undefined where it is not about them. */
export function isAbout({ type, data }: AnyEvent, user: string): 'joined' | 'gone' | undefined {
  if (type !== 'membership') return undefined;
  const { action, participants } = data as { action: string; participants: readonly { user: string }[] };
  if (action === 'role' || !participants.some((one) => one.user === user)) return undefined;
  return action === 'joined' ? 'joined' : 'gone';
}

/**
 * The rev from which on a bot hears a conversation that was not known to be heard: that at which it joined, if that is
 * among the changes there are, otherwise the present one.
 */
export function joinedAt({ bot, record, tables }: Heard, epoch: string): number {
  const from = Math.max(record.rev - CHANGES_REPLY_MAX, record.floorRev, 0);
  const changes = readChanges(tables, record, epoch, from) ?? [];
  const joined = changes
    .map((json) => JSON.parse(json) as AnyEvent)
    .findLast((event) => isAbout(event, bot.user) === 'joined');
  return joined?.rev ?? record.rev;
}
