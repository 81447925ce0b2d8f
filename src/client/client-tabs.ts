/**
 * One socket, and so one device, for all tabs of a browser that share a session. The tab that has the lock of the name leads: it
 * has the socket, hands what comes in to the others, and sends what they say. When it closes or breaks, the browser gives the lock to
 * the next one at once. Every tab has a client of its own, which asks over HTTP for itself.
 *
 *     const tabs = new ClientTabs({ name: `${session.user} ${session.device_id}` });
 *     const client = ParleyClient.resume({ ...options, session, ...tabs.options });
 *     tabs.attach(client);
 *
 * Each tab catches up after a change of the leader, as after any break. Wants Web Locks: a page of https or of loopback.
 */
import { randomSymbols } from '#src/base/ids.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { mayReconnect } from '#src/protocol/sockets/close-codes.ts';
import type { ClientFrame } from '#src/protocol/sockets/frames.ts';
import type { ClientOptions } from './client-context.ts';
import type { WebSocketConstructor, WebSocketLike } from './connection/socket.ts';
import type { ParleyClient } from './parley-client.ts';

const TAB_SYMBOLS = 16;
/** What a socket closes with that nobody closed (RFC 6455, section 7.1.5). */
const BROKEN = 1006;

/** What tabs tell each other. */
type Said =
  /** A tab wants to know whether the socket is open. */
  | { readonly kind: 'ask' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'closed'; readonly code: number }
  /** Another tab leads from now on. */
  | { readonly kind: 'leads' }
  | { readonly kind: 'frame'; readonly tab: string; readonly text: string }
  | { readonly kind: 'renewed'; readonly session: Session };

export interface ClientTabsOptions {
  /** Tabs of one name share one socket: a name for each device. */
  readonly name: string;
  /** The platform's own when left out. */
  readonly WebSocket?: WebSocketConstructor;
}

/** Whether this page has what tabs share a socket by. */
export function canShareTabs(): boolean {
  return typeof navigator === 'object' && 'locks' in navigator && typeof BroadcastChannel === 'function';
}

/** The turn to renew the session of all tabs of a name, for a worker that shares it and has no socket: `options.renewing`. */
export function sharedRenewing(name: string): (renew: () => Promise<void>) => Promise<void> {
  return renewingFor(channelOf(name));
}

function channelOf(name: string): string {
  return `parley.tabs ${name}`;
}

function renewingFor(channel: string) {
  return async (renew: () => Promise<void>) => await navigator.locks.request(`${channel} renewal`, renew);
}

export class ClientTabs {
  /** This tab among those of the name, for as long as it is loaded. */
  readonly id = randomSymbols(TAB_SYMBOLS);
  readonly #name: string;
  readonly #WebSocket: WebSocketConstructor;
  readonly #channel: BroadcastChannel;
  readonly #ended = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  /** Whether each tab is in front of the person, as far as the leader heard. */
  readonly #awake = new Map<string, boolean>();
  readonly #watched = new Set<string>();
  #toldAwake: boolean | undefined;
  #client: ParleyClient | undefined;
  #leads = false;
  /** The socket that this tab's client believes in. */
  #socket: TabSocket | undefined;
  /** The one there is, where this tab leads. */
  #real: WebSocketLike | undefined;

  constructor({ name, WebSocket = globalThis.WebSocket }: ClientTabsOptions) {
    this.#name = channelOf(name);
    this.#WebSocket = WebSocket;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Said>) => this.#hear(data));
    this.#hold(this.#lockOf(this.id), () => undefined);
    this.#hold(this.#name, () => this.#lead());
  }

  /** For the client of this tab. */
  get options(): Pick<ClientOptions, 'WebSocket' | 'renewing'> {
    const connect = (socket: TabSocket) => this.#connect(socket);
    const WebSocket = class extends TabSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        connect(this);
      }
    };
    return { WebSocket, renewing: renewingFor(this.#name) };
  }

  /** Whether this tab has the socket. */
  get leads(): boolean {
    return this.#leads;
  }

  /** The client of this tab: hears what the others renewed the session to, and comes back with the socket. */
  attach(client: ParleyClient): void {
    this.#client = client;
    client.on('renewed', () => this.#say({ kind: 'renewed', session: client.session }));
  }

  /** The tabs of this name that are there, this one among them. */
  async present(): Promise<ReadonlySet<string>> {
    const { held = [] } = await navigator.locks.query();
    const start = this.#lockOf('');
    const names = held.map(({ name = '' }) => name).filter((name) => name.startsWith(start));
    return new Set([this.id, ...names.map((name) => name.slice(start.length))]);
  }

  /** Leaves the others; one of them leads on. */
  close(): void {
    this.#drop(1000);
    this.#socket = undefined;
    this.#client = undefined;
    this.#leads = false;
    this.#abort.abort();
    this.#ended.resolve();
    this.#channel.close();
  }

  #lockOf(tab: string): string {
    return `${this.#name} tab ${tab}`;
  }

  /** Holds a lock, once the browser gives it, until this tab leaves. */
  #hold(name: string, onHeld: () => void): void {
    const work = async () => {
      onHeld();
      await this.#ended.promise;
    };
    // Given up with the tab.
    navigator.locks.request(name, { signal: this.#abort.signal }, work).catch(() => undefined);
  }

  #lead(): void {
    if (this.#abort.signal.aborted) return;
    this.#leads = true;
    this.#say({ kind: 'leads' });
    const socket = this.#socket;
    if (socket?.isOpen === false) return this.#open(socket);
    // What came between two leaders came to nobody: this tab catches up, too.
    this.#closed(BROKEN);
    this.#client?.wake();
  }

  #connect(socket: TabSocket): void {
    this.#socket = socket;
    socket.onSend = (text) => {
      if (this.#leads) this.#forward(this.id, text);
      else this.#say({ kind: 'frame', tab: this.id, text });
    };
    socket.onClose = (code) => {
      if (socket !== this.#socket) return;
      this.#socket = undefined;
      this.#drop(code);
    };
    if (this.#leads) this.#open(socket);
    else this.#say({ kind: 'ask' });
  }

  /** Opens the one socket there is, for this tab and for all. */
  #open({ protocols, url }: TabSocket): void {
    const real = new this.#WebSocket(url, protocols);
    this.#real = real;
    const lost = (code: number) => {
      if (real !== this.#real) return;
      this.#real = undefined;
      this.#say({ kind: 'closed', code });
      this.#closed(code);
    };
    real.addEventListener('open', () => {
      if (real !== this.#real) return;
      this.#awake.clear();
      this.#toldAwake = undefined;
      this.#socket?.open();
      this.#say({ kind: 'opened' });
    });
    real.addEventListener('message', ({ data }) => {
      if (real !== this.#real || typeof data !== 'string') return;
      this.#say({ kind: 'text', text: data });
      this.#socket?.tell('message', { data });
    });
    real.addEventListener('close', ({ code }) => lost(code));
    real.addEventListener('error', () => {
      if (this.#socket?.isOpen !== true) lost(BROKEN);
    });
  }

  /** Closes the socket for all, where this tab leads. */
  #drop(code: number | undefined): void {
    const real = this.#real;
    this.#real = undefined;
    if (real === undefined) return;
    this.#say({ kind: 'closed', code: BROKEN });
    real.close(code);
  }

  #hear(said: Said): void {
    if (said.kind === 'renewed') return this.#client?.adoptSession(said.session);
    if (this.#leads) {
      if (said.kind === 'frame') this.#forward(said.tab, said.text);
      else if (said.kind === 'ask' && this.#socket?.isOpen === true) this.#say({ kind: 'opened' });
      return;
    }
    if (said.kind === 'opened') {
      if (this.#socket === undefined) this.#client?.wake();
      else this.#socket.open();
    } else if (said.kind === 'text' && this.#socket?.isOpen === true) {
      this.#socket.tell('message', { data: said.text });
    } else if (said.kind === 'leads') {
      if (this.#socket?.isOpen === true) this.#closed(BROKEN);
      else if (this.#socket !== undefined) this.#say({ kind: 'ask' });
    } else if (said.kind === 'closed' && (this.#socket?.isOpen === true || !mayReconnect(said.code))) {
      this.#closed(said.code);
    }
  }

  #closed(code: number): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.tell('close', { code });
  }

  /** Sends what a tab says. The device is awake while any of its tabs is. */
  #forward(tab: string, text: string): void {
    if (this.#socket?.isOpen !== true) return;
    const frame = JSON.parse(text) as ClientFrame;
    if (frame.kind !== 'presence') return this.#real?.send(text);
    this.#awake.set(tab, frame.awake);
    if (tab !== this.id) this.#watch(tab);
    this.#tellAwake();
  }

  #tellAwake(): void {
    const awake = [...this.#awake.values()].includes(true);
    if (awake === this.#toldAwake || this.#socket?.isOpen !== true) return;
    this.#toldAwake = awake;
    this.#real?.send(JSON.stringify({ kind: 'presence', awake } satisfies ClientFrame));
  }

  /** A tab that has gone is in front of nobody; its lock tells, however it went. */
  #watch(tab: string): void {
    if (this.#watched.has(tab)) return;
    this.#watched.add(tab);
    const gone = () => {
      this.#awake.delete(tab);
      this.#tellAwake();
    };
    navigator.locks.request(this.#lockOf(tab), { signal: this.#abort.signal }, gone).catch(() => undefined);
  }

  #say(said: Said): void {
    if (!this.#abort.signal.aborted) this.#channel.postMessage(said);
  }
}

/** A socket as the client of one tab sees it. */
class TabSocket implements WebSocketLike {
  readonly url: string;
  readonly protocols: string[];
  isOpen = false;
  onSend: (text: string) => void = () => undefined;
  onClose: (code: number | undefined) => void = () => undefined;
  readonly #listeners = new Map<string, (event: never) => void>();

  constructor(url: string, protocols: string[]) {
    this.url = url;
    this.protocols = protocols;
  }

  /** The client sets one listener for each. */
  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener);
  }

  send(text: string): void {
    this.onSend(text);
  }

  close(code?: number): void {
    this.isOpen = false;
    this.onClose(code);
  }

  open(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.#listeners.get('open')?.({} as never);
  }

  tell(type: 'message' | 'close', event: { readonly data: string } | { readonly code: number }): void {
    if (type === 'close') this.isOpen = false;
    this.#listeners.get(type)?.(event as never);
  }
}
