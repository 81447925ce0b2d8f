/** How often a vendor token may ask for a journal (VND-11): so many in any minute, each token by itself. */
import { Refusal } from '#src/protocol/errors.ts';

/** Asks of one token in any 60 seconds; the next is `rate_limited`, and does not count itself. */
export const JOURNAL_ASKS_PER_MINUTE = 4;

const WINDOW_MILLIS = 60_000;

/**
 * Tokens remembered at once. Only tokens that are good get here, and an installation has a handful; beyond it those
 * whose minute is over are forgotten, which changes nothing for them.
 */
const TOKENS_MAX = 1_000;

export class JournalAsks {
  /** Token id → when it asked within the last minute, the oldest first. */
  readonly #asked = new Map<string, number[]>();

  /**
   * Counts an ask of a token.
   * @param now milliseconds on a clock that never jumps: `performance.now()`.
   * @throws Refusal `rate_limited`, with the seconds until the oldest ask of the last minute is over.
   */
  take(tokenId: string, now: number): void {
    const recent = (this.#asked.get(tokenId) ?? []).filter((at) => now - at < WINDOW_MILLIS);
    if (recent.length >= JOURNAL_ASKS_PER_MINUTE) {
      const oldest = recent[0] as number;
      throw new Refusal('rate_limited', { retryAfter: Math.ceil((oldest + WINDOW_MILLIS - now) / 1000) });
    }
    if (this.#asked.size >= TOKENS_MAX) this.#forgetSettled(now);
    this.#asked.set(tokenId, [...recent, now]);
  }

  #forgetSettled(now: number): void {
    for (const [id, asks] of this.#asked) {
      if (now - (asks.at(-1) as number) >= WINDOW_MILLIS) this.#asked.delete(id);
    }
  }
}
