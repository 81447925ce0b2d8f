/**
 * Who the people of each client are, in memory, in an order that stays while people come: what lists are cut from. Fed by
 * the log of the directory's changes and by nothing else, in steps that give way to other work, as search is.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { ScimClient } from '#src/identity/scim-clients.ts';

/** Lines of the log read in one go: a few milliseconds. */
const CHANGES_AT_ONCE = 250;

/** The log of changes, as `Directory.changedUsers` reads it. */
export interface UserLog {
  readonly rev: () => number;
  readonly changedUsers: (rev: number, limit: number) => { users: string[]; rev: number; more: boolean };
}

export class ClientPeople {
  readonly #log: UserLog;
  /** The id of the client that a person belongs to; undefined for nobody's. */
  readonly #clientOf: (username: string) => string | undefined;
  readonly #people = new Map<string, Set<string>>();
  readonly #holders = new Map<string, string>();
  #rev = 0;
  #catchingUp: Promise<void> | undefined;

  constructor(log: UserLog, clientOf: (username: string) => string | undefined) {
    this.#log = log;
    this.#clientOf = clientOf;
  }

  /** The people of a client, with every change that was answered before. */
  async of({ id }: Pick<ScimClient, 'id'>): Promise<ReadonlySet<string>> {
    while (this.#rev < this.#log.rev()) {
      this.#catchingUp ??= this.#read().finally(() => (this.#catchingUp = undefined));
      await this.#catchingUp;
    }
    return this.#people.get(id) ?? new Set();
  }

  async #read(): Promise<void> {
    for (let more = true; more;) {
      const { users, rev, more: isMore } = this.#log.changedUsers(this.#rev, CHANGES_AT_ONCE);
      for (const user of users) this.#take(user);
      this.#rev = rev;
      more = isMore;
      if (more) await othersFirst();
    }
  }

  #take(user: string): void {
    const [before, after] = [this.#holders.get(user), this.#clientOf(user)];
    if (before === after) return;
    if (before !== undefined) this.#people.get(before)?.delete(user);
    if (after === undefined) return void this.#holders.delete(user);
    this.#holders.set(user, after);
    this.#people.set(after, (this.#people.get(after) ?? new Set()).add(user));
  }
}
