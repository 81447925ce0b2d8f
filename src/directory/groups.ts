/** Groups of people: flat, by name, for the access policies to speak of (POL-01). */
import { createHash } from 'node:crypto';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { GROUP_MEMBERS_MAX, GROUPS_MAX, type Group, type GroupKind } from '#src/protocol/directory/policies.ts';
import { GRANTING_SCREENS, groupIdsIn } from '#src/settings/granted-rights.ts';
import { readSetValues, type SettingJudge } from '#src/settings/settings.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { groupRecords, POLICY_RULES_ID, policyRules, type AccessControl, type GroupRecord } from './access-control.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

/** Hash of a name without its case → the group that has it: names are for readers, and two alike would mislead them. */
const groupNames = defineCollection<string>('group_names', { version: 1 });
/** How many groups there are. */
const groupTotals = defineCollection<number>('group_totals', { version: 1 });

/** Names of the audit trail's lists beyond this are left out; their number is there. */
const AUDITED_NAMES_MAX = 100;

export interface GroupsOptions {
  readonly accounts: Accounts;
  readonly access: AccessControl;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
}

export interface GroupForm {
  readonly name: string;
  /** A group without it. */
  readonly kind?: GroupKind | undefined;
  readonly members: readonly string[];
}

export interface GroupChange {
  readonly name?: string | undefined;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly also?: AlsoChanged | undefined;
}

/** What is judged of a group, as it is when its change is decided, and stored with it; what it throws is the answer. */
export type AlsoChanged = (draft: AccountsDraft, group: Group) => void;

export type GroupWithMembers = Group & { members: string[] };

export class Groups {
  readonly #options: GroupsOptions;

  constructor(options: GroupsOptions) {
    this.#options = options;
  }

  list(): Group[] {
    return this.#options.accounts.documents(groupRecords).map(({ id, document }) => viewOf(id, document));
  }

  /** One without its members; undefined where there is none. */
  find(id: string): Group | undefined {
    const record = this.#options.accounts.document(groupRecords, id);
    return record === undefined ? undefined : viewOf(id, record);
  }

  /** The id of the group of a name, whose case does not count. */
  named(name: string): string | undefined {
    return this.#options.accounts.document(groupNames, nameId(name));
  }

  /** The groups a person is a member of. */
  of(username: string): Group[] {
    const found = this.#options.accounts.documents(groupRecords);
    return found.filter((one) => one.document.members.includes(username)).map((one) => viewOf(one.id, one.document));
  }

  /** @throws Refusal `group_not_found`. */
  read(id: string): GroupWithMembers {
    const record = this.#options.accounts.document(groupRecords, id);
    if (record === undefined) throw new Refusal('group_not_found');
    return { ...viewOf(id, record), members: [...record.members] };
  }

  /** @throws Refusal `group_name_taken`, `groups_full`, `field_invalid` for a member who does not exist. */
  async create(form: GroupForm, by: AuditActor, also?: AlsoChanged): Promise<GroupWithMembers> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('grp', now);
    const members = [...new Set(form.members)].toSorted();
    const unit = form.kind === 'unit' ? ({ kind: 'unit' } as const) : {};
    const record: GroupRecord = { name: form.name, ...unit, members, rev: 1 };
    await accounts.change((draft) => {
      const total = draft.document(groupTotals, 'all') ?? 0;
      if (total >= GROUPS_MAX) throw new Refusal('groups_full');
      takeName(draft, form.name, id);
      assertPeople(draft, form.members, 'members');
      draft.putDocument(groupRecords, id, record);
      draft.putDocument(groupTotals, 'all', total + 1);
      also?.(draft, viewOf(id, record));
      const details = { name: form.name, members: audited(members), member_count: members.length };
      draft.audit(now, { event: 'group.created', ...by, subject: `group:${id}`, details });
    });
    this.#tell(id, record);
    return { ...viewOf(id, record), members };
  }

  /** @throws Refusal `group_not_found`, `group_name_taken`, `group_full`, `field_invalid`. */
  async change(id: string, { name, add, remove, also }: GroupChange, by: AuditActor): Promise<GroupWithMembers> {
    const { accounts, access, clock } = this.#options;
    const after = await accounts.change((draft) => {
      const before = draft.document(groupRecords, id);
      if (before === undefined) throw new Refusal('group_not_found');
      also?.(draft, viewOf(id, before));
      if (name !== undefined) {
        draft.removeDocument(groupNames, nameId(before.name));
        takeName(draft, name, id);
      }
      assertPeople(draft, add, 'add');
      const members = new Set([...before.members, ...add]);
      for (const username of remove) members.delete(username);
      if (members.size > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
      const changed = { ...before, name: name ?? before.name, members: [...members].toSorted(), rev: before.rev + 1 };
      draft.putDocument(groupRecords, id, changed);
      draft.audit(clock.now(), {
        event: 'group.changed',
        ...by,
        subject: `group:${id}`,
        details: {
          before: { name: before.name, member_count: before.members.length },
          after: { name: changed.name, member_count: changed.members.length },
          // Under a name by which a vendor's view knows that people stand here.
          added: { members: audited(add) },
          removed: { members: audited(remove) },
        },
      });
      return changed;
    });
    await access.refresh();
    this.#tell(id, after);
    return { ...viewOf(id, after), members: after.members };
  }

  /**
   * Has a person be a member of some of the groups `among`, of those `in`, and of no other of them. A group that is not
   * there any more, or is full, is left as it is.
   */
  async follow(
    username: string,
    { among, in: wanted }: { readonly among: readonly string[]; readonly in: readonly string[] },
    by: AuditActor,
  ): Promise<void> {
    for (const id of new Set(among)) {
      const record = this.#options.accounts.document(groupRecords, id);
      if (record === undefined || record.members.includes(username) === wanted.includes(id)) continue;
      if (wanted.includes(id) && record.members.length >= GROUP_MEMBERS_MAX) continue;
      const change = wanted.includes(id) ? { add: [username], remove: [] } : { add: [], remove: [username] };
      await this.change(id, change, by);
    }
  }

  /** @throws Refusal `group_not_found`; `group_in_use` while a policy names it. */
  async remove(id: string, by: AuditActor, also?: AlsoChanged): Promise<void> {
    const { accounts, clock } = this.#options;
    const before = await accounts.change((draft) => {
      const record = draft.document(groupRecords, id);
      if (record === undefined) throw new Refusal('group_not_found');
      also?.(draft, viewOf(id, record));
      const rules = draft.document(policyRules, POLICY_RULES_ID) ?? [];
      // A rule whose group is gone would fit nobody, and a denial that fits nobody lets through.
      const isNamed = rules.some(({ from, to }) => from === id || to === id);
      if (isNamed || isNamedInSettings(draft, id)) throw new Refusal('group_in_use');
      draft.removeDocument(groupRecords, id);
      draft.removeDocument(groupNames, nameId(record.name));
      draft.putDocument(groupTotals, 'all', (draft.document(groupTotals, 'all') ?? 1) - 1);
      const details = { name: record.name, member_count: record.members.length };
      draft.audit(clock.now(), { event: 'group.deleted', ...by, subject: `group:${id}`, details });
      return record;
    });
    this.#tell(id, { ...before, rev: before.rev + 1 });
  }

  /** A unit is told as the group that it is, and as a unit (SOC-04). */
  #tell(id: string, { kind, rev }: Pick<GroupRecord, 'kind' | 'rev'>): void {
    const { announcer } = this.#options;
    announcer.groupChanged(id, rev);
    if (kind === 'unit') announcer.unitChanged(id);
  }
}

/** @throws Refusal `group_name_taken`. */
function takeName(draft: AccountsDraft, name: string, id: string): void {
  if (draft.document(groupNames, nameId(name)) !== undefined) throw new Refusal('group_name_taken');
  draft.putDocument(groupNames, nameId(name), id);
}

function nameId(name: string): string {
  return createHash('sha256').update(name.toLowerCase()).digest('hex');
}

/** @throws Refusal `field_invalid` with the place of the first who does not exist or has left. */
function assertPeople(draft: AccountsDraft, people: readonly string[], field: string): void {
  const missing = people.findIndex((username) => {
    const person = draft.person(username);
    return person === undefined || person.state === 'left';
  });
  if (missing !== -1) throw new Refusal('field_invalid', { field: `${field}.${missing}` });
}

/** Takes a person out of every group; answers the groups that changed, with their change numbers. */
export function leaveGroups(
  draft: AccountsDraft,
  groups: readonly { readonly id: string }[],
  user: string,
  by: AuditActor,
  now: number,
): readonly { readonly id: string; readonly rev: number }[] {
  return groups.flatMap(({ id }) => {
    const before = draft.document(groupRecords, id);
    if (before?.members.includes(user) !== true) return [];
    const members = before.members.filter((member) => member !== user);
    const after: GroupRecord = { ...before, members, rev: before.rev + 1 };
    draft.putDocument(groupRecords, id, after);
    const details = {
      before: { name: before.name, member_count: before.members.length },
      after: { name: after.name, member_count: members.length },
      removed: { members: [user] },
    };
    draft.audit(now, { event: 'group.changed', ...by, subject: `group:${id}`, details });
    return [{ id, rev: after.rev }];
  });
}

function audited(names: readonly string[]): string[] {
  return names.slice(0, AUDITED_NAMES_MAX);
}

function viewOf(id: string, { kind, name, members, rev }: GroupRecord): Group {
  return { id, name, kind: kind ?? 'group', member_count: members.length, rev };
}

/** The screens with a field `groups`. */
export const GROUP_NAMING_SCREENS = ['second-factors', ...Object.values(GRANTING_SCREENS)] as const;

/** Whether a screen names a group: without it, it would speak of nobody. */
export function isNamedInSettings(view: Pick<AccountsReader, 'document'>, group: string): boolean {
  return GROUP_NAMING_SCREENS.some((name) => groupIdsIn(readSetValues(view, name)['groups']).includes(group));
}

/** Refuses a screen that names a group that is none: it would speak of nobody, and nobody would notice. */
export const judgeNamedGroups: SettingJudge = (draft, { after }) => {
  const unknown = groupIdsIn(after['groups']).some((id) => draft.document(groupRecords, id) === undefined);
  if (unknown) throw new Refusal('field_invalid', { field: 'groups' });
};
