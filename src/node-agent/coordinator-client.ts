/** The coordinator's doors as the agent calls them: one method for each route of the table. */
import { NODE_ROUTES, NODE_TOKEN_HEADER, type NodeRouteName } from '#src/protocol/hosts/node-routes.ts';
import {
  ASK_POLL_MILLIS,
  joinedNode,
  nodeAsks,
  type JoinNode,
  type JournalChunk,
  type NodeAsks,
  type NodeHealth,
} from '#src/protocol/hosts/nodes.ts';
import { PROTOCOL_VERSION, VERSION_HEADERS } from '#src/protocol/version.ts';
import type { z } from 'zod';

/** How long a request may take, in milliseconds: a journal of a mebibyte over a slow line. */
const REQUEST_MILLIS = 30_000;

/** How much longer than the coordinator keeps it a poll may take. */
const POLL_SLACK_MILLIS = 10_000;

/** A request that the coordinator refused, or that did not reach it (`status` 0). */
export class CoordinatorError extends Error {
  readonly status: number;
  /** The catalogue's code, or what the connection failed with. */
  readonly code: string;
  /** Seconds after which the coordinator wants to be asked again. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, retryAfter?: number) {
    super(
      status === 0 ? `The coordinator could not be reached: ${code}.` : `The coordinator answered ${status} ${code}.`,
    );
    this.name = 'CoordinatorError';
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

export class CoordinatorClient {
  readonly #coordinator: string;
  readonly #token: string | undefined;

  constructor(coordinator: string, token?: string) {
    this.#coordinator = coordinator.replace(/\/+$/, '');
    this.#token = token;
  }

  async join(form: JoinNode): Promise<z.infer<typeof joinedNode>> {
    return joinedNode.parse(await this.#call('joinNode', form));
  }

  /** @param signal ends the request when the agent stops. */
  async reportHealth(health: NodeHealth, signal: AbortSignal): Promise<void> {
    await this.#call('reportHealth', health, signal);
  }

  /** A role report as it was written for this host; the coordinator judges it. */
  async reportRole(report: unknown, signal: AbortSignal): Promise<void> {
    await this.#call('reportRole', report, signal);
  }

  /** The open asks, waiting for one. Kinds that this agent does not know are left out. */
  async readAsks(signal: AbortSignal): Promise<NodeAsks['items']> {
    const answer = (await this.#call('readAsks', undefined, signal)) as { items?: unknown };
    const items: unknown[] = Array.isArray(answer.items) ? answer.items : [];
    return items.flatMap((item) => {
      const parsed = nodeAsks.shape.items.element.safeParse(item);
      return parsed.success ? [parsed.data] : [];
    });
  }

  async answerAsk(chunk: JournalChunk, signal: AbortSignal): Promise<void> {
    await this.#call('answerAsk', chunk, signal);
  }

  /** @throws CoordinatorError */
  async #call(name: NodeRouteName, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const { method, path } = NODE_ROUTES[name];
    const millis = name === 'readAsks' ? ASK_POLL_MILLIS + POLL_SLACK_MILLIS : REQUEST_MILLIS;
    const late = AbortSignal.timeout(millis);
    try {
      const answer = await fetch(`${this.#coordinator}${path}`, {
        method: method.toUpperCase(),
        headers: {
          [VERSION_HEADERS.client]: String(PROTOCOL_VERSION),
          ...(this.#token === undefined ? {} : { [NODE_TOKEN_HEADER]: this.#token }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        // A redirect would carry the token to whoever is named there.
        redirect: 'error',
        signal: signal === undefined ? late : AbortSignal.any([signal, late]),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const read: unknown = await answer.json().catch(() => ({}));
      if (answer.ok) return read;
      const { code } = read as { code?: unknown };
      const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN);
      throw new CoordinatorError(
        answer.status,
        typeof code === 'string' ? code : 'without a code',
        Number.isFinite(retryAfter) ? retryAfter : undefined,
      );
    } catch (error) {
      if (error instanceof CoordinatorError) throw error;
      const cause = (error as { cause?: { code?: unknown } }).cause?.code;
      throw new CoordinatorError(0, typeof cause === 'string' ? cause : (error as Error).name);
    }
  }
}
