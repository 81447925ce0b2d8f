/**
 * Groups that a client provisions: groups as they are here, made by the client, with people of the client in them. A
 * group that was made by anybody else it neither sees nor changes; none of them gives a right in the console.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import type { Json } from '#src/base/json.ts';
import { formatInstant } from '#src/base/time.ts';
import type { AlsoChanged, Groups } from '#src/directory/groups.ts';
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

/** Members looked up in one go, and stored in one change: a millisecond or two. */
const MEMBERS_AT_ONCE = 1_000;

export const GROUPS = new AttributeFinder(GROUP_TYPE);

export interface ScimGroupsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly groups: Groups;
  readonly people: ScimPeople;
}

/** What becomes of a group. */
interface Wanted {
  readonly name: string | undefined;
  /** Undefined where it stays. */
  readonly externalId: string | null | undefined;
  /** Undefined where they stay. */
  readonly members: ReadonlySet<string> | undefined;
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

  /** A group of the client, without its members unless they are asked for; undefined for every other one. */
  find({ base, client }: Pick<Caller, 'base' | 'client'>, id: string, withMembers: boolean): Resource | undefined {
    const { groups } = this.#options;
    const record = this.#recordOf(client, id);
    const group = groups.find(id);
    if (record === undefined || group === undefined) return undefined;
    const { changedAt, createdAt, externalId } = record;
    const location = `${base}/Groups/${id}`;
    const version = versionOf(group, record);
    return {
      schemas: [GROUP_SCHEMA],
      id,
      ...(externalId === null ? {} : { externalId }),
      displayName: group.name,
      ...(withMembers ? { members: groups.read(id).members.map((user) => memberOf(user, base)) } : {}),
      meta: { resourceType: 'Group', created: createdAt, lastModified: changedAt, location, version },
    };
  }

  /** @throws Refusal `group_not_found`. */
  read(caller: Pick<Caller, 'base' | 'client'>, id: string, withMembers: boolean): Resource {
    const found = this.find(caller, id, withMembers);
    if (found === undefined) throw new Refusal('group_not_found');
    return found;
  }

  /** Answers its id. @throws Refusal `field_invalid`, `group_name_taken`, `group_full`, `groups_full`. */
  async create({ by, client }: Caller, body: Json | undefined): Promise<string> {
    const { clock, groups } = this.#options;
    const { externalId, members = new Set(), name } = wantedOf(readGroupBody(body));
    if (name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    await this.#assertMembers(client, members);
    const at = formatInstant(clock.now());
    const record = { client: client.id, externalId: externalId ?? null, createdAt: at, changedAt: at, changes: 1 };
    const { id } = await groups.create({ name, members: [] }, by, (draft, group) =>
      draft.putDocument(scimGroups, group.id, record),
    );
    await this.#changeMembers(id, { add: [...members], remove: [] }, by);
    return id;
  }

  /** @throws as `patch` does. */
  async replace(caller: Caller, id: string, body: Json | undefined, check: VersionCheck): Promise<void> {
    const { externalId = null, members = new Set(), name } = wantedOf(readGroupBody(body));
    if (name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    await this.#change(caller, id, check, () => ({ name, externalId, members }));
  }

  /**
   * @throws Refusal `group_not_found`, `field_invalid` for a member whom the client does not have, `group_name_taken`,
   * `group_full`, `scim_path_invalid`, `scim_no_target`, and what `check` throws.
   */
  async patch(caller: Caller, id: string, operations: readonly Operation[], check: VersionCheck): Promise<void> {
    await this.#change(caller, id, check, (before) => patched(operations, before));
  }

  /** @throws Refusal `group_not_found`; `group_in_use` while a policy names it; what `check` throws. */
  async remove({ by, client }: Caller, id: string, check: VersionCheck): Promise<void> {
    if (this.#recordOf(client, id) === undefined) throw new Refusal('group_not_found');
    await this.#options.groups.remove(id, by, (draft, group) => {
      check(versionOf(group, recordIn(draft, id)));
      draft.removeDocument(scimGroups, id);
    });
  }

  async #change(
    { by, client }: Caller,
    id: string,
    check: VersionCheck,
    decide: (before: ReadonlySet<string>) => Wanted,
  ): Promise<void> {
    const { accounts, clock, groups } = this.#options;
    const record = this.#recordOf(client, id);
    if (record === undefined || groups.find(id) === undefined) throw new Refusal('group_not_found');
    const before = groups.read(id);
    const present = new Set(before.members);
    const wanted = decide(present);
    const members = wanted.members ?? present;
    const add = [...members].filter((user) => !present.has(user));
    const remove = before.members.filter((user) => !members.has(user));
    if (members.size > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
    await this.#assertMembers(client, add);
    const name = wanted.name === undefined || wanted.name === before.name ? undefined : wanted.name;
    const { externalId = record.externalId } = wanted;
    const isOther = externalId !== record.externalId;
    check(versionOf(before, record));
    if (!isOther && name === undefined && add.length + remove.length === 0) return;
    const note = (draft: AccountsDraft, group: Group) => {
      const known = recordIn(draft, id);
      check(versionOf(group, known));
      const changedAt = formatInstant(clock.now());
      draft.putDocument(scimGroups, id, { ...known, externalId, changedAt, changes: known.changes + Number(isOther) });
    };
    if (name === undefined && add.length + remove.length === 0) await accounts.change((draft) => note(draft, before));
    else await this.#changeMembers(id, { name, add, remove }, by, note);
  }

  /** In steps, so that none of them holds the thread for long; who goes makes room for who comes. */
  async #changeMembers(
    id: string,
    { add, name, remove }: { readonly name?: string | undefined; readonly add: string[]; readonly remove: string[] },
    by: Caller['by'],
    also?: AlsoChanged,
  ): Promise<void> {
    const steps: { readonly add: readonly string[]; readonly remove: readonly string[] }[] = [
      ...stepsOf(remove).map((gone) => ({ add: [], remove: gone })),
      ...stepsOf(add).map((come) => ({ add: come, remove: [] })),
    ];
    if (steps.length === 0 && name !== undefined) steps.push({ add: [], remove: [] });
    for (const [at, step] of steps.entries()) {
      await this.#options.groups.change(id, at === 0 ? { ...step, name, also } : step, by);
    }
  }

  /** @throws Refusal `field_invalid` where one is nobody whom the client has. */
  async #assertMembers(client: ScimClient, members: Iterable<string>): Promise<void> {
    let looked = 0;
    for (const user of members) {
      if (!this.#options.people.isOfClient(client, user)) throw new Refusal('field_invalid', { field: 'members' });
      looked += 1;
      if (looked % MEMBERS_AT_ONCE === 0) await othersFirst();
    }
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

function stepsOf(members: readonly string[]): (readonly string[])[] {
  const steps = Math.ceil(members.length / MEMBERS_AT_ONCE);
  return Array.from({ length: steps }, (_, at) => members.slice(at * MEMBERS_AT_ONCE, (at + 1) * MEMBERS_AT_ONCE));
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
    members: members === undefined ? undefined : new Set(idsIn(members)),
  };
}

function nameIn(value: Json | undefined): string | undefined {
  const name = textAt(value, 'displayName') ?? undefined;
  if (name !== undefined && name.length > NAME_LENGTH_MAX) throw new Refusal('field_invalid', { field: 'displayName' });
  return name;
}

/** What operations make of a group, in their order. */
function patched(operations: readonly Operation[], before: ReadonlySet<string>): Wanted {
  let name: string | undefined;
  let externalId: string | null | undefined;
  let members: Set<string> | undefined;
  for (const { kind, target, value } of operations) {
    const { among, attribute, part } = target;
    if (attribute.name === 'displayName') {
      name = nameIn(value);
      if (kind === 'remove' || name === undefined) throw new Refusal('field_invalid', { field: 'displayName' });
    } else if (attribute.name === 'externalId') {
      externalId = kind === 'remove' ? null : textAt(value, 'externalId');
    } else {
      members ??= new Set(before);
      if (part !== undefined) throw new Refusal('scim_path_invalid');
      const named = among === undefined ? undefined : equalsOf(among, 'value');
      // Members have nothing else by which they could be told from one another.
      if (among !== undefined && (named === undefined || kind !== 'remove')) throw new Refusal('scim_path_invalid');
      changeSet(members, kind, named ?? (value === undefined || value === null ? undefined : idsIn(value)));
    }
  }
  return { name, externalId, members };
}

/** Removing without a name removes all. */
function changeSet(members: Set<string>, kind: Operation['kind'], named: readonly string[] | undefined): void {
  if (kind === 'replace' || (kind === 'remove' && named === undefined)) members.clear();
  for (const id of named ?? []) {
    if (kind === 'remove') members.delete(id);
    else members.add(id);
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
