/**
 * Changes to what signs a person in, as that person is told of them. They follow from the audit trail, so that nothing is told that
 * is not in it, and no change that is in it is forgotten.
 */
import type { SecurityNotice, SecurityNoticeKind } from '#src/protocol/account/security-notices.ts';
import { SECURITY_NOTICES_MAX } from '#src/protocol/account/security-notices.ts';
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { BoundBy } from './single-sign-on/sso-bindings.ts';

/** Event of the audit trail → what its person is told. */
const KINDS: Readonly<Record<string, SecurityNoticeKind>> = {
  'passkey.copied': 'passkey_copied',
  'recovery.confirmed': 'password_changed',
  'second_factor.added': 'factor_added',
  'second_factor.confirmed': 'factor_added',
  'second_factor.recovery_codes': 'recovery_codes_made',
  'second_factor.removed': 'factor_removed',
  'second_factor.taken_away': 'factor_removed',
  'sso.identity_bound': 'account_bound',
  'user.email_confirmed': 'email_confirmed',
  'user.password_changed': 'password_changed',
  'user.password_reset': 'password_changed',
  'user.password_reset_made': 'password_link_made',
};

/** What binds an account elsewhere to somebody who was here before. */
const BOUND_LATER: ReadonlySet<unknown> = new Set<BoundBy>(['administrator', 'email', 'person']);

interface NoticeRecord extends Omit<SecurityNotice, 'id' | 'is_here' | 'is_seen'> {
  /** The number of its entry in the trail. */
  readonly id: number;
  /** In which session it was done, where it was in one. */
  readonly session?: string;
}

interface NoticesRecord {
  /** The oldest first. */
  readonly notices: readonly NoticeRecord[];
  /** The last that the person has seen. */
  readonly seen: number;
  /** Those up to it that they have not: done in the session that said so. */
  readonly kept?: readonly number[];
}

const NONE: NoticesRecord = { notices: [], seen: 0 };

/** Username → theirs. */
const securityNotices = defineCollection<NoticesRecord>('security_notices', { version: 1 });

/** What an entry of the trail tells a person, and whom; undefined for one that tells nobody anything. */
export function noticeOf(entry: AuditEntry): { readonly user: string; readonly notice: NoticeRecord } | undefined {
  const { actor, address, at, details, event, number, subject } = entry;
  const kind = KINDS[event];
  const user = /^user:(.+)$/.exec(subject ?? '')?.[1];
  // A link that goes by mail is in the mail, and anybody can ask for one.
  if (kind === undefined || user === undefined || (kind === 'password_link_made' && actor === 'server'))
    return undefined;
  // Whom a provider or a directory server made is bound from the beginning, and nothing changes.
  if (kind === 'account_bound' && !BOUND_LATER.has(details['by'])) return undefined;
  const isOwn = actor === subject;
  const { session } = details;
  const notice = {
    ...{ id: number, kind, by: authorOf(actor, isOwn), at },
    ...(isOwn && address !== null ? { address } : {}),
    ...(typeof session === 'string' ? { session } : {}),
  };
  return { user, notice };
}

/** Keeps a notice for a person, as part of a change. */
export function putNotice(draft: AccountsDraft, user: string, notice: NoticeRecord): void {
  const record = draft.document(securityNotices, user) ?? NONE;
  const notices = [...record.notices, notice].slice(-SECURITY_NOTICES_MAX);
  draft.putDocument(securityNotices, user, { ...record, notices });
}

/** A person's notices as a session of theirs reads them, the newest first. */
export function noticesOf(view: Pick<AccountsReader, 'document'>, user: string, sid: string): SecurityNotice[] {
  const record = view.document(securityNotices, user) ?? NONE;
  return record.notices
    .toReversed()
    .map(({ session, ...notice }) => ({ ...notice, is_here: session === sid, is_seen: isSeen(record, notice) }));
}

/**
 * Notes what a person has seen in a session, as part of a change; answers whether that is more than before. What is not there yet is
 * not seen, and neither is what was done in that very session: whoever got hold of one would change what signs in, and take the word
 * of it from its person.
 */
export function seeNotices(draft: AccountsDraft, user: string, through: number, sid: string): boolean {
  const record = draft.document(securityNotices, user) ?? NONE;
  const { notices, seen } = record;
  const isOwn = (notice: NoticeRecord) => notice.session === sid;
  const unseen = notices.filter((notice) => !isSeen(record, notice));
  if (!unseen.some((notice) => notice.id <= through && !isOwn(notice))) return false;
  const last = Math.max(seen, Math.min(through, notices.at(-1)?.id ?? 0));
  const kept = unseen
    .filter((notice) => notice.id <= last && (notice.id > through || isOwn(notice)))
    .map(({ id }) => id);
  draft.putDocument(securityNotices, user, { notices, seen: last, ...(kept.length === 0 ? {} : { kept }) });
  return true;
}

function isSeen({ kept = [], seen }: NoticesRecord, { id }: Pick<NoticeRecord, 'id'>): boolean {
  return id <= seen && !kept.includes(id);
}

/** Forgets a person's notices, as part of a change. */
export function forgetNotices(draft: AccountsDraft, user: string): void {
  draft.removeDocument(securityNotices, user);
}

function authorOf(actor: string, isOwn: boolean): SecurityNotice['by'] {
  if (isOwn) return 'you';
  if (actor === 'command') return 'host';
  return actor === 'server' ? 'server' : 'administrator';
}
