/** A reader's copy of one conversation, kept by its changes alone. */
import type { Message, Reaction } from '#src/protocol/conversations/messages.ts';
import type { TestEvent } from '#test/support/socket.ts';

export class Mirror {
  readonly messages = new Map<number, Message>();
  rev = 0;
  /** Changes are missing before those that are held; nothing is applied until they were read. */
  isBehind = true;
  #held: TestEvent[] = [];

  /** An event of the socket. Answers false when changes before it are missing. */
  receive(event: TestEvent): boolean {
    if (event.rev === undefined) return true;
    if (this.isBehind) {
      this.#held.push(event);
      return true;
    }
    if (event.rev <= this.rev) return true;
    if (event.rev - (event.rev_count ?? 1) !== this.rev) {
      this.isBehind = true;
      this.#held.push(event);
      return false;
    }
    this.#apply(event);
    return true;
  }

  /** Changes that were read, in order. */
  readChanges(items: readonly TestEvent[]): void {
    for (const item of items) {
      if ((item.rev ?? 0) <= this.rev) continue;
      if ((item.rev ?? 0) !== this.rev + 1) throw new Error(`The changes jump from ${this.rev} to ${item.rev}.`);
      this.#apply(item);
    }
  }

  /** The whole state instead of changes. */
  startAfresh(messages: readonly Message[], rev: number): void {
    this.messages.clear();
    for (const message of messages) this.messages.set(message.seq, message);
    this.rev = rev;
  }

  /** Goes on with what arrived while changes were read. Answers false when there is a hole again. */
  resume(): boolean {
    this.isBehind = false;
    const held = this.#held;
    this.#held = [];
    for (const [at, event] of held.entries()) {
      if (this.receive(event)) continue;
      this.#held.push(...held.slice(at + 1));
      return false;
    }
    return true;
  }

  /** Drops what nobody will compare again. */
  forgetUpTo(seq: number): void {
    for (const known of this.messages.keys()) if (known <= seq) this.messages.delete(known);
  }

  #apply(event: TestEvent): void {
    this.rev = event.rev as number;
    if (event.type.startsWith('message.')) {
      const message = event.data as unknown as Message;
      this.messages.set(message.seq, message);
    } else if (event.type === 'reaction') {
      const { seq, emoji, count, users } = event.data as unknown as Reaction & { seq: number };
      const message = this.messages.get(seq);
      if (message === undefined) return;
      const others = (message.reactions ?? []).filter((reaction) => reaction.emoji !== emoji);
      message.reactions = count === 0 ? others : [...others, { emoji, count, users }];
    }
  }
}
