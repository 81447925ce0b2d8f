/** The de-personalised view of a text, of bytes, of a stream and of a JSON value (RED-01 … RED-07, RED-12). */
import { walkValue, type ValueRules } from './json-walk.ts';
import { cutValue } from './keyed-values.ts';
import { classOfKey, type KeyClass } from './keys.ts';
import { KnownSecrets, unmask } from './known-secrets.ts';
import { beginsInsideKey, KEY_LINES_MAX, startState, type LineState } from './private-keys.ts';
import { Pseudonyms } from './pseudonyms.ts';
import { Scanner } from './scanner.ts';
import { marker, type Span } from './spans.ts';

export interface RedactorOptions {
  /** The installation key, 32 bytes. */
  readonly key: Uint8Array;
  /** The installation's own secrets, masked wherever their value stands; those under 8 characters are passed by. */
  readonly secrets?: readonly string[];
}

/** Where a value stands. */
export interface ValueContext {
  /** The key whose value it is. */
  readonly key?: string;
}

/** Bytes of one line that are held until its end comes. A longer line is cut at the last space before this place. */
export const LINE_BYTES_MAX = 1 << 20;
/** How far back the space is looked for at which a longer line is cut; with none there it is cut in the middle of a word. */
const CUT_BACK_MAX = 1 << 16;
/** Bytes scanned at a time: the output is built of pieces this long. */
const PIECE = 1 << 16;

/** Bytes of one chunk that are scanned as one piece. */
const PIECE_MAX = 2 * PIECE;

export class Redactor {
  readonly #scanner: Scanner;
  readonly #pseudonyms: Pseudonyms;
  readonly #known: KnownSecrets;
  readonly #rules: ValueRules;

  /** @throws RangeError for a key that has not 32 bytes. */
  constructor(options: RedactorOptions) {
    this.#pseudonyms = new Pseudonyms(options.key);
    this.#known = new KnownSecrets(options.secrets ?? []);
    this.#rules = {
      classOf: classOfKey,
      string: (text, keyClass) => this.#string(text, keyClass),
      number: (value, keyClass) => this.#number(value, keyClass),
    };
    this.#scanner = new Scanner(this.#pseudonyms, this.#rules);
  }

  /** A text without what is personal. The count of lines stays, valid JSON stays valid, a second time changes nothing. */
  text(input: string): string {
    const source = Buffer.from(input).toString('latin1');
    const output = this.#whole(source);
    return output === source ? input : Buffer.from(output, 'latin1').toString('utf8');
  }

  /** The same for bytes, in UTF-8 or whatever else holds ASCII. */
  bytes(chunk: Buffer): Buffer {
    return Buffer.from(this.#whole(chunk.toString('latin1')), 'latin1');
  }

  /** A JSON value without what is personal: strings, numbers under keys of phones and secrets, keys, JSON in strings. */
  value(json: unknown, context: ValueContext = {}): unknown {
    return walkValue(this.#rules, json, context.key === undefined ? 'none' : classOfKey(context.key));
  }

  /** For text that comes in chunks: the output is the same however they are cut. */
  stream(): RedactionStream {
    return new RedactionStream((source, state) => this.#lines(source, state));
  }

  /** What would be replaced, with the class and the bytes of the UTF-8 text. */
  explain(input: string): Span[] {
    const source = Buffer.from(input).toString('latin1');
    const places = this.#known.find(source);
    const state = startState();
    const masked = this.#known.mask(source, places);
    if (beginsInsideKey(masked, true) === true) state.keyLines = KEY_LINES_MAX;
    return unmask(this.#scanner.scan(masked, state, true).list, places);
  }

  #whole(source: string): string {
    const stream = this.stream();
    return stream.pushText(source) + stream.endText();
  }

  #lines(source: string, state: LineState): string {
    const places = this.#known.find(source);
    const masked = places.length === 0 ? source : this.#known.mask(source, places);
    return this.#scanner.scan(masked, state).take(masked.length);
  }

  #string(text: string, keyClass: KeyClass): string {
    if (text === '') return text;
    if (keyClass === 'none') return this.text(text);
    const source = Buffer.from(text).toString('latin1');
    const places = this.#known.find(source);
    const masked = places.length === 0 ? source : this.#known.mask(source, places);
    const output = this.#scanner.scanValue(masked, keyClass, startState(), cutValue).take(masked.length);
    return output === source ? text : Buffer.from(output, 'latin1').toString('utf8');
  }

  #number(value: number, keyClass: KeyClass): number | string {
    const digits = String(value);
    switch (keyClass) {
      case 'phone':
        return /^\d{3,20}$/.test(digits) ? this.#pseudonyms.phone(digits) : value;
      case 'address':
        return /^\d{10,15}$/.test(digits) ? this.#pseudonyms.phone(digits) : value;
      case 'user':
        return this.#string(digits, 'user');
      case 'password':
      case 'secret':
      case 'authorization':
      case 'cookie':
        return marker('secret');
      case 'code':
        return /^\d{6,10}$/.test(digits) ? marker('secret') : value;
      default:
        return value;
    }
  }
}

/** Text that comes in chunks. What is held: a line that has not ended, and lines that may be the tail of a key. */
export class RedactionStream {
  readonly #lines: (source: string, state: LineState) => string;
  readonly #state = startState();
  #held = '';
  /** Whether it is known if the stream began inside of a private key. */
  #isBegun = false;

  constructor(lines: (source: string, state: LineState) => string) {
    this.#lines = lines;
  }

  /** What can be given away after this chunk. */
  push(chunk: Buffer): Buffer {
    const output = this.#pushLines(chunk) ?? this.pushText(chunk.toString('latin1', 0, chunk.length));
    return Buffer.from(output, 'latin1');
  }

  /**
   * The usual case without copies: a piece of whole lines goes from the chunk into the scan. The line that was begun
   * goes alone before it. Undefined where a chunk is large, or where it has no line to begin and end with.
   */
  #pushLines(chunk: Buffer): string | undefined {
    if (!this.#isBegun || chunk.length > PIECE_MAX || this.#held.length > PIECE) return undefined;
    const first = chunk.indexOf(10);
    const last = chunk.lastIndexOf(10);
    // A line of quoted-printable that goes on in the next one is cut with care.
    if (first < 2 || last === first || isSoftBytes(chunk, first) || isSoftBytes(chunk, last)) return undefined;
    const begun = this.#lines(this.#held + chunk.toString('latin1', 0, first + 1), this.#state);
    const lines = this.#lines(chunk.toString('latin1', first + 1, last + 1), this.#state);
    this.#held = chunk.toString('latin1', last + 1, chunk.length);
    return begun + lines;
  }

  /** The rest. */
  end(): Buffer {
    return Buffer.from(this.endText(), 'latin1');
  }

  /** The same over bytes in a Latin-1 string. */
  pushText(chunk: string): string {
    this.#held += chunk;
    if (!this.#begin(false)) return '';
    return this.#giveLines();
  }

  endText(): string {
    this.#begin(true);
    const rest = this.#giveLines();
    const held = this.#held;
    this.#held = '';
    return held === '' ? rest : rest + this.#lines(held, this.#state);
  }

  #begin(isWhole: boolean): boolean {
    if (this.#isBegun) return true;
    const isInside = this.#held.length >= LINE_BYTES_MAX ? false : beginsInsideKey(this.#held, isWhole);
    if (isInside === undefined && !isWhole) return false;
    this.#isBegun = true;
    if (isInside === true) {
      this.#state.keyLines = KEY_LINES_MAX;
      this.#state.hasPrefix = true;
    }
    return true;
  }

  #giveLines(): string {
    let output = '';
    for (;;) {
      const cut = cutPlace(this.#held);
      if (cut === 0) return output;
      // A flat copy: a slice of a slice is read at half the speed.
      output += this.#lines(Buffer.from(this.#held.slice(0, cut), 'latin1').toString('latin1'), this.#state);
      this.#held = this.#held.slice(cut);
    }
  }
}

/**
 * Where the next piece ends: behind a line, never behind a line that quoted-printable goes on after. The place depends
 * on the text alone and not on how it came, except that pieces may hold more or fewer whole lines.
 */
function cutPlace(held: string): number {
  const from = Math.min(held.length, PIECE) - 1;
  // The last line end of the piece; with none, the first one behind it.
  let newline = lineBreakBefore(held, from);
  if (newline === -1) newline = lineBreakAfter(held, from);
  const first = newline === -1 || newline >= LINE_BYTES_MAX ? -1 : newline;
  if (first !== -1) return first + 1;
  if (held.length < LINE_BYTES_MAX) return 0;
  const space = held.lastIndexOf(' ', LINE_BYTES_MAX - 1);
  return space > LINE_BYTES_MAX - CUT_BACK_MAX ? space : LINE_BYTES_MAX;
}

function lineBreakBefore(held: string, from: number): number {
  let newline = held.lastIndexOf('\n', from);
  while (newline > 0 && isSoft(held, newline)) newline = held.lastIndexOf('\n', newline - 1);
  return newline === 0 && isSoft(held, 0) ? -1 : newline;
}

function lineBreakAfter(held: string, from: number): number {
  let newline = held.indexOf('\n', from + 1);
  while (newline !== -1 && isSoft(held, newline)) newline = held.indexOf('\n', newline + 1);
  return newline;
}

function isSoft(held: string, newline: number): boolean {
  const before = held.charCodeAt(newline - 1);
  return before === 61 || (before === 13 && held.charCodeAt(newline - 2) === 61);
}

function isSoftBytes(chunk: Buffer, newline: number): boolean {
  const before = chunk[newline - 1];
  return before === 61 || (before === 13 && chunk[newline - 2] === 61);
}
