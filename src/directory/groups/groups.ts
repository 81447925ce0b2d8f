/** Groups of people: flat, by name, for the access policies to speak of (POL-01). */
import { createHash } from 'node:crypto';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Slices } from '#src/base/slices.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { GROUP_MEMBERS_MAX, GROUPS_MAX, type Group, type GroupKind } from '#src/protocol/directory/policies.ts';
import { GRANTING_SCREENS, groupIdsIn } from '#src/settings/granted-rights.ts';
import { readSetValues, type SettingJudge } from '#src/settings/settings.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { groupRecords, POLICY_RULES_ID, policyRules, type AccessControl, type GroupRecord } from '../access-control.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import {
  changeMembers,
  isHere,
  lookAhead,
  orderChange,
  type Fits,
  type MembersChange,
  type OrderedChange,
} from './group-members.ts';

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

export interface GroupChange extends MembersChange {
  readonly name?: string | undefined;
}

/** What a change of a group has besides, from whoever keeps more of it than is kept here. */
export interface GroupChangeRules {
  readonly also?: AlsoChanged;
  /** Who may become a member; everybody who is here, without it. */
  readonly fits?: Fits;
}

/**
 * What is judged of a group, as it is when its change is decided, and stored with it; what it throws is the answer. It is told
 * whether the group itself changes, and says whether anything else does.
 */
export type AlsoChanged = (draft: AccountsDraft, group: Group, isChanged: boolean) => boolean;

export type GroupWithMembers = Group & { members: string[] };

interface ReadyChange {
  readonly change: OrderedChange;
  /** The first of some people who does not fit. */
  readonly unfit: (draft: AccountsDraft, added: readonly string[]) => string | undefined;
}

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

  /**
   * Makes a group with all of its members, or none.
   * @throws Refusal `group_name_taken`, `groups_full`, `group_full`, `field_invalid` for a member who does not fit.
   */
  async create(form: GroupForm, by: AuditActor, rules: GroupChangeRules = {}): Promise<GroupWithMembers> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const id = makeId('grp', now);
    const ready = await this.#prepare({ add: form.members, remove: [] }, [], rules);
    const members = [...ready.change.come];
    const unit = form.kind === 'unit' ? ({ kind: 'unit' } as const) : {};
    const record: GroupRecord = { name: form.name, ...unit, members, rev: 1 };
    await accounts.change((draft) => {
      const total = draft.document(groupTotals, 'all') ?? 0;
      if (total >= GROUPS_MAX) throw new Refusal('groups_full');
      takeName(draft, form.name, id);
      assertFit(ready, draft, members, (user) => `members.${form.members.indexOf(user)}`);
      if (members.length > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
      draft.putDocument(groupRecords, id, record);
      draft.putDocument(groupTotals, 'all', total + 1);
      rules.also?.(draft, viewOf(id, record), true);
      const details = { name: form.name, members: audited(members), member_count: members.length };
      draft.audit(now, { event: 'group.created', ...by, subject: `group:${id}`, details });
    });
    this.#tell(id, record);
    return { ...viewOf(id, record), members };
  }

  /**
   * Changes a group in one commit, however many come and go. What changes nothing is not stored and told to nobody.
   * @throws Refusal `group_not_found`, `group_name_taken`, `group_full`, `field_invalid` for somebody who does not fit.
   */
  async change(
    id: string,
    change: GroupChange,
    by: AuditActor,
    rules: GroupChangeRules = {},
  ): Promise<GroupWithMembers> {
    const { accounts, access } = this.#options;
    const known = accounts.document(groupRecords, id);
    if (known === undefined) throw new Refusal('group_not_found');
    const ready = await this.#prepare(change, known.members, rules);
    const { after, isOther } = await accounts.change((draft) => this.#decide(draft, id, { change, ready, rules }, by));
    if (isOther) {
      // Nobody else decides by a group than by one that a rule or a right names.
      if (id in access.snapshot.groups) await access.refresh();
      this.#tell(id, after);
    }
    return { ...viewOf(id, after), members: [...after.members] };
  }

  /** Everything that can be done ahead, in slices. */
  async #prepare(
    members: MembersChange,
    present: readonly string[],
    { fits = isHere }: GroupChangeRules,
  ): Promise<ReadyChange> {
    const slices = new Slices();
    // Whoever asked has had a body read in this turn.
    await slices.pass();
    const change = await orderChange(members, slices);
    const unfit = await lookAhead(this.#options.accounts, { come: change.come, fits, present }, slices);
    await slices.pass();
    return { change, unfit };
  }

  #decide(
    draft: AccountsDraft,
    id: string,
    {
      change,
      ready,
      rules,
    }: { readonly change: GroupChange; readonly ready: ReadyChange; readonly rules: GroupChangeRules },
    by: AuditActor,
  ): { readonly after: GroupRecord; readonly isOther: boolean } {
    const before = draft.document(groupRecords, id);
    if (before === undefined) throw new Refusal('group_not_found');
    const { added, members, removed } = changeMembers(before.members, ready.change);
    const { name = before.name } = change;
    const isChanged = name !== before.name || added.length + removed.length > 0;
    const isOther = rules.also?.(draft, viewOf(id, before), isChanged) === true;
    if (!isChanged) return { after: before, isOther };
    if (name !== before.name) {
      draft.removeDocument(groupNames, nameId(before.name));
      takeName(draft, name, id);
    }
    assertFit(ready, draft, added, (user) => `add.${change.add.indexOf(user)}`);
    if (members.length > GROUP_MEMBERS_MAX) throw new Refusal('group_full');
    const after = { ...before, name, members, rev: before.rev + 1 };
    draft.putDocument(groupRecords, id, after);
    draft.audit(this.#options.clock.now(), {
      event: 'group.changed',
      ...by,
      subject: `group:${id}`,
      details: {
        before: { name: before.name, member_count: before.members.length },
        after: { name, member_count: members.length },
        // Under a name by which a vendor's view knows that people stand here.
        added: { members: audited(added) },
        removed: { members: audited(removed) },
      },
    });
    return { after, isOther: true };
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
  async remove(id: string, by: AuditActor, also?: (draft: AccountsDraft, group: Group) => void): Promise<void> {
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

/** @throws Refusal `field_invalid` with the place of one who does not fit. */
function assertFit(
  { unfit }: ReadyChange,
  draft: AccountsDraft,
  added: readonly string[],
  fieldOf: (user: string) => string,
): void {
  const user = unfit(draft, added);
  if (user !== undefined) throw new Refusal('field_invalid', { field: fieldOf(user) });
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
