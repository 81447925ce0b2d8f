/**
 * Automations: on an event, a signed webhook. Here they are made, changed and looked at; `automation-outbox.ts` sends.
 * The URL's secret signs what is sent and is never answered.
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditValue, AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Entry } from '#storage/accounts/collections.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { automationRecords, AUTOMATIONS_MAX, automationSecret, type AutomationRecord } from './automation-records.ts';
import { runsOf, type Run } from './automation-outbox.ts';
import { checkedHost, type PrivateTargets } from '#src/outgoing/targets.ts';

export interface AutomationForm {
  readonly name: string;
  readonly events: readonly string[];
  readonly url: string;
  readonly secret: string;
  readonly enabled: boolean;
}
export type AutomationChange = { readonly [Field in keyof AutomationForm]?: AutomationForm[Field] | undefined };

export interface AutomationsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly allowPrivateTargets: PrivateTargets;
  /** Told of an automation that is gone: nothing of it is sent any more. */
  readonly removed: (id: string) => Promise<void>;
}

export class Automations {
  readonly #options: AutomationsOptions;

  constructor(options: AutomationsOptions) {
    this.#options = options;
  }

  /** All of them, in the order of their making: there are few. */
  list(): Entry<AutomationRecord>[] {
    return this.#options.accounts.documents(automationRecords);
  }

  /** @throws Refusal `automation_not_found`. */
  find(id: string): AutomationRecord {
    return found(this.#options.accounts.document(automationRecords, id));
  }

  /**
   * Makes an automation: it hears of what happens from now on. Answers its id.
   * @throws Refusal `automations_full`, `target_private`, `encryption_locked`.
   */
  async create(form: AutomationForm, by: AuditActor): Promise<string> {
    const { accounts, allowPrivateTargets, clock, vault } = this.#options;
    const url = new URL(form.url);
    checkedHost(url, allowPrivateTargets, 'url');
    if (this.list().length >= AUTOMATIONS_MAX) throw new Refusal('automations_full');
    const now = clock.now();
    const id = makeId('aut', now);
    const at = formatInstant(now);
    await accounts.change((draft) => {
      vault.put(draft, automationSecret(id), Buffer.from(form.secret, 'utf8'));
      const details = { name: form.name, events: [...form.events], host: url.host, enabled: form.enabled };
      draft.audit(now, { event: 'automation.created', ...by, subject: `automation:${id}`, details });
      draft.putDocument(automationRecords, id, {
        name: form.name,
        events: form.events,
        url: form.url,
        isEnabled: form.enabled,
        since: draft.auditHead.number,
        createdAt: at,
        createdBy: by.actor,
        changedAt: at,
      });
    });
    return id;
  }

  /**
   * Changes what the form names. What happens while it is disabled it never hears of. Another URL takes another secret:
   * the one before belongs to whoever was to read what it signs (CRD-14).
   * @throws Refusal `automation_not_found`, `field_invalid` for a URL without a secret, `target_private`, `encryption_locked`.
   */
  async change(id: string, form: AutomationChange, by: AuditActor): Promise<AutomationRecord> {
    const { accounts, allowPrivateTargets, clock, vault } = this.#options;
    if (form.url !== undefined) checkedHost(new URL(form.url), allowPrivateTargets, 'url');
    return await accounts.change((draft) => {
      const before = found(draft.document(automationRecords, id));
      const hasMoved = form.url !== undefined && form.url !== before.url;
      if (hasMoved && form.secret === undefined) throw new Refusal('field_invalid', { field: 'secret' });
      const now = clock.now();
      if (form.secret !== undefined) vault.put(draft, automationSecret(id), Buffer.from(form.secret, 'utf8'));
      const after: AutomationRecord = {
        ...before,
        name: form.name ?? before.name,
        events: form.events ?? before.events,
        url: form.url ?? before.url,
        isEnabled: form.enabled ?? before.isEnabled,
        changedAt: formatInstant(now),
      };
      const details = { before: toldOf(before), after: toldOf(after), secret_changed: form.secret !== undefined };
      draft.audit(now, { event: 'automation.changed', ...by, subject: `automation:${id}`, details });
      const isWoken = after.isEnabled && !before.isEnabled;
      const stored = { ...after, since: isWoken ? draft.auditHead.number : before.since };
      draft.putDocument(automationRecords, id, stored);
      return stored;
    });
  }

  /** Removes an automation with its secret and its runs; what waits is not sent. @throws Refusal `automation_not_found`. */
  async remove(id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, removed, vault } = this.#options;
    await accounts.change((draft) => {
      const { name } = found(draft.document(automationRecords, id));
      draft.removeDocument(automationRecords, id);
      vault.remove(draft, automationSecret(id));
      const entry = { event: 'automation.deleted', ...by, subject: `automation:${id}`, details: { name } };
      draft.audit(clock.now(), entry);
    });
    await removed(id);
  }

  /**
   * Runs of an automation from the newest back, behind the delivery `before`.
   * @throws Refusal `automation_not_found`.
   */
  runs(id: string, before: string | undefined, limit: number): Run[] {
    this.find(id);
    const all = runsOf(this.#options.accounts, id).toReversed();
    const behind = before === undefined ? all : all.filter((run) => run.id < `${id}:${before}`);
    return behind.slice(0, limit);
  }
}

function found(record: AutomationRecord | undefined): AutomationRecord {
  if (record === undefined) throw new Refusal('automation_not_found');
  return record;
}

function toldOf({ name, events, url, isEnabled }: AutomationRecord): AuditValue {
  return { name, events: [...events], host: new URL(url).host, enabled: isEnabled };
}
