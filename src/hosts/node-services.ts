/** What the coordinator knows of nodes and clients, put together: registry, asks, chunks, reports, telemetry. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { addTelemetryDoor, ClientTelemetry, type TelemetrySession } from '#src/monitoring/client-telemetry.ts';
import { JournalChunks } from './journal-chunks.ts';
import { NodeAsks } from './node-asks.ts';
import { addNodeDoors } from './node-routes.ts';
import { dropReports, NodeReports } from './node-reports.ts';
import { Nodes } from './nodes.ts';

export interface NodePlane {
  readonly nodes: Nodes;
  readonly asks: NodeAsks;
  readonly chunks: JournalChunks;
  readonly reports: NodeReports;
  readonly telemetry: ClientTelemetry;
}

export function makeNodePlane(accounts: Accounts, clock: Clock): NodePlane {
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

/** Adds the doors of nodes and of client telemetry to the coordinator's app. `authenticate`: see `addTelemetryDoor`. */
export function addNodePlane(
  app: FastifyInstance,
  plane: NodePlane,
  clock: Clock,
  authenticate: (bearer: string | undefined) => TelemetrySession,
): void {
  addNodeDoors(app, { ...plane, clock });
  addTelemetryDoor(app, plane.telemetry, authenticate, clock);
}
