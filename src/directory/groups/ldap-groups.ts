/** Groups of a directory server as groups here: made under their names, with the members who are people here. */
import { createHash } from 'node:crypto';
import type { LdapGroup } from '#src/identity/ldap/ldap-directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { GROUP_MEMBERS_MAX } from '#src/protocol/directory/policies.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { Groups } from './groups.ts';

/** Hash of issuer and id of a group there → the group here. */
const directoryGroups = defineCollection<string>('directory_groups', { version: 1 });

/** Of a group's name. */
const NAME_LENGTH_MAX = 100;

const BY_SERVER = { actor: 'server', address: null } as const;

export interface DirectoryGroupsOptions {
  readonly accounts: Accounts;
  readonly groups: Groups;
  readonly log: Pick<Logger, 'warn'>;
}

export class DirectoryGroups {
  readonly #options: DirectoryGroupsOptions;

  constructor(options: DirectoryGroupsOptions) {
    this.#options = options;
  }

  /** Takes over some groups; `names` are the people by their distinguished names in lower case. */
  async take(issuer: string, page: readonly LdapGroup[], names: ReadonlyMap<string, string>): Promise<void> {
    for (const group of page) {
      try {
        await this.#takeOne(issuer, group, names);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // A name that is taken here, or more than there may be: the others go on.
        this.#options.log.warn('a group of the directory server was left as it is', { code: error.code });
      }
    }
  }

  async #takeOne(issuer: string, { id, members, name }: LdapGroup, names: ReadonlyMap<string, string>): Promise<void> {
    const { accounts, groups } = this.#options;
    if (members === undefined) throw new Refusal('group_full');
    const wanted = new Set(members.flatMap((dn) => names.get(dn.toLowerCase()) ?? []));
    if (wanted.size > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
    const key = createHash('sha256').update(`${issuer}\n${id}`).digest('hex');
    const shown = name.replaceAll(/\p{Cc}/gu, ' ').slice(0, NAME_LENGTH_MAX);
    const known = accounts.document(directoryGroups, key);
    if (known === undefined) {
      const made = await groups.create({ name: shown, members: [...wanted] }, BY_SERVER);
      await accounts.change((draft) => draft.putDocument(directoryGroups, key, made.id));
      return;
    }
    // Somebody deleted it here: it stays away.
    if (!groups.list().some((group) => group.id === known)) return;
    await groups.change(known, { name: shown, add: [...wanted], remove: [], isWhole: true }, BY_SERVER);
  }
}
