/**
 * Bots (CRD-04, BOT-01): made in the console, acting on the messaging service by a token until they are revoked. What
 * every thread decides by is pushed to it before the console is answered.
 *
 *     made ──► active ──revoke──► revoked      (the row stays, and its name is nobody else's)
 *                └─ token issued anew: the one before is void at once
 */
import { hashSecret, makeSecret } from '#src/identity/credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { BOT_USER_PREFIX, BOTS_MAX, type BotSnapshot } from '#src/protocol/bots/bots.ts';
import { type BotScope } from '#src/protocol/bots/bot-scopes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditForm, AuditActor } from '#storage/accounts/audit-chain.ts';
import { botRecords as bots, botUses, readBotSnapshot, type BotRecord } from './bot-records.ts';
import { putBotEntry } from '#src/directory/directory.ts';

/** A bot as the console lists it; instants are RFC 3339. */
export interface ListedBot {
  readonly id: string;
  readonly user: string;
  readonly display_name: string;
  readonly scopes: readonly BotScope[];
  readonly conversations: readonly string[];
  readonly device_id: string;
  readonly state: 'active' | 'revoked';
  readonly created_by: string;
  readonly created_at: string;
  readonly token_issued_at: string;
  /** A restore ended the token: the bot wants another one. */
  readonly token_ended_at: string | null;
  readonly revoked_by: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

export interface MakeBot {
  /** Without the prefix. */
  readonly name: string;
  readonly display_name: string;
  readonly scopes: readonly BotScope[];
  readonly conversations: readonly string[];
}

export type ChangeBot = {
  readonly [Field in 'display_name' | 'scopes' | 'conversations']?: MakeBot[Field] | undefined;
};

export interface BotsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Hands the bots to every thread; resolves when each decides by them, or is known to be gone. */
  readonly announce: (snapshot: BotSnapshot) => Promise<void>;
  /** A bot appeared in the directory, changed or left; `rev` is the directory's change number (DIR-01). */
  readonly directoryChanged: (user: string, rev: number) => void;
}

export class Bots {
  readonly #options: BotsOptions;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: BotsOptions) {
    this.#options = options;
  }

  /**
   * Makes a bot; the token is in the answer and never shown again.
   * @throws Refusal `bot_name_taken`, also by a bot that was revoked; `bots_full`.
   */
  async make(form: MakeBot, by: AuditActor): Promise<{ readonly token: string; readonly bot: ListedBot }> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('bot', now).slice('bot_'.length);
    const secret = makeSecret();
    const record: BotRecord = {
      user: `${BOT_USER_PREFIX}${form.name}`,
      displayName: form.display_name,
      scopes: inOrder(form.scopes),
      conversations: inOrder(form.conversations),
      device: makeId('d', now),
      hash: hashSecret(secret),
      createdBy: by.actor,
      createdAt: now,
      tokenIssuedAt: now,
      revokedBy: null,
      revokedAt: null,
    };
    // Making is rare and done by few: they take turns, so that two of one name cannot both find it free.
    const rev = await this.#inTurn(async () => {
      const known = accounts.documents(bots);
      if (known.length >= BOTS_MAX) throw new Refusal('bots_full');
      const isTaken = known.some(({ document }) => document.user === record.user);
      return await accounts.change((draft) => {
        // A person of before the prefix was kept for bots.
        if (isTaken || draft.person(record.user) !== undefined) throw new Refusal('bot_name_taken', { field: 'name' });
        draft.putDocument(bots, id, record);
        audit(draft, now, 'bot.made', id, by, { user: record.user, ...settingsOf(record) });
        return putEntry(draft, record);
      });
    });
    await this.#announce(record.user, rev);
    return { token: tokenOf(id, secret), bot: this.#listed(id, record) };
  }

  /** Changes what a bot may, at once, also for a socket that is open. @throws Refusal `bot_not_found`, `bot_not_active`. */
  async change(id: string, form: ChangeBot, by: AuditActor): Promise<ListedBot> {
    const now = this.#options.clock.now();
    return await this.#update(id, (draft, before) => {
      const after: BotRecord = {
        ...before,
        displayName: form.display_name ?? before.displayName,
        scopes: inOrder(form.scopes ?? before.scopes),
        conversations: inOrder(form.conversations ?? before.conversations),
      };
      audit(draft, now, 'bot.changed', id, by, { before: settingsOf(before), after: settingsOf(after) });
      return after;
    });
  }

  /** Ends a bot at once, HTTP and sockets (CRD-08). @throws Refusal `bot_not_found`, `bot_not_active`. */
  async revoke(id: string, by: AuditActor): Promise<ListedBot> {
    const now = this.#options.clock.now();
    return await this.#update(id, (draft, before) => {
      audit(draft, now, 'bot.revoked', id, by, { user: before.user });
      return { ...before, revokedBy: by.actor, revokedAt: now };
    });
  }

  /**
   * Another token in the place of the one before, which is void at once and whose socket closes.
   * @throws Refusal `bot_not_found`, `bot_not_active`.
   */
  async issueToken(id: string, by: AuditActor): Promise<{ readonly token: string; readonly bot: ListedBot }> {
    const now = this.#options.clock.now();
    const secret = makeSecret();
    const bot = await this.#update(id, (draft, before) => {
      audit(draft, now, 'bot.token_issued', id, by, { user: before.user });
      return { ...before, hash: hashSecret(secret), tokenIssuedAt: now, tokenEndedAt: undefined };
    });
    return { token: tokenOf(id, secret), bot };
  }

  /** Bots in the order in which they were made, behind the id `after`: never a secret, never a hash. */
  list(after: string | undefined, limit: number): { items: ListedBot[]; next: string | null } {
    const found = this.#options.accounts.documents(bots, after === undefined ? { limit } : { after, limit });
    const items = found.map(({ id, document }) => this.#listed(id, document));
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /** @throws Refusal `bot_not_found`. */
  read(id: string): ListedBot {
    const record = this.#options.accounts.document(bots, id);
    if (record === undefined) throw new Refusal('bot_not_found');
    return this.#listed(id, record);
  }

  async #update(id: string, decide: (draft: AccountsDraft, before: BotRecord) => BotRecord): Promise<ListedBot> {
    const { after, rev } = await this.#options.accounts.change((draft) => {
      const before = draft.document(bots, id);
      if (before === undefined) throw new Refusal('bot_not_found');
      if (before.revokedAt !== null) throw new Refusal('bot_not_active');
      const decided = decide(draft, before);
      draft.putDocument(bots, id, decided);
      // A token or a scope is nothing that a reader of the directory would see.
      const isSeen = decided.displayName !== before.displayName || decided.revokedAt !== null;
      return { after: decided, rev: isSeen ? putEntry(draft, decided) : undefined };
    });
    await this.#announce(after.user, rev);
    return this.#listed(id, after);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  async #announce(user: string, rev: number | undefined): Promise<void> {
    const { accounts, announce, directoryChanged } = this.#options;
    await announce(readBotSnapshot(accounts));
    if (rev !== undefined) directoryChanged(user, rev);
  }

  #listed(id: string, record: BotRecord): ListedBot {
    const use = this.#options.accounts.document(botUses, id);
    return {
      id,
      user: record.user,
      display_name: record.displayName,
      scopes: record.scopes,
      conversations: record.conversations,
      device_id: record.device,
      state: record.revokedAt === null ? 'active' : 'revoked',
      created_by: record.createdBy,
      created_at: formatInstant(record.createdAt),
      token_issued_at: formatInstant(record.tokenIssuedAt),
      token_ended_at: record.tokenEndedAt === undefined ? null : formatInstant(record.tokenEndedAt),
      revoked_by: record.revokedBy,
      revoked_at: record.revokedAt === null ? null : formatInstant(record.revokedAt),
      last_used_at: use === undefined ? null : formatInstant(use.usedAt),
      last_used_address: use?.address ?? null,
    };
  }
}

function putEntry(draft: AccountsDraft, { user, displayName, revokedAt }: BotRecord): number {
  return putBotEntry(draft, user, { displayName, state: revokedAt === null ? 'active' : 'left' });
}

function tokenOf(id: string, secret: string): string {
  return `bot_${id}_${secret}`;
}

/** Each once, in order: the same settings read the same, however they were written. */
function inOrder<T extends string>(names: readonly T[]): T[] {
  return [...new Set(names)].toSorted();
}

function settingsOf({ displayName, scopes, conversations }: BotRecord) {
  return { display_name: displayName, scopes, conversations };
}

function audit(
  draft: AccountsDraft,
  now: number,
  event: 'bot.made' | 'bot.changed' | 'bot.revoked' | 'bot.token_issued',
  id: string,
  by: AuditActor,
  details: AuditForm['details'],
): void {
  draft.audit(now, { event, ...by, subject: `bot:${id}`, details });
}
