/**
 * Rooms and other things that people book: made by administrators, kept in memory whole, and open to the groups that each of
 * them names. Their calendars, and how they answer, are the calendar's (`#src/calendar`).
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  RESOURCE_USER_PREFIX,
  RESOURCES_MAX,
  type ManagedResource,
  type ResourceChange,
  type ResourceForm,
} from '#src/protocol/directory/resources.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { groupRecords, type AccessControl } from '../access-control.ts';
import type { GroupMemberships } from './group-memberships.ts';
import { emailHoldersOf } from '../directory.ts';

/** A resource as it is stored. One that was removed stays until its calendar is gone as well. */
interface ResourceRecord extends Omit<ManagedResource, 'user'> {
  readonly isRemoved: boolean;
}

const resourceRecords = defineCollection<ResourceRecord>('resources', { version: 1 });
/** E-mail address in lower case → which of them has it. */
const resourceEmails = defineCollection<string>('resource_emails', { version: 1 });
/** How many there are. */
const resourceTotals = defineCollection<number>('resource_totals', { version: 1 });

export interface ResourcesOptions {
  readonly accounts: Accounts;
  readonly access: Pick<AccessControl, 'isGuest'>;
  readonly memberships: Pick<GroupMemberships, 'isMember'>;
  readonly clock: Clock;
}

export class Resources {
  readonly #options: ResourcesOptions;
  /** Those that are there, by their names among usernames. */
  readonly #known = new Map<string, ManagedResource>();
  /** E-mail address in lower case → which of them has it. */
  readonly #holders = new Map<string, string>();
  #onRemoved: ((user: string) => void) | undefined;

  constructor(options: ResourcesOptions) {
    this.#options = options;
    for (const { id, document } of options.accounts.documents(resourceRecords)) {
      this.#keep(id, viewOf(id, document));
    }
  }

  /** All of them, in the order in which they were made. */
  all(): readonly ManagedResource[] {
    return [...this.#known.values()];
  }

  find(user: string): ManagedResource | undefined {
    return this.#known.get(user);
  }

  /** Which of them has an e-mail address, given in lower case. */
  holderOf(email: string): string | undefined {
    return this.#holders.get(email);
  }

  /**
   * Whether somebody may see and book it, by the groups as they are now. Whether the person is there at all is for the caller to
   * know.
   */
  mayBook(person: string, user: string): boolean {
    const { access, memberships } = this.#options;
    const found = this.#known.get(user);
    if (found === undefined) return false;
    // A group that was deleted lets nobody in.
    return found.booking_groups === null
      ? !access.isGuest(person)
      : found.booking_groups.some((group) => memberships.isMember(person, group));
  }

  /** @throws Refusal `resource_not_found`. */
  read(user: string): ManagedResource {
    const found = this.#known.get(user);
    if (found === undefined) throw new Refusal('resource_not_found');
    return found;
  }

  /** @throws Refusal `resources_full`; `field_invalid` for an e-mail address that somebody has, and a group that is not there. */
  async create(form: ResourceForm, by: AuditActor): Promise<ManagedResource> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const user = `${RESOURCE_USER_PREFIX}${makeId('res', now).slice('res_'.length)}`;
    const record: ResourceRecord = { ...form, email: form.email?.toLowerCase() ?? null, rev: 1, isRemoved: false };
    await accounts.change((draft) => {
      const total = draft.document(resourceTotals, 'all') ?? 0;
      if (total >= RESOURCES_MAX) throw new Refusal('resources_full');
      assertGroups(draft, record);
      moveEmail(draft, user, null, record.email);
      draft.putDocument(resourceTotals, 'all', total + 1);
      draft.putDocument(resourceRecords, user, record);
      const details = { name: record.name, kind: record.kind };
      draft.audit(now, { event: 'resource.created', ...by, subject: `resource:${user}`, details });
    });
    this.#keep(user, viewOf(user, record));
    return this.read(user);
  }

  /** @throws Refusal `resource_not_found`; as `create`. */
  async change(user: string, { email, ...change }: ResourceChange, by: AuditActor): Promise<ManagedResource> {
    const { accounts, clock } = this.#options;
    const after = await accounts.change((draft) => {
      const before = draft.document(resourceRecords, user);
      if (before === undefined || before.isRemoved) throw new Refusal('resource_not_found');
      const named = Object.entries(change).filter(([, value]) => value !== undefined);
      const address = email === undefined ? before.email : (email?.toLowerCase() ?? null);
      const changed: ResourceRecord = { ...before, ...Object.fromEntries(named), email: address, rev: before.rev + 1 };
      assertGroups(draft, changed);
      moveEmail(draft, user, before.email, changed.email);
      draft.putDocument(resourceRecords, user, changed);
      const details = {
        name: changed.name,
        fields: [...named.map(([name]) => name), ...(email === undefined ? [] : ['email'])],
      };
      draft.audit(clock.now(), { event: 'resource.changed', ...by, subject: `resource:${user}`, details });
      return changed;
    });
    this.#keep(user, viewOf(user, after));
    return this.read(user);
  }

  /** Nobody sees or books it any more; its calendar goes behind it. @throws Refusal `resource_not_found`. */
  async remove(user: string, by: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    await accounts.change((draft) => {
      const before = draft.document(resourceRecords, user);
      if (before === undefined || before.isRemoved) throw new Refusal('resource_not_found');
      moveEmail(draft, user, before.email, null);
      draft.putDocument(resourceTotals, 'all', (draft.document(resourceTotals, 'all') ?? 1) - 1);
      draft.putDocument(resourceRecords, user, { ...before, email: null, isRemoved: true });
      const details = { name: before.name };
      draft.audit(clock.now(), { event: 'resource.removed', ...by, subject: `resource:${user}`, details });
    });
    this.#keep(user, undefined);
    this.#onRemoved?.(user);
  }

  /** Has those that were removed, also before, be told to whoever keeps their calendars. */
  watchRemovals(onRemoved: (user: string) => void): void {
    this.#onRemoved = onRemoved;
    for (const { id, document } of this.#options.accounts.documents(resourceRecords)) {
      if (document.isRemoved) onRemoved(id);
    }
  }

  /** Forgets one that was removed, once nothing of it is left. */
  async forget(user: string): Promise<void> {
    await this.#options.accounts.change((draft) => {
      if (draft.document(resourceRecords, user)?.isRemoved === true) draft.removeDocument(resourceRecords, user);
    });
  }

  /** Takes one as it is now; undefined for one that is gone. */
  #keep(user: string, resource: ManagedResource | undefined): void {
    const email = this.#known.get(user)?.email ?? null;
    if (email !== null) this.#holders.delete(email);
    if (resource === undefined) this.#known.delete(user);
    else this.#known.set(user, resource);
    if (resource?.email !== undefined && resource.email !== null) this.#holders.set(resource.email, user);
  }
}

/** @throws Refusal `field_invalid` for a group that is not there. */
function assertGroups(draft: AccountsDraft, { booking_groups: groups }: ResourceRecord): void {
  const missing = groups?.findIndex((id) => draft.document(groupRecords, id) === undefined) ?? -1;
  if (missing !== -1) throw new Refusal('field_invalid', { field: `booking_groups.${missing}` });
}

/**
 * An address belongs to whoever had it first: what is sent to a person never comes to a room.
 * @throws Refusal `field_invalid` for one that somebody has.
 */
function moveEmail(draft: AccountsDraft, user: string, before: string | null, after: string | null): void {
  if (before === after) return;
  const isTaken =
    after !== null && (draft.document(resourceEmails, after) !== undefined || emailHoldersOf(draft, after).length > 0);
  if (isTaken) throw new Refusal('field_invalid', { field: 'email' });
  if (before !== null) draft.removeDocument(resourceEmails, before);
  if (after !== null) draft.putDocument(resourceEmails, after, user);
}

function viewOf(user: string, { isRemoved, ...record }: ResourceRecord): ManagedResource | undefined {
  return isRemoved ? undefined : { user, ...record };
}
