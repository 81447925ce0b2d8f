/** What the coordinator knows of nodes and clients, put together: registry, asks, chunks, reports, telemetry. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { addTelemetryRoutes, ClientTelemetry, type TelemetrySession } from '#src/monitoring/client-telemetry.ts';
import { JournalChunks } from './journal-chunks.ts';
import { NodeAsks } from './node-asks.ts';
import { addNodeRoutes } from './node-routes.ts';
import { dropReports, NodeReports } from './node-reports.ts';
import { Nodes } from './nodes.ts';

export interface NodeServices {
  readonly nodes: Nodes;
  readonly asks: NodeAsks;
  readonly chunks: JournalChunks;
  readonly reports: NodeReports;
  readonly telemetry: ClientTelemetry;
}

export function makeNodeServices(accounts: Accounts, clock: Clock): NodeServices {
  const asks = new NodeAsks(clock);
  const chunks = new JournalChunks(clock);
  const nodes = new Nodes({
    accounts,
    clock,
    revoking: dropReports,
    revoked: (id) => {
      asks.end(id);
      chunks.drop(id);
    },
  });
  return {
    nodes,
    asks,
    chunks,
    reports: new NodeReports({ accounts, clock, nodes }),
    telemetry: new ClientTelemetry(clock),
  };
}

/** Adds the doors of nodes and of client telemetry to the coordinator's app. `authenticate`: see `addTelemetryRoutes`. */
export function addNodeServices(
  app: FastifyInstance,
  plane: NodeServices,
  limiter: Limiter,
  authenticate: (bearer: string | undefined) => TelemetrySession,
): void {
  addNodeRoutes(app, { ...plane, limiter });
  addTelemetryRoutes(app, plane.telemetry, authenticate, limiter);
}
