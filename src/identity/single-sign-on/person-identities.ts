/**
 * Accounts elsewhere that people sign in with, and the sessions that were opened by them (CRD-13). An account is known
 * by its issuer and subject and by nothing else; a person may have one at each issuer. What binds somebody for the
 * console binds them here, too; what binds them here opens no console, since less proved it.
 */
import { createHash } from 'node:crypto';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Revocation } from '#storage/accounts/account-records.ts';
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { consoleIdentities, forgetIdentity, usernameBoundTo, type BoundBy, type Binding } from './sso-bindings.ts';

/** An account elsewhere: of an OpenID provider, of a directory server, or with a client that provisions people. */
export interface ForeignAccount {
  readonly issuer: string;
  readonly subject: string;
}

/** By what a person is bound; those besides what binds for the console are systems that keep people. */
type PersonBoundBy = BoundBy | 'directory' | 'provisioning';

interface PersonIdentity extends ForeignAccount {
  readonly username: string;
  readonly bound: { readonly by: PersonBoundBy; readonly actor: string; /** RFC 3339. */ readonly at: string };
  /** Whether it was the word of the system that keeps them, and nobody's here, that blocked the person. */
  readonly isBlockedThere?: boolean;
}

/** A session that an account elsewhere opened. */
interface ForeignSession extends ForeignAccount {
  readonly sid: string;
  /** The session at the provider, where it told it. */
  readonly providerSid?: string;
}

/** Hash of issuer and subject → whose it is. */
const identities = defineCollection<PersonIdentity>('person_identities', { version: 1 });
/** Username → hashes of their accounts. */
const ownIdentities = defineCollection<readonly string[]>('person_identity_lists', { version: 1 });
/** Username → sessions that accounts elsewhere opened. */
const foreignSessions = defineCollection<readonly ForeignSession[]>('foreign_sessions', { version: 1 });
/** Hash of issuer and session at the provider → username. */
const foreignSessionHolders = defineCollection<string>('foreign_session_holders', { version: 1 });

type View = Pick<AccountsDraft, 'document' | 'person'>;

/** The person to whom an account elsewhere belongs; undefined for nobody who is here. */
export function personBoundTo(view: View, account: ForeignAccount): string | undefined {
  const username = view.document(identities, idOf(account))?.username ?? usernameBoundTo(view, account);
  return username === undefined || view.person(username) === undefined ? undefined : username;
}

/** The account that a person has at an issuer, and what is kept of it. */
export function identityAt(view: Pick<View, 'document'>, username: string, issuer: string): PersonIdentity | undefined {
  return identitiesOf(view, username).find((identity) => identity.issuer === issuer);
}

/** All accounts that sign a person in. */
export function identitiesOf(view: Pick<View, 'document'>, username: string): PersonIdentity[] {
  return (view.document(ownIdentities, username) ?? []).flatMap((id) => view.document(identities, id) ?? []);
}

/**
 * Binds a person to an account elsewhere, in place of the one that they had at its issuer, as part of a change; answers
 * the sessions that ended with that one.
 * @throws Refusal `sso_identity_taken` where the account is bound to somebody else.
 */
export function bindPerson(
  draft: AccountsDraft,
  username: string,
  { issuer, subject }: ForeignAccount,
  binding: Omit<Binding, 'address' | 'by'> & { readonly by: PersonBoundBy; readonly address: string | null },
): Revocation[] {
  const account = { issuer, subject };
  const holder = personBoundTo(draft, account);
  if (holder !== undefined && holder !== username) throw new Refusal('sso_identity_taken');
  const ended = unbindPerson(draft, username, issuer) ?? [];
  const { actor, address, by, now } = binding;
  const id = idOf(account);
  draft.putDocument(identities, id, { ...account, username, bound: { by, actor, at: formatInstant(now) } });
  draft.putDocument(ownIdentities, username, [...(draft.document(ownIdentities, username) ?? []), id]);
  const details = { issuer, by };
  draft.audit(now, { event: 'sso.identity_bound', actor, address, subject: `user:${username}`, details });
  return ended;
}

/** Keeps of a person's account whether its directory blocked them, as part of a change. */
export function noteBlockedThere(draft: AccountsDraft, account: ForeignAccount, isBlocked: boolean): void {
  const id = idOf(account);
  const identity = draft.document(identities, id);
  if (identity !== undefined) draft.putDocument(identities, id, { ...identity, isBlockedThere: isBlocked });
}

/** Somebody here decided whether a person is blocked: what a directory said of it counts no more. Part of a change. */
export function forgetBlockedThere(draft: AccountsDraft, username: string): void {
  for (const account of identitiesOf(draft, username)) {
    if (account.isBlockedThere === true) noteBlockedThere(draft, account, false);
  }
}

/** The accounts of an issuer, some at a time. */
export function* identitiesOfIssuer(
  view: Pick<AccountsReader, 'documents'>,
  issuer: string,
  limit: number,
): Generator<PersonIdentity[]> {
  for (let after = ''; ;) {
    const page = view.documents(identities, after === '' ? { limit } : { after, limit });
    yield page.map(({ document }) => document).filter((identity) => identity.issuer === issuer);
    if (page.length < limit) return;
    after = page.at(-1)?.id ?? '';
  }
}

/** Takes away what binds a person at an issuer, and ends its sessions; undefined where nothing did. */
export function unbindPerson(draft: AccountsDraft, username: string, issuer: string): Revocation[] | undefined {
  const identity = identityAt(draft, username, issuer);
  if (identity === undefined) return undefined;
  const id = idOf(identity);
  draft.removeDocument(identities, id);
  const rest = (draft.document(ownIdentities, username) ?? []).filter((each) => each !== id);
  if (rest.length === 0) draft.removeDocument(ownIdentities, username);
  else draft.putDocument(ownIdentities, username, rest);
  return endForeignSessions(draft, username, (session) => session.issuer === issuer);
}

/**
 * Whoever is given a role in the console keeps no way in that somebody made whom owners do not count among themselves: accounts
 * elsewhere that an administrator bound go, as part of the change, and their sessions end. Answers these, and from where they were.
 */
export function unbindForRole(draft: AccountsDraft, username: string): { issuers: string[]; ended: Revocation[] } {
  const isAnothers = ({ bound }: Pick<PersonIdentity, 'bound'>) => {
    const maker = bound.actor.startsWith('user:') ? bound.actor.slice('user:'.length) : undefined;
    if (bound.by !== 'administrator' || maker === undefined || maker === username) return false;
    return draft.person(maker)?.role !== 'owner';
  };
  const atConsole = draft.document(consoleIdentities, username);
  const forConsole = atConsole?.bound !== undefined && isAnothers({ bound: atConsole.bound }) ? [atConsole.issuer] : [];
  if (forConsole.length > 0) forgetIdentity(draft, username);
  const forApps = identitiesOf(draft, username)
    .filter(isAnothers)
    .map(({ issuer }) => issuer);
  const ended = [...forConsole, ...forApps].flatMap((issuer) => [
    ...(unbindPerson(draft, username, issuer) ?? []),
    ...endForeignSessions(draft, username, (session) => session.issuer === issuer),
  ]);
  return { issuers: [...new Set([...forConsole, ...forApps])], ended };
}

/** Takes everything away that binds a person, as part of a change; their sessions are the caller's to end. */
export function forgetPerson(draft: AccountsDraft, username: string): void {
  for (const { issuer } of identitiesOf(draft, username)) unbindPerson(draft, username, issuer);
  endForeignSessions(draft, username, () => true);
}

/** Keeps whose word opened a session, as part of the change that opens it. Forgets what ended since. */
export function noteForeignSession(draft: AccountsDraft, username: string, session: ForeignSession): void {
  const live = new Set(draft.devices(username).map((device) => device.session?.sid));
  const kept = (draft.document(foreignSessions, username) ?? []).filter(({ sid }) => live.has(sid));
  forgetHolders(draft, draft.document(foreignSessions, username) ?? [], kept);
  draft.putDocument(foreignSessions, username, [...kept, session]);
  if (session.providerSid !== undefined) {
    draft.putDocument(foreignSessionHolders, sessionId(session.issuer, session.providerSid), username);
  }
}

/**
 * Ends the sessions that an account elsewhere opened, all of them or those of one session there, as part of a change.
 * A subject and a session that are not of one another end nothing.
 */
export function endSessionsOf(
  draft: AccountsDraft,
  issuer: string,
  { providerSid, subject }: { readonly subject?: string | undefined; readonly providerSid?: string | undefined },
): { readonly username: string; readonly ended: Revocation[] } | undefined {
  const username =
    subject === undefined
      ? draft.document(foreignSessionHolders, sessionId(issuer, providerSid ?? ''))
      : personBoundTo(draft, { issuer, subject });
  if (username === undefined) return undefined;
  const isMeant = (session: ForeignSession) =>
    session.issuer === issuer &&
    (subject === undefined || session.subject === subject) &&
    (providerSid === undefined || session.providerSid === providerSid);
  return { username, ended: endForeignSessions(draft, username, isMeant) };
}

function endForeignSessions(
  draft: AccountsDraft,
  username: string,
  isMeant: (session: ForeignSession) => boolean,
): Revocation[] {
  const known = draft.document(foreignSessions, username) ?? [];
  const meant = new Set(known.filter(isMeant).map(({ sid }) => sid));
  if (meant.size === 0) return [];
  const kept = known.filter(({ sid }) => !meant.has(sid));
  if (kept.length === 0) draft.removeDocument(foreignSessions, username);
  else draft.putDocument(foreignSessions, username, kept);
  forgetHolders(draft, known, kept);
  const devices = draft.devices(username);
  const ended: Revocation[] = [];
  for (const device of devices) {
    if (device.session === undefined || !meant.has(device.session.sid)) continue;
    ended.push({ sid: device.session.sid, until: device.session.rnw });
    device.session = undefined;
  }
  for (const revocation of ended) draft.putRevocation(revocation);
  if (ended.length > 0) draft.putDevices(username, devices);
  return ended;
}

/** Two sessions here may be of one there: what is still held of it stays found. */
function forgetHolders(
  draft: AccountsDraft,
  before: readonly ForeignSession[],
  after: readonly ForeignSession[],
): void {
  const held = new Set(after.map(({ issuer, providerSid }) => sessionId(issuer, providerSid ?? '')));
  for (const { issuer, providerSid } of before) {
    const id = sessionId(issuer, providerSid ?? '');
    if (providerSid !== undefined && !held.has(id)) draft.removeDocument(foreignSessionHolders, id);
  }
}

/** An issuer, which is a URL or a name of a directory, has no line's end in it. */
function idOf({ issuer, subject }: ForeignAccount): string {
  return createHash('sha256').update(`${issuer}\n${subject}`).digest('hex');
}

function sessionId(issuer: string, providerSid: string): string {
  return createHash('sha256').update(`${issuer}\n${providerSid}`).digest('hex');
}
