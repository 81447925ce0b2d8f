/** Servers and deployments: what runs where, with its log lines and errors, as the nodes report it (NOD-02, CON-02). */
import { z } from 'zod';
import type { LatestReport, NodeReports } from '#src/hosts/node-reports.ts';
import type { Nodes } from '#src/hosts/nodes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { logLine, nodeId, type ReportOf } from '#src/protocol/hosts/nodes.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const SERVERS_PAGE_MAX = 100;
const SERVERS_PAGE_DEFAULT = 20;

const state = z.enum(['running', 'starting', 'stopped', 'failed']);

const deployment = z
  .strictObject({
    /** `<node id>.<name on that node>`: two nodes may each run one of the same name. */
    id: z.string(),
    node: nodeId,
    service: z.string(),
    version: z.string(),
    state,
    started_at: z.string().nullable(),
    reported_at: z.string(),
  })
  .meta({ id: 'Deployment' });

const lines = { lines: z.array(logLine), errors: z.array(logLine) };
const deploymentWithLines = z.strictObject({ ...deployment.shape, ...lines }).meta({ id: 'DeploymentWithLines' });

const server = z
  .strictObject({
    id: nodeId,
    name: z.string(),
    hostname: z.string().nullable(),
    silent: z.boolean(),
    deployments: z.array(deploymentWithLines),
  })
  .meta({ id: 'Server' });

const read = { method: 'get', access: 'gateways:read', audit: null } as const;

export const serversRoutes = {
  listServers: {
    ...read,
    path: '/servers',
    summary: "The joined nodes with their deployments' log lines and errors.",
    vendor: 'depersonalised',
    query: z.strictObject({
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(SERVERS_PAGE_MAX).default(SERVERS_PAGE_DEFAULT),
    }),
    replies: { 200: z.strictObject({ items: z.array(server), next: z.string().nullable() }) },
    errors: ['cursor_invalid'],
  },
  listDeployments: {
    ...read,
    path: '/deployments',
    summary: 'The deployments that nodes last reported, without their configuration.',
    vendor: 'open',
    replies: { 200: z.strictObject({ items: z.array(deployment), next: z.null() }) },
    errors: [],
  },
  readDeployment: {
    ...read,
    path: '/deployments/:id',
    summary: 'One deployment with its log lines.',
    vendor: 'closed',
    replies: { 200: deploymentWithLines },
    errors: ['deployment_not_found'],
  },
  readDeploymentConfig: {
    ...read,
    path: '/deployments/:id/config',
    summary: "A deployment's configuration as it is rendered on its host, with its secrets.",
    // Readers of settings see no secrets; this is one that has them.
    access: 'settings:write',
    vendor: 'closed',
    replies: { 200: z.strictObject({ id: z.string(), config: z.string().nullable(), reported_at: z.string() }) },
    errors: ['deployment_not_found'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface ServersPageDependencies {
  readonly nodes: Nodes;
  readonly reports: NodeReports;
  /** When the server started, in milliseconds. */
  readonly startedAt: number;
}

type Reported = ReportOf<'deployments'>['deployments'][number];

export function makeServersPage({ nodes, reports, startedAt }: ServersPageDependencies): ConsolePage {
  return page(serversRoutes, {
    listServers: ({ query: { after, limit } }) => {
      if (after !== undefined && !nodeId.safeParse(after).success) throw new Refusal('cursor_invalid');
      const joined = nodes.all().filter(({ id, document }) => document.state === 'joined' && id > (after ?? ''));
      const items = joined.slice(0, limit).map((entry) => {
        const last = reports.last(entry.id, 'deployments');
        return {
          id: entry.id,
          name: entry.document.name,
          hostname: entry.document.host?.hostname ?? null,
          silent: nodes.isSilent(entry, startedAt),
          deployments: last === undefined ? [] : last.report.deployments.map((one) => detail(entry.id, last, one)),
        };
      });
      return { status: 200, body: { items, next: joined.length > limit ? (items.at(-1)?.id ?? null) : null } };
    },
    listDeployments: () => {
      const items = reports
        .latest('deployments')
        .flatMap((last) => last.report.deployments.map((one) => summary(last.node.id, last, one)));
      return { status: 200, body: { items, next: null } };
    },
    readDeployment: ({ parameters }) => {
      const { last, one } = find(reports, parameters.id);
      return { status: 200, body: detail(last.node.id, last, one) };
    },
    readDeploymentConfig: ({ parameters }) => {
      const { last, one } = find(reports, parameters.id);
      const id = deploymentId(last.node.id, one);
      return { status: 200, body: { id, config: one.config ?? null, reported_at: last.receivedAt } };
    },
  });
}

/** @throws Refusal `deployment_not_found`. */
function find(reports: NodeReports, id: string): { last: LatestReport<'deployments'>; one: Reported } {
  for (const last of reports.latest('deployments')) {
    const one = last.report.deployments.find((candidate) => deploymentId(last.node.id, candidate) === id);
    if (one !== undefined) return { last, one };
  }
  throw new Refusal('deployment_not_found');
}

function deploymentId(node: string, { name }: Reported): string {
  return `${node}.${name}`;
}

function summary(node: string, { receivedAt }: { readonly receivedAt: string }, one: Reported) {
  return {
    id: deploymentId(node, one),
    node,
    service: one.service,
    version: one.version,
    state: one.state,
    started_at: one.started_at ?? null,
    reported_at: receivedAt,
  };
}

function detail(node: string, stored: { readonly receivedAt: string }, one: Reported) {
  return { ...summary(node, stored, one), lines: one.lines, errors: one.errors };
}
