/**
 * Passwords reset by a link (CRD-12): an administrator makes one for a person, or whoever has the host for anybody, or it is mailed to
 * an address that the person confirmed. The link works once, and is stored as a hash; a person has one that was handed over, and one
 * that was mailed, so that nobody who asks for a mail ends the other.
 *
 *     made ──a day──► over
 *      ├──another link, the password changed by other means, or a role in the console given──► over
 *      └──opened, a password chosen──► used: every session ended
 */
import { createHash } from 'node:crypto';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { removeAppPasswords } from '#src/identity/app-passwords.ts';
import { holdsConsoleRole } from '#src/identity/console/console-role-record.ts';
import { endConsoleSessions } from '#src/identity/console/console-sessions.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import { confirmedEmailOf } from '#src/identity/confirmed-emails.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import type { UsePasswordReset } from '#src/protocol/account/passwords.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { namesIn, profileOf } from './directory.ts';
import { PEOPLE_PAGE_MAX, UnknownPerson } from './people.ts';

/** How long a link works: it is asked for at a desk or on the telephone, and used the same day. */
export const RESET_LINK_SECONDS = 24 * 3600;

/** How long a mailed one works: whoever asked for it has the mail open, and mailboxes are read by others later. */
export const MAILED_LINK_SECONDS = 1_800;

/** 160 random bits: nobody guesses one, so a plain hash of it may be looked up. */
const SECRET_SYMBOLS = 32;

interface ResetRecord {
  readonly username: string;
  /** Unix seconds from which it is no longer taken. */
  readonly expiresAt: number;
  /** Who made it, as the audit trail names them. */
  readonly createdBy: string;
  /** Made on the host: the only one that sets the password of an owner. */
  readonly isOnHost: boolean;
  /** Whether the person had a role in the console then, for whom owners alone make one; left out by links of before. */
  readonly hasRole?: boolean;
  /** The confirmed address that it was mailed to; left out by one that was handed over. */
  readonly mailedTo?: string;
}

/** SHA-256 of the secret → whose password it sets. */
const resets = defineCollection<ResetRecord>('password_resets', { version: 1 });
/** Username → the hash of the one link there is. */
const resetLinks = defineCollection<string>('password_reset_links', { version: 1 });
/** Username → the hash of the one that was mailed last. */
const mailedResetLinks = defineCollection<string>('mailed_password_reset_links', { version: 1 });

/** A link as it is handed over: its path, and when it ends (RFC 3339). */
export interface ResetLink {
  readonly path: string;
  readonly expiresAt: string;
}

/** It was not said which owner, or the one named is none. */
export class NotOneOwner extends Error {
  constructor(owners: readonly string[]) {
    const known = owners.length === 0 ? 'There is none yet: parley invite owner.' : `Owners: ${owners.join(', ')}.`;
    super(`Name one of the owners with --name. ${known}`);
    this.name = 'NotOneOwner';
  }
}

export interface PasswordResetsOptions {
  readonly accounts: Accounts;
  readonly passwords: Pick<Passwords, 'hashChosen'>;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clock: Clock;
  /** Whether the password of a person is kept elsewhere, at a provider or a directory server. */
  readonly isElsewhere: (username: string) => boolean;
}

export class PasswordResets {
  readonly #options: PasswordResetsOptions;

  constructor(options: PasswordResetsOptions) {
    this.#options = options;
  }

  /**
   * Makes the link of a person; the one before is over. Nobody in the console is above an owner, so theirs is made
   * on the host alone (`isOnHost`), wherever their password is kept: it is the last way in.
   * @throws UnknownPerson, Refusal `person_left`, `owner_reset_on_host`, `password_at_provider`.
   */
  async make(username: string, by: AuditActor, isOnHost = false): Promise<ResetLink> {
    const { accounts, clock, isElsewhere } = this.#options;
    const now = clock.now();
    const expires = unixSeconds(now) + RESET_LINK_SECONDS;
    const expiresAt = formatInstant(expires * 1000);
    const secret = `rst_${randomSymbols(SECRET_SYMBOLS)}`;
    await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new UnknownPerson(username);
      if (person.state === 'left') throw new Refusal('person_left');
      if (!isOnHost && person.role === 'owner') throw new Refusal('owner_reset_on_host');
      if (!isOnHost && isElsewhere(username)) throw new Refusal('password_at_provider');
      removeLink(draft, resetLinks, username);
      const hasRole = holdsConsoleRole(draft, username);
      draft.putDocument(resets, hashOf(secret), {
        username,
        expiresAt: expires,
        createdBy: by.actor,
        isOnHost,
        hasRole,
      });
      draft.putDocument(resetLinks, username, hashOf(secret));
      const details = { expires_at: expiresAt };
      draft.audit(now, { event: 'user.password_reset_made', ...by, subject: `user:${username}`, details });
    });
    return { path: `/v1/password-reset/${secret}`, expiresAt };
  }

  /**
   * Whether a link may be mailed to a person: whoever has a role in the console is no one of these, since their mailbox, or whoever
   * runs the mail server, would open what decides over everybody.
   */
  mayMail(username: string, view: Pick<AccountsDraft, 'document' | 'person'> = this.#options.accounts): boolean {
    const person = view.person(username);
    if (person?.state !== 'active' || person.role === 'owner' || holdsConsoleRole(view, username)) return false;
    return confirmedEmailOf(view, username) !== undefined && !this.#options.isElsewhere(username);
  }

  /** Makes the link for the mail to a person; undefined for whom none may be mailed any more. The one mailed before is over. */
  async makeForMail(username: string): Promise<ResetLink | undefined> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const expires = unixSeconds(now) + MAILED_LINK_SECONDS;
    const expiresAt = formatInstant(expires * 1000);
    const secret = `rst_${randomSymbols(SECRET_SYMBOLS)}`;
    const isMade = await accounts.change((draft) => {
      const mailedTo = confirmedEmailOf(draft, username);
      if (mailedTo === undefined || !this.mayMail(username, draft)) return false;
      removeLink(draft, mailedResetLinks, username);
      const createdBy = 'mail';
      const record = { username, expiresAt: expires, createdBy, isOnHost: false, hasRole: false, mailedTo };
      draft.putDocument(resets, hashOf(secret), record);
      draft.putDocument(mailedResetLinks, username, hashOf(secret));
      const details = { expires_at: expiresAt, by: 'mail' };
      const by = { actor: 'server', address: null };
      draft.audit(now, { event: 'user.password_reset_made', ...by, subject: `user:${username}`, details });
      return true;
    });
    return isMade ? { path: `/v1/password-reset/${secret}`, expiresAt } : undefined;
  }

  /**
   * Makes the link of an owner on the host: of that one, or of the only one there is.
   * @throws NotOneOwner, and what `make` throws.
   */
  async makeForOwner(name: string | undefined, by: AuditActor): Promise<ResetLink & { readonly username: string }> {
    const username = oneOwner(this.#options.accounts, name);
    return { username, ...(await this.make(username, by, true)) };
  }

  /**
   * Sets the password by a link, and ends every session of the person, in clients and in the console; app passwords too,
   * unless they are to stay. Of two who try at once, one gets it.
   * @throws Refusal `reset_link_used` for one that was used, has expired or never was; the codes of the password policy,
   * which leave the link as it is; `password_at_provider` where the password is kept elsewhere by now; `busy`,
   * `storage_full`.
   */
  async use(secret: string, form: UsePasswordReset, address: string): Promise<void> {
    const { accounts, announcer, clock, isElsewhere, passwords } = this.#options;
    const hash = hashOf(secret);
    // Looked at before the password is hashed, so that a link that is over costs nothing.
    const { isOnHost, username } = openRecord(accounts, hash, unixSeconds(clock.now())).record;
    if (!isOnHost && isElsewhere(username)) throw new Refusal('password_at_provider');
    const names = namesIn(username, profileOf(accounts, username));
    const passwordHash = await passwords.hashChosen(form.password, names);
    const now = clock.now();
    const revoked = await accounts.change((draft) => {
      const { person, record } = openRecord(draft, hash, unixSeconds(now));
      putNewPassword(draft, person, passwordHash);
      const ended = endSessions(draft, username);
      endConsoleSessions(draft, username);
      if (form.end_app_passwords) removeAppPasswords(draft, username);
      const actor = `user:${username}`;
      const details = {
        link_by: record.createdBy,
        sessions_ended: ended.length,
        app_passwords_ended: form.end_app_passwords,
      };
      draft.audit(now, { event: 'user.password_reset', actor, address, subject: actor, details });
      return ended;
    });
    if (revoked.length > 0) await announcer.revoked(revoked);
  }

  /** Forgets links whose time is over: they answer as those that never were. */
  async sweep(): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = unixSeconds(clock.now());
    const over = accounts.documents(resets).filter(({ document }) => document.expiresAt <= now);
    if (over.length === 0) return;
    await accounts.change((draft) => {
      for (const { id, document } of over) {
        draft.removeDocument(resets, id);
        for (const links of [resetLinks, mailedResetLinks]) {
          if (draft.document(links, document.username) === id) draft.removeDocument(links, document.username);
        }
      }
    });
  }
}

/** The owner of that name, or the only one there is. @throws NotOneOwner */
export function oneOwner(accounts: Accounts, name: string | undefined): string {
  const owners = ownersOf(accounts);
  const username = name ?? (owners.length === 1 ? owners[0] : undefined);
  if (username === undefined || !owners.includes(username)) throw new NotOneOwner(owners);
  return username;
}

/** Those who own the installation, by username. */
function ownersOf(accounts: Accounts): string[] {
  const owners: string[] = [];
  for (let after = ''; ;) {
    const people = accounts.people(after, PEOPLE_PAGE_MAX);
    owners.push(...people.filter(({ role, state }) => role === 'owner' && state !== 'left').map(nameOf));
    const last = people.at(-1);
    if (last === undefined || people.length < PEOPLE_PAGE_MAX) return owners;
    after = last.username;
  }
}

/** Stores the hash of another password, as part of a change; a link to reset the one before is over with it. */
export function putNewPassword(draft: AccountsDraft, person: PersonRecord, passwordHash: string): void {
  draft.putPasswordHash(person, passwordHash);
  removeResetLink(draft, person.username);
}

/** Ends the links of a person, the one that was handed over and the one that was mailed, as part of a change. */
export function removeResetLink(draft: AccountsDraft, username: string): void {
  removeLink(draft, resetLinks, username);
  removeLink(draft, mailedResetLinks, username);
}

function removeLink(draft: AccountsDraft, links: typeof resetLinks, username: string): void {
  const hash = draft.document(links, username);
  if (hash === undefined) return;
  draft.removeDocument(resets, hash);
  draft.removeDocument(links, username);
}

/** @throws Refusal `reset_link_used`, also where the person may not sign in, or was given a role in the console since. */
function openRecord(view: Pick<AccountsDraft, 'document' | 'person'>, hash: string, now: number) {
  const record = view.document(resets, hash);
  const person = record === undefined ? undefined : view.person(record.username);
  if (record === undefined || record.expiresAt <= now || person?.state !== 'active') {
    throw new Refusal('reset_link_used');
  }
  // Mailed to an address that the person was given another one for since.
  if (record.mailedTo !== undefined && confirmedEmailOf(view, record.username) !== record.mailedTo) {
    throw new Refusal('reset_link_used');
  }
  const isRaised = person.role === 'owner' || (holdsConsoleRole(view, record.username) && record.hasRole !== true);
  if (isRaised && !record.isOnHost) throw new Refusal('reset_link_used');
  return { record, person };
}

function nameOf({ username }: PersonRecord): string {
  return username;
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
