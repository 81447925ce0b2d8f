/** Routing: the ways between services and nodes as the nodes report them, and the server's own listeners. */
import { z } from 'zod';
import type { NodeReports } from '#src/hosts/node-reports.ts';
import { nodeId } from '#src/protocol/hosts/nodes.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const route = z
  .strictObject({
    /** The node that reported it, by id and name. */
    node: nodeId,
    name: z.string(),
    from: z.string(),
    to: z.string(),
    via: z.string().nullable(),
    state: z.string().nullable(),
    reported_at: z.string(),
  })
  .meta({ id: 'Route' });

const listener = z.strictObject({ service: z.string(), url: z.string() }).meta({ id: 'Listener' });

export const routingRoutes = {
  readRouting: consoleRoute.get(
    '/routing',
    'The listeners of this server, and the routes that gateways and routing nodes last reported.',
    {
      access: 'routing:read',
      // A route leads from and to numbers and addresses of people.
      vendor: 'depersonalised',
      replies: { 200: z.strictObject({ listeners: z.array(listener), items: z.array(route), next: z.null() }) },
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface RoutingPageDependencies {
  readonly reports: NodeReports;
  /** The listeners of this process, by service. */
  readonly listeners: () => readonly { readonly service: string; readonly url: string }[];
}

export function makeRoutingPage({ reports, listeners }: RoutingPageDependencies): ConsolePage {
  return page(routingRoutes, {
    readRouting: () => {
      const reported = [...reports.latest('gateway'), ...reports.latest('routing')];
      const items = reported.flatMap(({ node, receivedAt, report }) =>
        report.routes.map(({ from, to, via, state }) => ({
          node: node.id,
          name: node.document.name,
          from,
          to,
          via: via ?? null,
          state: state ?? null,
          reported_at: receivedAt,
        })),
      );
      return { status: 200, body: { listeners: [...listeners()], items, next: null } };
    },
  });
}
