/**
 * Blocking people on the word of a system that keeps them, and taking it back on the same word: who was blocked by
 * somebody here stays so. Both are part of a change.
 */
import { endConsoleSessions } from '#src/identity/console/console-sessions.ts';
import type { Revocation } from '#src/identity/credentials/revocations.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import { identityAt, noteBlockedThere } from '#src/identity/single-sign-on/person-identities.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { putPerson } from './directory.ts';

/** Whose word it is. */
export interface ForeignWord {
  /** The issuer at which the person is bound. */
  readonly issuer: string;
  readonly by: AuditActor;
  /** What the trail says it was by. */
  readonly said: 'directory' | 'provisioning';
  /** Milliseconds. */
  readonly now: number;
}

/**
 * Ends all sessions of an active person and blocks them; answers the sessions that ended and the directory's change
 * number, or undefined where the person is bound to nothing there.
 */
export function blockByWord(
  draft: AccountsDraft,
  person: PersonRecord,
  { by, issuer, now, said }: ForeignWord,
): { readonly revoked: Revocation[]; readonly rev: number } | undefined {
  const { username } = person;
  const identity = identityAt(draft, username, issuer);
  if (identity === undefined) return undefined;
  const revoked = endSessions(draft, username);
  endConsoleSessions(draft, username);
  noteBlockedThere(draft, identity, true);
  const details = { before: person.state, sessions_ended: revoked.length, by: said };
  draft.audit(now, { event: 'user.blocked', ...by, subject: `user:${username}`, details });
  return { revoked, rev: putPerson(draft, { ...person, state: 'blocked' }) };
}

/** The person unblocked, to be stored, where it was this system's word that blocked them; undefined for everybody else. */
export function unblockByWord(
  draft: AccountsDraft,
  person: PersonRecord,
  { by, issuer, now, said }: ForeignWord,
): PersonRecord | undefined {
  const { username } = person;
  const identity = identityAt(draft, username, issuer);
  if (person.state !== 'blocked' || identity?.isBlockedThere !== true) return undefined;
  noteBlockedThere(draft, identity, false);
  draft.audit(now, { event: 'user.unblocked', ...by, subject: `user:${username}`, details: { by: said } });
  return { ...person, state: 'active' };
}
