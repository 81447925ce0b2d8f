/** Nodes: hosts with a role, their join commands, health and journals (NOD-01, VND-11, VND-12, VND-13). */
import { z } from 'zod';
import { formatInstant } from '#src/base/time.ts';
import type { JournalChunks, StoredChunk } from '#src/hosts/journal-chunks.ts';
import type { Ask, NodeAsks } from '#src/hosts/node-asks.ts';
import type { NodeRecord, Nodes } from '#src/hosts/nodes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  journalLines,
  journalUnit,
  nodeHealth,
  nodeId,
  nodeName,
  nodeRole,
  nodeRoles,
} from '#src/protocol/hosts/nodes.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Principal } from '#src/identity/console/principal.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

/** Nodes of one page, and those of a request that does not say. */
const NODES_PAGE_MAX = 200;
const NODES_PAGE_DEFAULT = 50;

const optionalText = z.string().nullable();

const node = z
  .strictObject({
    id: nodeId,
    name: z.string(),
    roles: z.array(nodeRole),
    state: z.enum(['waiting', 'joined', 'revoked']),
    created_at: z.string(),
    created_by: z.string(),
    joined_at: optionalText,
    /** What the host said of itself when it joined. */
    host: z
      .strictObject({ hostname: z.string(), agent_version: z.string(), os: z.string(), address: z.string() })
      .nullable(),
    /** When its last health came. */
    last_seen_at: optionalText,
    silent: z.boolean(),
    revoked_at: optionalText,
    revoked_by: optionalText,
  })
  .meta({ id: 'Node' });

const openAsk = z
  .strictObject({
    id: z.string(),
    unit: z.string(),
    lines: z.int(),
    actor: z.string(),
    asked_at: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'NodeAsk' });

const journal = z
  .strictObject({
    ask: z.string(),
    unit: z.string(),
    lines: z.int(),
    /** Who asked. The chunk is everybody's who may read journals. */
    actor: z.string(),
    asked_at: z.string(),
    received_at: z.string(),
    /** Not called `text`: a field of that name is a message, and a vendor would see nothing of it. */
    journal: z.string(),
    /** What the agent says went wrong. */
    problem: optionalText,
    /** Bytes that were cut at the start of an oversized journal. */
    cut_bytes: z.int(),
  })
  .meta({ id: 'Journal' });

const read = { method: 'get', access: 'gateways:read', audit: null } as const;

export const nodesRoutes = {
  createNode: consoleRoute.post('/nodes', 'Names a node and answers its join command, once.', {
    access: 'gateways:write',
    vendor: 'closed',
    audit: 'node.created',
    body: z.strictObject({ name: nodeName, roles: nodeRoles }),
    replies: {
      201: z.strictObject({
        id: nodeId,
        join_token: z.string(),
        command: z.string(),
        /** The join token works once, until then. */ expires_at: z.string(),
      }),
    },
    errors: ['node_name_taken', 'nodes_full'],
  }),
  listNodes: {
    ...read,
    path: '/nodes',
    summary: 'The nodes, in the order in which they were made.',
    vendor: 'open',
    query: z.strictObject({
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(NODES_PAGE_MAX).default(NODES_PAGE_DEFAULT),
    }),
    replies: { 200: z.strictObject({ items: z.array(node), next: optionalText }) },
    errors: ['cursor_invalid'],
  },
  readNode: {
    ...read,
    path: '/nodes/:id',
    summary: 'One node.',
    vendor: 'open',
    replies: { 200: node },
    errors: ['node_not_found'],
  },
  revokeNode: consoleRoute.delete(
    '/nodes/:id',
    'Revokes a node: its token ends at once, also for requests under way.',
    {
      access: 'gateways:write',
      vendor: 'closed',
      audit: 'node.revoked',
      replies: { 204: null },
      errors: ['node_not_found'],
    },
  ),
  askForJournal: consoleRoute.post('/nodes/:id/logs', "Asks a node for the last lines of a unit's journal.", {
    // A read that takes a message to the host: the only POST a vendor token is let through (VND-08).
    access: 'gateways:read',
    vendor: 'open',
    audit: 'node.logs',
    body: z.strictObject({ unit: journalUnit, lines: journalLines }),
    replies: { 202: openAsk },
    errors: ['asks_full', 'node_not_found'],
  }),
  readJournal: {
    ...read,
    path: '/nodes/:id/logs',
    summary: 'The last journal chunk of a node, whoever asked for it, and the asks that are open.',
    vendor: 'depersonalised',
    replies: { 200: z.strictObject({ chunk: journal.nullable(), open: z.array(openAsk) }) },
    errors: ['node_not_found'],
  },
  readHealth: {
    ...read,
    path: '/nodes/:id/health',
    summary: 'The last health that a node reported.',
    vendor: 'depersonalised',
    replies: {
      200: z.strictObject({
        id: nodeId,
        received_at: optionalText,
        silent: z.boolean(),
        health: nodeHealth.nullable(),
      }),
    },
    errors: ['node_not_found'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface NodesPageDependencies {
  readonly accounts: Accounts;
  readonly nodes: Nodes;
  readonly asks: NodeAsks;
  readonly chunks: JournalChunks;
  readonly clock: Clock;
  /** Counts a vendor's ask (VND-11). @throws Refusal `rate_limited`. */
  readonly takeVendorAsk: (tokenId: string) => void;
  /** Base URL of the coordinator, for the join command. */
  readonly coordinatorUrl: () => string;
  /** When the server started, in milliseconds: nodes are not silent for what it did not hear before. */
  readonly startedAt: number;
}

export function makeNodesPage(dependencies: NodesPageDependencies): ConsolePage {
  const { asks, chunks, coordinatorUrl, nodes, startedAt } = dependencies;
  const view = (id: string, record: NodeRecord) => nodeView(nodes, startedAt, id, record);
  return page(nodesRoutes, {
    createNode: async ({ by, body }) => {
      const { id, joinToken, expiresAt } = await nodes.create(body, by);
      const command = `npx parley node join --coordinator ${coordinatorUrl()} --token ${joinToken} --data node`;
      return { status: 201, body: { id, join_token: joinToken, command, expires_at: expiresAt } };
    },
    listNodes: ({ query: { after, limit } }) => {
      if (after !== undefined && !nodeId.safeParse(after).success) throw new Refusal('cursor_invalid');
      const entries = nodes.page(after, limit + 1);
      const items = entries.slice(0, limit);
      const next = entries.length > limit ? (items.at(-1)?.id ?? null) : null;
      return { status: 200, body: { items: items.map(({ id, document }) => view(id, document)), next } };
    },
    readNode: ({ parameters }) => {
      const id = parameters.id;
      return { status: 200, body: view(id, nodes.node(id)) };
    },
    revokeNode: async ({ by, parameters }) => {
      await nodes.revoke(parameters.id, by);
      return { status: 204 };
    },
    askForJournal: async (request) => ({ status: 202, body: askView(await ask(dependencies, request)) }),
    readJournal: ({ parameters }) => {
      const id = parameters.id;
      nodes.node(id);
      const chunk = chunks.last(id);
      const body = { chunk: chunk === undefined ? null : chunkView(chunk), open: asks.openOf(id).map(askView) };
      return { status: 200, body };
    },
    readHealth: ({ parameters }) => {
      const id = parameters.id;
      const document = nodes.node(id);
      const last = nodes.health(id);
      const silent = nodes.isSilent({ id, document }, startedAt);
      return {
        status: 200,
        body: { id, received_at: last?.receivedAt ?? null, silent, health: last?.health ?? null },
      };
    },
  });
}

/** A request about one node. */
type NodeRequest<Body> = ConsoleRequest<Body, unknown, Readonly<Record<'id', string>>>;

/** Opens an ask, in the audit trail before the agent can see it. */
async function ask(
  { accounts, asks, clock, nodes, takeVendorAsk }: NodesPageDependencies,
  { by, principal, parameters, body }: NodeRequest<{ readonly unit: string; readonly lines: number }>,
): Promise<Ask> {
  const id = parameters.id;
  // A node that has not joined has no agent that could answer.
  if (nodes.node(id, { isLive: true }).state !== 'joined') throw new Refusal('node_not_found');
  takeFrom(principal, takeVendorAsk);
  const { unit, lines } = body;
  const reserved = asks.reserve(id, { unit, lines, actor: by.actor });
  try {
    await accounts.change((draft) =>
      draft.audit(clock.now(), {
        event: 'node.logs',
        ...by,
        subject: `node:${id}`,
        details: { node: id, unit, lines },
      }),
    );
  } catch (error) {
    asks.drop(reserved);
    throw error;
  }
  asks.publish(reserved);
  return reserved;
}

function takeFrom(principal: Principal, takeVendorAsk: (tokenId: string) => void): void {
  if (principal.kind === 'vendor') takeVendorAsk(principal.id);
}

function nodeView(nodes: Nodes, startedAt: number, id: string, record: NodeRecord): z.infer<typeof node> {
  const { host } = record;
  return {
    id,
    name: record.name,
    roles: [...record.roles],
    state: record.state,
    created_at: record.createdAt,
    created_by: record.createdBy,
    joined_at: record.joinedAt ?? null,
    host:
      host === undefined
        ? null
        : { hostname: host.hostname, agent_version: host.agentVersion, os: host.os, address: host.address },
    last_seen_at: nodes.health(id)?.receivedAt ?? null,
    silent: nodes.isSilent({ id, document: record }, startedAt),
    revoked_at: record.revokedAt ?? null,
    revoked_by: record.revokedBy ?? null,
  };
}

function askView({ id, unit, lines, actor, askedAt, expiresAt }: Ask): z.infer<typeof openAsk> {
  return { id, unit, lines, actor, asked_at: askedAt, expires_at: formatInstant(expiresAt) };
}

function chunkView({ ask: asked, receivedAt, text, problem, cutBytes }: StoredChunk): z.infer<typeof journal> {
  return {
    ask: asked.id,
    unit: asked.unit,
    lines: asked.lines,
    actor: asked.actor,
    asked_at: asked.askedAt,
    received_at: receivedAt,
    journal: text,
    problem,
    cut_bytes: cutBytes,
  };
}
