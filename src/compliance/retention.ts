/**
 * How long messages are kept in the whole installation, and legal holds, which nothing goes by its time under. The
 * number of seconds is a setting; the holds are owners' alone. The threads read by what is pushed to them.
 */
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Settings } from '#src/settings/settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { formatPeriod, RetentionShortening } from './retention-shortening.ts';

const holds = defineCollection<{ readonly isHeld: boolean }>('legal_hold', { version: 1 });
const INSTALLATION = 'installation';

/** Conversations on hold, by id. One stands here before its actor knows and until it no longer does. */
const heldConversations = defineCollection<{ readonly since: string; readonly by: string }>('held_conversations', {
  version: 1,
});

/** How many holds were ended ever: whoever waits for one notes what it was, and sees later that it is another. */
const holdEndings = defineCollection<{ readonly count: number }>('hold_endings', { version: 1 });

/** Changes with every hold that ends; before that and behind it, so that a crash in between is no ending overlooked. */
export function readHoldEndings(accounts: Pick<Accounts, 'document'>): number {
  return accounts.document(holdEndings, INSTALLATION)?.count ?? 0;
}

function countEnding(draft: AccountsDraft): void {
  draft.putDocument(holdEndings, INSTALLATION, { count: readHoldEndings(draft) + 1 });
}

/** Holds in one page of the list. */
export const HOLDS_PAGE_MAX = 200;

/** A conversation on hold, as owners see it. */
interface Hold {
  readonly conversation_id: string;
  readonly since: string;
  readonly held_by: string;
}

/** How long a conversation may take to note a hold. */
const HOLD_MILLIS = 5_000;

/** What a shorter time would take, before anybody says that it shall. */
export interface ShorteningPreview {
  /** What is typed to confirm it. */
  readonly confirm: string;
  readonly messages: number;
  readonly conversations: number;
  /** Whether every conversation was looked at: else there are at least so many. */
  readonly complete: boolean;
}

export interface RetentionOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly settings: Pick<Settings, 'follow' | 'judge' | 'put' | 'read'>;
  readonly log: Logger;
  /** Counts what would go if messages were kept for so many seconds. @throws Refusal `unavailable`. */
  readonly countExpiring: (seconds: number) => Promise<Omit<ShorteningPreview, 'confirm'>>;
  /** Reaches the actor of an address. */
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  /** Hands the rule to every thread that reads messages; resolves when each reads by it. */
  readonly announceRetention: (rule: RetentionRule) => Promise<void>;
  /** Called when a hold may have ended, for what it stopped to go on. */
  readonly holdEnded: () => void;
}

export class Retention {
  readonly shortening: RetentionShortening;
  readonly #options: RetentionOptions;
  #isCounting = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    const announce = async () => await this.announce();
    options.settings.follow('retention', announce);
    this.shortening = new RetentionShortening({ ...options, announce });
  }

  /** What holds for all conversations now. */
  get rule(): RetentionRule {
    const { accounts, settings } = this.#options;
    const seconds = settings.read('retention')?.seconds ?? null;
    return { seconds, isHeld: accounts.document(holds, INSTALLATION)?.isHeld === true };
  }

  /** Has every thread read by the rule as it stands. */
  async announce(): Promise<void> {
    await this.#options.announceRetention(this.rule);
  }

  /**
   * What a shorter time would take now; one count at a time, since each looks at every conversation.
   * @throws Refusal `field_invalid` for a time that is not shorter; `busy` while another is counted; `unavailable`.
   */
  async preview(seconds: number): Promise<ShorteningPreview> {
    this.shortening.requireShorter(seconds);
    if (this.#isCounting) throw new Refusal('busy');
    this.#isCounting = true;
    try {
      return { confirm: formatPeriod(seconds), ...(await this.#options.countExpiring(seconds)) };
    } finally {
      this.#isCounting = false;
    }
  }

  /** Begins or ends a legal hold over everything. */
  async hold(isHeld: boolean, by: AuditActor): Promise<RetentionRule> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const before = draft.document(holds, INSTALLATION)?.isHeld === true;
      if (before === isHeld) return;
      draft.putDocument(holds, INSTALLATION, { isHeld });
      if (!isHeld) countEnding(draft);
      const details = { before, after: isHeld };
      draft.audit(clock.now(), { event: 'legal_hold.changed', ...by, subject: 'installation', details });
    });
    await this.announce();
    if (!isHeld) await this.#end();
    return this.rule;
  }

  /**
   * Begins or ends a legal hold over one conversation. It is in the audit trail before the conversation is told.
   * @throws Refusal `conversation_forbidden` where there is none, `busy`, `unavailable`: then nothing changed there.
   */
  async holdConversation(conversation: string, isHeld: boolean, by: AuditActor): Promise<void> {
    const { accounts, ask, clock } = this.#options;
    const entry = { event: 'legal_hold.changed', ...by, subject: `conversation:${conversation}` };
    const now = clock.now();
    const known = accounts.document(heldConversations, conversation);
    await accounts.change((draft) => {
      draft.audit(now, { ...entry, details: { after: isHeld } });
      if (!isHeld) countEnding(draft);
      if (!isHeld || known !== undefined) return;
      draft.putDocument(heldConversations, conversation, { since: formatInstant(now), by: by.actor });
    });
    const answer = await ask(`conversation:${conversation}`, { kind: 'hold', isHeld } as Tell, HOLD_MILLIS);
    // One that did not answer may have taken it all the same: then it stands in the list until it is ended.
    const isGone = !answer.ok && answer.code === 'conversation_forbidden';
    if (isGone || (answer.ok && !isHeld)) {
      await accounts.change((draft) => draft.removeDocument(heldConversations, conversation));
    }
    if (!isHeld) await this.#end();
    if (!answer.ok) throw new Refusal(answer.code);
  }

  /** Has what waits for a hold look again: what looked while this one was ending may have found it on. */
  async #end(): Promise<void> {
    await this.#options.accounts.change(countEnding);
    this.#options.holdEnded();
  }

  /** Conversations on hold by their ids, behind `after`. */
  holds(after: string | undefined, limit: number): { items: Hold[]; next: string | null } {
    const range = { ...(after === undefined ? {} : { after }), limit };
    const items = this.#options.accounts
      .documents(heldConversations, range)
      .map(({ id, document }) => ({ conversation_id: id, since: document.since, held_by: document.by }));
    return { items, next: items.length < limit ? null : (items.at(-1)?.conversation_id ?? null) };
  }
}
