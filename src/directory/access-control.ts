/**
 * The access policies in force (POL-01): compiled for this thread, pushed to the messaging threads when they change.
 * Whoever is answered after a change can rely on every thread deciding by it.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import {
  AccessPolicies,
  POLICY_CROWDS,
  type AskingRule,
  type GrantedRight,
  type PolicyAction,
  type PolicyRule,
  type PolicySnapshot,
} from '#src/protocol/directory/policy-decision.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import { readGrants } from '#src/settings/granted-rights.ts';

export interface StoredRule extends PolicyRule {
  readonly id: string;
}

/** All rules in one document, since their order is what they mean. */
export const policyRules = defineCollection<readonly StoredRule[]>('policies', { version: 1 });
export const POLICY_RULES_ID = 'rules';

export interface GroupRecord {
  readonly name: string;
  /** A group that the organisation itself has; left out for one that is none. */
  readonly kind?: 'unit';
  /** Usernames, in order. */
  readonly members: readonly string[];
  /** +1 with every change of the group. */
  readonly rev: number;
}

export const groupRecords = defineCollection<GroupRecord>('groups', { version: 1 });

/** What is stored, as the threads decide by it. */
export function readPolicySnapshot(accounts: AccountsReader, asking: AskingRule): PolicySnapshot {
  const stored = accounts.document(policyRules, POLICY_RULES_ID) ?? [];
  const rules = stored.map(({ action, from, to, effect }) => ({ action, from, to, effect }));
  const grants = readGrants(accounts);
  const named = new Set([...rules.flatMap(({ from, to }) => [from, to]), ...Object.values(grants).flat()]);
  for (const crowd of POLICY_CROWDS) named.delete(crowd);
  const groups = [...named].map((id) => [id, accounts.document(groupRecords, id)?.members ?? []] as const);
  const guests = accounts.documents(guestRecords).map(({ id, document: { endsAt, invitedBy, isHosted } }) => {
    return isHosted === true ? ([id, endsAt, invitedBy] as const) : ([id, endsAt] as const);
  });
  return { rules, groups: Object.fromEntries(groups), guests, asking, grants };
}

/** With whom a person shares a conversation, read for as many others as are asked for. */
export type Sharing = (one: string) => (other: string) => boolean;

export interface AccessControlOptions {
  readonly accounts: AccountsReader;
  readonly announcer: SessionAnnouncer;
  /** Whether a person shares a conversation with others, asked of one after the other. */
  readonly sharing: Sharing;
  readonly clock: Clock;
  /** When people who are added to rooms are asked, as it is set now. */
  readonly asking: () => AskingRule;
}

export class AccessControl {
  readonly #options: AccessControlOptions;
  #snapshot: PolicySnapshot;
  #policies: AccessPolicies;

  constructor(options: AccessControlOptions) {
    this.#options = options;
    this.#snapshot = readPolicySnapshot(options.accounts, options.asking());
    this.#policies = new AccessPolicies(this.#snapshot);
  }

  get snapshot(): PolicySnapshot {
    return this.#snapshot;
  }

  get asking(): AskingRule {
    return this.#snapshot.asking;
  }

  isGuest(user: string): boolean {
    return this.#policies.isGuest(user);
  }

  /** Whoever invited a guest with an app. */
  hostOf(user: string): string | undefined {
    return this.#policies.hostOf(user);
  }

  /** Whether the person is a guest whose term is over. */
  isOver(user: string): boolean {
    return this.#policies.isOver(user, unixSeconds(this.#options.clock.now()));
  }

  /** Whether the settings give somebody a right that is nobody's without them. */
  grants(right: GrantedRight, user: string): boolean {
    return this.#policies.grants(right, user);
  }

  allows(action: PolicyAction, from: string, to: string): boolean {
    return this.#policies.allows(action, from, to, () => this.#options.sharing(from)(to));
  }

  /** Whom a person may reach, for asking of many: what they share with others is read once. */
  reachOf(action: PolicyAction, from: string): (to: string) => boolean {
    const shares = this.#options.sharing(from);
    return (to) => this.#policies.allows(action, from, to, () => shares(to));
  }

  /** Takes over what is on disk; resolves when every thread has it. */
  async refresh(): Promise<void> {
    this.#snapshot = readPolicySnapshot(this.#options.accounts, this.#options.asking());
    this.#policies = new AccessPolicies(this.#snapshot);
    await this.#options.announcer.policiesChanged(this.#snapshot);
  }
}
