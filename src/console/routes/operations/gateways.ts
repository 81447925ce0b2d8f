/** Gateways: nodes with that role, and the reports of a host (NOD-02). */
import { z } from 'zod';
import type { NodeReports, StoredReport } from '#src/hosts/node-reports.ts';
import type { Nodes } from '#src/hosts/nodes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { nodeId, nodeReport, nodeRole, type ReportOf } from '#src/protocol/hosts/nodes.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

/** Reports of one page: each has 64 KiB at most. */
const REPORTS_PAGE_MAX = 20;
const REPORTS_PAGE_DEFAULT = 10;
const GATEWAYS_PAGE_DEFAULT = 50;

const gateway = z
  .strictObject({
    id: nodeId,
    name: z.string(),
    /** Null while it has not reported. */
    state: z.enum(['up', 'degraded', 'down']).nullable(),
    silent: z.boolean(),
    listeners: z.array(z.strictObject({ host: z.string(), port: z.int(), protocol: z.string() })),
    reported_at: z.string().nullable(),
  })
  .meta({ id: 'Gateway' });

const read = { method: 'get', access: 'gateways:read', audit: null } as const;
const next = z.string().nullable();

export const gatewaysRoutes = {
  listGateways: {
    ...read,
    path: '/gateways',
    summary: 'The nodes with the role of a gateway, as they last reported.',
    vendor: 'depersonalised',
    query: z.strictObject({
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(200).default(GATEWAYS_PAGE_DEFAULT),
    }),
    replies: { 200: z.strictObject({ items: z.array(gateway), next }) },
    errors: ['cursor_invalid'],
  },
  readGatewayReports: {
    ...read,
    path: '/gateways/:id/reports',
    summary: "A gateway host's reports of one role, the newest first.",
    vendor: 'depersonalised',
    query: z.strictObject({
      role: nodeRole.default('gateway'),
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(REPORTS_PAGE_MAX).default(REPORTS_PAGE_DEFAULT),
    }),
    replies: {
      200: z.strictObject({
        items: z.array(z.strictObject({ number: z.int(), received_at: z.string(), report: nodeReport })),
        next,
      }),
    },
    errors: ['cursor_invalid', 'node_not_found'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface GatewaysPageDependencies {
  readonly nodes: Nodes;
  readonly reports: NodeReports;
  /** When the server started, in milliseconds. */
  readonly startedAt: number;
}

export function makeGatewaysPage({ nodes, reports, startedAt }: GatewaysPageDependencies): ConsolePage {
  return page(gatewaysRoutes, {
    listGateways: ({ query: { after, limit } }) => {
      if (after !== undefined && !nodeId.safeParse(after).success) throw new Refusal('cursor_invalid');
      const all = nodes.all().filter(({ document }) => document.state === 'joined');
      const found = all.filter(({ id, document }) => document.roles.includes('gateway') && id > (after ?? ''));
      const items = found.slice(0, limit).map((entry) => {
        const last = reports.last(entry.id, 'gateway');
        const report: ReportOf<'gateway'> | undefined = last?.report;
        return {
          id: entry.id,
          name: entry.document.name,
          state: report?.state ?? null,
          silent: nodes.isSilent(entry, startedAt),
          listeners: report?.listeners ?? [],
          reported_at: last?.receivedAt ?? null,
        };
      });
      return { status: 200, body: { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null } };
    },
    readGatewayReports: ({ parameters, query: { after, limit, role } }) => {
      const id = parameters.id;
      const { roles } = nodes.node(id, { isLive: true });
      if (!roles.includes('gateway')) throw new Refusal('node_not_found');
      const before = after === undefined ? undefined : reportNumber(after);
      const found = reports.page(id, role, before, limit + 1);
      const items = found.slice(0, limit).map(reportView);
      const last = items.at(-1);
      return {
        status: 200,
        body: { items, next: found.length > limit && last !== undefined ? String(last.number) : null },
      };
    },
  });
}

function reportView({ number, receivedAt, report }: StoredReport) {
  return { number, received_at: receivedAt, report };
}

/** @throws Refusal `cursor_invalid` for what no page ended with. */
function reportNumber(cursor: string): number {
  if (!/^[1-9]\d{0,14}$/.test(cursor)) throw new Refusal('cursor_invalid');
  return Number(cursor);
}
