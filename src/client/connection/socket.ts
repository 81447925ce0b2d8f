/** The one socket of this device: opened, kept open, and given up when the server says so. */
import { CLOSE_CODES, mayReconnect } from '#src/protocol/sockets/close-codes.ts';
import type { ClientFrame } from '#src/protocol/sockets/frames.ts';
import { PROTOCOL_VERSION, SUBPROTOCOL_PREFIX, TOKEN_SUBPROTOCOL_PREFIX } from '#src/protocol/version.ts';
import { backoffMillis } from './backoff.ts';
import type { Random, Timers } from './timers.ts';

/** A handshake that takes longer hangs; it is given up and counts as a failed connection. */
export const CONNECT_MILLIS_MAX = 15_000;

/** A connection that lived this long was a good one: the next break starts again with the shortest wait. */
export const STABLE_MILLIS = 5_000;

/**
 * A socket that brought nothing for this long may be dead: a page sees no pings, and a network that went away tells
 * nobody. Then it is asked over HTTP whether anything was missed. Seldom enough that ten thousand idle clients ask
 * for less than a hundred pages a second.
 */
export const QUIET_MILLIS_MAX = 120_000;

/** The part of a WebSocket that is used: a browser's, Node's own, or another that a caller brings. */
export interface WebSocketLike {
  send(text: string): void;
  close(code?: number): void;
  addEventListener(type: 'open', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { code: number }) => void): void;
  addEventListener(type: 'error', listener: () => void): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/**
 * Why a socket stopped for good: closed by the application, signed out, too old to be served, or refused for another
 * reason that coming back would not change.
 */
export type StopReason = 'closed' | 'signed-out' | 'too-old' | 'refused';

export type ConnectionReport =
  | { state: 'connecting' | 'open' }
  /** The next attempt comes after so many milliseconds. `code` is the close code, where the socket had opened. */
  | { state: 'waiting'; millis: number; code?: number }
  | { state: 'stopped'; reason: StopReason; code?: number };

/** What asking the server revealed about a failed connection: whether to stop, or how long to wait at least. */
export type Verdict = { stop: StopReason } | { stop?: undefined; retryAfter?: number | undefined };

export interface SocketOptions {
  /** The messaging service's base address, http or https. */
  readonly url: string;
  readonly WebSocket: WebSocketConstructor;
  readonly timers: Timers;
  readonly random: Random;
  /** The credential of the next handshake. */
  readonly credentials: () => { token: string; device: string };
  /** Asks over HTTP why a connection failed: a page's WebSocket hides the answer to its handshake. */
  readonly probe: () => Promise<Verdict>;
  /** Replaces the token that a session-over close was about. */
  readonly renew: (token: string) => Promise<Verdict>;
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  /** The open socket brought nothing for QUIET_MILLIS_MAX. Told again each time that passes. */
  readonly onQuiet: () => void;
  readonly onReport: (report: ConnectionReport) => void;
}

export class Socket {
  readonly #options: SocketOptions;
  #socket: WebSocketLike | undefined;
  #report: ConnectionReport = { state: 'stopped', reason: 'closed' };
  #failures = 0;
  #openedAt = 0;
  #heardAt = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#report.state === 'open';
  }

  /** Connects, and from then on stays connected until stopped. */
  open(): void {
    if (this.#report.state !== 'stopped') return;
    this.#failures = 0;
    this.#connect();
  }

  /** Connects at once if it was only waiting to: the page became visible, the network came back. */
  wake(): void {
    // While a probe is under way there is no timer, and its answer decides.
    if (this.#report.state === 'waiting' && this.#cancelTimer !== undefined) this.#connect();
  }

  /** Sends a frame if the socket is open; a hint for a socket that is not has nobody to reach. */
  send(frame: ClientFrame): boolean {
    if (this.#socket === undefined || !this.isOpen) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Gives the socket up as dead, although nobody closed it, and comes back as after any break. */
  giveUp(): void {
    const socket = this.#socket;
    if (socket === undefined || !this.isOpen) return;
    this.#closed(socket, '', 1006);
    socket.close();
  }

  /** Stops for good. */
  stop(reason: StopReason, code?: number): void {
    if (this.#report.state === 'stopped') return;
    this.#clearTimer();
    const socket = this.#socket;
    this.#socket = undefined;
    this.#tell({ state: 'stopped', reason, ...(code === undefined ? {} : { code }) });
    socket?.close(1000);
  }

  #connect(): void {
    this.#clearTimer();
    this.#tell({ state: 'connecting' });
    const { url, WebSocket, timers, credentials } = this.#options;
    const { token, device } = credentials();
    const query = new URLSearchParams({ device });
    const address = `${url.replace(/\/+$/, '').replace(/^http/, 'ws')}/v1/ws?${query}`;
    const shown = `${TOKEN_SUBPROTOCOL_PREFIX}${encodeURIComponent(token)}`;
    const socket = new WebSocket(address, [`${SUBPROTOCOL_PREFIX}${PROTOCOL_VERSION}`, shown]);
    this.#socket = socket;
    socket.addEventListener('open', () => this.#opened(socket));
    socket.addEventListener('message', ({ data }) => {
      if (socket !== this.#socket || typeof data !== 'string') return;
      this.#heardAt = timers.now();
      this.#options.onText(data);
    });
    socket.addEventListener('close', ({ code }) => this.#closed(socket, token, code));
    // Node 22 reports a failed handshake by an error alone. Once open, a close follows and says more.
    socket.addEventListener('error', () => {
      if (!this.isOpen) this.#closed(socket, token, 1006);
    });
    this.#cancelTimer = timers.after(CONNECT_MILLIS_MAX, () => {
      this.#closed(socket, token, 1006);
      socket.close();
    });
  }

  #opened(socket: WebSocketLike): void {
    if (socket !== this.#socket) return;
    this.#clearTimer();
    this.#openedAt = this.#options.timers.now();
    this.#heardAt = this.#openedAt;
    this.#watch(QUIET_MILLIS_MAX);
    this.#tell({ state: 'open' });
    this.#options.onOpen();
  }

  #closed(socket: WebSocketLike, token: string, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#clearTimer();
    const hadOpened = this.#report.state === 'open';
    if (!mayReconnect(code)) return this.stop(reasonOf(code), code);
    if (hadOpened && this.#options.timers.now() - this.#openedAt >= STABLE_MILLIS) this.#failures = 0;
    this.#failures += 1;
    if (code === CLOSE_CODES.sessionOver) return this.#ask(() => this.#options.renew(token), code);
    if (!hadOpened) return this.#ask(() => this.#options.probe());
    this.#wait(code);
  }

  /** Asks first, then waits or stops as the verdict says. */
  #ask(question: () => Promise<Verdict>, code?: number): void {
    this.#tell({ state: 'waiting', millis: 0, ...(code === undefined ? {} : { code }) });
    const asked = this.#report;
    void question().then((verdict) => {
      // Stopped meanwhile: the answer came too late to matter.
      if (this.#report !== asked) return;
      if (verdict.stop === undefined) this.#wait(code, verdict.retryAfter);
      else this.stop(verdict.stop, code);
    });
  }

  #wait(code?: number, retryAfter?: number): void {
    const millis = backoffMillis(this.#failures, this.#options.random, retryAfter);
    this.#cancelTimer = this.#options.timers.after(millis, () => this.#connect());
    this.#tell({ state: 'waiting', millis, ...(code === undefined ? {} : { code }) });
  }

  #watch(millis: number): void {
    const { timers, onQuiet } = this.#options;
    this.#cancelTimer = timers.after(millis, () => {
      const quiet = timers.now() - this.#heardAt;
      const isQuiet = quiet >= QUIET_MILLIS_MAX;
      // A clock set back must not postpone the next look.
      this.#watch(isQuiet || quiet < 0 ? QUIET_MILLIS_MAX : QUIET_MILLIS_MAX - quiet);
      if (isQuiet) onQuiet();
    });
  }

  #clearTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #tell(report: ConnectionReport): void {
    this.#report = report;
    this.#options.onReport(report);
  }
}

function reasonOf(code: number): StopReason {
  if (code === CLOSE_CODES.revoked) return 'signed-out';
  return code === CLOSE_CODES.clientTooOld ? 'too-old' : 'refused';
}
