/**
 * Asks to nodes: opened in the console, fetched by the node's agent with a long poll, answered once or expired.
 *
 *     open ──poll──► delivered ──journal──► answered
 *       └───────60 s───────┴──► expired          (a revoked node's asks and polls end at once)
 *
 * They live in memory: an ask is a person's look at a host, and after a restart that person asks again.
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { ASK_POLL_MILLIS, type NodeAsks as OpenAsks } from '#src/protocol/hosts/nodes.ts';

/** Asks of one node that are open at once. An agent reads one journal after the other; more would expire unread. [asks_full] */
export const OPEN_ASKS_MAX = 8;

/** How long an ask stays open: two long polls and a slow journal. */
export const ASK_MILLIS = 60_000;

/** An ask that a poll took and nobody answered is given to the next poll after this: its agent may have died. */
export const REDELIVER_MILLIS = 15_000;

/** Polls of one node that wait at once. An agent has one; the oldest beyond this is answered with nothing. */
export const POLLS_MAX = 4;

export interface Ask {
  readonly id: string;
  readonly node: string;
  readonly unit: string;
  readonly lines: number;
  /** Who asked, as the audit trail names them. */
  readonly actor: string;
  readonly askedAt: string;
  readonly expiresAt: number;
  /** When a poll last took it; undefined before. A reserved ask is not taken by any. */
  deliveredAt: number | undefined;
  isPublished: boolean;
}

interface Poll {
  readonly answer: (asks: OpenAsks['items']) => void;
  readonly refuse: (code: ErrorCode) => void;
}

export class NodeAsks {
  readonly #clock: Clock;
  readonly #asks = new Map<string, Map<string, Ask>>();
  readonly #polls = new Map<string, Set<Poll>>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes a place for an ask; no agent sees it before `publish`, so that it is in the audit trail first.
   * @throws Refusal `asks_full`.
   */
  reserve(node: string, { unit, lines, actor }: Pick<Ask, 'unit' | 'lines' | 'actor'>): Ask {
    const now = this.#clock.now();
    const open = this.#open(node);
    if (open.size >= OPEN_ASKS_MAX) {
      const first = Math.min(...[...open.values()].map(({ expiresAt }) => expiresAt));
      throw new Refusal('asks_full', { retryAfter: Math.max(1, Math.ceil((first - now) / 1000)) });
    }
    const id = makeId('ask', now);
    const times = { askedAt: formatInstant(now), expiresAt: now + ASK_MILLIS };
    const ask: Ask = { id, node, unit, lines, actor, ...times, deliveredAt: undefined, isPublished: false };
    open.set(id, ask);
    return ask;
  }

  /** Gives a reserved ask to the node: at once to a poll that waits. */
  publish(ask: Ask): void {
    ask.isPublished = true;
    this.#deliver(ask.node);
  }

  /** Gives a place back. */
  drop({ node, id }: Ask): void {
    this.#asks.get(node)?.delete(id);
  }

  /** Asks of a node that are neither answered nor expired. */
  openOf(node: string): Ask[] {
    return [...this.#open(node).values()].filter(({ isPublished }) => isPublished);
  }

  /**
   * The open asks of a node that no other poll has, waiting for one up to ASK_POLL_MILLIS; none when the time is over,
   * when the caller went (`signal`), or when the server stops.
   * @throws Refusal `node_revoked` when the node is revoked meanwhile.
   */
  async poll(node: string, signal: AbortSignal): Promise<OpenAsks['items']> {
    const due = this.#take(node);
    if (due.length > 0 || this.#isClosed || signal.aborted) return due;
    const { promise, resolve, reject } = Promise.withResolvers<OpenAsks['items']>();
    const poll: Poll = { answer: resolve, refuse: (code) => reject(new Refusal(code)) };
    const polls = this.#polls.get(node) ?? new Set();
    this.#polls.set(node, polls.add(poll));
    for (const oldest of polls) if (polls.size > POLLS_MAX) this.#leave(node, oldest, []);
    const leave = (): void => this.#leave(node, poll, []);
    const timer = setTimeout(leave, ASK_POLL_MILLIS);
    timer.unref();
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  /** Settles the ask that an agent answers. @throws Refusal `ask_not_found` for any that is not open for this node. */
  settle(node: string, id: string): Ask {
    const ask = this.#open(node).get(id);
    // One that was never delivered can only be guessed, and nobody guesses one.
    if (ask?.deliveredAt === undefined) throw new Refusal('ask_not_found');
    this.drop(ask);
    return ask;
  }

  /** A revoked node: its asks are gone and its polls are refused. */
  end(node: string): void {
    this.#asks.delete(node);
    for (const poll of this.#polls.get(node) ?? []) poll.refuse('node_revoked');
    this.#polls.delete(node);
  }

  /** The server stops: polls are answered, so that nothing waits for them. */
  close(): void {
    this.#isClosed = true;
    for (const [node, polls] of this.#polls) for (const poll of polls) this.#leave(node, poll, []);
  }

  get waitingPolls(): number {
    return [...this.#polls.values()].reduce((sum, polls) => sum + polls.size, 0);
  }

  #open(node: string): Map<string, Ask> {
    const asks = this.#asks.get(node) ?? new Map<string, Ask>();
    const now = this.#clock.now();
    for (const [id, { expiresAt }] of asks) if (expiresAt <= now) asks.delete(id);
    this.#asks.set(node, asks);
    return asks;
  }

  #take(node: string): OpenAsks['items'] {
    const now = this.#clock.now();
    const due = this.openOf(node).filter(
      ({ deliveredAt }) => deliveredAt === undefined || now - deliveredAt >= REDELIVER_MILLIS,
    );
    for (const ask of due) ask.deliveredAt = now;
    return due.map(({ id, unit, lines }) => ({ id, kind: 'journal', unit, lines }));
  }

  #deliver(node: string): void {
    const [poll] = this.#polls.get(node) ?? [];
    if (poll !== undefined) this.#leave(node, poll, this.#take(node));
  }

  #leave(node: string, poll: Poll, asks: OpenAsks['items']): void {
    const polls = this.#polls.get(node);
    if (polls?.delete(poll) === true) poll.answer(asks);
    if (polls?.size === 0) this.#polls.delete(node);
  }
}
