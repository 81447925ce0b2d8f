/**
 * Groups that a client provisions: groups as they are here, made by the client, with people of the client in them. A
 * group that was made by anybody else it neither sees nor changes; none of them gives a right in the console.
 */
import type { Clock } from '#src/base/clock.ts';
import type { Json } from '#src/base/json.ts';
import { Slices } from '#src/base/slices.ts';
import { formatInstant } from '#src/base/time.ts';
import type { MembersChange } from '#src/directory/groups/group-members.ts';
import type { GroupChangeRules, Groups } from '#src/directory/groups/groups.ts';
import type { ScimClient } from '#src/identity/scim-clients.ts';
import { GROUP_MEMBERS_MAX, type Group } from '#src/protocol/directory/policies.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { AttributeFinder, GROUP_SCHEMA, GROUP_TYPE } from './attributes.ts';
import { equalsOf, isObject, listOf, type Resource } from './filter.ts';
import type { Operation } from './patch.ts';
import type { Caller, ScimPeople, VersionCheck } from './scim-people.ts';
import { knownOf, textAt } from './user-resource.ts';

interface ScimGroupRecord {
  /** The id of the client. */
  readonly client: string;
  readonly externalId: string | null;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly changedAt: string;
  /** +1 with every change of what is kept here. */
  readonly changes: number;
}

/** Group → whose it is. */
const scimGroups = defineCollection<ScimGroupRecord>('scim_groups', { version: 1 });

/** Of a group's name. */
const NAME_LENGTH_MAX = 100;

export const GROUPS = new AttributeFinder(GROUP_TYPE);

export interface ScimGroupsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly groups: Groups;
  readonly people: Pick<ScimPeople, 'isOfClient'>;
}

/** What becomes of a group. */
interface Wanted {
  readonly name: string | undefined;
  /** Undefined where it stays. */
  readonly externalId: string | null | undefined;
  readonly members: MembersChange;
}

export class ScimGroups {
  readonly #options: ScimGroupsOptions;

  constructor(options: ScimGroupsOptions) {
    this.#options = options;
  }

  /** Ids of the client's groups: as many as there may be groups at most. */
  ids(client: ScimClient): string[] {
    const { accounts, groups } = this.#options;
    const own = accounts.documents(scimGroups).filter(({ document }) => document.client === client.id);
    return own.flatMap(({ id }) => (groups.find(id) === undefined ? [] : [id]));
  }

  /** The client's group of a name, in a list; empty for none. */
  named(client: ScimClient, name: string): string[] {
    const id = this.#options.groups.named(name);
    return id !== undefined && this.#recordOf(client, id) !== undefined ? [id] : [];
  }

  /**
   * A group of the client, with those members who are among `people`, who are the client's; undefined for every other group.
   * Somebody whom an administrator put into it is nobody of whom the client learns.
   */
  find(
    { base, client }: Pick<Caller, 'base' | 'client'>,
    id: string,
    people: ReadonlySet<string> | undefined,
  ): Resource | undefined {
    const { groups } = this.#options;
    const record = this.#recordOf(client, id);
    const group = record === undefined ? undefined : groups.find(id);
    if (record === undefined || group === undefined) return undefined;
    const { changedAt, createdAt, externalId } = record;
    const location = `${base}/Groups/${id}`;
    const version = versionOf(group, record);
    return {
      schemas: [GROUP_SCHEMA],
      id,
      ...(externalId === null ? {} : { externalId }),
      displayName: group.name,
      ...(people === undefined
        ? {}
        : { members: groups.read(id).members.flatMap((user) => (people.has(user) ? [memberOf(user, base)] : [])) }),
      meta: { resourceType: 'Group', created: createdAt, lastModified: changedAt, location, version },
    };
  }

  /** @throws Refusal `group_not_found`. */
  read(caller: Pick<Caller, 'base' | 'client'>, id: string, people: ReadonlySet<string> | undefined): Resource {
    const found = this.find(caller, id, people);
    if (found === undefined) throw new Refusal('group_not_found');
    return found;
  }

  /** Answers its id. @throws Refusal `field_invalid`, `group_name_taken`, `group_full`, `groups_full`. */
  async create({ by, client }: Caller, body: Json | undefined): Promise<string> {
    const { clock, groups } = this.#options;
    const { externalId, members, name } = wantedOf(readGroupBody(body));
    if (name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    const at = formatInstant(clock.now());
    const record = { client: client.id, externalId: externalId ?? null, createdAt: at, changedAt: at, changes: 1 };
    const rules: GroupChangeRules = {
      ...this.#rulesOf(client),
      also: (draft, group) => {
        draft.putDocument(scimGroups, group.id, record);
        return true;
      },
    };
    const { id } = await ofMembers(groups.create({ name, members: members.add }, by, rules));
    return id;
  }

  /** @throws as `patch` does. */
  async replace(caller: Caller, id: string, body: Json | undefined, check: VersionCheck): Promise<void> {
    const wanted = wantedOf(readGroupBody(body));
    if (wanted.name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    await this.#change(caller, id, { ...wanted, externalId: wanted.externalId ?? null }, check);
  }

  /**
   * @throws Refusal `group_not_found`, `field_invalid` for a member whom the client does not have, `group_name_taken`,
   * `group_full`, `scim_path_invalid`, `scim_no_target`, and what `check` throws.
   */
  async patch(caller: Caller, id: string, operations: readonly Operation[], check: VersionCheck): Promise<void> {
    await this.#change(caller, id, await patched(operations), check);
  }

  /** @throws Refusal `group_not_found`; `group_in_use` while a policy names it; what `check` throws. */
  async remove({ by, client }: Caller, id: string, check: VersionCheck): Promise<void> {
    if (this.#recordOf(client, id) === undefined) throw new Refusal('group_not_found');
    await this.#options.groups.remove(id, by, (draft, group) => {
      check(versionOf(group, recordIn(draft, id)));
      draft.removeDocument(scimGroups, id);
    });
  }

  /** In one commit: what the members were is looked at within it. */
  async #change({ by, client }: Caller, id: string, wanted: Wanted, check: VersionCheck): Promise<void> {
    const { clock, groups } = this.#options;
    if (this.#recordOf(client, id) === undefined) throw new Refusal('group_not_found');
    const { externalId, members, name } = wanted;
    const rules: GroupChangeRules = {
      ...this.#rulesOf(client),
      also: (draft, group, isChanged) => {
        const known = recordIn(draft, id);
        check(versionOf(group, known));
        const isOther = externalId !== undefined && externalId !== known.externalId;
        if (!isOther && !isChanged) return false;
        const changed = isOther ? { externalId, changes: known.changes + 1 } : {};
        draft.putDocument(scimGroups, id, { ...known, ...changed, changedAt: formatInstant(clock.now()) });
        return isOther;
      },
    };
    await ofMembers(groups.change(id, { ...members, ...(name === undefined ? {} : { name }) }, by, rules));
  }

  /** Only people of the client become members by its word; who is one already stays whosever they are. */
  #rulesOf(client: ScimClient): GroupChangeRules {
    return { fits: (view, user) => this.#options.people.isOfClient(client, user, view) };
  }

  #recordOf(client: ScimClient, id: string): ScimGroupRecord | undefined {
    const record = this.#options.accounts.document(scimGroups, id);
    return record?.client === client.id ? record : undefined;
  }
}

/** @throws Refusal `group_not_found` for a group that went meanwhile. */
function recordIn(draft: AccountsDraft, id: string): ScimGroupRecord {
  const record = draft.document(scimGroups, id);
  if (record === undefined) throw new Refusal('group_not_found');
  return record;
}

/** Members have one name here, whatever place they came in. */
async function ofMembers<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'field_invalid')
      throw new Refusal('field_invalid', { field: 'members' });
    throw error;
  }
}

function readGroupBody(body: Json | undefined): Resource {
  if (!isObject(body)) throw new Refusal('field_invalid');
  if (!listOf(body['schemas']).includes(GROUP_SCHEMA)) throw new Refusal('field_invalid', { field: 'schemas' });
  return knownOf(body, GROUPS);
}

function wantedOf(resource: Resource): Wanted {
  const { displayName, externalId, members } = resource;
  return {
    name: nameIn(displayName),
    externalId: textAt(externalId, 'externalId'),
    // What is not said of a group that is replaced is taken away.
    members: { add: members === undefined ? [] : idsIn(members), remove: [], isWhole: true },
  };
}

function nameIn(value: Json | undefined): string | undefined {
  const name = textAt(value, 'displayName') ?? undefined;
  if (name !== undefined && name.length > NAME_LENGTH_MAX) throw new Refusal('field_invalid', { field: 'displayName' });
  return name;
}

/** What operations make of a group, in their order and in slices: together they may name as many as a body holds. */
async function patched(operations: readonly Operation[]): Promise<Wanted> {
  const slices = new Slices();
  let name: string | undefined;
  let externalId: string | null | undefined;
  const members = new MembersFold();
  for (const { kind, target, value } of operations) {
    if (slices.isOver) await slices.pass();
    const { among, attribute, part } = target;
    if (attribute.name === 'displayName') {
      name = nameIn(value);
      if (kind === 'remove' || name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    } else if (attribute.name === 'externalId') {
      externalId = kind === 'remove' ? null : textAt(value, 'externalId');
    } else {
      if (part !== undefined) throw new Refusal('scim_path_invalid');
      const named = among === undefined ? undefined : equalsOf(among, 'value');
      // Members have nothing else by which they could be told from one another.
      if (among !== undefined && (named === undefined || kind !== 'remove')) throw new Refusal('scim_path_invalid');
      members.take(kind, named ?? (value === undefined || value === null ? undefined : idsIn(value)));
    }
  }
  return { name, externalId, members: members.change };
}

/** What operations on the members come to, whoever the members are: of each person the last word counts. */
class MembersFold {
  readonly #come = new Set<string>();
  readonly #gone = new Set<string>();
  #isWhole = false;

  /** Removing without a name removes all. */
  take(kind: Operation['kind'], named: readonly string[] | undefined): void {
    if (kind === 'replace' || (kind === 'remove' && named === undefined)) {
      this.#isWhole = true;
      this.#come.clear();
      this.#gone.clear();
    }
    const [to, from] = kind === 'remove' ? [this.#gone, this.#come] : [this.#come, this.#gone];
    for (const id of named ?? []) {
      from.delete(id);
      to.add(id);
    }
  }

  get change(): MembersChange {
    return { add: [...this.#come], remove: [...this.#gone], isWhole: this.#isWhole };
  }
}

/** @throws Refusal `field_invalid`, also for more than any group may have. */
function idsIn(value: Json): string[] {
  const elements = listOf(value);
  if (elements.length > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
  return elements.map((element) => {
    const id = typeof element === 'string' ? element : isObject(element) ? element['value'] : undefined;
    if (typeof id !== 'string') throw new Refusal('field_invalid', { field: 'members' });
    return id;
  });
}

function memberOf(user: string, base: string): Json {
  return { value: user, $ref: `${base}/Users/${user}`, type: 'User' };
}

/** The group's own changes, and those of what is kept beside it. */
function versionOf({ rev }: Group, { changes }: ScimGroupRecord): string {
  return `W/"${rev}-${changes}"`;
}
