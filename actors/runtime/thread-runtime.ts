/**
 * A thread among the others: knows its own actors and services, its links, and for every address the way there.
 *
 *     ask/tell address ─► this shard: the actor's mailbox
 *                      └► another:    the link to it
 *     name             ─► a service of that thread, for what belongs to no actor
 */
import type { MessagePort } from 'node:worker_threads';
import type { EventType } from '#src/protocol/sockets/events.ts';
import { refused, type Address, type Answer, type Effect, type Except, type PushDelivery, type Tell } from './actor.ts';
import type { Cancellation } from './cancellation.ts';
import type { Asker } from './cell.ts';
import { monotonicMillis } from './monotonic.ts';
import type { Placement } from './placement.ts';
import { PortLink, SWEEP_MILLIS, type IncomingAsk, type LinkHandler } from './port-link.ts';
import type { ActorSystem, Outlet } from './system.ts';
import {
  ServiceTable,
  type AnswerOf,
  type AskBody,
  type AskedName,
  type ServiceHandlers,
  type TellBody,
  type ThreadServiceMaps,
  type TellName,
} from './thread-services.ts';

/** The main thread's place in the numbering of threads. */
export const MAIN = -1;

/**
 * What shards tell each other's sockets: effects of actors, by the name of a service. Events are told by place and not by
 * name: every post is one, and the names of its fields made packing and unpacking it 1.4 times as dear (2026-11-22).
 */
interface SocketServices {
  readonly 'sockets.publish': {
    readonly tell: readonly [topic: string, type: EventType, event: string, except: Except | null];
  };
  readonly 'sockets.publishTo': {
    readonly tell: readonly [users: readonly string[], type: EventType, event: string, except: Except | null];
  };
  readonly 'sockets.changeMembership': {
    readonly tell: { readonly conversation: string; readonly users: readonly string[]; readonly joined: boolean };
  };
  readonly 'sockets.disband': { readonly tell: { readonly conversation: string } };
  readonly 'sockets.displace': { readonly tell: { readonly device: string; readonly socket: number } };
}

/** What the metrics and the log hear of a thread's links and services. */
export interface RuntimeReport {
  /** An ask met its deadline. */
  timedOut(): void;
  /** A tell was dropped. */
  dropped(kind: string): void;
  /** A service threw what is no Refusal, or nothing serves that name. */
  failed(service: string, error: unknown): void;
}

/** The sockets of this thread. */
export interface LocalSockets {
  publish(topic: string, type: EventType, event: string, except: Except | undefined): void;
  publishTo(users: readonly string[], type: EventType, event: string, except: Except | undefined): void;
  membership(conversation: string, users: readonly string[], joined: boolean): void;
  disband(conversation: string): void;
  displace(device: string, socket: number): void;
  /** Events for this thread were lost: its sockets have to start afresh. */
  overrun(): void;
}

export interface ThreadRuntimeOptions {
  readonly shard: number;
  readonly placement: Placement;
}

/** What a thread has for itself and the others, made from the runtime that it is then given to. */
export interface ThreadParts<Services extends ThreadServiceMaps> {
  readonly system: ActorSystem;
  readonly sockets: LocalSockets;
  /** Hands a push to its provider. */
  readonly push: (delivery: PushDelivery) => void;
  readonly report: RuntimeReport;
  /** What this shard does for the main thread and the other shards. */
  readonly services: ServiceHandlers<Services['shard']>;
}

type Publish = Extract<Effect, { kind: 'publish' }>;
type PublishTo = Extract<Effect, { kind: 'publishTo' }>;
type Membership = Extract<Effect, { kind: 'membership' }>;

export class ThreadRuntime<Services extends ThreadServiceMaps> implements Outlet {
  readonly shard: number;
  readonly placement: Placement;
  readonly #links = new Map<number, PortLink>();
  #parts: ThreadParts<Services> | undefined;
  #services: ServiceTable | undefined;
  /** Asks of this thread to its own actors that are not answered. */
  readonly #askedHere = new Set<Asker>();

  constructor(options: ThreadRuntimeOptions) {
    this.shard = options.shard;
    this.placement = options.placement;
    setInterval(() => this.#expireHere(), SWEEP_MILLIS).unref();
  }

  /** Says what this thread has; once, before it is linked to another. */
  begin(parts: ThreadParts<Services>): void {
    this.#parts = parts;
    const groups = [parts.services, socketServices(parts.sockets)];
    this.#services = new ServiceTable(groups, (name, error) => parts.report.failed(name, error));
    parts.system.connect(this);
  }

  /**
   * Takes the port to another thread; a link it had to that thread before is closed. `lost` hears of this one's end,
   * when whatever was asked over it has been answered `unavailable`.
   */
  link(thread: number, port: MessagePort, lost: () => void): void {
    const link: PortLink = new PortLink(
      port,
      this.#handler(thread, () => {
        if (this.#links.get(thread) === link) this.#links.delete(thread);
        lost();
      }),
    );
    this.#links.get(thread)?.close();
    this.#links.set(thread, link);
  }

  /** The other shards that there is a link to. */
  get otherShards(): number[] {
    return [...this.#links.keys()].filter((thread) => thread !== MAIN);
  }

  /** Asks under way and waiting over all links. */
  get asksPending(): number {
    return this.#links.values().reduce((sum, { pending }) => sum + pending, 0);
  }

  /** Asks an actor, wherever it lives. The answer comes within `millis`, if only as `unavailable`. */
  async ask(to: Address, message: Tell, millis: number, cancellation?: Cancellation): Promise<Answer> {
    const due = monotonicMillis() + millis;
    const shard = this.placement.shardOf(to);
    if (shard === this.shard) return await this.#askHere(to, message, due, cancellation);
    const link = this.#links.get(shard);
    return link === undefined ? refused('unavailable') : await link.ask(to, message, due, cancellation);
  }

  tell(to: Address, message: Tell): void {
    const shard = this.placement.shardOf(to);
    if (shard === this.shard) this.deliverHere(to, message);
    else this.#links.get(shard)?.tell(to, message);
  }

  /** Delivers to an actor of this shard. With an asker, exactly one answer follows. */
  deliverHere(to: Address, message: Tell, asker?: Asker): void {
    this.#parts?.system.deliver(to, message, asker);
  }

  /** Asks the main thread for a service; `unavailable` when it is away, or has not answered within `millis`. */
  async askMain<N extends AskedName<Services['main']>>(
    name: N,
    body: AskBody<Services['main'], N>,
    millis: number,
  ): Promise<Answer<AnswerOf<Services['main'], N>>> {
    return (await this.#askThread(MAIN, name, body, millis)) as Answer<AnswerOf<Services['main'], N>>;
  }

  /** Asks a shard for a service, this one too; `unavailable` when it is away, or has not answered within `millis`. */
  async askShard<N extends AskedName<Services['shard']>>(
    shard: number,
    name: N,
    body: AskBody<Services['shard'], N>,
    millis: number,
  ): Promise<Answer<AnswerOf<Services['shard'], N>>> {
    return (await this.#askThread(shard, name, body, millis)) as Answer<AnswerOf<Services['shard'], N>>;
  }

  /** Asks every other shard for a service, and resolves to their answers. */
  async askOtherShards<N extends AskedName<Services['shard']>>(
    name: N,
    body: AskBody<Services['shard'], N>,
    millis: number,
  ): Promise<Answer<AnswerOf<Services['shard'], N>>[]> {
    return await Promise.all(this.otherShards.map(async (shard) => await this.askShard(shard, name, body, millis)));
  }

  /** Tells the main thread; dropped while there is none. */
  tellMain<N extends TellName<Services['main']>>(name: N, body: TellBody<Services['main'], N>): void {
    this.#links.get(MAIN)?.tell(name, body);
  }

  /** Tells a shard, this one too. */
  tellShard<N extends TellName<Services['shard']>>(shard: number, name: N, body: TellBody<Services['shard'], N>): void {
    if (shard === this.shard) this.#services?.tell(name, body);
    else this.#links.get(shard)?.tell(name, body);
  }

  /** Tells every shard, this one first. */
  tellShards<N extends TellName<Services['shard']>>(name: N, body: TellBody<Services['shard'], N>): void {
    this.#services?.tell(name, body);
    this.#tellOthers(name, body);
  }

  publish({ topic, type, event, except }: Publish): void {
    this.#parts?.sockets.publish(topic, type, event, except);
    this.#tellSockets('sockets.publish', [topic, type, event, except ?? null]);
  }

  publishTo({ users, type, event, except }: PublishTo): void {
    if (users.length === 0) return;
    this.#parts?.sockets.publishTo(users, type, event, except);
    this.#tellSockets('sockets.publishTo', [users, type, event, except ?? null]);
  }

  membership({ conversation, users, joined }: Membership): void {
    this.#parts?.sockets.membership(conversation, users, joined);
    this.#tellSockets('sockets.changeMembership', { conversation, users, joined });
  }

  disband(conversation: string): void {
    this.#parts?.sockets.disband(conversation);
    this.#tellSockets('sockets.disband', { conversation });
  }

  push(delivery: PushDelivery): void {
    this.#parts?.push(delivery);
  }

  displace({ shard, device, socket }: Extract<Effect, { kind: 'displace' }>): void {
    const body: TellBody<SocketServices, 'sockets.displace'> = { device, socket };
    if (shard === this.shard) this.#parts?.sockets.displace(device, socket);
    else this.#links.get(shard)?.tell('sockets.displace', body);
  }

  /** What arrives over a link from another thread. */
  #handler(thread: number, onClosed: () => void): LinkHandler {
    return {
      ask: (to, body, incoming) => this.#receiveAsk(to, body, incoming),
      tell: (to, body) => {
        if (isAddress(to)) this.deliverHere(to, body as Tell);
        else this.#services?.tell(to, body);
      },
      overrun: () => this.#parts?.sockets.overrun(),
      timedOut: () => this.#parts?.report.timedOut(),
      dropped: () => this.#parts?.report.dropped('link'),
      closed: () => {
        if (thread !== MAIN) this.#parts?.system.broadcast('person', { kind: 'shardLost', shard: thread } as Tell);
        onClosed();
      },
    };
  }

  async #askHere(to: Address, message: Tell, due: number, cancellation?: Cancellation): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const asker: Asker = {
      due,
      get cancelled() {
        return cancellation?.isCancelled === true;
      },
      settle: resolve,
    };
    this.#waitHere(asker);
    this.deliverHere(to, message, asker);
    const answer = await promise;
    this.#askedHere.delete(asker);
    return answer;
  }

  /** An ask of this thread is answered at its deadline, too: its actor may wait for a commit that hangs. */
  #waitHere(asker: Asker): void {
    this.#askedHere.add(asker);
  }

  #expireHere(): void {
    const now = monotonicMillis();
    for (const asker of this.#askedHere) {
      if (asker.due > now) continue;
      this.#askedHere.delete(asker);
      this.#parts?.report.timedOut();
      asker.settle(refused('unavailable'));
    }
  }

  async #askThread(thread: number, name: string, body: unknown, millis: number): Promise<Answer> {
    if (thread === this.shard) return (await this.#services?.ask(name, body)) ?? refused('unavailable');
    const link = this.#links.get(thread);
    return link === undefined ? refused('unavailable') : await link.ask(name, body, monotonicMillis() + millis);
  }

  #receiveAsk(to: string, body: unknown, incoming: IncomingAsk): void {
    if (isAddress(to)) return this.deliverHere(to, body as Tell, incoming);
    void this.#services?.ask(to, body).then((answer) => incoming.settle(answer));
  }

  #tellSockets<N extends keyof SocketServices>(name: N, body: TellBody<SocketServices, N>): void {
    this.#tellOthers(name, body);
  }

  #tellOthers(name: string, body: unknown): void {
    for (const [thread, link] of this.#links) if (thread !== MAIN) link.tell(name, body);
  }
}

/** An address has a colon, the name of a service has none. */
function isAddress(to: string): to is Address {
  return to.includes(':');
}

function socketServices(sockets: LocalSockets): ServiceHandlers<SocketServices> {
  return {
    'sockets.publish': ([topic, type, event, except]) => sockets.publish(topic, type, event, except ?? undefined),
    'sockets.publishTo': ([users, type, event, except]) => sockets.publishTo(users, type, event, except ?? undefined),
    'sockets.changeMembership': ({ conversation, users, joined }) => sockets.membership(conversation, users, joined),
    'sockets.disband': ({ conversation }) => sockets.disband(conversation),
    'sockets.displace': ({ device, socket }) => sockets.displace(device, socket),
  };
}
