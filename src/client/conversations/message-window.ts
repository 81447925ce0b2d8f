/** The newest messages of one conversation as far as they are known: a run of seqs without holes, up to the head. */
import type { Reaction } from '#src/protocol/conversations/messages.ts';
import type { ChatMessage } from './records.ts';

/**
 * Messages kept per conversation. A screen shows ten and scrolling back reads pages; beyond this the oldest are
 * forgotten and can be read again.
 */
export const MESSAGES_KEPT_MAX = 500;

export class MessageWindow {
  readonly #bySeq = new Map<number, ChatMessage>();
  #from: number;

  /** Empty, in front of a head: everything up to and including `headSeq` is not known. */
  constructor(headSeq: number) {
    this.#from = headSeq + 1;
  }

  /** The seq from which on every message up to the head is here. */
  get from(): number {
    return this.#from;
  }

  get(seq: number): ChatMessage | undefined {
    return this.#bySeq.get(seq);
  }

  /** The messages in seq order. */
  list(): ChatMessage[] {
    return [...this.#bySeq.values()].toSorted((a, b) => a.seq - b.seq);
  }

  /**
   * Takes in the next message after the head. A later form of it may be here already, since a page read over HTTP and
   * the events of the socket overtake each other; then that stays.
   */
  add(message: ChatMessage): void {
    if (message.seq + 1 < this.#from) return;
    this.#put(message);
    this.#countReply(message);
    this.#from = Math.min(this.#from, message.seq);
    this.#trim();
  }

  /** Takes in a changed form of a message, if the message is here. A deleted one never comes back. */
  replace(message: ChatMessage): void {
    if (this.#bySeq.has(message.seq)) this.#put(message);
  }

  /**
   * Takes a page of history in if it touches the window, so that no hole arises. Answers whether it did.
   * `items` are in seq order and without holes themselves.
   */
  merge(items: readonly ChatMessage[]): boolean {
    const first = items[0];
    const last = items.at(-1);
    if (first === undefined || last === undefined || last.seq + 1 < this.#from) return false;
    // Newest first, so that trimming drops the oldest when the page is larger than what is kept.
    for (const message of items.toReversed()) {
      const held = this.#bySeq.get(message.seq);
      // A page carries the whole message with its reactions; held ones may be from before it was read.
      if (held === undefined || !isLater(held, message)) this.#bySeq.set(message.seq, message);
    }
    this.#from = Math.min(this.#from, first.seq);
    this.#trim();
    return true;
  }

  /** Puts in how many people reacted with an emoji, and who of them is listed: nobody any more takes it away. */
  setReaction(seq: number, reaction: Reaction): void {
    const message = this.#bySeq.get(seq);
    if (message === undefined || message.deletedAt !== undefined) return;
    const { reactions: known = [], ...rest } = message;
    const isKnown = known.some(({ emoji }) => emoji === reaction.emoji);
    const all = isKnown ? known.map((one) => (one.emoji === reaction.emoji ? reaction : one)) : [...known, reaction];
    const reactions = all.filter(({ count }) => count > 0);
    this.#bySeq.set(seq, reactions.length === 0 ? rest : { ...rest, reactions });
  }

  /** Forgets everything before a seq: its content was purged. */
  purge(beforeSeq: number): void {
    for (const seq of this.#bySeq.keys()) if (seq < beforeSeq) this.#bySeq.delete(seq);
    this.#from = Math.max(this.#from, beforeSeq);
  }

  #put(message: ChatMessage): void {
    const held = this.#bySeq.get(message.seq);
    if (held !== undefined && isLater(held, message)) return;
    // An announcement may come without the reactions, which neither posting nor editing changes.
    const isBare = message.reactions === undefined && message.deletedAt === undefined;
    const kept = isBare && held?.reactions !== undefined ? { reactions: held.reactions } : {};
    this.#bySeq.set(message.seq, { ...message, ...kept });
  }

  /** Brings the root of a thread up to a message of it. One that the root counts already changes nothing. */
  #countReply({ root_seq: root, seq }: ChatMessage): void {
    const held = root === undefined ? undefined : this.#bySeq.get(root);
    if (held === undefined || (held.last_reply_seq ?? 0) >= seq) return;
    this.#bySeq.set(held.seq, { ...held, reply_count: (held.reply_count ?? 0) + 1, last_reply_seq: seq });
  }

  #trim(): void {
    while (this.#bySeq.size > MESSAGES_KEPT_MAX) {
      while (!this.#bySeq.delete(this.#from)) this.#from += 1;
      this.#from += 1;
    }
  }
}

/** Whether what is held is from after the other form of the same message. */
function isLater(held: ChatMessage, other: ChatMessage): boolean {
  if (held.deletedAt !== undefined) return true;
  return other.deletedAt === undefined && (held.editedAt ?? 0) > (other.editedAt ?? 0);
}
