/**
 * The audit trail's records: numbered without a gap, each sealed by a hash over itself and the hash before it, so that
 * an entry that is changed, taken out or put in shows (CON-04). An entry is written in the same commit as the change it
 * tells of, and nothing in this program changes one, but for what erasing a person takes out of its details: a further entry
 * proves what is left then. What a retention takes away goes from the oldest on, and leaves the last hash behind as the anchor
 * of the chain.
 */
import { createHash } from 'node:crypto';

/** On whose behalf something is done, as the audit trail names them: `user:<username>`, `vendor:<id>`, `break-glass`. */
export interface AuditActor {
  readonly actor: string;
  /** Null where it was not done from an address: by the server itself, or on the host. */
  readonly address: string | null;
}

/** What happened, as whoever did it states it. Never a secret, and never the text of a message. */
export interface AuditForm {
  /** From the table of audit events: `vendor_token.issued`. */
  readonly event: string;
  /** Who: `user:<username>`, `vendor:<id>`, `bot:<id>`, `node:<id>`, `break-glass`, `command` or `server`. */
  readonly actor: string;
  /** Where from; null for what the server does by itself. */
  readonly address: string | null;
  /** What it was done to: `user:<username>`, `node:<id>`; null where nothing is. */
  readonly subject: string | null;
  /** More, by name: path, unit, prior and resulting state. */
  readonly details: Readonly<Record<string, AuditValue>>;
}

export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [name: string]: AuditValue };

export interface AuditEntry extends AuditForm {
  /** From 1 up, without a gap. */
  readonly number: number;
  /** RFC 3339. */
  readonly at: string;
  /** SHA-256, hex, over the hash before it and this entry without its hash. */
  readonly hash: string;
}

/** Number and hash of an entry: all that the next one has to follow from. */
export type AuditLink = Pick<AuditEntry, 'number' | 'hash'>;

/** The hash that stands before the first entry. */
export const AUDIT_GENESIS = '0'.repeat(64);

/** What the first entry follows from. */
export const AUDIT_START: AuditLink = { number: 0, hash: AUDIT_GENESIS };

/** The entry that follows `before`, whose hash and number it carries on. */
export function nextAuditEntry(
  before: AuditLink,
  at: string,
  { event, actor, address, subject, details }: AuditForm,
): AuditEntry {
  const entry = { number: before.number + 1, at, event, actor, address, subject, details };
  return { ...entry, hash: auditHash(before.hash, entry) };
}

/** The hash of an entry, whose own `hash` field is left out. */
export function auditHash(before: string, entry: Omit<AuditEntry, 'hash'>): string {
  const { number, at, event, actor, address, subject, details } = entry;
  const text = JSON.stringify([before, number, at, event, actor, address, subject, canonical(details)]);
  return createHash('sha256').update(text).digest('hex');
}

/** The event of an entry that tells of erased details: `entries` is a list of `{number, remains}`. */
export const ERASED_EVENT = 'audit.details_erased';

/**
 * SHA-256, hex, over an entry as it stands now, its hash included. The hash of an entry whose details were erased is still
 * what the next one follows from, and no longer says what stands in it: this does, in the entry that tells of the erasure.
 */
export function remainsHash({ hash, ...entry }: AuditEntry): string {
  return auditHash(hash, entry);
}

/** The same value with the names of its objects in order, so that its text does not depend on how it was built. */
function canonical(value: AuditValue): unknown {
  if (Array.isArray(value)) return (value as readonly AuditValue[]).map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as Record<string, AuditValue>);
  // An object again and not its pairs, since a list of pairs is a value of its own.
  return Object.fromEntries(
    fields.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, canonical(field)]),
  );
}
