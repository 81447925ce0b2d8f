/** Live calls: those of the messaging service, and those that conference nodes last reported. */
import { z } from 'zod';
import type { NodeReports } from '#src/hosts/node-reports.ts';
import { nodeId } from '#src/protocol/hosts/nodes.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const liveCall = z
  .strictObject({
    call: z.string(),
    /** The node that reported it; null for a call that the messaging service has. */
    node: nodeId.nullable(),
    room: z.string(),
    /** Who is in it: usernames, or what the node calls them. */
    participants: z.array(z.strictObject({ user: z.string() })),
    started_at: z.string(),
    state: z.string(),
    figures: z.record(z.string(), z.number()).nullable(),
    reported_at: z.string().nullable(),
  })
  .meta({ id: 'LiveCall' });

export const mcuRoutes = {
  readLiveCalls: consoleRoute.get('/mcu/live', 'Live calls of the messaging service and of the conference nodes.', {
    access: 'audit:read',
    vendor: 'depersonalised',
    replies: { 200: z.strictObject({ items: z.array(liveCall), next: z.null() }) },
  }),
} as const satisfies Record<string, ConsoleRoute>;

/** A live call of the messaging service. */
export interface CallNow {
  readonly call: string;
  readonly conversation: string;
  readonly state: string;
  readonly users: readonly string[];
  /** RFC 3339. */
  readonly startedAt: string;
}

export interface McuPageDependencies {
  readonly reports: NodeReports;
  readonly liveCalls: () => Promise<readonly CallNow[]>;
}

export function makeMcuPage({ reports, liveCalls }: McuPageDependencies): ConsolePage {
  return page(mcuRoutes, {
    readLiveCalls: async () => {
      const own = (await liveCalls()).map(({ call, conversation, state, users, startedAt }) => ({
        call,
        node: null,
        room: conversation,
        participants: users.map((user) => ({ user })),
        started_at: startedAt,
        state,
        figures: null,
        reported_at: null,
      }));
      const reported = reports.latest('mcu').flatMap(({ node, receivedAt, report }) =>
        report.calls.map(({ call, room, started_at, participants, figures }) => ({
          call,
          node: node.id,
          room,
          participants: participants.map((user) => ({ user })),
          started_at,
          state: 'joined',
          figures: figures ?? null,
          reported_at: receivedAt,
        })),
      );
      return { status: 200, body: { items: [...own, ...reported], next: null } };
    },
  });
}
