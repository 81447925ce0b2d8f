/** The messaging service as the client asks it: each call typed by the protocol's routes, each answer read. */
import type { ReceiptState } from '#src/protocol/conversations/conversations.ts';
import { INBOX_PAGE_MAX } from '#src/protocol/limits.ts';
import type { MessagingRoute } from '#src/protocol/routes.ts';
import { type BodyOf, CALLS, type CallInput, fillPath, type ReplyOf } from './calls.ts';
import type { Changes, Step, Watermark } from './conversations/conversation-mirror.ts';
import { readEvent } from './events.ts';
import type { Http } from './connection/http.ts';
import { clientError } from './parley-error.ts';
import {
  type ChatConversation,
  type ChatMessage,
  type InboxEntry,
  isRecord,
  readConversation,
  readInboxItem,
  readMessage,
} from './conversations/records.ts';
import {
  type AccountRights,
  type ConversationRights,
  readAccountRights,
  readConversationRights,
} from './conversations/rights.ts';
import type { Session } from './connection/session.ts';

export interface InboxPage {
  items: (InboxEntry | { gone: string })[];
  /** Where the walk goes on, or null at its end. */
  next: string | null;
  /** Where a later walk starts to learn only what changed since this one began. */
  sync: string;
}

export interface HistoryQuery {
  afterSeq?: number;
  beforeSeq?: number;
  limit?: number;
}

export interface HistoryPage {
  items: ChatMessage[];
  /** The seq to go on from in the same direction, or null at the end. */
  next: number | null;
}

/** Narrows a search. Times are in milliseconds: from `after` on, up to and not including `before`. */
export interface SearchQuery {
  conversation?: string;
  sender?: string;
  kind?: ChatMessage['kind'];
  after?: number;
  before?: number;
  limit?: number;
  /** The `next` of the page before. */
  cursor?: string;
}

export interface SearchHit extends ChatMessage {
  /** Where what was searched stands in the message's text, from and up to, in UTF-16 units. */
  highlights: readonly (readonly [from: number, to: number])[];
}

export interface SearchPage {
  items: SearchHit[];
  /** Where the search goes on, or null when everything was looked at. A page may be short or empty before that. */
  next: string | null;
}

export class MessagingApi {
  readonly #session: Session;
  readonly #http: Http;

  constructor(session: Session, http: Http) {
    this.#session = session;
    this.#http = http;
  }

  /** Any call of the protocol's route table, with the session's credential. @throws ParleyError */
  async call<Name extends MessagingRoute>(name: Name, input: CallInput<Name>): Promise<ReplyOf<Name>> {
    const [method, path] = CALLS[name];
    const { params, query, body, outlivesPage } = input;
    const request = { method, path: fillPath(path, params), query, body, outlivesPage };
    return (await this.#session.request(this.#http, request)) as ReplyOf<Name>;
  }

  async readInbox(after?: string, limit: number = INBOX_PAGE_MAX): Promise<InboxPage> {
    const reply = await this.call('readInbox', { params: {}, query: { after, limit } });
    return { ...reply, items: itemsOf(reply).map((item) => readInboxItem(item)) };
  }

  async readConversation(conv: string): Promise<ChatConversation> {
    return readConversation(await this.call('readConversation', { params: { id: conv } }));
  }

  async readHistory(conv: string, query: HistoryQuery = {}): Promise<HistoryPage> {
    const { afterSeq: after_seq, beforeSeq: before_seq, limit } = query;
    const reply = await this.call('readMessages', { params: { id: conv }, query: { after_seq, before_seq, limit } });
    return {
      items: itemsOf(reply).map((item) => readMessage(item)),
      next: reply.next === null ? null : Number(reply.next),
    };
  }

  async search(q: string, query: SearchQuery = {}): Promise<SearchPage> {
    const { after, before, ...rest } = query;
    const [from, to] = [after, before].map((at) => (at === undefined ? undefined : new Date(at).toISOString()));
    const reply = await this.call('searchMessages', { params: {}, query: { q, after: from, before: to, ...rest } });
    const items = itemsOf(reply).map(({ highlights, ...message }) => ({ ...readMessage(message), highlights }));
    return { items, next: reply.next };
  }

  async readChanges(conv: string, afterRev: number): Promise<Changes> {
    const reply = await this.call('readChanges', { params: { id: conv }, query: { after_rev: afterRev } });
    const watermarks = reply.watermarks.map(({ user, ...mark }): [string, Watermark] => [user, mark]);
    return {
      complete: reply.complete,
      steps: itemsOf(reply).map((item) => readStep(item)),
      rev: reply.rev,
      headSeq: reply.head_seq,
      epoch: reply.epoch,
      watermarks: new Map(watermarks),
    };
  }

  async delete(conv: string, seq: number): Promise<ChatMessage> {
    return readMessage(await this.call('deleteMessage', { params: { id: conv, seq } }));
  }

  async removePreview(conv: string, seq: number): Promise<ChatMessage> {
    return readMessage(await this.call('removePreview', { params: { id: conv, seq } }));
  }

  async edit(
    conv: string,
    seq: number,
    edited: BodyOf<'editMessage'>['body'],
    mentions: BodyOf<'editMessage'>['mentions'] = [],
  ): Promise<ChatMessage> {
    const body = { body: edited, ...(mentions.length === 0 ? {} : { mentions }) };
    return readMessage(await this.call('editMessage', { params: { id: conv, seq }, body }));
  }

  async postReceipt(conv: string, state: ReceiptState, seq: number): Promise<Watermark> {
    return await this.call('postReceipt', { params: { id: conv }, body: { state, seq } });
  }

  readAccountRights(): Promise<AccountRights> {
    return readAccountRights(() => this.call('readCapabilities', { params: {} }));
  }

  readConversationRights(conv: string): Promise<ConversationRights> {
    return readConversationRights(() => this.call('readRights', { params: { id: conv } }));
  }
}

/** A stored change: counted even where its type came later than this client. */
function readStep(wire: { rev: number; rev_count: number }): Step {
  return { rev: wire.rev, revCount: wire.rev_count, event: readEvent(wire) };
}

function itemsOf<Item>(reply: { items: Item[] }): Item[] {
  if (!isRecord(reply) || !Array.isArray(reply.items)) throw clientError('answer_unreadable', { field: 'items' });
  return reply.items;
}
