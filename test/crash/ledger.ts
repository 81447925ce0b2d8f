/** What the clients know they did: the side of the comparison that no crash of the server can change. */
import type { Lose } from './part.ts';

/** One message, from the first attempt to post it. */
export interface PostRecord {
  readonly conv: string;
  readonly sender: string;
  readonly id: string;
  readonly body: string;
  /** The message that it answers, and whom it mentions at its start. */
  readonly links: Links;
  /** Place among the posts of this sender here: they were sent one after the other. */
  readonly order: number;
  /** The acknowledged seq; undefined while nobody answered. */
  seq: number | undefined;
  /** The body after the last acknowledged edit. */
  edited: string | undefined;
  /** Bodies of edits after that which nobody answered: each may have landed. */
  readonly openEdits: Set<string>;
  /** Who reacted, acknowledged, and who tried. Everybody has one emoji. */
  readonly reacted: Set<string>;
  readonly openReactions: Set<string>;
}

/** What ties a post to a message and to people. */
export interface Links {
  readonly reply_to?: number;
  readonly mentions?: readonly { readonly username: string; readonly offset: 0; readonly length: 1 }[];
}

export class ConversationLedger {
  readonly id: string;
  readonly members: readonly string[];
  readonly posts = new Map<string, PostRecord>();
  readonly bySeq = new Map<number, PostRecord>();
  /** Highest read receipt acknowledged, by reader. */
  readonly read = new Map<string, number>();
  /** Up to here the history was compared, and nobody changes it any more. */
  verified = 0;
  readonly #orders = new Map<string, number>();

  constructor(id: string, members: readonly string[]) {
    this.id = id;
    this.members = members;
  }

  /** A message that is about to be posted. */
  begin(sender: string, body: string, links: Links = {}): PostRecord {
    const order = (this.#orders.get(sender) ?? 0) + 1;
    this.#orders.set(sender, order);
    const id = `${sender}-${order}`;
    const post: PostRecord = {
      conv: this.id,
      sender,
      id,
      body,
      links,
      order,
      seq: undefined,
      edited: undefined,
      openEdits: new Set(),
      reacted: new Set(),
      openReactions: new Set(),
    };
    this.posts.set(id, post);
    return post;
  }

  acknowledge(post: PostRecord, seq: number): void {
    post.seq = seq;
    this.bySeq.set(seq, post);
  }

  get unanswered(): PostRecord[] {
    return [...this.posts.values()].filter((post) => post.seq === undefined);
  }
}

export class Ledger {
  readonly conversations = new Map<string, ConversationLedger>();
  acked = 0;
  retried = 0;
  /** Attempts whose answer never came, found stored all the same when they were repeated. */
  landed = 0;
  repeated = 0;
  edits = 0;
  reactions = 0;
  receipts = 0;
  readonly lose: Lose;

  constructor(lose: Lose) {
    this.lose = lose;
  }

  add(id: string, members: readonly string[]): ConversationLedger {
    const conversation = new ConversationLedger(id, members);
    this.conversations.set(id, conversation);
    return conversation;
  }
}
