/**
 * The doors of nodes on the coordinator, registered from the table of the protocol (CRD-06, NOD-01, NOD-02).
 *
 * A door knows its caller by `X-Node-Token` before it reads a byte of the body, so a stranger's megabytes are never
 * taken, and a node that floods is refused by its budget at the same point.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Refusal } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import {
  NODE_ROUTES,
  NODE_TOKEN_HEADER,
  type NodeRouteForm,
  type NodeRouteName,
} from '#src/protocol/hosts/node-routes.ts';
import {
  ASK_POLL_MILLIS,
  type JoinNode,
  type JournalChunk,
  type NodeHealth,
  type NodeReport,
} from '#src/protocol/hosts/nodes.ts';
import type { Entry } from '#storage/accounts/collections.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import type { PolicyName } from '#src/limits/policies.ts';
import type { JournalChunks } from './journal-chunks.ts';
import type { NodeAsks } from './node-asks.ts';
import type { NodeReports } from './node-reports.ts';
import type { NodeRecord, Nodes } from './nodes.ts';

/** How often: of one node for its own routes, of one address for `join`. */
const ROUTE_POLICIES = {
  joinNode: 'join_node',
  reportHealth: 'report_health',
  reportRole: 'report_role',
  readAsks: 'read_asks',
  answerAsk: 'answer_ask',
} as const satisfies Record<NodeRouteName, PolicyName>;

/** How much longer than its poll a request for asks may take in all. */
const POLL_SLACK_MILLIS = 10_000;

/** Doors take no query: a token in a query string would end up in the logs of every proxy. */
const NO_QUERY = z.strictObject({});

export interface NodeRoutesOptions {
  readonly nodes: Nodes;
  readonly asks: NodeAsks;
  readonly chunks: JournalChunks;
  readonly reports: NodeReports;
  readonly limiter: Limiter;
}

type Reply = Promise<{ readonly status: number; readonly body: unknown }>;
type Handler = (request: FastifyRequest, node: Entry<NodeRecord>, reply: FastifyReply) => Reply;
type Handlers = Readonly<Record<NodeRouteName, Handler>>;

const OK = { status: 200, body: { status: 'ok' } };

export function addNodeRoutes(app: FastifyInstance, options: NodeRoutesOptions): void {
  const { nodes, asks, limiter } = options;
  const handlers = makeHandlers(options);
  for (const name of Object.keys(NODE_ROUTES) as NodeRouteName[]) {
    const route: NodeRouteForm = NODE_ROUTES[name];
    const join = name === 'joinNode';
    app.route({
      method: route.method.toUpperCase(),
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? BODY_BYTES_MAX,
      // An ask is answered by agents of any version, so their doors are open to any version too (NOD-01).
      config: { anyVersion: true },
      ...(name === 'readAsks' ? { handlerTimeout: ASK_POLL_MILLIS + POLL_SLACK_MILLIS } : {}),
      schema: {
        querystring: NO_QUERY,
        response: route.replies,
        ...(route.body === undefined ? {} : { body: route.body }),
      },
      onRequest: async (request) => {
        const caller = join ? hostOf(request.ip) : nodes.authenticate(tokenOf(request)).id;
        limiter.take(ROUTE_POLICIES[name], caller);
      },
      preValidation: async (request) => {
        if (route.body !== undefined && request.body === undefined) throw new Refusal('body_invalid_json');
      },
      handler: async (request, reply) => {
        // Once more, since the host may have been revoked while its body was on its way.
        const node = join ? NOBODY : nodes.authenticate(tokenOf(request));
        const { status, body } = await handlers[name](request, node, reply);
        return await reply.code(status).send(body);
      },
    });
  }
  app.addHook('preClose', async () => asks.close());
}

/** Stands for the caller where there is none yet. */
const NOBODY = { id: '', document: {} as NodeRecord };

function makeHandlers({ nodes, asks, chunks, reports }: NodeRoutesOptions): Handlers {
  return {
    joinNode: async (request) => ({ status: 201, body: await nodes.join(request.body as JoinNode, request.ip) }),
    reportHealth: async (request, { id }) => {
      await nodes.putHealth(id, request.body as NodeHealth);
      return OK;
    },
    reportRole: async (request, node) => {
      await reports.put(node, request.body as NodeReport);
      return OK;
    },
    readAsks: async (_request, { id }, reply) => ({
      status: 200,
      body: { items: await asks.poll(id, goneSignal(reply)) },
    }),
    answerAsk: async (request, { id }) => {
      const { ask, text, problem } = request.body as JournalChunk;
      chunks.put(asks.settle(id, ask), text, problem);
      return OK;
    },
  };
}

function tokenOf(request: FastifyRequest): string | undefined {
  const token = request.headers[NODE_TOKEN_HEADER];
  return typeof token === 'string' ? token : undefined;
}

/** Aborted when the caller hangs up, so that no ask is given to a connection that is gone. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  // Of the answer, not of the connection: an agent keeps one connection for thousands of polls.
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
