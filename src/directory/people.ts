/** The people of this installation: adding, changing, blocking, leaving, and their sessions, for those who run it. */
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { Revocation, SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { isReservedUsername } from '#src/protocol/directory/resources.ts';
import type { ProfileChange, User } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord, PersonRole, PersonState } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditValue, AuditActor } from '#storage/accounts/audit-chain.ts';
import { endConsoleSessions } from '#src/identity/console/console-sessions.ts';
import {
  emailHoldersOf,
  entryOf,
  namesIn,
  NO_PROFILE,
  noteGivenEmail,
  putPerson,
  putProfile,
  type Profile,
} from './directory.ts';
import { endSessions } from '#src/identity/device-sessions.ts';
import { forgetBlockedThere } from '#src/identity/single-sign-on/person-identities.ts';

/** People in one page of the list. */
export const PEOPLE_PAGE_MAX = 1000;

/** Whoever has the machine's account: the `parley` command. */
export const BY_COMMAND: AuditActor = { actor: 'command', address: null };

export interface PeopleOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly announcer: Pick<SessionAnnouncer, 'revoked' | 'directoryChanged'>;
  readonly clock: Clock;
}

/** A person as an administrator sees them. */
export interface ListedPerson {
  readonly username: string;
  readonly state: PersonState;
  readonly role: PersonRole;
  readonly created_at: string;
  readonly devices: number;
}

/** There is no person of that username. For an administrator, who may know; a client never sees this. */
export class UnknownPerson extends Error {
  constructor(username: string) {
    super(`There is no person ${username}.`);
    this.name = 'UnknownPerson';
  }
}

/** Set-up is for an installation without an owner, and this one has one. */
export class OwnerExists extends Error {
  constructor() {
    super('This installation has an owner already.');
    this.name = 'OwnerExists';
  }
}

/** Refuses, as part of the change, that a person goes whom the installation needs: its last owner. */
export type CloseCheck = (draft: AccountsDraft) => void;

export interface PersonSession {
  readonly id: string;
  readonly device_id: string;
  readonly name: string;
  readonly platform: string;
  readonly signed_in_at: string;
  readonly renewable_until: string;
}

export class People {
  readonly #options: PeopleOptions;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  /** @throws Refusal `username_taken`, the codes of the password policy, `busy`, `storage_full`. */
  async add(
    username: string,
    password: string,
    profile: ProfileChange = {},
    by: AuditActor = BY_COMMAND,
  ): Promise<void> {
    await this.#add({ username, password, role: 'person', profile, by });
  }

  /** The first owner. @throws OwnerExists, and what `add` throws. */
  async addOwner(username: string, password: string): Promise<void> {
    await this.#add({ username, password, role: 'owner', profile: {}, by: BY_COMMAND });
  }

  /** Changes what is known of a person. @throws UnknownPerson, Refusal `person_left`. */
  async change(username: string, change: ProfileChange, by: AuditActor): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    const rev = await accounts.change((draft) => {
      const person = memberOf(draft, username);
      return changeProfile(draft, username, change, by, clock.now()) ? putPerson(draft, person) : undefined;
    });
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }

  /** Ends all sessions of a person at once and keeps them from signing in. @throws UnknownPerson, Refusal `person_left`. */
  async block(username: string, by: AuditActor = BY_COMMAND, check?: CloseCheck): Promise<void> {
    await this.#close(username, 'blocked', by, check);
  }

  /**
   * Lets a person go for good: they cannot sign in any more, and nobody is ever given their username, so that what they
   * wrote stays theirs. @throws UnknownPerson, Refusal `person_left`.
   */
  async leave(username: string, by: AuditActor = BY_COMMAND, check?: CloseCheck): Promise<void> {
    await this.#close(username, 'left', by, check);
  }

  /** Lets a blocked person sign in again; the sessions they had stay ended. @throws UnknownPerson, Refusal `person_left`. */
  async unblock(username: string, by: AuditActor = BY_COMMAND): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    const rev = await accounts.change((draft) => {
      const person = memberOf(draft, username);
      if (person.state === 'active') return undefined;
      forgetBlockedThere(draft, username);
      draft.audit(clock.now(), { event: 'user.unblocked', ...by, subject: `user:${username}`, details: {} });
      return putPerson(draft, { ...person, state: 'active' });
    });
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }

  /** People in the order of their usernames behind `after`, and where the next page starts, or null at the end. */
  list(after: string, limit: number): { items: ListedPerson[]; next: string | null } {
    const { accounts } = this.#options;
    const length = Math.min(limit, PEOPLE_PAGE_MAX);
    const people = accounts.people(after, length);
    const items = people.map(({ username, state, role, createdAt }) => ({
      username,
      state,
      role,
      created_at: createdAt,
      devices: accounts.devices(username).length,
    }));
    return { items, next: items.length < length ? null : (items.at(-1)?.username ?? null) };
  }

  /** A person with all that is known of them but their groups. @throws UnknownPerson */
  read(username: string): Omit<User, 'groups'> {
    const { accounts } = this.#options;
    const person = accounts.person(username);
    if (person === undefined) throw new UnknownPerson(username);
    const { role, createdAt } = person;
    return { ...entryOf(accounts, person), role, created_at: createdAt, devices: accounts.devices(username).length };
  }

  /** The sessions of a person that have not ended. @throws UnknownPerson */
  sessions(username: string): PersonSession[] {
    const { accounts, clock } = this.#options;
    if (accounts.person(username) === undefined) throw new UnknownPerson(username);
    return accounts.devices(username).flatMap(({ id, name, platform, session }) => {
      if (session === undefined || session.rnw * 1000 <= clock.now()) return [];
      const [signedIn, until] = [formatInstant(session.iat * 1000), formatInstant(session.rnw * 1000)];
      return [{ id: session.sid, device_id: id, name, platform, signed_in_at: signedIn, renewable_until: until }];
    });
  }

  /** Ends one session and closes its socket. @throws UnknownPerson, Refusal `user_session_not_found`. */
  async endSession(username: string, sid: string, by: AuditActor): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    const ended = await accounts.change(
      (draft) => {
        if (draft.person(username) === undefined) throw new UnknownPerson(username);
        const devices = draft.devices(username);
        const device = devices.find(({ session }) => session?.sid === sid);
        if (device?.session === undefined) throw new Refusal('user_session_not_found');
        const revocation: Revocation = { sid, until: device.session.rnw };
        device.session = undefined;
        draft.putDevices(username, devices);
        draft.putRevocation(revocation);
        const details = { session: sid, device: device.id };
        draft.audit(clock.now(), { event: 'user.session_ended', ...by, subject: `user:${username}`, details });
        return revocation;
      },
      { isUrgent: true },
    );
    await announcer.revoked([ended]);
  }

  async #close(username: string, state: 'blocked' | 'left', by: AuditActor, check?: CloseCheck): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    const { revoked, rev } = await accounts.change(
      (draft) => {
        const person = memberOf(draft, username);
        check?.(draft);
        forgetBlockedThere(draft, username);
        const ended = endSessions(draft, username);
        endConsoleSessions(draft, username);
        // As it is already: nothing of the person changes, so the directory has nothing to tell.
        if (person.state === state) return { revoked: ended, rev: undefined };
        const details: Record<string, AuditValue> = { before: person.state, sessions_ended: ended.length };
        draft.audit(clock.now(), { event: `user.${state}`, ...by, subject: `user:${username}`, details });
        return { revoked: ended, rev: putPerson(draft, { ...person, state }) };
      },
      { isUrgent: true },
    );
    if (revoked.length > 0) await announcer.revoked(revoked);
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }

  async #add({ username, password, role, profile, by }: PersonForm): Promise<void> {
    const { accounts, announcer, passwords, clock } = this.#options;
    if (accounts.person(username) !== undefined) throw new Refusal('username_taken');
    const passwordHash = await passwords.hashChosen(password, namesIn(username, profile));
    const now = clock.now();
    const rev = await accounts.change((draft) => {
      if (role === 'owner' && draft.hasOwner) throw new OwnerExists();
      const added = addPerson(draft, { username, passwordHash, role, now });
      const { after } = putProfile(draft, username, profile);
      const details = { role, ...after };
      draft.audit(now, { event: 'user.created', ...by, subject: `user:${username}`, details });
      return added;
    });
    announcer.directoryChanged(username, rev);
  }
}

/** Stores the fields that are named, as part of a change, and what was before in the trail; whether any is another. */
export function changeProfile(
  draft: AccountsDraft,
  username: string,
  change: ProfileChange,
  by: AuditActor,
  nowMillis: number,
): boolean {
  const { before, after } = putProfile(draft, username, change);
  const fields = (Object.keys(NO_PROFILE) as (keyof Profile)[]).filter((name) => before[name] !== after[name]);
  if (fields.length === 0) return false;
  const pick = (profile: Profile) => Object.fromEntries(fields.map((name) => [name, profile[name]]));
  const details = { before: pick(before), after: pick(after) };
  draft.audit(nowMillis, { event: 'user.changed', ...by, subject: `user:${username}`, details });
  return true;
}

interface PersonForm {
  readonly username: string;
  readonly password: string;
  readonly role: PersonRole;
  readonly profile: ProfileChange;
  readonly by: AuditActor;
}

/** @throws UnknownPerson, Refusal `person_left`. */
function memberOf(draft: AccountsDraft, username: string): PersonRecord {
  const person = draft.person(username);
  if (person === undefined) throw new UnknownPerson(username);
  if (person.state === 'left') throw new Refusal('person_left');
  return person;
}

export interface ForeignPerson {
  readonly username: string;
  readonly displayName: string | undefined;
  readonly email: string | undefined;
  /** Of a password that nobody was told. */
  readonly passwordHash: string;
  readonly by: AuditActor;
  /** Milliseconds. */
  readonly now: number;
}

/** Adds a person whom a provider or a directory server knows, as part of a change. @throws as `addPerson` does. */
export function addForeignPerson(draft: AccountsDraft, form: ForeignPerson): number {
  const { by, displayName, email, now, passwordHash, username } = form;
  const added = addPerson(draft, { username, passwordHash, role: 'person', now });
  const { after } = putProfile(draft, username, { display_name: displayName, email });
  const holders = email === undefined ? [] : emailHoldersOf(draft, email.toLowerCase());
  // Of two who have it, the one who was not there before is not the one whom it opens.
  if (holders.length > 1) noteGivenEmail(draft, username);
  const details = { role: 'person', ...after };
  draft.audit(now, { event: 'user.created', ...by, subject: `user:${username}`, details });
  return added;
}

export interface NewPerson {
  readonly username: string;
  readonly passwordHash: string;
  readonly role: PersonRole;
  /** Milliseconds. */
  readonly now: number;
}

/**
 * Adds a person as part of a change; returns the directory's change number.
 * @throws Refusal `username_taken`; `field_invalid` for a name that only a bot or a resource may have.
 */
export function addPerson(draft: AccountsDraft, { username, passwordHash, role, now }: NewPerson): number {
  // A person of that name could be mistaken for a bot or a resource, and those for a person.
  if (isReservedUsername(username)) throw new Refusal('field_invalid', { field: 'username' });
  if (draft.person(username) !== undefined) throw new Refusal('username_taken');
  // Somebody whom only the identity provider knows may have sessions under the name: they are not this person's.
  endConsoleSessions(draft, username);
  return putPerson(draft, { username, state: 'active', role, passwordHash, createdAt: formatInstant(now) });
}
