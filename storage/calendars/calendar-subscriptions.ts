/**
 * Feeds elsewhere that calendars follow, and when each is to be asked for next:
 *
 *     subscriptions  [calendar]                  the feed, how its refreshes went, when the next one is
 *     refreshes      ['r', next, calendar]       the same by time, so that nobody looks through subscriptions for it
 *     sources        [calendar, entry id]        digest of what the feed said of the entry, in the commit of the entry
 *     meta           ['subscribed', owner]       how many feeds a person follows
 *
 * The address of a feed may be a secret and is stored sealed.
 */
import { Refusal } from '#src/protocol/errors.ts';
import { CALENDAR_SUBSCRIPTIONS_MAX } from '#src/protocol/limits.ts';
import type { CalendarWriteSet } from './calendar-write-set.ts';
import type { AuditActor } from '../accounts/audit-chain.ts';
import type { CalendarReader, CalendarView } from './calendar-reader.ts';
import { calendarRecordOf, type CalendarEnvironment, type CalendarRecord } from './calendar-records.ts';
import { key, numberAt, numbered, numberedThen, numberValue, under } from '../engine/keys.ts';

/** A feed elsewhere that a calendar follows; instants in milliseconds since 1970. */
export interface SubscriptionRecord {
  /** Its address, sealed. */
  readonly url: Uint8Array;
  /** Raised with every other address: what was fetched from the one before is not taken in any more. */
  readonly generation: number;
  /** How often it is asked for by the owner's wish and by the feed's own; null where there is none. */
  readonly refreshSeconds: number | null;
  readonly feedSeconds: number | null;
  /** What the feed was called when it was last taken in whole, for conditional requests, and a digest of it. */
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly digest: string | null;
  /** A word of the protocol. */
  readonly outcome: string | null;
  readonly line: number | null;
  /** Failures in a row. */
  readonly failures: number;
  /** Since when the server has been saying that there is no such feed. */
  readonly missingSince: number | null;
  readonly attemptedAt: number | null;
  readonly succeededAt: number | null;
  /** Null where nobody asks for it any more. */
  readonly nextAt: number | null;
  readonly failed: number;
  readonly faults: readonly { readonly uid?: string; readonly line?: number; readonly code: string }[];
}

const subscriptionRecord = calendarRecordOf<SubscriptionRecord>('subscription', [
  'url',
  'generation',
  'refreshSeconds',
  'feedSeconds',
  'etag',
  'lastModified',
  'digest',
  'outcome',
  'line',
  'failures',
  'missingSince',
  'attemptedAt',
  'succeededAt',
  'nextAt',
  'failed',
  'faults',
]);

/** Bytes of a digest of an entry. */
export const SOURCE_DIGEST_BYTES = 16;
/** Bytes of an entry id without its encoding. */
export const ENTRY_ID_BYTES = 32;

/** Where the number ends in a key of `refreshes`. */
const NAMED_FROM = 2 + 6;

export function subscriptionOf(view: CalendarView, calendar: string): SubscriptionRecord | undefined {
  const stored = view.read('subscriptions', key(calendar));
  return stored === undefined ? undefined : subscriptionRecord.decode(stored);
}

/** How many feeds a person follows. */
export function subscriptionsOf(view: CalendarView, owner: string): number {
  const stored = view.read('meta', key('subscribed', owner));
  return stored === undefined ? 0 : numberAt(stored);
}

/** Has a calendar that was made in this change follow a feed. @throws Refusal `calendar_subscriptions_full`. */
export function subscribe(
  draft: CalendarWriteSet,
  { id, name, owner }: CalendarRecord,
  record: SubscriptionRecord,
  by: AuditActor,
): void {
  const count = subscriptionsOf(draft, owner);
  if (count >= CALENDAR_SUBSCRIPTIONS_MAX) throw new Refusal('calendar_subscriptions_full');
  draft.put('meta', key('subscribed', owner), numberValue(count + 1));
  putSubscription(draft, id, record);
  const event = 'calendar.subscribed';
  draft.audit({ event, ...by, subject: `calendar:${id}`, details: { name } }, id, event);
}

/** Notes on a subscription what its owner changed. */
export function changeSubscription(
  draft: CalendarWriteSet,
  calendar: string,
  record: SubscriptionRecord,
  by: AuditActor,
): void {
  const before = subscriptionOf(draft, calendar);
  putSubscription(draft, calendar, record);
  const details = { address: before?.generation !== record.generation, refresh_seconds: record.refreshSeconds };
  const event = 'calendar.subscription_changed';
  draft.audit({ event, ...by, subject: `calendar:${calendar}`, details }, calendar, event);
}

/** Stores a subscription, and when it is next asked for. Nothing of it is a change of the calendar. */
export function putSubscription(draft: CalendarWriteSet, calendar: string, record: SubscriptionRecord): void {
  dropRefresh(draft, calendar);
  draft.put('subscriptions', key(calendar), subscriptionRecord.encode(record));
  if (record.nextAt !== null) draft.put('refreshes', numberedThen(record.nextAt, 'r', calendar), Buffer.of(1));
}

/** Forgets the feed of a calendar that is being removed; what it said of entries goes with them. */
export function dropSubscription(draft: CalendarWriteSet, { id, owner }: CalendarRecord): void {
  if (subscriptionOf(draft, id) === undefined) return;
  dropRefresh(draft, id);
  draft.put('subscriptions', key(id), null);
  const count = subscriptionsOf(draft, owner) - 1;
  draft.put('meta', key('subscribed', owner), count === 0 ? null : numberValue(count));
}

function dropRefresh(draft: CalendarWriteSet, calendar: string): void {
  const due = subscriptionOf(draft, calendar)?.nextAt;
  if (due !== null && due !== undefined) draft.put('refreshes', numberedThen(due, 'r', calendar), null);
}

/** Calendars whose feeds are to be asked for by an instant, the longest due first. */
export function dueSubscriptions({ environment }: CalendarReader, until: number, limit: number): string[] {
  const range = { start: numbered(0, 'r'), end: numbered(until + 1, 'r'), limit };
  return [...environment.tables.refreshes.getKeys(range)].map((itemKey) => calendarIn(Buffer.from(itemKey)));
}

/** When the first feed behind an instant is to be asked for. */
export function nextRefresh({ environment }: CalendarReader, after: number): number | undefined {
  const range = { start: numbered(after + 1, 'r'), limit: 1 };
  for (const itemKey of environment.tables.refreshes.getKeys(range)) return Buffer.from(itemKey).readUIntBE(2, 6);
  return undefined;
}

/** What the feed said of entries, some of them behind an entry id: rows of ENTRY_ID_BYTES and SOURCE_DIGEST_BYTES. */
export function sourcesOf(
  { environment }: CalendarReader,
  calendar: string,
  after: string | undefined,
  limit: number,
): { readonly rows: Buffer; readonly last: string | undefined } {
  const range = under(calendar);
  const start = after === undefined ? range.start : Buffer.concat([key(calendar, after), Buffer.of(0)]);
  const rows: Buffer[] = [];
  let last: string | undefined;
  for (const entry of environment.tables.sources.getRange({ start, end: range.end, limit })) {
    last = entry.key.toString('latin1', calendar.length + 1);
    rows.push(Buffer.from(last, 'base64url'), Buffer.from(entry.value));
  }
  return { rows: Buffer.concat(rows), last };
}

/** Notes what the feed said of an entry; null once it says nothing of it any more. */
export function putSource(draft: CalendarWriteSet, calendar: string, entry: string, digest: Uint8Array | null): void {
  draft.put('sources', key(calendar, entry), digest === null ? null : Buffer.from(digest));
}

/** Subscriptions that are not in the order of time where they should be, and the other way round. */
export function* unpairedRefreshes({ tables }: CalendarEnvironment): Generator<string> {
  for (const itemKey of tables.refreshes.getKeys()) {
    const bytes = Buffer.from(itemKey);
    const stored = tables.subscriptions.get(key(calendarIn(bytes)));
    const next = stored === undefined ? undefined : subscriptionRecord.decode(stored).nextAt;
    if (next !== bytes.readUIntBE(2, 6)) yield calendarIn(bytes);
  }
  for (const entry of tables.subscriptions.getRange()) {
    const calendar = entry.key.toString();
    const { nextAt } = subscriptionRecord.decode(entry.value);
    const isListed = nextAt === null || tables.refreshes.get(numberedThen(nextAt, 'r', calendar)) !== undefined;
    if (!isListed || tables.calendars.get(key(calendar)) === undefined) yield calendar;
  }
}

function calendarIn(itemKey: Buffer): string {
  return itemKey.toString('utf8', NAMED_FROM);
}
