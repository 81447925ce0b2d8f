/**
 * Who the people of each client are, in memory, in an order that stays while people come: what lists are cut from. Fed by
 * the log of the directory's changes and by nothing else, in steps that give way to other work, as search is.
 */
import { ChangeReader, type ChangeLog } from '#src/directory/change-reader.ts';
import type { ScimClient } from '#src/identity/scim-clients.ts';

export class ClientPeople {
  readonly #changes: ChangeReader<string>;
  /** The id of the client that a person belongs to; undefined for nobody's. */
  readonly #clientOf: (username: string) => string | undefined;
  readonly #people = new Map<string, Set<string>>();
  readonly #holders = new Map<string, string>();

  /** @param log usernames, also of who is not there any more. */
  constructor(log: ChangeLog<string>, clientOf: (username: string) => string | undefined) {
    this.#changes = new ChangeReader(log, (user) => this.#take(user));
    this.#clientOf = clientOf;
  }

  /** The people of a client, with every change that was answered before. */
  async of({ id }: Pick<ScimClient, 'id'>): Promise<ReadonlySet<string>> {
    await this.#changes.catchUp();
    return this.#people.get(id) ?? new Set();
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
