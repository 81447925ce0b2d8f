/**
 * The sockets of bots: which conversations each hears, and which events of them (BOT-01). They are apart from those of
 * people, who hear a conversation whole: a bot hears what its scopes read of the conversations in its list.
 */
import type { Except } from '#actors/runtime/actor.ts';
import { BOT_EVENT_SCOPES } from '#src/protocol/bots/bots.ts';
import type { EventType } from '#src/protocol/sockets/events.ts';
import type { Bot } from './bot-access.ts';
import type { Socket } from '../sockets/socket.ts';
import { addTo, removeFrom } from '../sockets/socket-sets.ts';

/** What the library answers for a message that it dropped, since too much waits for the reader. */
const DROPPED = 2;

/** The conversation of an event, which stands second in its text where it has one. */
const CONVERSATION_OF_EVENT = /^\{"type":"[a-z.]+","conv":"([^"]+)"/;

export interface BotSocketsOptions {
  /** Whether that person takes part in any of the bot's conversations, the bot beside them. */
  readonly sharesListed: (bot: Bot, user: string) => boolean;
  /** The socket did not read: an event is lost to it. */
  readonly overflow: (socket: Socket) => void;
}

export class BotSockets {
  readonly #options: BotSocketsOptions;
  /** Conversation → the sockets that hear it. */
  readonly #hearing = new Map<string, Set<Socket>>();
  /** Person's topic → sockets. */
  readonly #own = new Map<string, Set<Socket>>();
  readonly #memberships = new Map<Socket, ReadonlySet<string>>();

  constructor(options: BotSocketsOptions) {
    this.#options = options;
  }

  /** Takes a socket in; `conversations` are those in which its bot takes part. */
  add(socket: Socket, topic: string, conversations: readonly string[]): void {
    addTo(this.#own, topic, socket);
    this.#memberships.set(socket, new Set(conversations));
    this.refresh(socket);
  }

  remove(socket: Socket, topic: string): void {
    this.#memberships.delete(socket);
    removeFrom(this.#own, topic, socket);
    for (const conversation of [...this.#hearing.keys()]) removeFrom(this.#hearing, conversation, socket);
  }

  sockets(): readonly Socket[] {
    return [...this.#memberships.keys()];
  }

  /** The bot of this socket changed: from here on it hears what it may hear now. */
  refresh(socket: Socket): void {
    const memberships = this.#memberships.get(socket);
    if (memberships === undefined) return;
    const listed = botOf(socket)?.conversations;
    for (const conversation of [...this.#hearing.keys()]) {
      if (listed?.has(conversation) !== true) removeFrom(this.#hearing, conversation, socket);
    }
    for (const conversation of memberships) {
      if (listed?.has(conversation) === true) addTo(this.#hearing, conversation, socket);
    }
  }

  /** The bot of this socket joined a conversation, or left it. */
  membership(socket: Socket, conversation: string, joined: boolean): void {
    const memberships = this.#memberships.get(socket);
    if (memberships === undefined) return;
    const changed = new Set(memberships);
    if (joined) changed.add(conversation);
    else changed.delete(conversation);
    this.#memberships.set(socket, changed);
    if (!joined) removeFrom(this.#hearing, conversation, socket);
    else if (botOf(socket)?.conversations.has(conversation) === true) addTo(this.#hearing, conversation, socket);
  }

  disband(conversation: string): void {
    this.#hearing.delete(conversation);
  }

  hearers(conversation: string): number {
    return this.#hearing.get(conversation)?.size ?? 0;
  }

  hears(socket: Socket, conversation: string): boolean {
    return this.#hearing.get(conversation)?.has(socket) === true;
  }

  /** Hands an event to the bots that may hear it; answers how many did. */
  deliver(topic: string, type: EventType, event: string, except: Except | undefined): number {
    const sockets = this.#hearing.get(topic) ?? this.#own.get(topic);
    if (sockets === undefined) return 0;
    const isOwn = !this.#hearing.has(topic);
    let delivered = 0;
    for (const socket of [...sockets]) {
      const data = socket.getUserData();
      if (data.closing !== undefined || data.user === except?.user || data.device === except?.device) continue;
      if (except?.users?.includes(data.user) === true) continue;
      if (!this.#mayHear(socket, type, event, isOwn)) continue;
      delivered += 1;
      if (socket.send(event) === DROPPED) this.#options.overflow(socket);
    }
    return delivered;
  }

  #mayHear(socket: Socket, type: EventType, event: string, isOwn: boolean): boolean {
    const bot = botOf(socket);
    const scope = BOT_EVENT_SCOPES[type];
    if (bot === undefined || scope === null || !bot.scopes.has(scope)) return false;
    if (!isOwn) return true;
    const conversation = CONVERSATION_OF_EVENT.exec(event)?.[1];
    if (conversation !== undefined) return bot.conversations.has(conversation);
    // What belongs to no conversation is none of a bot's business, but for the presence of those it works with.
    if (type !== 'presence') return false;
    const { data } = JSON.parse(event) as { data: { user: string } };
    return this.#options.sharesListed(bot, data.user);
  }
}

function botOf(socket: Socket): Bot | undefined {
  return socket.getUserData().seat?.bot;
}
