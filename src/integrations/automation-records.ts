/** What is stored of automations and of their deliveries, and which events of the audit trail can set one off. */
import { AUDIT_EVENTS } from '#src/audit/audit-events.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

/** Automations of an installation. [automations_full] */
export const AUTOMATIONS_MAX = 100;

export interface AutomationRecord {
  readonly name: string;
  /** Names of audit events, or their beginnings with `.*`: `user.created`, `vendor_token.*`. */
  readonly events: readonly string[];
  readonly url: string;
  readonly isEnabled: boolean;
  /** The number of the last audit entry that it takes no notice of. */
  readonly since: number;
  /** RFC 3339, and actors of the audit trail. */
  readonly createdAt: string;
  readonly createdBy: string;
  readonly changedAt: string;
}

export const automationRecords = defineCollection<AutomationRecord>('automations', { version: 1 });

/** Where a delivery stands. `dropped`: it was never sent, since too many waited before it. */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'dropped';

/** One event for one automation: first what is to be sent, then what became of it. */
export interface DeliveryRecord {
  readonly state: DeliveryState;
  /** The audit event's name, and its entry's number. */
  readonly event: string;
  readonly entry: number;
  /** The body, as it was or will be sent. */
  readonly message: string;
  readonly attempts: number;
  /** Milliseconds since 1970: not tried before. */
  readonly dueAt: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly endedAt: string | null;
  /** Of the last attempt: the answer's status and the beginning of its text, or why there was none. */
  readonly status: number | null;
  readonly reply: string | null;
  readonly reason: string | null;
}

/** Ids are `<automation>:<delivery>`, so that those of an automation lie together in the order of their making. */
export const deliveryRecords = defineCollection<DeliveryRecord>('automation_deliveries', { version: 1 });

/** How far the audit trail was read for automations. */
export const automationCursor = defineCollection<{ readonly entry: number }>('automation_cursor', { version: 1 });
export const CURSOR = 'audit';

/**
 * Events that set no automation off: those of automations, and those that a receiver causes by calling back, so that
 * no automation runs in a circle.
 */
const SILENT = ['automation.', 'bot.request', 'bot.frame', 'bot.disconnected', 'webhook.request', 'vendor_token.used'];

/** Events that can set an automation off. */
export const AUTOMATION_EVENTS = Object.keys(AUDIT_EVENTS).filter(
  (event) => !SILENT.some((silent) => event.startsWith(silent)),
);

/** Whether a pattern names an event that can set an automation off. */
export function isEventPattern(pattern: string): boolean {
  return AUTOMATION_EVENTS.some((event) => fits(pattern, event));
}

/** Whether an event sets off what listens to these patterns. */
export function setsOff(patterns: readonly string[], event: string): boolean {
  return !SILENT.some((silent) => event.startsWith(silent)) && patterns.some((pattern) => fits(pattern, event));
}

function fits(pattern: string, event: string): boolean {
  return pattern.endsWith('.*') ? event.startsWith(pattern.slice(0, -1)) : event === pattern;
}

/** Where an automation's secret lies in the vault. */
export function automationSecret(id: string): string {
  return `automation:${id}`;
}
