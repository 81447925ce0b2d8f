/**
 * The last journal chunk of each node, shared by whoever reads journals (VND-12): an administrator gets one that a
 * vendor asked for as it is, a vendor one that an administrator asked for de-personalised.
 *
 * In memory alone: a journal holds what people wrote and what programs leaked, and on disk it would be in every backup.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { cutJournal } from '#src/protocol/hosts/journal-text.ts';
import type { Ask } from './node-asks.ts';

/** All chunks together, in bytes. Beyond it the one that came first goes: it can be asked for again. */
export const CHUNKS_BYTES_MAX = 64 * 1024 * 1024;

export interface StoredChunk {
  readonly ask: Pick<Ask, 'id' | 'unit' | 'lines' | 'actor' | 'askedAt'>;
  readonly receivedAt: string;
  readonly text: string;
  /** What the agent says went wrong; null where nothing did. */
  readonly problem: string | null;
  /** Bytes that were cut at the start. */
  readonly cutBytes: number;
}

export class JournalChunks {
  readonly #clock: Clock;
  /** In the order in which they came. */
  readonly #chunks = new Map<string, { readonly chunk: StoredChunk; readonly bytes: number }>();
  #bytes = 0;
  #oversized = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps the chunk that answers an ask, in the place of the node's last one. */
  put(ask: Ask, text: string, problem: string | undefined): StoredChunk {
    const { text: kept, cutBytes } = cutJournal(text);
    if (cutBytes > 0) this.#oversized += 1;
    const { id, unit, lines, actor, askedAt } = ask;
    const chunk: StoredChunk = {
      ask: { id, unit, lines, actor, askedAt },
      receivedAt: formatInstant(this.#clock.now()),
      text: kept,
      problem: problem ?? null,
      cutBytes,
    };
    this.drop(ask.node);
    const bytes = Buffer.byteLength(kept);
    this.#chunks.set(ask.node, { chunk, bytes });
    this.#bytes += bytes;
    for (const node of this.#chunks.keys()) {
      if (this.#bytes <= CHUNKS_BYTES_MAX) break;
      this.drop(node);
    }
    return chunk;
  }

  last(node: string): StoredChunk | undefined {
    return this.#chunks.get(node)?.chunk;
  }

  drop(node: string): void {
    this.#bytes -= this.#chunks.get(node)?.bytes ?? 0;
    this.#chunks.delete(node);
  }

  /** Chunks that were cut since the start. */
  get oversized(): number {
    return this.#oversized;
  }
}
