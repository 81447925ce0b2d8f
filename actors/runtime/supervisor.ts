/**
 * The supervisor of the shards: starts their threads, links every thread with every other, and starts a shard again
 * when its thread dies. Runs on the main thread.
 *
 *     thread dies ─► its ports close ─► every ask to it is answered `unavailable` ─► a new thread, new links
 *
 * The other shards never stop. A thread cannot be ended from outside without taking the process along (the socket
 * library's handles outlive a terminated thread), so one that hangs is reported and left to whoever runs the process.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { refused, type Address, type Answer, type Tell } from './actor.ts';
import { monotonicMillis } from './monotonic.ts';
import type { Placement } from './placement.ts';
import { PortLink } from './port-link.ts';
import { decide, SHARD_POLICY } from './supervision.ts';
import { MAIN, type RuntimeReport } from './thread-runtime.ts';
import {
  ServiceTable,
  type AnswerOf,
  type AskBody,
  type AskedName,
  type ServiceHandlers,
  type ServiceMap,
  type TellBody,
  type ThreadServiceMaps,
  type TellName,
} from './thread-services.ts';

/** What the supervisor sends a shard's thread beside its links: only what carries a port or precedes them. */
export type ShardOrder =
  | { readonly kind: 'link'; readonly thread: number; readonly port: MessagePort }
  | { readonly kind: 'listen'; readonly port: number };

/** What a shard's thread answers. */
export type ShardListening = { readonly kind: 'listening' } | { readonly kind: 'refused'; readonly error: string };

/** What the supervisor itself asks of shards: to finish and leave. The answer says whether every request was answered. */
interface DrainService {
  readonly 'shard.drain': { readonly ask: null; readonly answer: boolean };
}

/** Services of threads of which each shard can be drained. */
export interface SupervisedServices extends ThreadServiceMaps {
  readonly shard: ServiceMap & DrainService;
}

export interface SupervisorOptions {
  readonly entry: URL;
  readonly placement: Placement;
  readonly host: string;
  readonly port: number;
  readonly report: RuntimeReport;
}

/** What shards are started with and served by. */
export interface Supervision<Services extends SupervisedServices> {
  /** What a shard's thread is started with. */
  readonly workerData: (shard: number) => unknown;
  /** What the main thread does for shards. */
  readonly services: ServiceHandlers<Services['main']>;
  readonly onRestart: (shard: number, error: Error | undefined) => void;
  /** Shards die faster than they can be started: the process should end. */
  readonly onEscalate: (shard: number) => void;
}

interface ServedSupervision extends Omit<Supervision<SupervisedServices>, 'services'> {
  readonly services: ServiceTable;
}

interface Shard {
  readonly worker: Worker;
  readonly link: PortLink;
  readonly failures: readonly number[];
  /** Resolves when the thread has ended. */
  readonly gone: Promise<void>;
}

export class Supervisor<Services extends SupervisedServices> {
  readonly #options: SupervisorOptions;
  readonly #shards: Shard[] = [];
  #port: number;
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** Starts all shards; resolves with the port they listen on. */
  async start(supervision: Supervision<Services>): Promise<number> {
    const { report } = this.#options;
    const services = new ServiceTable([supervision.services], (name, error) => report.failed(name, error));
    const parts = { ...supervision, services };
    for (let shard = 0; shard < this.#options.placement.shards; shard += 1) {
      this.#shards.push(this.#spawn(shard, parts, []));
      this.#linkWithOthers(shard);
    }
    const held = await holdPort(this.#options.host, this.#port);
    this.#port = held.port;
    try {
      // All share the port, and the kernel spreads the connections over them.
      for (const shard of this.#shards) await listen(shard, this.#port);
    } catch (error) {
      await this.stop(0);
      throw error;
    } finally {
      held.release();
    }
    return this.#port;
  }

  /** Asks an actor, wherever it lives. */
  async ask(to: Address, message: Tell, millis: number): Promise<Answer> {
    return await this.#askThread(this.#options.placement.shardOf(to), to, message, millis);
  }

  /** Asks a shard for a service. */
  async askShard<N extends AskedName<Services['shard']>>(
    shard: number,
    name: N,
    body: AskBody<Services['shard'], N>,
    millis: number,
  ): Promise<Answer<AnswerOf<Services['shard'], N>>> {
    return (await this.#askThread(shard, name, body, millis)) as Answer<AnswerOf<Services['shard'], N>>;
  }

  /** Asks every shard the same, and resolves to their answers: `unavailable` of one that is gone. */
  async askShards<N extends AskedName<Services['shard']>>(
    name: N,
    body: AskBody<Services['shard'], N>,
    millis: number,
  ): Promise<Answer<AnswerOf<Services['shard'], N>>[]> {
    return await Promise.all(this.#shards.map(async (_, shard) => await this.askShard(shard, name, body, millis)));
  }

  tellShard<N extends TellName<Services['shard']>>(shard: number, name: N, body: TellBody<Services['shard'], N>): void {
    this.#shards[shard]?.link.tell(name, body);
  }

  tellShards<N extends TellName<Services['shard']>>(name: N, body: TellBody<Services['shard'], N>): void {
    for (const { link } of this.#shards) link.tell(name, body);
  }

  /** Asks main has under way with shards. */
  get asksPending(): number {
    return this.#shards.reduce((sum, { link }) => sum + link.pending, 0);
  }

  /** Lets every shard finish and leave, at most `millis` long. True when all did. */
  async stop(millis: number): Promise<boolean> {
    this.#stopping = true;
    const drain = 'shard.drain' satisfies keyof DrainService;
    const answers = await Promise.all(
      this.#shards.map(({ link }) => link.ask(drain, null, monotonicMillis() + millis)),
    );
    for (const { link } of this.#shards) link.close();
    await Promise.all(this.#shards.map(({ gone }) => gone));
    return answers.every((answer) => answer.ok);
  }

  #spawn(number: number, supervision: ServedSupervision, failures: readonly number[]): Shard {
    const { entry, report } = this.#options;
    const { services, workerData } = supervision;
    const worker = new Worker(entry, { name: `shard-${number}`, workerData: workerData(number) });
    let cause: Error | undefined;
    worker.on('error', (error) => (cause = error));
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    worker.on('exit', () => {
      resolve();
      this.#exited(number, worker, supervision, cause);
    });
    const { port1, port2 } = new MessageChannel();
    const link = new PortLink(port1, {
      ask: (name, body, incoming) => void services.ask(name, body).then((answer) => incoming.settle(answer)),
      tell: (name, body) => services.tell(name, body),
      overrun: () => undefined,
      timedOut: () => report.timedOut(),
      dropped: () => report.dropped('link'),
      closed: () => undefined,
    });
    order(worker, { kind: 'link', thread: MAIN, port: port2 });
    return { worker, link, failures, gone };
  }

  async #askThread(shard: number, to: string, body: unknown, millis: number): Promise<Answer> {
    const link = this.#shards[shard]?.link;
    return link === undefined ? refused('unavailable') : await link.ask(to, body, monotonicMillis() + millis);
  }

  /** Gives a shard and each of the others the two ends of a channel. */
  #linkWithOthers(number: number): void {
    const { worker } = this.#shards[number] as Shard;
    for (const [other, shard] of this.#shards.entries()) {
      if (other === number) continue;
      const { port1, port2 } = new MessageChannel();
      order(worker, { kind: 'link', thread: other, port: port1 });
      order(shard.worker, { kind: 'link', thread: number, port: port2 });
    }
  }

  #exited(number: number, worker: Worker, supervision: ServedSupervision, cause: Error | undefined): void {
    const shard = this.#shards[number];
    if (this.#stopping || shard === undefined || shard.worker !== worker) return;
    shard.link.close();
    supervision.onRestart(number, cause);
    const verdict = decide(shard.failures, monotonicMillis(), SHARD_POLICY);
    if (verdict.action === 'escalate') return supervision.onEscalate(number);
    const next = this.#spawn(number, supervision, verdict.failures);
    this.#shards[number] = next;
    this.#linkWithOthers(number);
    // One that dies before it listens comes by here again.
    listen(next, this.#port).catch(() => undefined);
  }
}

function order(worker: Worker, message: ShardOrder): void {
  worker.postMessage(message, message.kind === 'link' ? [message.port] : []);
}

/** Has a shard listen. Rejects when it dies instead. */
async function listen({ worker, gone }: Shard, port: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<ShardListening>();
  worker.once('message', resolve);
  order(worker, { kind: 'listen', port });
  const answer = await Promise.race([promise, gone]);
  if (answer === undefined) throw new Error('A shard died before it listened.');
  if (answer.kind === 'refused') throw new Error(answer.error);
}

/**
 * Takes the port, or a free one for 0, until the shards have joined it: they can share a port only by its number.
 * Rejects with EADDRINUSE when another program has it.
 */
async function holdPort(host: string, port: number): Promise<{ port: number; release(): void }> {
  // Sharing a port works between programs too: a second server would silently take half of the first one's clients.
  if (port !== 0) await once((await bind(host, port, false)).close(), 'close');
  const server = await bind(host, port, true);
  return { port: (server.address() as AddressInfo).port, release: () => server.close() };
}

async function bind(host: string, port: number, reusePort: boolean): Promise<Server> {
  const server = createServer((connection) => connection.destroy());
  server.listen({ host, port, reusePort });
  await once(server, 'listening');
  return server;
}
