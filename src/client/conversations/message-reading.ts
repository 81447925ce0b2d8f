/** What ties messages to people and to each other, read on demand: threads, mentions, who read what. */
import type { MessagingApi } from '../messaging-api.ts';
import { type ChatMessage, readMessage } from './records.ts';

/** A part of a list, and where it goes on; null at its end. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

export interface ChatMention {
  message: ChatMessage;
  /** Whether the message lies behind what the person has read. */
  unread: boolean;
}

export class MessageReading {
  readonly #api: MessagingApi;

  constructor(api: MessagingApi) {
    this.#api = api;
  }

  /** The messages of the thread that began with this one, in seq order behind `afterSeq`. */
  async replies(conv: string, seq: number, query: { afterSeq?: number; limit?: number } = {}) {
    const { afterSeq: after_seq, limit } = query;
    const reply = await this.#api.call('readReplies', { params: { id: conv, seq }, query: { after_seq, limit } });
    const items = reply.items.map((item) => readMessage(item));
    return { items, next: reply.next === null ? null : Number(reply.next) };
  }

  /** The messages that mention the person, the newest mention first. A page may be short while `next` goes on. */
  async mentions(query: { after?: string; limit?: number } = {}): Promise<Page<ChatMention>> {
    const { items, next } = await this.#api.call('readMentions', { params: {}, query });
    return { items: items.map(({ message, unread }) => ({ message: readMessage(message), unread })), next };
  }

  /** The usernames of those who have read a message; the first page says in `count` how many they are. */
  async readBy(
    conv: string,
    seq: number,
    query: { after?: string; limit?: number } = {},
  ): Promise<Page<string> & { readonly count?: number }> {
    const { items, next, count } = await this.#api.call('readReadBy', { params: { id: conv, seq }, query });
    return { items: items.map(({ user }) => user), next, ...(count === undefined ? {} : { count }) };
  }

  /** Up to where all the others have read; undefined in large rooms and where there is nobody else. */
  async lastCommonRead(conv: string): Promise<number | undefined> {
    return (await this.#api.call('readConversation', { params: { id: conv } })).last_common_read;
  }
}
