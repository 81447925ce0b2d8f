/**
 * Who is in which group, looked up from either side: kept in memory, and read anew group by group as the groups change. What is decided
 * by it follows a membership at once.
 */
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { groupRecords } from '../access-control.ts';

export class GroupMemberships {
  readonly #accounts: Pick<AccountsReader, 'document' | 'documents'>;
  readonly #members = new Map<string, ReadonlySet<string>>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(accounts: Pick<AccountsReader, 'document' | 'documents'>) {
    this.#accounts = accounts;
    for (const { id, document } of accounts.documents(groupRecords)) this.#take(id, document.members);
  }

  /** Reads a group anew that was made, changed or deleted. */
  changed(group: string): void {
    this.#take(group, this.#accounts.document(groupRecords, group)?.members ?? []);
  }

  /** Ids of the groups that somebody is a member of. */
  groupsOf(user: string): Iterable<string> {
    return this.#groups.get(user) ?? [];
  }

  membersOf(group: string): Iterable<string> {
    return this.#members.get(group) ?? [];
  }

  isMember(user: string, group: string): boolean {
    return this.#members.get(group)?.has(user) === true;
  }

  #take(group: string, members: readonly string[]): void {
    const after = new Set(members);
    const before = this.#members.get(group) ?? new Set();
    for (const user of before) {
      if (after.has(user)) continue;
      const left = this.#groups.get(user);
      left?.delete(group);
      if (left?.size === 0) this.#groups.delete(user);
    }
    for (const user of after) {
      if (before.has(user)) continue;
      const groups = this.#groups.get(user) ?? new Set();
      groups.add(group);
      this.#groups.set(user, groups);
    }
    if (after.size === 0) this.#members.delete(group);
    else this.#members.set(group, after);
  }
}
