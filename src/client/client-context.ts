/** What every part of a client needs and none makes for itself, from what the application gave. */
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { Emitter } from './emitter.ts';
import type { ClientEvents } from './events.ts';
import { type Fetch, Http } from './connection/http.ts';
import type { ConversationStore } from './conversations/kept-conversations.ts';
import type { OutboxStore } from './conversations/outbox.ts';
import type { WebSocketConstructor } from './connection/socket.ts';
import { StandingWatch } from './connection/standing.ts';
import { type Random, systemTimers, type Timers } from './connection/timers.ts';

export interface ClientOptions {
  /** Base address of the coordinator, without `/v1`. */
  coordinatorUrl: string;
  /** Base address of the messaging service, without `/v1`. */
  messagingUrl: string;
  /** Base address of the calendar service, without `/v1`, for who uses it. */
  calendarUrl?: string;
  /** The platform's own when left out; so is `WebSocket`. */
  fetch?: Fetch;
  WebSocket?: WebSocketConstructor;
  /**
   * Whether what renews the session is kept in a cookie, which no script reads: for a page that the coordinator itself serves. What
   * the application keeps then is no secret: `cookieSession` goes on with it.
   */
  sessionCookie?: boolean;
  /** Lets one tab at a time renew the session, where several share it: `tabs.renewing` of `client-tabs.ts`. */
  renewing?: (renew: () => Promise<void>) => Promise<void>;
  /** Where unsent messages live over a reload. Without one they live as long as the client. */
  store?: OutboxStore;
  /** Where conversations live over a reload, so that they are there at once and without a network. Without one they are read anew. */
  conversationStore?: ConversationStore;
  timers?: Timers;
  random?: Random;
}

export interface SignInOptions extends ClientOptions {
  username: string;
  password: string;
  /** What this device is called and runs on; `id` is the one an earlier sign-in got, so that it stays one device. */
  device?: { name: string; platform: string; id?: string };
}

export interface ResumeOptions extends ClientOptions {
  /** What `client.session` was when it was last kept. */
  session: Session;
}

export interface ClientContext {
  readonly timers: Timers;
  readonly random: Random;
  readonly WebSocket: WebSocketConstructor;
  readonly emitter: Emitter<ClientEvents>;
  readonly standing: StandingWatch;
  readonly coordinator: Http;
  readonly messaging: Http;
  readonly calendar: Http | undefined;
}

/** The surroundings of a new client. */
export function surround(options: ClientOptions): ClientContext {
  const { timers = systemTimers, random = Math.random } = options;
  const emitter = new Emitter<ClientEvents>();
  const standing = new StandingWatch(PROTOCOL_VERSION, (now) => emitter.emit('standing', { standing: now }));
  // Called as a plain function: a browser's fetch refuses to be called as anybody's method.
  const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const shared = { fetch, timers, standing };
  return {
    timers,
    random,
    WebSocket: options.WebSocket ?? globalThis.WebSocket,
    emitter,
    standing,
    coordinator: new Http({ url: options.coordinatorUrl, ...shared }),
    messaging: new Http({ url: options.messagingUrl, ...shared }),
    calendar: options.calendarUrl === undefined ? undefined : new Http({ url: options.calendarUrl, ...shared }),
  };
}
