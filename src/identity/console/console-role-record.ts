/**
 * A person's role in the console, as it is stored and read (CON-03). Owners are those that their record calls so; the
 * other roles are kept here. A person without a role has no way in.
 */
import { PERSON_CONSOLE_ROLES, type PersonConsoleRole } from './permissions.ts';
import type { AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** A role below owner, under the username. */
export interface ConsoleRoleRecord {
  readonly role: Exclude<PersonConsoleRole, 'owner'>;
  /** RFC 3339. */
  readonly since: string;
  /** The actor of the audit trail who gave it. */
  readonly by: string;
}

export const consoleRoles = defineCollection<ConsoleRoleRecord>('console_roles', { version: 1 });

/** What a read of roles needs: the accounts, or a draft of a change to them. */
type RolesView = Pick<AccountsDraft, 'person' | 'document'>;

/** The console role of an active person; undefined for everybody else. */
export function consoleRoleOf(view: RolesView, username: string): PersonConsoleRole | undefined {
  const person = view.person(username);
  if (person?.state !== 'active') return undefined;
  return person.role === 'owner' ? 'owner' : view.document(consoleRoles, username)?.role;
}

/** Whether a person has a console role, or has it again as soon as nobody blocks them. */
export function holdsConsoleRole(view: RolesView, username: string): boolean {
  return view.person(username)?.role === 'owner' || view.document(consoleRoles, username) !== undefined;
}

/** The highest of some roles; undefined of none. */
export function highestRole(roles: Iterable<PersonConsoleRole>): PersonConsoleRole | undefined {
  const held = new Set(roles);
  return PERSON_CONSOLE_ROLES.find((role) => held.has(role));
}
