/**
 * The sockets of one shard: who they belong to, which conversations they hear, and how events reach them.
 *
 * A conversation is a topic of the socket library, and so is each person (`u:<username>`). Publishing hands the bytes
 * over once; the library writes them to every subscriber, and several events for one socket within a turn leave in
 * one write. That is the kernel's own cost per send, with little above it.
 */
import type { Except } from '#actors/runtime/actor.ts';
import type { LocalSockets } from '#actors/runtime/thread-runtime.ts';
import { CLOSE_CODES, type CloseReason } from '#src/protocol/sockets/close-codes.ts';
import type { EventType } from '#src/protocol/sockets/events.ts';

import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { Bot } from '../bots/bot-access.ts';
import { BotSockets } from '../bots/bot-sockets.ts';

import type { Socket, SocketData } from './socket.ts';
import { addTo, removeFrom } from './socket-sets.ts';

/** The topic of everybody connected. */
const EVERYONE = 'everyone';
/** Sockets closed at once when the server drains; between slices the rest goes on being served. */
const DRAIN_SLICE = 500;
const DRAIN_PAUSE_MILLIS = 20;
/** How long a socket that overflowed may take to read what it has before it is cut without a close code. */
const SILENCED_MILLIS_MAX = 30_000;

/** The library's topics over all of its apps. */
interface Topics {
  numSubscribers: (topic: string) => number;
  publish: (topic: string, event: string) => void;
}

export class SocketHub implements LocalSockets {
  readonly #topics: Topics;
  readonly #metrics: ThreadMetrics;
  readonly #open = new Set<Socket>();
  readonly #users = new Map<string, Set<Socket>>();
  readonly #sessions = new Map<string, Set<Socket>>();
  readonly #devices = new Map<string, Set<Socket>>();
  /** Sockets that just lost an event to their full buffer: silenced before anything else is published. */
  readonly #overflowed = new Set<Socket>();
  /** Silenced sockets, with when (monotonic milliseconds) they are cut if they do not read on. */
  readonly #silenced = new Map<Socket, number>();

  readonly #bots: BotSockets;

  /** `sharesListed` says whether a person takes part in any conversation of a bot's list beside it. */
  constructor(topics: Topics, metrics: ThreadMetrics, sharesListed: (bot: Bot, user: string) => boolean) {
    this.#topics = topics;
    this.#metrics = metrics;
    this.#bots = new BotSockets({ sharesListed, overflow: (socket) => this.overflow(socket) });
  }

  /** Takes a socket in. From here on it hears what is published to these conversations. */
  add(socket: Socket, conversations: () => readonly string[]): void {
    const { user, device, seat, sid, version, platform } = socket.getUserData();
    // Registered before the memberships are read: one that is committed after the read is told to this socket too.
    this.#open.add(socket);
    addTo(this.#users, user, socket);
    addTo(this.#sessions, sid, socket);
    addTo(this.#devices, device, socket);
    if (seat === undefined) {
      socket.subscribe(EVERYONE);
      socket.subscribe(personTopic(user));
      for (const conversation of conversations()) socket.subscribe(conversation);
    } else {
      this.#bots.add(socket, personTopic(user), conversations());
    }
    this.#metrics.socketOpened(version, platform);
  }

  /** Lets a closed socket go. The library has taken it out of its topics already. */
  remove(socket: Socket, end: CloseReason | 'peer'): void {
    const { user, device, seat, sid, version, platform } = socket.getUserData();
    this.#open.delete(socket);
    if (seat !== undefined) this.#bots.remove(socket, personTopic(user));
    removeFrom(this.#users, user, socket);
    removeFrom(this.#sessions, sid, socket);
    removeFrom(this.#devices, device, socket);
    this.#overflowed.delete(socket);
    this.#silenced.delete(socket);
    this.#metrics.socketClosed(version, platform, end);
  }

  publish(topic: string, type: EventType, event: string, except: Except | undefined): void {
    this.#silence();
    const bots = this.#bots.deliver(topic, type, event, except);
    const receivers = this.#topics.numSubscribers(topic);
    if (receivers + bots === 0) return;
    const left = receivers === 0 ? [] : this.#leaveOut(topic, except);
    if (receivers > 0) this.#topics.publish(topic, event);
    for (const socket of left) socket.subscribe(topic);
    this.#metrics.eventsPublished(type);
    this.#metrics.deliveries(receivers + bots - left.length);
  }

  /** How many sockets hear what is published to a conversation here. */
  hearers(conversation: string): number {
    return this.#topics.numSubscribers(conversation) + this.#bots.hearers(conversation);
  }

  publishTo(users: readonly string[], type: EventType, event: string, except: Except | undefined): void {
    for (const user of users) {
      if (user !== except?.user && this.#users.has(user)) this.publish(personTopic(user), type, event, except);
    }
  }

  /** To every socket of this shard. */
  publishToAll(type: EventType, event: string): void {
    this.publish(EVERYONE, type, event, undefined);
  }

  membership(conversation: string, users: readonly string[], joined: boolean): void {
    for (const user of users) {
      for (const socket of this.#users.get(user) ?? []) {
        const { closing, seat } = socket.getUserData();
        if (closing !== undefined) continue;
        if (seat !== undefined) this.#bots.membership(socket, conversation, joined);
        else if (joined) socket.subscribe(conversation);
        else socket.unsubscribe(conversation);
      }
    }
  }

  disband(conversation: string): void {
    for (const socket of this.#open) socket.unsubscribe(conversation);
    this.#bots.disband(conversation);
  }

  /** Whether the socket hears that conversation. */
  hears(socket: Socket, conversation: string): boolean {
    const { seat } = socket.getUserData();
    return seat === undefined ? socket.isSubscribed(conversation) : this.#bots.hears(socket, conversation);
  }

  /** The bots are others now: closes the sockets of those that ended, or whose token is void, and lets the rest hear
   * what they may hear now. */
  changeBots(find: (id: string) => Bot | undefined): void {
    for (const socket of this.#bots.sockets()) {
      const { seat } = socket.getUserData();
      const bot = find(seat?.bot.id ?? '');
      if (seat === undefined) continue;
      if (bot === undefined || !bot.isActive || bot.hash !== seat.bot.hash) {
        this.close(socket, 'revoked');
      } else {
        seat.bot = bot;
        this.#bots.refresh(socket);
      }
    }
  }

  displace(device: string, id: number): void {
    for (const socket of [...(this.#devices.get(device) ?? [])]) {
      if (socket.getUserData().id === id) this.close(socket, 'replaced');
    }
  }

  overrun(): void {
    this.closeAll('draining');
  }

  /** A socket's buffer overflowed, so it missed an event: it must hear nothing more and come back (SOC-12). */
  overflow(socket: Socket): void {
    // The library is in the middle of writing here, so what follows waits for the next moment outside of it.
    if (this.#overflowed.size === 0) setImmediate(() => this.#silence());
    this.#overflowed.add(socket);
  }

  /** A socket's buffer has room again: a silenced one can be told why it is closed. */
  drained(socket: Socket): void {
    if (!this.#silenced.has(socket) || socket.getBufferedAmount() > 0) return;
    this.#silenced.delete(socket);
    socket.end(CLOSE_CODES.tooSlow, 'tooSlow');
  }

  close(socket: Socket, reason: CloseReason): void {
    const data = socket.getUserData();
    if (data.closing !== undefined) return;
    data.closing = reason;
    socket.end(CLOSE_CODES[reason], reason);
  }

  /** Closes the sockets of these people. */
  closeOf(users: readonly string[], reason: CloseReason): void {
    for (const user of users) for (const socket of [...(this.#users.get(user) ?? [])]) this.close(socket, reason);
  }

  /** Closes the sockets of these sessions at once (CRD-08). */
  revoke(sids: readonly string[]): void {
    for (const sid of sids) for (const socket of [...(this.#sessions.get(sid) ?? [])]) this.close(socket, 'revoked');
  }

  /** A session was renewed: its socket may live on until `exp`. */
  renew(sid: string, exp: number): void {
    for (const socket of this.#sessions.get(sid) ?? []) {
      const data = socket.getUserData();
      data.exp = Math.max(data.exp, exp);
    }
  }

  /** Closes the sockets whose session ran out, and cuts silenced ones that never read on. */
  expire(nowSeconds: number): void {
    for (const socket of [...this.#open]) if (socket.getUserData().exp <= nowSeconds) this.close(socket, 'sessionOver');
    const now = performance.now();
    for (const [socket, due] of [...this.#silenced]) if (due <= now) socket.close();
  }

  closeAll(reason: CloseReason): void {
    for (const socket of [...this.#open]) this.close(socket, reason);
  }

  /** Closes all sockets slice by slice, so that their reconnects do not arrive in one moment. */
  async drain(): Promise<void> {
    const sockets = [...this.#open];
    for (let start = 0; start < sockets.length; start += DRAIN_SLICE) {
      for (const socket of sockets.slice(start, start + DRAIN_SLICE)) {
        // One that closed during the pause is not ours to touch any more.
        if (this.#open.has(socket)) this.close(socket, 'draining');
      }
      await new Promise((resolve) => setTimeout(resolve, DRAIN_PAUSE_MILLIS));
    }
  }

  /** Every socket's person, device, socket id and whether it is still open: to introduce them to a shard that is back. */
  *connections(): Iterable<SocketData> {
    for (const socket of this.#open) yield socket.getUserData();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes the sockets an event is not for out of its topic, for the moment of publishing. */
  #leaveOut(topic: string, except: Except | undefined): Socket[] {
    if (except === undefined) return [];
    const excluded = [
      ...(except.user === undefined ? [] : (this.#users.get(except.user) ?? [])),
      ...(except.users ?? []).flatMap((user) => [...(this.#users.get(user) ?? [])]),
      ...(except.device === undefined ? [] : (this.#devices.get(except.device) ?? [])),
    ];
    return excluded.filter((socket) => socket.unsubscribe(topic));
  }

  /**
   * Takes overflowed sockets out of every topic. The close frame has to wait until what they have not read is gone:
   * the library drops a frame for a full buffer, this one too.
   */
  #silence(): void {
    for (const socket of this.#overflowed) {
      const data = socket.getUserData();
      if (data.closing !== undefined) continue;
      data.closing = 'tooSlow';
      for (const topic of socket.getTopics()) socket.unsubscribe(topic);
      this.#silenced.set(socket, performance.now() + SILENCED_MILLIS_MAX);
      // Its buffer may have emptied meanwhile, and then nothing would tell of it again.
      this.drained(socket);
    }
    this.#overflowed.clear();
  }
}

function personTopic(user: string): string {
  return `u:${user}`;
}
