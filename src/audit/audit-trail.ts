/**
 * Reading the audit trail (CON-04): filtered and paged from the newest entry down, and exported from the oldest up.
 * There is no way to write in here: an entry is added by the change it tells of.
 */
import { Refusal } from '#src/protocol/errors.ts';
import { parseInstant } from '#src/base/time.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';

/** Entries of a page; more are asked for page by page. Beyond it: `query_invalid`. */
export const AUDIT_PAGE_MAX = 200;
const AUDIT_PAGE = 50;

/**
 * Entries looked at for one page: 3 to 7 ms of the main thread (2 cores, 2026-11-21). A filter that finds little ends its page there, short
 * or empty, and `next` goes on behind it.
 */
export const AUDIT_SCAN_MAX = 2_000;

/** Entries read at a time, so that a page found early costs little. */
const SCAN_STEP = 100;
/** Of those that a reader is not shown as they are: 31 ms of the redactor’s thread (2 busy cores, 2026-11-22). */
const SHOWN_STEP = 500;
/** Entries of one chunk of an export. */
const EXPORT_STEP = 500;

/** Which entries: all that is given must be so. */
export interface AuditFilter {
  /** The event's name. */
  readonly event?: string | undefined;
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** RFC 3339, the first instant that counts. */
  readonly from?: string | undefined;
  /** RFC 3339, the first instant that does not count any more. */
  readonly to?: string | undefined;
  /** What event, actor, subject or address begins with, in any case of letters: `vendor_token.`, `user:al`, `10.0.`. */
  readonly prefix?: string | undefined;
  /** What the event's name begins with, any one of these: a part of the trail. */
  readonly events?: readonly string[] | undefined;
}

export interface AuditQuery extends AuditFilter {
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

export interface AuditPage {
  readonly items: readonly AuditEntry[];
  /** Where the next page starts; null when the trail has been read to its first entry. */
  readonly next: string | null;
}

/** What a reader is shown of entries: as many of them, with their numbers, in their order. */
export type ShowEntries = (entries: readonly AuditEntry[]) => Promise<readonly AuditEntry[]>;

const shownWhole: ShowEntries = async (entries) => entries;

export class AuditTrail {
  readonly #accounts: Pick<AccountsReader, 'auditHead' | 'auditEntries' | 'auditEntriesAfter'>;

  constructor(accounts: Pick<AccountsReader, 'auditHead' | 'auditEntries' | 'auditEntriesAfter'>) {
    this.#accounts = accounts;
  }

  /**
   * One page of the entries that pass the filter, the newest first.
   * @param show what the reader is shown of entries: these are what the filter is held against and what is answered, so
   * that nobody finds an entry by what is kept from them (VND-16).
   * @throws Refusal `query_invalid` with its field, `cursor_invalid`; what `show` throws.
   */
  async list(query: AuditQuery, show: ShowEntries = shownWhole): Promise<AuditPage> {
    const { cursor, limit = AUDIT_PAGE, ...filter } = query;
    if (!Number.isInteger(limit) || limit < 1 || limit > AUDIT_PAGE_MAX) {
      throw new Refusal('query_invalid', { field: 'limit' });
    }
    const passes = matcherOf(filter);
    const stepMax = show === shownWhole ? SCAN_STEP : SHOWN_STEP;
    const items: AuditEntry[] = [];
    let before = cursor === undefined ? this.#accounts.auditHead.number + 1 : readCursor(cursor);
    for (let left = AUDIT_SCAN_MAX; left > 0 && before > 1;) {
      const step = this.#accounts.auditEntries({ before, limit: Math.min(stepMax, left) });
      if (step.length === 0) return { items, next: null };
      left -= step.length;
      for (const entry of await show(step)) {
        before = entry.number;
        if (!passes(entry)) continue;
        items.push(entry);
        if (items.length === limit) return { items, next: nextOf(before) };
      }
    }
    return { items, next: nextOf(before) };
  }

  /**
   * The entries that pass the filter as lines of JSON, the oldest first, up to the newest at the start. Chunks are
   * made one at a time, when they are asked for.
   * @throws Refusal `query_invalid` with its field, before the first chunk.
   */
  export(filter: AuditFilter): AsyncGenerator<string, void, undefined> {
    return exportLines(this.#accounts, matcherOf(filter));
  }
}

async function* exportLines(
  accounts: Pick<AccountsReader, 'auditHead' | 'auditEntriesAfter'>,
  passes: (entry: AuditEntry) => boolean,
): AsyncGenerator<string, void, undefined> {
  const end = accounts.auditHead.number;
  for (let after = 0; after < end;) {
    const step = accounts.auditEntriesAfter(after, Math.min(EXPORT_STEP, end - after));
    const last = step.at(-1);
    if (last === undefined) return;
    after = last.number;
    const lines = step.filter(passes).map((entry) => `${JSON.stringify(entry)}\n`);
    if (lines.length > 0) yield lines.join('');
    // Chunks without a line would otherwise follow one another without a turn for anybody else.
    await new Promise(setImmediate);
  }
}

function matcherOf({ event, actor, subject, from, to, prefix, events }: AuditFilter): (entry: AuditEntry) => boolean {
  const start = instantOf('from', from) ?? -Infinity;
  const end = instantOf('to', to) ?? Infinity;
  const wanted = prefix?.toLowerCase();
  return (entry) => {
    if (event !== undefined && entry.event !== event) return false;
    if (events?.some((part) => entry.event.startsWith(part)) === false) return false;
    if (actor !== undefined && entry.actor !== actor) return false;
    if (subject !== undefined && entry.subject !== subject) return false;
    const at = Date.parse(entry.at);
    if (at < start || at >= end) return false;
    if (wanted === undefined) return true;
    return [entry.event, entry.actor, entry.subject, entry.address].some(
      (text) => text?.toLowerCase().startsWith(wanted) === true,
    );
  };
}

function instantOf(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined) throw new Refusal('query_invalid', { field });
  return instant;
}

/** Opaque to callers: the number below which the next page starts. */
function nextOf(before: number): string | null {
  return before > 1 ? Buffer.from(`audit:${before}`).toString('base64url') : null;
}

function readCursor(cursor: string): number {
  const before = /^audit:([1-9]\d{0,14})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  if (before === undefined || nextOf(Number(before)) !== cursor) throw new Refusal('cursor_invalid');
  return Number(before);
}
