/** The people of this installation: adding, blocking, listing. For the owner's command now, for the console later. */
import type { Passwords } from '#src/auth/passwords.ts';
import type { SessionAnnouncer } from '#src/auth/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRole, PersonState } from '#storage/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts.ts';
import { endSessions } from './sign-in.ts';

/** People in one page of the list. */
export const PEOPLE_PAGE_MAX = 1000;

export interface PeopleOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly announcer: SessionAnnouncer;
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

export class People {
  readonly #options: PeopleOptions;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  /** @throws Refusal `username_taken`, `busy`, `storage_full`. */
  async add(username: string, password: string): Promise<void> {
    await this.#add(username, password, 'person');
  }

  /** The first owner. @throws OwnerExists, and what `add` throws. */
  async addOwner(username: string, password: string): Promise<void> {
    await this.#add(username, password, 'owner');
  }

  /** Ends all sessions of a person at once and keeps them from signing in. @throws UnknownPerson */
  async block(username: string): Promise<void> {
    const { accounts, announcer } = this.#options;
    const { revoked, rev } = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new UnknownPerson(username);
      const ended = endSessions(draft, username);
      // Blocked already: nothing of the person changes, so the directory has nothing to tell.
      if (person.state === 'blocked') return { revoked: ended, rev: undefined };
      return { revoked: ended, rev: draft.putPerson({ ...person, state: 'blocked' }) };
    });
    if (revoked.length > 0) await announcer.revoked(revoked);
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }

  /** Lets a blocked person sign in again; the sessions they had stay ended. @throws UnknownPerson */
  async unblock(username: string): Promise<void> {
    const { accounts, announcer } = this.#options;
    const rev = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new UnknownPerson(username);
      return person.state === 'active' ? undefined : draft.putPerson({ ...person, state: 'active' });
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

  async #add(username: string, password: string, role: PersonRole): Promise<void> {
    const { accounts, announcer, passwords, clock } = this.#options;
    if (accounts.person(username) !== undefined) throw new Refusal('username_taken');
    const passwordHash = await passwords.hash(password);
    const rev = await accounts.change((draft) => {
      if (role === 'owner' && draft.hasOwner) throw new OwnerExists();
      return addPerson(draft, { username, passwordHash, role, now: clock.now() });
    });
    announcer.directoryChanged(username, rev);
  }
}

export interface NewPerson {
  readonly username: string;
  readonly passwordHash: string;
  readonly role: PersonRole;
  /** Milliseconds. */
  readonly now: number;
}

/** Adds a person as part of a change; returns the directory's change number. @throws Refusal `username_taken`. */
export function addPerson(draft: AccountsDraft, { username, passwordHash, role, now }: NewPerson): number {
  if (draft.person(username) !== undefined) throw new Refusal('username_taken');
  return draft.putPerson({ username, state: 'active', role, passwordHash, createdAt: formatInstant(now) });
}
