/**
 * Role reports of nodes (NOD-02): the last hundred per node and role, newest first, for the console's read paths.
 *
 * They lie in slots, report number modulo REPORTS_KEPT_MAX, so that a node that reports for years takes no more room than
 * one that reports for an afternoon.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { NODE_ROLES, type NodeReport, type NodeRole, type ReportOf } from '#src/protocol/hosts/nodes.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';
import { assertJoined, type NodeRecord, type Nodes } from './nodes.ts';

/** Reports kept per node and role; the oldest goes. At one a minute that is more than an hour and a half. */
export const REPORTS_KEPT_MAX = 100;

export interface StoredReport<Role extends NodeRole = NodeRole> {
  /** From 1 up, per node and role. */
  readonly number: number;
  readonly receivedAt: string;
  readonly report: ReportOf<Role>;
}

/** The last report of a node for a role. */
export interface LatestReport<Role extends NodeRole> extends StoredReport<Role> {
  readonly node: Entry<NodeRecord>;
}

const reports = defineCollection<StoredReport>('node_reports', { version: 1 });
/** `<node>.<role>` → the number of the last report. */
const reportHeads = defineCollection<number>('node_report_heads', { version: 1 });

export interface NodeReportsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly nodes: Nodes;
}

export class NodeReports {
  readonly #options: NodeReportsOptions;

  constructor(options: NodeReportsOptions) {
    this.#options = options;
  }

  /** Stores a report of a node. @throws Refusal `node_role_forbidden` for a role it was not given; `node_revoked`. */
  async put({ id, document }: Entry<NodeRecord>, report: NodeReport): Promise<void> {
    const { accounts, clock } = this.#options;
    const { role } = report;
    if (!document.roles.includes(role)) throw new Refusal('node_role_forbidden', { field: 'role' });
    const receivedAt = formatInstant(clock.now());
    await accounts.change((draft) => {
      assertJoined(draft, id);
      const number = (draft.document(reportHeads, headKey(id, role)) ?? 0) + 1;
      draft.putDocument(reportHeads, headKey(id, role), number);
      draft.putDocument(reports, slotKey(id, role, number), { number, receivedAt, report });
    });
  }

  /** The last report of a node for a role. */
  last<Role extends NodeRole>(node: string, role: Role): StoredReport<Role> | undefined {
    const { accounts } = this.#options;
    const head = accounts.document(reportHeads, headKey(node, role));
    const stored = head === undefined ? undefined : accounts.document(reports, slotKey(node, role, head));
    return stored as StoredReport<Role> | undefined;
  }

  /** The last report for a role of every node that has one and is not revoked, in the order of the nodes. */
  latest<Role extends NodeRole>(role: Role): LatestReport<Role>[] {
    return this.#options.nodes.all().flatMap((node) => {
      const isMeant = node.document.state === 'joined' && node.document.roles.includes(role);
      const stored = isMeant ? this.last(node.id, role) : undefined;
      return stored === undefined ? [] : [{ ...stored, node }];
    });
  }

  /** Reports of a node for a role, newest first, below the number `before`. */
  page(node: string, role: NodeRole, before: number | undefined, limit: number): StoredReport[] {
    const { accounts } = this.#options;
    const head = accounts.document(reportHeads, headKey(node, role)) ?? 0;
    const newest = Math.min(head, (before ?? head + 1) - 1);
    const oldest = Math.max(1, head - REPORTS_KEPT_MAX + 1, newest - limit + 1);
    const found: StoredReport[] = [];
    for (let number = newest; number >= oldest; number -= 1) {
      const stored = accounts.document(reports, slotKey(node, role, number));
      if (stored?.number === number) found.push(stored);
    }
    return found;
  }
}

/** Removes what a node reported. */
export function dropReports(draft: AccountsDraft, node: string): void {
  for (const role of NODE_ROLES) {
    const head = draft.document(reportHeads, headKey(node, role));
    if (head === undefined) continue;
    draft.removeDocument(reportHeads, headKey(node, role));
    const oldest = Math.max(1, head - REPORTS_KEPT_MAX + 1);
    for (let number = oldest; number <= head; number += 1) draft.removeDocument(reports, slotKey(node, role, number));
  }
}

function headKey(node: string, role: NodeRole): string {
  return `${node}.${role}`;
}

function slotKey(node: string, role: NodeRole, number: number): string {
  return `${node}.${role}.${number % REPORTS_KEPT_MAX}`;
}
