/** A load generator process that sends HTTP requests, as fast as they are answered or on a schedule. */
import { answerAsks } from './child.ts';
import { HttpConnection, requestText, CONNECTION_LOST } from './http-connection.ts';
import { nanosNow, waitUntil } from './monotonic.ts';
import { postBody } from './payload.ts';
import { sourceAddress } from './raw-socket.ts';
import type { OpenOrder, RunOrder, RunResult, Target } from './requests.ts';

let connections: HttpConnection[] = [];
let host = '';

let opened: OpenOrder | undefined;

async function open(order: OpenOrder): Promise<void> {
  opened = order;
  host = `${order.host}:${order.port}`;
  connections = Array.from({ length: order.connections }, (_, i) => connectionOf(order, i));
  await Promise.all(connections.map((connection) => connection.opened));
}

function connectionOf(order: OpenOrder, index: number): HttpConnection {
  return new HttpConnection({ host: order.host, port: order.port, localAddress: sourceAddress(index) });
}

/** Opens anew what has been silent for long, so that no run begins with connections that the server closed. */
async function prepare(): Promise<void> {
  const order = opened;
  if (order === undefined) throw new Error('nothing is open');
  connections = connections.map((connection, i) => {
    if (connection.isFresh) return connection;
    connection.destroy();
    return connectionOf(order, i);
  });
  await Promise.all(connections.map((connection) => connection.opened));
}

/** The samples of one run while it lasts. */
class Run {
  readonly order: RunOrder;
  readonly latency: number[] = [];
  readonly lag: number[] = [];
  readonly intendedAt: number[] = [];
  readonly statuses: Record<number, number> = {};
  wrong = 0;
  bytes = 0;
  #next = 0;
  #open = 0;
  #settled: () => void = () => undefined;
  readonly #waiting: { number: number; intended: number }[] = [];
  readonly #free: HttpConnection[] = [...connections];

  constructor(order: RunOrder) {
    this.order = order;
  }

  /** Closed loop: every connection sends its next request when the last one is answered. */
  async closed(): Promise<void> {
    const end = this.order.seconds === undefined ? Infinity : nanosNow() + this.order.seconds * 1e9;
    const done = Promise.withResolvers<void>();
    this.#settled = done.resolve;
    const again = (connection: HttpConnection): void => {
      if (this.#next >= this.order.count || nanosNow() >= end) return;
      this.#send(connection, this.#take(), nanosNow(), (status) => {
        if (status !== CONNECTION_LOST) again(connection);
      });
    };
    for (const connection of connections) again(connection);
    if (this.#open > 0) await done.promise;
  }

  /**
   * Open loop: requests are due at instants that do not depend on the answers, and latency counts from there. What is
   * due while every connection is busy waits its turn, and that wait is part of its latency.
   */
  async scheduled(perSecond: number): Promise<void> {
    const start = nanosNow() + 2e6;
    const done = Promise.withResolvers<void>();
    this.#settled = () => {
      if (this.#next >= this.order.count && this.#waiting.length === 0) done.resolve();
    };
    for (let i = 0; i < this.order.count; i += 1) {
      const intended = start + (i / perSecond) * 1e9;
      const wait = waitUntil(intended);
      // oxlint-disable-next-line no-await-in-loop -- The schedule is what is awaited.
      if (wait !== undefined) await wait;
      this.lag.push(nanosNow() - intended);
      this.#waiting.push({ number: this.#take(), intended });
      this.#drain();
    }
    if (this.#open > 0 || this.#waiting.length > 0) await done.promise;
  }

  #take(): number {
    this.#next += 1;
    return this.#next - 1;
  }

  #drain(): void {
    while (this.#waiting.length > 0) {
      // The one that rested longest: a server closes those that are silent for ten seconds.
      const connection = this.#free.shift();
      if (connection === undefined) return;
      const { number, intended } = this.#waiting.shift()!;
      this.#send(connection, number, intended, () => {
        this.#free.push(connection);
        this.#drain();
      });
    }
  }

  #send(connection: HttpConnection, index: number, intended: number, then: (status: number) => void): void {
    const target = this.order.targets[index % this.order.targets.length]!;
    this.#open += 1;
    this.intendedAt[index] = intended;
    const keeps = target.expect !== undefined && index % this.order.verifyEvery === 0;
    connection.request(this.#text(target, index), keeps, (status, bytes, body) => {
      this.latency.push(nanosNow() - intended);
      this.statuses[status] = (this.statuses[status] ?? 0) + 1;
      this.bytes += bytes;
      if (body !== undefined && !isExpected(target, body)) this.wrong += 1;
      this.#open -= 1;
      then(status);
      if (this.#open === 0) this.#settled();
    });
  }

  #text(target: Target, index: number): string {
    const body = target.method === 'POST' ? postBody(this.order.run, this.order.first + index) : undefined;
    return requestText(target.method, target.path, host, target.token, body);
  }
}

/** Whether an answer holds what its target promises: so many items, and for changes that none is missing. */
function isExpected(target: Target, body: Buffer): boolean {
  const answer = JSON.parse(body.toString()) as { items?: unknown[]; complete?: boolean };
  if (target.expect === 'message') return 'seq' in answer;
  return answer.items?.length === target.expect && answer.complete !== false;
}

async function run(order: RunOrder): Promise<RunResult> {
  const current = new Run(order);
  const began = nanosNow();
  if (order.perSecond === undefined) await current.closed();
  else await current.scheduled(order.perSecond);
  const { statuses, wrong, bytes } = current;
  return {
    count: current.latency.length,
    seconds: (nanosNow() - began) / 1e9,
    latency: Float64Array.from(current.latency),
    lag: Float64Array.from(current.lag),
    intendedAt: Float64Array.from(current.intendedAt),
    statuses,
    lost: statuses[CONNECTION_LOST] ?? 0,
    wrong,
    bytes,
  };
}

answerAsks({
  open,
  prepare,
  run,
});
