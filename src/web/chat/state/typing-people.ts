/** Who is typing where: told by events that say it every few seconds, and forgotten when they stop. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { TYPING_INTERVAL_MILLIS } from '#src/protocol/limits.ts';
import { Observable } from '../../kit/observable.ts';

/** Twice the time between two hints, so that one that is late does not make the line blink. */
const SHOWN_MILLIS = 2 * TYPING_INTERVAL_MILLIS;
const NOBODY: readonly string[] = [];

export class TypingPeople extends Observable {
  readonly #byConversation = new Map<string, Map<string, ReturnType<typeof setTimeout>>>();
  readonly #lists = new Map<string, readonly string[]>();

  constructor(client: ParleyClient) {
    super();
    client.on('typing', ({ conv, data }) => {
      if (conv === undefined) return;
      for (const user of data.sample ?? [data.user]) if (user !== client.user) this.#heard(conv, user);
    });
    // What somebody sent they are not typing any more.
    client.on('message.new', ({ conv, data }) => this.#forget(conv ?? data.conversation_id, data.sender));
  }

  in(conv: string): readonly string[] {
    return this.#lists.get(conv) ?? NOBODY;
  }

  #heard(conv: string, user: string): void {
    const typing = this.#byConversation.get(conv) ?? new Map<string, ReturnType<typeof setTimeout>>();
    this.#byConversation.set(conv, typing);
    clearTimeout(typing.get(user));
    typing.set(
      user,
      setTimeout(() => this.#forget(conv, user), SHOWN_MILLIS),
    );
    this.#redraw(conv);
  }

  #forget(conv: string, user: string): void {
    const typing = this.#byConversation.get(conv);
    if (typing?.has(user) !== true) return;
    clearTimeout(typing.get(user));
    typing.delete(user);
    this.#redraw(conv);
  }

  #redraw(conv: string): void {
    this.#lists.set(conv, [...(this.#byConversation.get(conv)?.keys() ?? [])]);
    this.changed();
  }
}
