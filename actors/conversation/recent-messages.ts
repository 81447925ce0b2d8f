/** The messages behind a conversation's last whole block: what the index does not have of them yet. */
import { writeIdempotency, writeSenders } from '#storage/conversations/conversation-writes.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { blockEndingAt } from '#storage/conversations/posted-blocks.ts';

interface Keyed {
  readonly sender: string;
  readonly clientMsgId: string;
  readonly seq: number;
}

export class RecentMessages {
  /** `sender NUL client_msg_id` → the first message posted under it. */
  readonly #keyed = new Map<string, Keyed>();
  readonly #counts = new Map<string, number>();

  /** The seq of the message that a sender posted under this key, if it is one of these. */
  seqOf(sender: string, clientMsgId: string): number | undefined {
    return this.#keyed.get(`${sender}\0${clientMsgId}`)?.seq;
  }

  add(seq: number, sender: string, clientMsgId: string | undefined): void {
    this.#counts.set(sender, (this.#counts.get(sender) ?? 0) + 1);
    if (clientMsgId !== undefined) this.#keyed.set(`${sender}\0${clientMsgId}`, { sender, clientMsgId, seq });
  }

  /** The writes that index the block which ends with the message added last, if one does; then it starts afresh. */
  settle(conversation: string, seq: number): LaneWrite[] {
    const block = blockEndingAt(seq);
    if (block === undefined) return [];
    const writes = [...this.#keyed.values()].map((one) =>
      writeIdempotency(conversation, one.sender, one.clientMsgId, one.seq),
    );
    writes.push(writeSenders(conversation, block, [...this.#counts]));
    this.#keyed.clear();
    this.#counts.clear();
    return writes;
  }
}
