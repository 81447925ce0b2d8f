/** Text that comes in chunks. What is held: a line that has not ended, and lines that may be the tail of a key. */
import { startState, type LineState } from './context.ts';
import { beginsInsideKey, startInside } from './secrets/private-keys.ts';
import { wideOf, WideText, type WideForm } from './encodings/wide-text.ts';

/** Bytes of one line that are held until its end comes. A longer line is cut at the last space before this place. */
export const LINE_BYTES_MAX = 1 << 20;
/** How far back the space is looked for at which a longer line is cut; with none there it is cut in the middle of a word. */
const CUT_BACK_MAX = 1 << 16;
/** Bytes scanned at a time: the output is built of pieces this long. */
const PIECE = 1 << 16;
/** Bytes that tell in which form a text is written. */
const FORM_BYTES = 64;
const NOTHING = Buffer.alloc(0);

/** What makes whole lines clean, and remembers in the state what they leave to the next ones. */
export interface LineCleaner {
  lines(bytes: Buffer, state: LineState): Buffer;
}

export class RedactionStream {
  readonly #cleaner: LineCleaner;
  readonly #state = startState();
  #held: Buffer = NOTHING;
  /** Whether it is known if the stream began inside of a private key. */
  #isBegun = false;
  /** A text in UTF-16 goes through as UTF-8 and comes out as it came; undefined until that is known. */
  #form: WideForm | 'narrow' | undefined;
  #wide: WideText | undefined;

  constructor(cleaner: LineCleaner) {
    this.#cleaner = cleaner;
  }

  /** What can be given away after this chunk. */
  push(chunk: Buffer): Buffer {
    return this.#take(chunk, false);
  }

  /** The rest. */
  end(): Buffer {
    return this.#take(NOTHING, true);
  }

  #take(chunk: Buffer, isEnd: boolean): Buffer {
    if (this.#form === undefined) {
      this.#held = joined(this.#held, chunk);
      if (this.#held.length < FORM_BYTES && !isEnd) return NOTHING;
      this.#form = wideOf(this.#held) ?? 'narrow';
      const held = this.#held;
      this.#held = NOTHING;
      if (this.#form !== 'narrow') this.#wide = new WideText(this.#form);
      return this.#read(held, isEnd);
    }
    return this.#read(chunk, isEnd);
  }

  #read(chunk: Buffer, isEnd: boolean): Buffer {
    if (this.#wide === undefined) return this.#lines(chunk, isEnd);
    return this.#wide.encode(this.#lines(this.#wide.decode(chunk, isEnd), isEnd), isEnd);
  }

  #lines(chunk: Buffer, isEnd: boolean): Buffer {
    this.#held = joined(this.#held, chunk);
    if (!this.#begin(isEnd)) return NOTHING;
    const parts: Buffer[] = [];
    let from = 0;
    const held = this.#held;
    for (;;) {
      const cut = cutPlace(held, from);
      if (cut === from) break;
      parts.push(this.#cleaner.lines(held.subarray(from, cut), this.#state));
      from = cut;
    }
    if (isEnd && from < held.length) {
      parts.push(this.#cleaner.lines(held.subarray(from), this.#state));
      from = held.length;
    }
    // A copy: the chunk is its giver's, who may write into it.
    this.#held = from === held.length ? NOTHING : Buffer.from(held.subarray(from));
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  #begin(isWhole: boolean): boolean {
    if (this.#isBegun) return true;
    const isInside = beginsInsideKey(this.#held.toString('latin1', 0, LINE_BYTES_MAX), isWhole);
    if (isInside === undefined && !isWhole && this.#held.length < LINE_BYTES_MAX) return false;
    this.#isBegun = true;
    if (isInside === true) startInside(this.#state.key);
    return true;
  }
}

function joined(held: Buffer, chunk: Buffer): Buffer {
  if (chunk.length === 0) return held;
  return held.length === 0 ? Buffer.from(chunk) : Buffer.concat([held, chunk]);
}

/**
 * Where the next piece ends: behind a line, never behind a line that quoted-printable goes on after. The place depends
 * on the text alone and not on how it came, except that pieces may hold more or fewer whole lines.
 */
function cutPlace(held: Buffer, start: number): number {
  const length = held.length - start;
  if (length === 0) return start;
  const from = Math.min(length, PIECE) - 1;
  // The last line end of the piece; with none, the first one behind it.
  let newline = lineBreakBefore(held, start, start + from);
  if (newline === -1) newline = lineBreakAfter(held, start, start + from + 1);
  if (newline !== -1 && newline - start < LINE_BYTES_MAX) return newline + 1;
  if (length < LINE_BYTES_MAX) return start;
  const space = held.lastIndexOf(32, start + LINE_BYTES_MAX - 1);
  return space > start + LINE_BYTES_MAX - CUT_BACK_MAX ? space : start + LINE_BYTES_MAX;
}

function lineBreakBefore(held: Buffer, start: number, from: number): number {
  let newline = held.lastIndexOf(10, from);
  while (newline > start && isSoft(held, start, newline)) newline = held.lastIndexOf(10, newline - 1);
  return newline < start ? -1 : newline;
}

function lineBreakAfter(held: Buffer, start: number, from: number): number {
  let newline = held.indexOf(10, from);
  while (newline !== -1 && isSoft(held, start, newline)) newline = held.indexOf(10, newline + 1);
  return newline;
}

function isSoft(held: Buffer, start: number, newline: number): boolean {
  const before = newline > start ? held[newline - 1] : 0;
  return before === 61 || (before === 13 && newline - 1 > start && held[newline - 2] === 61);
}
