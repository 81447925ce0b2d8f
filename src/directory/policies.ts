/** The access policies as the console keeps them: an ordered list of rules, in force on every thread when answered. */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { POLICY_RULES_MAX, type Policy } from '#src/protocol/directory/policies.ts';
import { POLICY_CROWDS, type PolicyRule } from '#src/protocol/directory/policy-decision.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { groupRecords, POLICY_RULES_ID, policyRules, type AccessControl, type StoredRule } from './access-control.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

export interface PoliciesOptions {
  readonly accounts: Accounts;
  readonly access: AccessControl;
  readonly clock: Clock;
}

type PolicyForm = PolicyRule & { readonly position?: number | undefined };
type PolicyChange = { readonly [Name in keyof PolicyForm]?: PolicyForm[Name] | undefined };

export class Policies {
  readonly #options: PoliciesOptions;

  constructor(options: PoliciesOptions) {
    this.#options = options;
  }

  /** In the order in which they are tried. */
  list(): Policy[] {
    const rules = this.#options.accounts.document(policyRules, POLICY_RULES_ID) ?? [];
    return rules.map((rule, at) => ({ ...rule, position: at + 1 }));
  }

  /** @throws Refusal `policies_full`, `field_invalid` for a group that is not there. */
  async create({ position, action, from, to, effect }: PolicyForm, by: AuditActor): Promise<Policy> {
    const now = this.#options.clock.now();
    const rule: StoredRule = { id: makeId('pol', now), action, from, to, effect };
    return await this.#change((draft, rules) => {
      if (rules.length >= POLICY_RULES_MAX) throw new Refusal('policies_full');
      assertGroups(draft, rule);
      const at = Math.min(position ?? Infinity, rules.length + 1);
      rules.splice(at - 1, 0, rule);
      const details = { ...ruleOf(rule), position: at };
      draft.audit(now, { event: 'policy.created', ...by, subject: `policy:${rule.id}`, details });
      return { ...rule, position: at };
    });
  }

  /** @throws Refusal `policy_not_found`, `field_invalid` for a group that is not there. */
  async change(id: string, form: PolicyChange, by: AuditActor): Promise<Policy> {
    const now = this.#options.clock.now();
    return await this.#change((draft, rules) => {
      const was = positionOf(rules, id);
      const before = rules[was - 1] as StoredRule;
      const { action = before.action, from = before.from, to = before.to, effect = before.effect } = form;
      const after: StoredRule = { id, action, from, to, effect };
      assertGroups(draft, after);
      rules.splice(was - 1, 1);
      const at = Math.min(form.position ?? was, rules.length + 1);
      rules.splice(at - 1, 0, after);
      const details = { before: { ...ruleOf(before), position: was }, after: { ...ruleOf(after), position: at } };
      draft.audit(now, { event: 'policy.changed', ...by, subject: `policy:${id}`, details });
      return { ...after, position: at };
    });
  }

  /** @throws Refusal `policy_not_found`. */
  async remove(id: string, by: AuditActor): Promise<void> {
    const now = this.#options.clock.now();
    await this.#change((draft, rules) => {
      const [rule] = rules.splice(positionOf(rules, id) - 1, 1) as [StoredRule];
      draft.audit(now, { event: 'policy.deleted', ...by, subject: `policy:${id}`, details: ruleOf(rule) });
    });
  }

  async #change<T>(decide: (draft: AccountsDraft, rules: StoredRule[]) => T): Promise<T> {
    const { accounts, access } = this.#options;
    const result = await accounts.change((draft) => {
      const rules = [...(draft.document(policyRules, POLICY_RULES_ID) ?? [])];
      const decided = decide(draft, rules);
      draft.putDocument(policyRules, POLICY_RULES_ID, rules);
      return decided;
    });
    await access.refresh();
    return result;
  }
}

/** From 1 up. @throws Refusal `policy_not_found`. */
function positionOf(rules: readonly StoredRule[], id: string): number {
  const at = rules.findIndex((rule) => rule.id === id);
  if (at === -1) throw new Refusal('policy_not_found');
  return at + 1;
}

function assertGroups(draft: AccountsDraft, rule: PolicyRule): void {
  for (const field of ['from', 'to'] as const) {
    const isCrowd = (POLICY_CROWDS as readonly string[]).includes(rule[field]);
    if (!isCrowd && draft.document(groupRecords, rule[field]) === undefined) {
      throw new Refusal('field_invalid', { field });
    }
  }
}

function ruleOf({ action, from, to, effect }: PolicyRule) {
  return { action, from, to, effect };
}
