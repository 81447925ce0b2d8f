/**
 * Stretches of a text that are written in an encoding: escapes of JSON, percent, quoted-printable, references of HTML,
 * doubled quotes of CSV, arrays of bytes, what nobody sees. Each is decoded with the place of every character; what is
 * found in it is put into the original.
 */
import { HEX } from '../bytes.ts';

/** A decoded stretch: `places[n]` is where the original of character n starts, with one more place for the end. */
export interface Decoded {
  readonly text: string;
  /** The same as bytes. */
  readonly bytes: Uint8Array;
  readonly places: ArrayLike<number>;
  /** A replacement as this encoding writes it. */
  readonly encode: (replacement: string) => string;
  /** Where a piece ends whose characters end before a place, when something stands between it and the next one. */
  readonly endOf?: (end: number) => number;
}

/** What the sign at a place stands for, and its width; width 0 where it is no sign. One object is used again. */
interface Sign {
  text: string;
  width: number;
}

type Reader = (source: string, at: number, stop: number, sign: Sign) => void;

/** Decodes a stretch. Signs begin with one of two bytes; all else is copied. */
function decodeWith(
  source: string,
  from: number,
  to: number,
  leads: readonly [number, number],
  read: Reader,
  encode: Decoded['encode'],
): Decoded {
  const [first, second] = leads;
  const output = new Output(to - from);
  const sign: Sign = { text: '', width: 0 };
  for (let at = from; at < to;) {
    const byte = source.charCodeAt(at);
    sign.width = 0;
    if (byte === first || byte === second) read(source, at, to, sign);
    if (sign.width === 0) {
      output.put(byte, at);
      at += 1;
      continue;
    }
    for (let char = 0; char < sign.text.length; char += 1) output.put(sign.text.charCodeAt(char), at);
    at += sign.width;
  }
  return output.decoded(to, encode);
}

/** Characters of a stretch whose places stand in a plain list. */
const PLAIN_MAX = 4096;

/** What a stretch is decoded into: nothing that is decoded is longer than it was. */
class Output {
  readonly #bytes: Buffer;
  readonly #places: number[] | Int32Array;
  #length = 0;

  constructor(most: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(0, most));
    const places = Math.max(0, most) + 1;
    // A typed list of its own is dear where it is short, and a plain one where it is long.
    this.#places = places < PLAIN_MAX ? [] : new Int32Array(places);
  }

  put(byte: number, place: number): void {
    this.#bytes[this.#length] = byte;
    this.#places[this.#length] = place;
    this.#length += 1;
  }

  /** Whether the last byte is this one. */
  endsWith(byte: number): boolean {
    return this.#length > 0 && this.#bytes[this.#length - 1] === byte;
  }

  decoded(end: number, encode: Decoded['encode']): Decoded {
    this.#places[this.#length] = end;
    const places = this.#places;
    const bytes = this.#bytes.subarray(0, this.#length);
    return { text: bytes.toString('latin1'), bytes, places, encode };
  }
}

function take(sign: Sign, text: string, width: number): void {
  sign.text = text;
  sign.width = width;
}

const same = (replacement: string): string => replacement;

/** Escapes of one level of a JSON string, or of any quoted string: `\"`, `\n`, `\u002b`, `\x1b`. */
export function decodeEscapes(source: string, from: number, to: number): Decoded {
  return decodeWith(source, from, to, [92, 92], isTwiceEscaped(source, from, to) ? escapeTwiceAt : escapeAt, escaped);
}

/** Whether tabs and line ends were escaped once more: two of them beside each other are no folders of Windows. */
function isTwiceEscaped(source: string, from: number, to: number): boolean {
  const at = source.indexOf('\\\\', from);
  return at !== -1 && at < to && /\\\\[rnt]\\\\[rnt]/.test(source.slice(at, to));
}

/** Only numbers of inner JSON get quotes, which are escaped once more at each level. */
function escaped(replacement: string): string {
  return replacement.includes('"') ? replacement.replaceAll(/["\\]/g, String.raw`\$&`) : replacement;
}

const PLAIN_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  e: '\u001b',
  '"': '"',
  "'": "'",
  '`': '`',
  '/': '/',
  '\\': '\\',
};

const escapeTwiceAt: Reader = (source, at, stop, sign) => {
  const blank = source.startsWith('\\\\', at) ? 'nrt'.indexOf(source.charAt(at + 2) || ' ') : -1;
  if (blank !== -1 && at + 2 < stop) take(sign, '\n\r\t'.charAt(blank), 3);
  else escapeAt(source, at, stop, sign);
};

const escapeAt: Reader = (source, at, stop, sign) => {
  const next = source.charAt(at + 1);
  if (next === 'u') {
    const code = hexValue(source, at + 2, 4, stop);
    if (code === -1) return;
    if (code >= 0xd8_00 && code < 0xdc_00 && source.startsWith('\\u', at + 6)) {
      const low = hexValue(source, at + 8, 4, stop);
      if (low >= 0xdc_00 && low < 0xe0_00) take(sign, utf8(0x1_00_00 + ((code - 0xd8_00) << 10) + (low - 0xdc_00)), 12);
      return;
    }
    if (code < 0xd8_00 || code >= 0xe0_00) take(sign, utf8(code), 6);
    return;
  }
  if (next === 'x') {
    const code = hexValue(source, at + 2, 2, stop);
    if (code !== -1) take(sign, String.fromCharCode(code), 4);
    return;
  }
  if (source.startsWith('\\033', at)) take(sign, '\u001b', 4);
  const plain = PLAIN_ESCAPES[next];
  if (plain !== undefined && at + 1 < stop) take(sign, plain, 2);
};

/** A percent-encoded stretch, forms included: `+` is a space. */
export function decodePercent(source: string, from: number, to: number): Decoded {
  const read: Reader = (text, at, stop, sign) => {
    if (text.charCodeAt(at) === 43) take(sign, ' ', 1);
    else hexAt(text, at, stop, sign);
  };
  return decodeWith(source, from, to, [37, 43], read, (replacement) => replacement.replaceAll('"', '%22'));
}

/**
 * Quoted-printable; soft breaks stay, as lines keep their count. What no mail program encodes is a field whose value
 * begins like a code: letters, digits, controls, a byte of UTF-8 alone, a number with a dot.
 */
export function decodeQuotedPrintable(source: string, from: number, to: number): Decoded {
  let wasHigh = -1;
  const read: Reader = (text, at, stop, sign) => {
    hexAt(text, at, stop, sign);
    if (sign.width === 0) return;
    const code = sign.text.charCodeAt(0);
    if (code > 127) {
      const isPair = wasHigh === at || /^=[89A-F][0-9A-F]/.test(text.slice(at + 3, at + 6));
      if (isPair) wasHigh = at + 3;
      else sign.width = 0;
    } else if (
      /[0-9A-Za-z]/.test(sign.text) ||
      (code < 32 && !'\t\n\r\0'.includes(sign.text)) ||
      /^\d\d\d?\.\d/.test(text.slice(at + 1, at + 6))
    )
      sign.width = 0;
  };
  return decodeWith(source, from, to, [61, 61], read, same);
}

function hexAt(source: string, at: number, stop: number, sign: Sign): void {
  const code = hexValue(source, at + 1, 2, stop);
  if (code !== -1) take(sign, String.fromCharCode(code), 3);
}

const REFERENCE = /&(?:#(\d{1,6})|#[xX]([0-9a-fA-F]{1,6})|(quot|apos|lt|gt|amp|nbsp));/y;
const NAMED: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&', nbsp: ' ' };

/** References of HTML and XML: `&quot;`, `&#43;`, `&#x40;`. */
export function decodeReferences(source: string, from: number, to: number): Decoded {
  const read: Reader = (text, at, stop, sign) => {
    REFERENCE.lastIndex = at;
    const match = REFERENCE.exec(text);
    if (match === null || at + match[0].length > stop) return;
    const [all, decimal, hex, name] = match;
    if (name !== undefined) take(sign, NAMED[name] as string, all.length);
    else {
      const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
      if (code > 0 && code < 0xd8_00) take(sign, utf8(code), all.length);
    }
  };
  return decodeWith(source, from, to, [38, 38], read, (replacement) => replacement.replaceAll('"', '&quot;'));
}

/** A cell of CSV, in which quotes are doubled. */
export function decodeDoubled(source: string, from: number, to: number): Decoded {
  const read: Reader = (text, at, stop, sign) => {
    if (at + 1 < stop && text.charCodeAt(at + 1) === 34) take(sign, '"', 2);
  };
  return decodeWith(source, from, to, [34, 34], read, (replacement) => replacement.replaceAll('"', '""'));
}

/** A list of bytes between its brackets, as journald writes a message that is no UTF-8; undefined where it is none. */
export function decodeBytes(source: string, at: number, stop: number): Decoded | undefined {
  if (!/^\[ ?\d{1,3},\s?\d{1,3},\s?\d{1,3},/.test(source.slice(at, at + 18))) return undefined;
  const output = new Output(stop - at);
  let value = -1;
  let start = at + 1;
  for (let place = at + 1; place < stop; place += 1) {
    const byte = source.charCodeAt(place);
    if (byte >= 48 && byte <= 57) {
      if (value === -1) start = place;
      value = (value === -1 ? 0 : value * 10) + byte - 48;
      if (value > 255) return undefined;
    } else if (byte === 44 || byte === 93) {
      if (value === -1) return undefined;
      output.put(value, start);
      value = -1;
      if (byte === 93) {
        const decoded = output.decoded(place + 1, bytesOf);
        const { text, places } = decoded;
        // A comma stands between two numbers.
        return {
          ...decoded,
          endOf: (last) => (places[last - 1] as number) + String(text.charCodeAt(last - 1)).length,
        };
      }
    } else if (byte !== 32) return undefined;
  }
  return undefined;
}

/** The replacement as the numbers of its bytes. */
export function bytesOf(replacement: string): string {
  return [...Buffer.from(replacement || ' ', 'latin1')].join(',');
}

/**
 * What nobody sees in a log: colours of terminals (`ESC[31m` and the ways in which loggers write that down), characters
 * without a width, soft hyphens, and spaces that do not break, in UTF-8 read as Latin-1.
 */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- The escape is what it looks for.
  /(?:\u001b|#033|\^\[|\\(?:x1b|033|e|u001b))\[[0-9;:?]{0,32}[A-Za-z]|\\u(?:00a0|00ad|20(?:0[0-9a-f]|2[a-f]|5f|6[0-9a-f])|3000|feff)|\u00c2[\u00a0\u00ad]|\u00e2\u0080[\u0080-\u008f\u00aa-\u00af]|\u00e2\u0081[\u009f-\u00af]|\u00e3\u0080\u0080|\u00ef\u00bb\u00bf/gi;
/** Those of them that part words as a space does; the others are read as nothing. */
const SPACE =
  /^(?:\u00c2\u00a0|\u00e2\u0080[\u0080-\u008a\u00af]|\u00e2\u0081\u009f|\u00e3\u0080\u0080|\\u(?:00a0|200[0-9a]|202f|205f|3000))$/i;

/** A stretch without what nobody sees; undefined where it has none of that. */
export function decodeUnseen(source: string, from: number, to: number): Decoded | undefined {
  const stretch = source.slice(from, to);
  let output: Output | undefined;
  let last = 0;
  for (const match of stretch.matchAll(UNSEEN)) {
    output ??= new Output(to - from);
    for (let at = last; at < match.index; at += 1) output.put(stretch.charCodeAt(at), from + at);
    // Behind `=` a space would say that the value is empty.
    if (SPACE.test(match[0]) && !output.endsWith(61)) output.put(32, from + match.index);
    last = match.index + match[0].length;
  }
  if (output === undefined) return undefined;
  for (let at = last; at < stretch.length; at += 1) output.put(stretch.charCodeAt(at), from + at);
  const decoded = output.decoded(to, same);
  return { ...decoded, endOf: (end) => (decoded.places[end - 1] as number) + 1 };
}

/** A text without what nobody sees. */
export function withoutUnseen(text: string): string {
  return decodeUnseen(text, 0, text.length)?.text ?? text;
}

function utf8(codePoint: number): string {
  return codePoint < 128
    ? String.fromCharCode(codePoint)
    : Buffer.from(String.fromCodePoint(codePoint)).toString('latin1');
}

/** The number of that many hex digits at a place; -1 when they are not all there. */
function hexValue(source: string, from: number, digits: number, stop: number): number {
  if (from + digits > stop) return -1;
  let value = 0;
  for (let at = from; at < from + digits; at += 1) {
    const byte = source.charCodeAt(at);
    if (byte > 127 || HEX[byte] !== 1) return -1;
    value = (value << 4) | (byte < 58 ? byte - 48 : (byte | 32) - 87);
  }
  return value;
}
