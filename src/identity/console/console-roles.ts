/** Giving and taking roles of the console (CON-03), and that there is always an owner. */
import type { SessionAnnouncer } from '../credentials/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { PersonConsoleRole } from './permissions.ts';
import { actorOf, type Principal } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { consoleRoles, holdsConsoleRole, type ConsoleRoleRecord } from './console-role-record.ts';
import { endConsoleSessions } from './console-sessions.ts';
import { unbindForRole } from '../single-sign-on/person-identities.ts';
import { guestRecords } from '../guest-records.ts';

/** People looked at in one step of the search for owners, so that it never holds the thread for long. */
const SEARCH_STEP = 500;

export interface ConsoleRolesOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'directoryChanged' | 'revoked'>;
  readonly clock: Clock;
}

export class ConsoleRoles {
  readonly #options: ConsoleRolesOptions;

  constructor(options: ConsoleRolesOptions) {
    this.#options = options;
  }

  /**
   * Gives a person a role, or with null takes the one they have. Their console sessions end with it (CRD-08), and so does what
   * administrators bound them to at a provider: a way into an account with a role is for owners to make.
   * @throws Refusal `right_missing` for anybody but an owner, `field_invalid` for a guest and for nobody,
   * `last_owner_required`.
   */
  async set(principal: Principal, username: string, role: PersonConsoleRole | null, address: string): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    const others = role === 'owner' ? [] : await this.#otherOwner(username);
    const { ended, rev } = await accounts.change((draft) => {
      const person = draft.person(username);
      // A guest is somebody of elsewhere, for a time: no guest runs the installation.
      const isGuest = draft.document(guestRecords, username) !== undefined;
      if (person === undefined || (isGuest && role !== null)) throw new Refusal('field_invalid', { field: 'user' });
      const before = person.role === 'owner' ? 'owner' : (draft.document(consoleRoles, username)?.role ?? null);
      if (before === role) return { ended: [], rev: undefined };
      if (before === 'owner') assertOwnerLeft(draft, others);
      if (role === null || role === 'owner') draft.removeDocument(consoleRoles, username);
      else {
        const since = formatInstant(clock.now());
        draft.putDocument(consoleRoles, username, { role, since, by: actorOf(principal) });
      }
      endConsoleSessions(draft, username);
      const unbound = role === null ? { issuers: [], ended: [] } : unbindForRole(draft, username);
      for (const issuer of unbound.issuers) {
        draft.audit(clock.now(), {
          event: 'sso.identity_forgotten',
          actor: actorOf(principal),
          address,
          subject: `user:${username}`,
          details: { issuer },
        });
      }
      draft.audit(clock.now(), {
        event: 'console_role.changed',
        actor: actorOf(principal),
        address,
        subject: `user:${username}`,
        details: { before, after: role },
      });
      const kind: PersonRecord['role'] = role === 'owner' ? 'owner' : 'person';
      const changed = kind === person.role ? undefined : draft.putPerson({ ...person, role: kind });
      return { ended: unbound.ended, rev: changed };
    });
    if (ended.length > 0) await announcer.revoked(ended);
    if (rev !== undefined) announcer.directoryChanged(username, rev);
  }

  /**
   * Refuses, as part of a change, what would leave the installation without an active owner: blocking one, removing
   * one. Ask for the check before the change, and run it inside.
   */
  async lastOwnerCheck(username: string): Promise<(draft: AccountsDraft) => void> {
    const others = await this.#otherOwner(username);
    return (draft) => {
      if (draft.person(username)?.role === 'owner') assertOwnerLeft(draft, others);
    };
  }

  /** Whether a person has a role, blocked or not. */
  isHeldBy(username: string): boolean {
    return holdsConsoleRole(this.#options.accounts, username);
  }

  /** Those below owner, in the order of their usernames behind `after`. */
  list(after: string | undefined, limit: number): { items: ListedRole[]; next: string | null } {
    const page = after === undefined ? { limit } : { after, limit };
    const found = this.#options.accounts.documents(consoleRoles, page);
    const items = found.map(({ id, document }) => ({ user: id, ...document }));
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /** An active owner other than that person, in a list; empty when there is none. */
  async #otherOwner(username: string): Promise<string[]> {
    for (let after = ''; ;) {
      const people = this.#options.accounts.people(after, SEARCH_STEP);
      const owner = people.find((each) => isActiveOwner(each) && each.username !== username);
      if (owner !== undefined) return [owner.username];
      const last = people.at(-1);
      if (last === undefined || people.length < SEARCH_STEP) return [];
      after = last.username;
      await new Promise(setImmediate);
    }
  }
}

export interface ListedRole extends ConsoleRoleRecord {
  readonly user: string;
}

/** Judged on the draft: a change decided just before may have taken the owner that was found. */
function assertOwnerLeft(draft: AccountsDraft, owners: readonly string[]): void {
  const isLeft = owners.some((username) => {
    const person = draft.person(username);
    return person !== undefined && isActiveOwner(person);
  });
  if (!isLeft) throw new Refusal('last_owner_required');
}

function isActiveOwner(person: PersonRecord): boolean {
  return person.role === 'owner' && person.state === 'active';
}
