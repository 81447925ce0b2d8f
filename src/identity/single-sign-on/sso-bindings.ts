/**
 * Whose account at the identity provider is whose account here (CRD-13): bound by issuer and subject, and by nothing
 * that somebody there may be called. A name there comes to belong to others, and may be chosen.
 */
import { createHash } from 'node:crypto';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { SsoSettings } from './sso-settings.ts';

/**
 * What bound it: the person from a session of theirs, an administrator, an e-mail address that the provider has
 * verified, or a first sign-in under a name that was nobody's here.
 */
export const BOUND_BY = ['person', 'administrator', 'email', 'first_sign_in'] as const;
export type BoundBy = (typeof BOUND_BY)[number];

/** Under the username. */
export interface IdentityRecord {
  readonly issuer: string;
  readonly subject: string;
  /** RFC 3339; undefined before the first sign-in. */
  readonly signedInAt?: string;
  /** Undefined for who signed in before accounts were bound: that opens nothing any more. */
  readonly bound?: { readonly by: BoundBy; readonly actor: string; /** RFC 3339. */ readonly at: string };
}

export const consoleIdentities = defineCollection<IdentityRecord>('console_identities', { version: 1 });
/** A hash of issuer and subject → username. */
const usernames = defineCollection<string>('console_identity_usernames', { version: 1 });
/** The last sign-in of an owner whom the provider itself calls one. */
const ownerSignIns = defineCollection<OwnerSignIn>('sso_owner_sign_ins', { version: 1 });
const LAST = 'last';

interface OwnerSignIn {
  readonly username: string;
  /** Of the settings that it went by. */
  readonly settings: string;
}

type View = Pick<AccountsDraft, 'document' | 'person'>;
type Account = Pick<IdentityRecord, 'issuer' | 'subject'>;

/** The username that an account of the provider is bound to; undefined for none. */
export function usernameBoundTo(view: View, { issuer, subject }: Account): string | undefined {
  const username = view.document(usernames, idOf({ issuer, subject }));
  if (username === undefined) return undefined;
  const record = view.document(consoleIdentities, username);
  if (record?.bound === undefined || record.issuer !== issuer || record.subject !== subject) return undefined;
  // Bound while the name was nobody's: an account that was made under it later is somebody else's.
  return record.bound.by === 'first_sign_in' && view.person(username) !== undefined ? undefined : username;
}

/** Whether a username has an account of the provider already. */
export function isBound(view: View, username: string): boolean {
  const record = view.document(consoleIdentities, username);
  return record !== undefined && usernameBoundTo(view, record) === username;
}

export interface Binding {
  readonly by: BoundBy;
  /** Of the audit trail. */
  readonly actor: string;
  readonly address: string;
  /** Milliseconds. */
  readonly now: number;
}

/**
 * Binds a username to an account of the provider, in place of the one it had, as part of a change.
 * @throws Refusal `sso_identity_taken` where that account is bound to another username.
 */
export function bindIdentity(
  draft: AccountsDraft,
  username: string,
  account: Account,
  { actor, address, by, now }: Binding,
): void {
  const holder = usernameBoundTo(draft, account);
  if (holder !== undefined && holder !== username) throw new Refusal('sso_identity_taken');
  forgetIdentity(draft, username);
  const { issuer, subject } = account;
  draft.putDocument(consoleIdentities, username, { issuer, subject, bound: { by, actor, at: formatInstant(now) } });
  draft.putDocument(usernames, idOf(account), username);
  const details = { issuer, by };
  draft.audit(now, { event: 'sso.identity_bound', actor, address, subject: `user:${username}`, details });
}

/** Takes what binds a username away, as part of a change; answers what there was. */
export function forgetIdentity(draft: AccountsDraft, username: string): IdentityRecord | undefined {
  const before = draft.document(consoleIdentities, username);
  if (before === undefined) return undefined;
  draft.removeDocument(consoleIdentities, username);
  if (draft.document(usernames, idOf(before)) === username) draft.removeDocument(usernames, idOf(before));
  return before;
}

/** Keeps that an owner signed in whom the provider calls one, as part of a change. */
export function noteOwnerSignIn(draft: AccountsDraft, username: string, settings: SsoSettings): void {
  draft.putDocument(ownerSignIns, LAST, { username, settings: markOf(settings) });
}

/** The owner who last signed in by the provider as it is set up now, and could again; undefined for none. */
export function ownerAtProvider(view: View, settings: SsoSettings): string | undefined {
  const last = view.document(ownerSignIns, LAST);
  if (last === undefined || last.settings !== markOf(settings) || !isBound(view, last.username)) return undefined;
  const person = view.person(last.username);
  return person === undefined || person.state === 'active' ? last.username : undefined;
}

/** A mark of all settings by which a sign-in goes and a role follows. */
function markOf(settings: SsoSettings): string {
  const decisive = JSON.stringify({ ...settings, bind_by_email: undefined });
  return createHash('sha256').update(decisive).digest('base64url');
}

/** Neither an issuer, which is a URL, nor a subject has a line's end in it. */
function idOf({ issuer, subject }: Account): string {
  return createHash('sha256').update(`${issuer}\n${subject}`).digest('hex');
}
