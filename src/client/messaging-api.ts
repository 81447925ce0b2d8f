/** The messaging service as the client asks it: each call typed by the protocol's routes, each answer read. */
import type { ReceiptState } from '#src/protocol/conversations.ts';
import { INBOX_PAGE_MAX } from '#src/protocol/limits.ts';
import type { MessagingRoute } from '#src/protocol/routes.ts';
import { CALLS, type CallInput, fillPath, type ReplyOf } from './calls.ts';
import type { Changes, Step, Watermark } from './conversation-mirror.ts';
import { readEvent } from './events.ts';
import type { Http } from './http.ts';
import { clientError } from './parley-error.ts';
import {
  type ChatConversation,
  type ChatMessage,
  type InboxEntry,
  isRecord,
  readConversation,
  readInboxItem,
  readMessage,
} from './records.ts';
import { type AccountRights, type ConversationRights, readAccountRights, readConversationRights } from './rights.ts';
import type { Session } from './session.ts';

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
    const { params, query, body } = input;
    const request = { method, path: fillPath(path, params), query, body };
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
