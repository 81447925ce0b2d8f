/** Receipts on their way: watermarks, so of many only the highest is sent, and never one below what is known. */
import type { ReceiptState } from '#src/protocol/conversations/conversations.ts';
import { backoffMillis } from '../connection/backoff.ts';
import type { Watermark } from './conversation-mirror.ts';
import { isTransient, type ParleyError, toParleyError } from '../parley-error.ts';
import type { Random, Timers } from '../connection/timers.ts';

/**
 * How long receipts of a conversation gather before one is sent: a burst of messages, or a scroll through them, makes
 * one request, and nobody notices the delay of "seen".
 */
export const RECEIPT_GATHER_MILLIS = 300;

export interface ReceiptsOptions {
  readonly send: (conv: string, state: ReceiptState, seq: number) => Promise<Watermark>;
  readonly timers: Timers;
  readonly random: Random;
  readonly onTrouble: (error: ParleyError) => void;
}

/** One conversation: what is confirmed, and what is wanted beyond it. */
interface Track {
  confirmed: Watermark;
  wanted: { delivered: number; read: number };
  isBusy: boolean;
  failures: number;
  cancelTimer: (() => void) | undefined;
}

export class Receipts {
  readonly #options: ReceiptsOptions;
  readonly #tracks = new Map<string, Track>();

  constructor(options: ReceiptsOptions) {
    this.#options = options;
  }

  /** The person got or read everything up to and including the seq. Lower than what is known or wanted changes nothing. */
  mark(conv: string, state: ReceiptState, seq: number): void {
    const track = this.#trackOf(conv);
    track.wanted[state] = Math.max(track.wanted[state], seq);
    this.#schedule(conv, track, RECEIPT_GATHER_MILLIS);
  }

  /** The server told the person's watermarks, moved by this device or another. */
  observe(conv: string, mark: Partial<Watermark>): void {
    const { confirmed } = this.#trackOf(conv);
    const read = Math.max(confirmed.read, mark.read ?? 0);
    this.#trackOf(conv).confirmed = { read, delivered: Math.max(confirmed.delivered, mark.delivered ?? 0, read) };
  }

  /** The conversation is gone: nothing of it is sent any more. */
  forget(conv: string): void {
    this.#tracks.get(conv)?.cancelTimer?.();
    this.#tracks.delete(conv);
  }

  /** Drops what was not sent: the next look at a conversation marks it again. */
  close(): void {
    for (const conv of [...this.#tracks.keys()]) this.forget(conv);
  }

  #schedule(conv: string, track: Track, millis: number): void {
    if (track.isBusy || track.cancelTimer !== undefined || nextOf(track) === undefined) return;
    track.cancelTimer = this.#options.timers.after(millis, () => {
      track.cancelTimer = undefined;
      void this.#flush(conv, track);
    });
  }

  async #flush(conv: string, track: Track): Promise<void> {
    const next = nextOf(track);
    if (next === undefined) return;
    track.isBusy = true;
    let millis = RECEIPT_GATHER_MILLIS;
    try {
      const { delivered, read } = await this.#options.send(conv, next.state, next.seq);
      track.failures = 0;
      // What was sent is confirmed whatever the answer says, or a wrong one would be asked for again without end.
      const own = next.state === 'read' ? { read: next.seq } : { delivered: next.seq };
      if (this.#tracks.get(conv) === track) {
        this.observe(conv, { delivered, read });
        this.observe(conv, own);
      }
    } catch (thrown) {
      const error = toParleyError(thrown);
      this.#options.onTrouble(error);
      if (isTransient(error)) {
        track.failures += 1;
        millis = backoffMillis(track.failures, this.#options.random, error.retryAfter);
      } else {
        // An answer, not a failure: it would be the same next time.
        track.wanted = { delivered: 0, read: 0 };
      }
    }
    track.isBusy = false;
    if (this.#tracks.get(conv) === track) this.#schedule(conv, track, millis);
  }

  #trackOf(conv: string): Track {
    let track = this.#tracks.get(conv);
    if (track === undefined) {
      const none = { delivered: 0, read: 0 };
      track = { confirmed: none, wanted: { ...none }, isBusy: false, failures: 0, cancelTimer: undefined };
      this.#tracks.set(conv, track);
    }
    return track;
  }
}

/** What to send next: read before delivered, since it implies it up to its seq. */
function nextOf({ confirmed, wanted }: Track): { state: ReceiptState; seq: number } | undefined {
  if (wanted.read > confirmed.read) return { state: 'read', seq: wanted.read };
  return wanted.delivered > confirmed.delivered ? { state: 'delivered', seq: wanted.delivered } : undefined;
}
