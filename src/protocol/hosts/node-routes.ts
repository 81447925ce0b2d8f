/**
 * The doors of nodes as data, in the form of the protocol's other tables: the coordinator registers from this one, and
 * the agent calls by it. Behind `join`, a door takes `X-Node-Token` and no other credential (CRD-06).
 */
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import * as nodes from './nodes.ts';

/** The header of a node's credential; it never travels as Bearer (CRD-01). */
export const NODE_TOKEN_HEADER = 'x-node-token';

export interface NodeRouteForm {
  readonly method: 'get' | 'post';
  readonly path: string;
  /** One sentence for the API document. */
  readonly summary: string;
  readonly auth: 'node' | 'none';
  readonly body?: z.ZodType;
  readonly bodyBytesMax?: number;
  readonly replies: Readonly<Record<number, z.ZodType>>;
  /** Codes of this route beyond those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}

export const NODE_ROUTES = {
  joinNode: {
    method: 'post',
    path: '/v1/nodes/join',
    summary: 'Exchanges the join token of a join command, once, for a node token.',
    auth: 'none',
    body: nodes.joinNode,
    bodyBytesMax: 16 * 1024,
    replies: { 201: nodes.joinedNode },
    errors: ['join_token_used'],
  },
  reportHealth: {
    method: 'post',
    path: '/v1/nodes/self/health',
    summary: 'Says how the host is; the last report counts.',
    auth: 'node',
    body: nodes.nodeHealth,
    bodyBytesMax: nodes.REPORT_BODY_BYTES_MAX,
    replies: { 200: nodes.acceptedReply },
    errors: ['node_revoked'],
  },
  reportRole: {
    method: 'post',
    path: '/v1/nodes/self/reports',
    summary: 'Reports for a role that the node was given.',
    auth: 'node',
    body: nodes.nodeReport,
    bodyBytesMax: nodes.REPORT_BODY_BYTES_MAX,
    replies: { 200: nodes.acceptedReply },
    errors: ['node_revoked', 'node_role_forbidden'],
  },
  readAsks: {
    method: 'get',
    path: '/v1/nodes/self/asks',
    summary: 'Answers the open asks of this node; waits up to 25 seconds for one.',
    auth: 'node',
    replies: { 200: nodes.nodeAsks },
    errors: ['node_revoked'],
  },
  answerAsk: {
    method: 'post',
    path: '/v1/nodes/self/journal',
    summary: 'Brings the journal that an open ask of this node is for.',
    auth: 'node',
    body: nodes.journalChunk,
    bodyBytesMax: nodes.JOURNAL_BODY_BYTES_MAX,
    replies: { 200: nodes.acceptedReply },
    errors: ['ask_not_found', 'node_revoked'],
  },
} as const satisfies Record<string, NodeRouteForm>;

export type NodeRouteName = keyof typeof NODE_ROUTES;
