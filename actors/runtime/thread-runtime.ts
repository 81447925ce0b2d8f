/**
 * A thread among the others: knows its own actors, its links, and for every address the way there.
 *
 *     ask/tell address ─► this shard: the actor's mailbox
 *                      └► another:    the link to it
 *     '@name'          ─► a service of that thread, for what belongs to no actor
 */
import type { EventType } from '#src/protocol/sockets/events.ts';
import { refused, type Address, type Answer, type Effect, type Except, type PushDelivery, type Tell } from './actor.ts';
import type { Cancellation } from './cancellation.ts';
import type { Asker } from './cell.ts';
import { monotonicMillis } from './monotonic.ts';
import type { Placement } from './placement.ts';
import type { IncomingAsk, LinkHandler, PortLink } from './port-link.ts';
import type { ActorSystem, Outlet } from './system.ts';

/** The main thread's place in the numbering of threads. */
export const MAIN = -1;

export type ServiceName = `@${string}`;

/** What a thread does for others beside its actors. */
export interface Services {
  ask(name: ServiceName, body: unknown): Promise<Answer>;
  tell(name: ServiceName, body: unknown): void;
  /** For the metrics: an ask met its deadline, a tell was dropped. */
  timedOut(): void;
  dropped(kind: string): void;
  /** Hands a push to its provider. */
  push(delivery: PushDelivery): void;
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

export interface NodeOptions {
  readonly shard: number;
  readonly placement: Placement;
  readonly system: ActorSystem;
  readonly services: Services;
}

type Publish = Extract<Effect, { kind: 'publish' }>;
type PublishTo = Extract<Effect, { kind: 'publishTo' }>;
type Membership = Extract<Effect, { kind: 'membership' }>;

export class ThreadRuntime implements Outlet {
  readonly shard: number;
  readonly placement: Placement;
  readonly #system: ActorSystem;
  readonly #services: Services;
  readonly #links = new Map<number, PortLink>();
  #sockets: LocalSockets | undefined;

  constructor(options: NodeOptions) {
    this.shard = options.shard;
    this.placement = options.placement;
    this.#system = options.system;
    this.#services = options.services;
    options.system.connect(this);
  }

  /** Says where this thread's sockets are; once, before it serves any. */
  serve(sockets: LocalSockets): void {
    this.#sockets = sockets;
  }

  /** Takes the link to another thread; a link it had to that thread before is closed. */
  link(thread: number, link: PortLink): void {
    this.#links.get(thread)?.close();
    this.#links.set(thread, link);
  }

  unlink(thread: number, link: PortLink): void {
    if (this.#links.get(thread) === link) this.#links.delete(thread);
  }

  get links(): ReadonlyMap<number, PortLink> {
    return this.#links;
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
    if (shard === this.shard) this.#system.deliver(to, message);
    else this.#links.get(shard)?.tell(to, message);
  }

  /** Asks a service of another thread. */
  async askService(thread: number, name: ServiceName, body: unknown, millis: number): Promise<Answer> {
    const link = this.#links.get(thread);
    return link === undefined ? refused('unavailable') : await link.ask(name, body, monotonicMillis() + millis);
  }

  publish({ topic, type, event, except }: Publish): void {
    this.#sockets?.publish(topic, type, event, except);
    this.#tellShards('@publish', [topic, type, event, except]);
  }

  publishTo({ users, type, event, except }: PublishTo): void {
    if (users.length === 0) return;
    this.#sockets?.publishTo(users, type, event, except);
    this.#tellShards('@publishTo', [users, type, event, except]);
  }

  membership({ conversation, users, joined }: Membership): void {
    this.#sockets?.membership(conversation, users, joined);
    this.#tellShards('@membership', [conversation, users, joined]);
  }

  disband(conversation: string): void {
    this.#sockets?.disband(conversation);
    this.#tellShards('@disband', conversation);
  }

  push(delivery: PushDelivery): void {
    this.#services.push(delivery);
  }

  displace({ shard, device, socket }: Extract<Effect, { kind: 'displace' }>): void {
    if (shard === this.shard) this.#sockets?.displace(device, socket);
    else this.#links.get(shard)?.tell('@displace', [device, socket]);
  }

  /** What arrives over a link from another thread. */
  handler(thread: number, onClosed: () => void): LinkHandler {
    return {
      ask: (to, body, incoming) => this.#receiveAsk(to, body, incoming),
      tell: (to, body) => this.#receiveTell(to, body),
      overrun: () => this.#sockets?.overrun(),
      timedOut: () => this.#services.timedOut(),
      dropped: () => this.#services.dropped('link'),
      closed: () => {
        if (thread !== MAIN) this.#system.broadcast('person', { kind: 'shardLost', shard: thread } as Tell);
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
    this.#system.deliver(to, message, asker);
    return await promise;
  }

  #receiveAsk(to: string, body: unknown, incoming: IncomingAsk): void {
    if (!to.startsWith('@')) return this.#system.deliver(to as Address, body as Tell, incoming);
    this.#services.ask(to as ServiceName, body).then(
      (value) => incoming.settle(value),
      () => incoming.settle(refused('internal')),
    );
  }

  #receiveTell(to: string, body: unknown): void {
    const sockets = this.#sockets;
    switch (to) {
      case '@publish': {
        const [topic, type, event, except] = body as [string, EventType, string, Except | undefined];
        return sockets?.publish(topic, type, event, except ?? undefined);
      }
      case '@publishTo': {
        const [users, type, event, except] = body as [string[], EventType, string, Except | undefined];
        return sockets?.publishTo(users, type, event, except ?? undefined);
      }
      case '@membership':
        return sockets?.membership(...(body as [string, string[], boolean]));
      case '@disband':
        return sockets?.disband(body as string);
      case '@displace':
        return sockets?.displace(...(body as [string, number]));
      default:
        if (to.startsWith('@')) this.#services.tell(to as ServiceName, body);
        else this.#system.deliver(to as Address, body as Tell);
    }
  }

  #tellShards(name: ServiceName, body: unknown): void {
    for (const [thread, link] of this.#links) if (thread !== MAIN) link.tell(name, body);
  }
}
