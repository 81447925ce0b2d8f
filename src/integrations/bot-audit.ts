/**
 * What bots did, written into the audit trail as the shards hand it over (CRD-04): a batch is one commit, and the shard
 * keeps it until it is answered.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { BotAuditBatch, BotFact } from '#src/protocol/bots/bots.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditValue } from '#storage/accounts/audit-chain.ts';
import { botRecords, botUses, webhookRecords, type BotUse } from './bot-records.ts';

export class BotAudit {
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  /** Thread → its last batch, written or being written. Threads that died leave a line here each. */
  readonly #last = new Map<string, { readonly number: number; readonly written: Promise<void> }>();

  constructor(accounts: Accounts, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /**
   * Resolves when the batch is on disk. One that came before, because its answer was late, is not written again.
   * @throws Refusal `busy`, `storage_full`: the batch is to be handed over again.
   */
  async write(batch: BotAuditBatch): Promise<void> {
    const last = this.#last.get(batch.source);
    if (last !== undefined && batch.number <= last.number) return await last.written;
    const written = this.#store(batch.facts);
    this.#last.set(batch.source, { number: batch.number, written });
    try {
      await written;
    } catch (error) {
      this.#last.delete(batch.source);
      throw error;
    }
  }

  async #store(facts: readonly BotFact[]): Promise<void> {
    const now = this.#clock.now();
    const uses = new Map<string, BotUse>();
    for (const { bot, at, address } of facts) uses.set(bot, { usedAt: at, address });
    await this.#accounts.change((draft) => {
      for (const fact of facts) {
        draft.audit(now, {
          event: fact.event,
          actor: `${fact.event === 'webhook.request' ? 'webhook' : 'bot'}:${fact.bot}`,
          address: fact.address,
          subject: fact.conversation === null ? null : `conversation:${fact.conversation}`,
          details: detailsOf(fact),
        });
      }
      for (const [id, use] of uses) {
        // A webhook that was revoked meanwhile leaves nothing behind.
        const isKnown = draft.document(botRecords, id) ?? draft.document(webhookRecords, id);
        if (isKnown === undefined) continue;
        // Shards hand over at different moments, and a later use is not to be hidden by an earlier one.
        const before = draft.document(botUses, id);
        if (before === undefined || unixSeconds(before.usedAt) <= unixSeconds(use.usedAt)) {
          draft.putDocument(botUses, id, use);
        }
      }
    });
  }
}

/** What a fact says beyond who, where and what; fields that say nothing are left out. */
function detailsOf({ at, method, route, status, code, count }: BotFact): Readonly<Record<string, AuditValue>> {
  return {
    at: formatInstant(at),
    ...(method === '' ? {} : { method }),
    ...(route === '' ? {} : { route }),
    status,
    ...(code === null ? {} : { code }),
    ...(count === 1 ? {} : { count }),
  };
}
