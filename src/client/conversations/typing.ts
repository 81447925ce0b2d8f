/** Typing frames, at most one per conversation in the time the server accepts one. */
import { TYPING_INTERVAL_MILLIS } from '#src/protocol/limits.ts';
import type { Timers } from '../connection/timers.ts';

export class Typing {
  readonly #send: (conv: string) => boolean;
  readonly #timers: Timers;
  readonly #sentAt = new Map<string, number>();

  /** `send` writes the frame and answers whether it could. */
  constructor(send: (conv: string) => boolean, timers: Timers) {
    this.#send = send;
    this.#timers = timers;
  }

  /**
   * The person is typing in the conversation: call it with every key. Answers whether a frame went out; within the
   * interval, or without a socket, none does and nothing is kept, since a hint is only true now.
   */
  type(conv: string): boolean {
    const now = this.#timers.now();
    const before = this.#sentAt.get(conv);
    // A clock set back must not silence typing until it has caught up.
    if (before !== undefined && now >= before && now - before < TYPING_INTERVAL_MILLIS) return false;
    if (!this.#send(conv)) return false;
    this.#forgetOld(now);
    this.#sentAt.set(conv, now);
    return true;
  }

  /** Keeps the map at the few conversations somebody can type in within one interval. */
  #forgetOld(now: number): void {
    for (const [conv, at] of this.#sentAt)
      if (now - at >= TYPING_INTERVAL_MILLIS || now < at) this.#sentAt.delete(conv);
  }
}
