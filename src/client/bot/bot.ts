/** A bot of the installation: its commands, the messages it reads, and its answers, which are each said once. */
import type { BotCommand } from '#src/protocol/bots/commands.ts';
import type { ChatMessage } from '../conversations/records.ts';
import { botSession } from '../connection/session.ts';
import type { ClientOptions } from '../client-context.ts';
import { ParleyClient } from '../parley-client.ts';

export interface BotOptions extends Omit<ClientOptions, 'sessionCookie' | 'renewing'> {
  /** Its token, username and device, as the console shows them when it makes the bot. */
  readonly token: string;
  readonly user: string;
  readonly deviceId: string;
  /** What a handler or the connection failed with; the bot goes on, unless `client` says `signed-out`. Left out: the console. */
  readonly onTrouble?: (error: unknown) => void;
}

/** One use of a command. */
export interface CommandUse {
  readonly args: string;
  /** Who used it, by the session of that person. */
  readonly user: string;
  readonly conversationId: string;
  /** Says something in the conversation, wherever the command was used. @throws ParleyError */
  readonly reply: (text: string) => Promise<ChatMessage>;
  /** Answers its user alone, on the devices that are connected; stored nowhere. @throws ParleyError `response_token_invalid`, `rate_limited`. */
  readonly whisper: (text: string) => Promise<void>;
}

/** A message that somebody else wrote. */
export interface HeardMessage {
  readonly message: ChatMessage;
  readonly conversationId: string;
  /** Says something in the conversation. @throws ParleyError */
  readonly reply: (text: string) => Promise<ChatMessage>;
}

/** May answer a promise; what it fails with is told to `onTrouble`. */
export type CommandHandler = (use: CommandUse) => unknown;
export type MessageHandler = (heard: HeardMessage) => unknown;

interface Offered {
  readonly command: BotCommand;
  readonly handle: CommandHandler;
}

export class Bot {
  /** Everything else that a client can do, with the bot's rights. */
  readonly client: ParleyClient;
  readonly #commands = new Map<string, Offered>();
  readonly #listeners: MessageHandler[] = [];
  readonly #onTrouble: (error: unknown) => void;

  constructor({ token, user, deviceId, onTrouble, ...options }: BotOptions) {
    this.#onTrouble = onTrouble ?? ((error) => console.error(error));
    this.client = ParleyClient.resume({ ...options, session: botSession({ token, user, deviceId }) });
    this.client.on('command', ({ data }) => {
      const { args, command, conversation_id: conversationId, invocation_id: id, response_token, user: by } = data;
      const offered = this.#commands.get(command);
      if (offered === undefined) return;
      const whisper = async (text: string) => {
        await this.client.call('postResponse', { params: {}, body: { response_token, text } });
      };
      this.#run(() =>
        offered.handle({ args, user: by, conversationId, reply: this.#answers(conversationId, id), whisper }),
      );
    });
    this.client.on('message.new', ({ conv, data }) => {
      const conversationId = conv ?? data.conversation_id;
      if (data.sender === user) return;
      const reply = this.#answers(conversationId, `${conversationId}.${data.seq}`);
      for (const listener of this.#listeners) this.#run(() => listener({ message: data, conversationId, reply }));
    });
    this.client.on('trouble', ({ error }) => this.#onTrouble(error));
  }

  /** Offers a slash command; of one name, the last handler counts. `start` tells the server of all of them. */
  command(name: string, about: Omit<BotCommand, 'name'>, handle: CommandHandler): this {
    this.#commands.set(name, { command: { name, ...about }, handle });
    return this;
  }

  /** Hears every message of others, in the conversations where the bot is listed and may read. */
  onMessage(handle: MessageHandler): this {
    this.#listeners.push(handle);
    return this;
  }

  /**
   * States its commands, in the place of those before, and waits until it is connected.
   * @throws ParleyError `field_invalid`, `right_missing`, or what any request may fail with.
   */
  async start(): Promise<void> {
    const commands = [...this.#commands.values()].map(({ command }) => command);
    if (commands.length > 0) await this.client.call('putBotCommands', { params: {}, body: { commands } });
    await this.client.caughtUp();
  }

  /** Disconnects. What was not sent stays in the store, where there is one. */
  stop(): void {
    this.client.close();
  }

  /**
   * Answers to one thing under ids made of it: a use or a message that is told twice, as after a restart of the bot, is answered once.
   */
  #answers(conv: string, id: string): (text: string) => Promise<ChatMessage> {
    let count = 0;
    return async (text) => await this.client.post(conv, text, `${id}.${(count += 1)}`);
  }

  /** A handler that fails is the bot's affair: the others go on. */
  #run(handle: () => unknown): void {
    void (async () => await handle())().catch((error: unknown) => this.#onTrouble(error));
  }
}
