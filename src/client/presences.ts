/** Who of the people around is online or away: asked for a little after each connect, and kept by the events since. */
import type { PresenceState } from '#src/protocol/sockets/events.ts';
import type { MessagingApi } from './messaging-api.ts';
import { toParleyError } from './parley-error.ts';
import type { ClientContext } from './client-context.ts';
import type { ServerEvent } from './events.ts';

/** An app that was opened asks within this: its list shows nobody yet. */
export const PRESENCE_FIRST_MILLIS = 1_000;
/** Clients that come back together ask over so long: they know who was there, and messages come first. */
export const PRESENCE_SPREAD_MILLIS = 30_000;
/** When it is asked again after it failed. Longer than the server asks a busy client to wait. */
export const PRESENCE_RETRY_MILLIS = 30_000;

export interface Presence {
  readonly user: string;
  readonly state: PresenceState;
}

export class Presences {
  readonly #api: Pick<MessagingApi, 'call'>;
  readonly #surroundings: Pick<ClientContext, 'emitter' | 'random' | 'timers'>;
  readonly #send: (isAwake: boolean) => void;
  readonly #states = new Map<string, PresenceState>();
  /** Who was heard of since the socket opened: an answer that is on its way may be older. */
  readonly #heard = new Set<string>();
  readonly #counts = new Map<string, number>();
  #isAwake: boolean | undefined;
  /** Whether it was answered once. */
  #isKnown = false;
  #cancel: () => void = () => undefined;

  /** `send` says whether the app is in front of the person, where there is a socket. */
  constructor(
    api: Pick<MessagingApi, 'call'>,
    context: Pick<ClientContext, 'emitter' | 'random' | 'timers'>,
    send: (isAwake: boolean) => void,
  ) {
    this.#api = api;
    this.#surroundings = context;
    this.#send = send;
  }

  /** How somebody is, as far as was told: `offline` also for those whose presence is not told to this person. */
  of(user: string): PresenceState {
    return this.#states.get(user) ?? 'offline';
  }

  /** Whether the app is in front of the person. */
  tell(isAwake: boolean): void {
    this.#isAwake = isAwake;
    this.#send(isAwake);
  }

  /** The socket is open: from now on it tells of changes. */
  opened(): void {
    if (this.#isAwake !== undefined) this.#send(this.#isAwake);
    this.#heard.clear();
    this.#counts.clear();
    this.#askIn(this.#surroundings.random() * (this.#isKnown ? PRESENCE_SPREAD_MILLIS : PRESENCE_FIRST_MILLIS));
  }

  /** How many of a large room are there, by its last event or `readIn`; undefined where neither came since the socket opened. */
  countIn(conversation: string): number | undefined {
    return this.#counts.get(conversation);
  }

  /** Asks how many of a conversation are there, and who came last. @throws ParleyError. */
  async readIn(conversation: string): Promise<{ count: number; sample: readonly Presence[] }> {
    const found = await this.#api.call('readConversationPresence', { params: { id: conversation } });
    this.#counts.set(conversation, found.count);
    return found;
  }

  /** An event told of somebody, or of a large room. */
  observe({ conv, data }: ServerEvent<'presence'>): void {
    if ('count' in data) {
      if (conv !== undefined) this.#counts.set(conv, data.count);
      return;
    }
    const { state, user } = data;
    this.#heard.add(user);
    this.#put(user, state);
  }

  close(): void {
    this.#cancel();
    this.#cancel = () => undefined;
  }

  #askIn(millis: number): void {
    this.#cancel();
    this.#cancel = this.#surroundings.timers.after(millis, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const { emitter, timers } = this.#surroundings;
    const cancel = this.#cancel;
    try {
      const { items } = await this.#api.call('readPresence', { params: {} });
      const told = new Map<string, PresenceState>(items.map(({ user, state }) => [user, state]));
      // The socket opened again meanwhile, or the client closed.
      if (cancel !== this.#cancel) return;
      this.#isKnown = true;
      for (const user of new Set([...told.keys(), ...this.#states.keys()])) {
        const state = told.get(user) ?? 'offline';
        if (this.#heard.has(user) || state === this.of(user)) continue;
        this.#put(user, state);
        emitter.emit('presence', { type: 'presence', at: timers.now(), data: { user, state } });
      }
    } catch (thrown) {
      if (cancel !== this.#cancel) return;
      emitter.emit('trouble', { error: toParleyError(thrown) });
      this.#askIn(PRESENCE_RETRY_MILLIS);
    }
  }

  #put(user: string, state: PresenceState): void {
    if (state === 'offline') this.#states.delete(user);
    else this.#states.set(user, state);
  }
}
