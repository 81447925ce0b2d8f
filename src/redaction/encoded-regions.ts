/**
 * Stretches of a text that are written in an encoding: percent, `\u` of JSON, quoted-printable, arrays of bytes. They
 * are decoded with the place of each character, scanned like any text, and what was found is put in the original.
 */
import { HEX } from './character-classes.ts';
import type { Context } from './context.ts';
import type { Span } from './spans.ts';

/** Bytes of one stretch; a longer one is taken in parts. */
const REGION_MAX = 4096;
/** Encodings inside of encodings: `%252B`. */
export const NESTING_MAX = 3;

/** A decoded stretch: `places[n]` is where the original of character n starts, with one more place for the end. */
interface Decoded {
  readonly text: string;
  readonly places: readonly number[];
  /** Characters that a replacement cannot hold as they are in this encoding. */
  readonly encode: (replacement: string) => string;
}

/** A percent-encoded stretch around a place. Answers where the scan goes on. */
export function cutPercent(context: Context, at: number): number {
  const { source } = context;
  const from = leftEdge(context, at, ' \t\n\r"\'<>`=&?;,()|');
  const to = rightEdge(source, at, ' \t\n\r"\'<>`&;|');
  return scanDecoded(
    context,
    decodeWith(source, from, to, percentAt, (text) => text.replaceAll('"', '%22')),
    to,
  );
}

/** A stretch of a JSON string with `\u` escapes of ASCII. */
export function cutUnicode(context: Context, at: number): number {
  const { source } = context;
  const from = leftEdge(context, at, '\n\r"');
  const to = rightEdge(source, at, '\n\r"');
  return scanDecoded(
    context,
    decodeWith(source, from, to, unicodeAt, (text) => text.replaceAll('"', String.raw`\"`)),
    to,
  );
}

/** A stretch of quoted-printable. */
export function cutQuotedPrintable(context: Context, at: number): number {
  const { source } = context;
  const from = leftEdge(context, at, ' \t\n\r"\'<>`=&?;,()|');
  const to = rightEdge(source, at, '\n\r');
  return scanDecoded(
    context,
    decodeWith(source, from, to, quotedAt, (text) => text),
    to,
  );
}

const BYTES = /\[((?:\d{1,3},){3,}\d{1,3})\]/y;

/** `"MESSAGE":[72,101,…]` of journald: a message that is no UTF-8. From the bracket on. */
export function cutByteArray(context: Context, at: number): number {
  const { source } = context;
  const end = source.indexOf(']', at) + 1;
  if (end === 0 || end - at > 64 * REGION_MAX || !/\[\d{1,3},\d{1,3},/.test(source.slice(at, at + 10))) return -1;
  BYTES.lastIndex = 0;
  const list = source.slice(at, end);
  if (!BYTES.test(list)) return -1;
  const places: number[] = [];
  let text = '';
  let place = at + 1;
  for (const number of list.slice(1, -1).split(',')) {
    if (Number(number) > 255) return -1;
    places.push(place);
    text += String.fromCharCode(Number(number));
    place += number.length + 1;
  }
  places.push(end);
  return scanDecoded(context, { text, places, encode: bytesOf }, end);
}

function bytesOf(replacement: string): string {
  return [...Buffer.from(replacement, 'latin1')].join(',');
}

function scanDecoded(context: Context, decoded: Decoded, end: number): number {
  const { spans } = context;
  for (const span of context.scanNested(decoded.text)) putBack(context, decoded, span);
  return Math.max(end, spans.last);
}

function putBack(
  context: Context,
  { places, encode }: Decoded,
  { start, end, replacement, class: spanClass }: Span,
): void {
  const from = places[start] as number;
  let to = places[end] as number;
  // Between two numbers of an array stands a comma that stays.
  if (encode === bytesOf && to > from) to -= 1;
  context.spans.put(from, to, encode(replacement), spanClass);
}

/** What one character of an encoding stands for, and its width; undefined where none is. */
type Reader = (source: string, at: number) => { readonly text: string; readonly width: number } | undefined;

function decodeWith(source: string, from: number, to: number, read: Reader, encode: Decoded['encode']): Decoded {
  const places: number[] = [];
  let text = '';
  for (let at = from; at < to;) {
    const one = read(source, at);
    const decoded = one?.text ?? source.charAt(at);
    for (let char = 0; char < decoded.length; char += 1) places.push(at);
    text += decoded;
    at += one?.width ?? 1;
  }
  places.push(to);
  return { text, places, encode };
}

const percentAt: Reader = (source, at) => {
  const byte = source.charCodeAt(at);
  if (byte === 43) return { text: ' ', width: 1 };
  return byte === 37 ? hexAt(source, at + 1) : undefined;
};

const unicodeAt: Reader = (source, at) => {
  // JSON in a string of JSON has more backslashes; they all are of the escape.
  let mark = at;
  while (source.charCodeAt(mark) === 92 && mark - at < 16) mark += 1;
  if (mark === at || source.charCodeAt(mark) !== 117) return undefined;
  const code = hexValue(source, mark + 1, 4);
  if (code === 0xa0 || (code >= 0x20_00 && code <= 0x20_2f))
    return { text: Buffer.from(String.fromCharCode(code)).toString('latin1'), width: mark + 5 - at };
  return code < 0x20 || code > 0x7f ? undefined : { text: String.fromCharCode(code), width: mark + 5 - at };
};

const quotedAt: Reader = (source, at) => (source.charCodeAt(at) === 61 ? hexAt(source, at + 1) : undefined);

function hexAt(source: string, at: number): { text: string; width: number } | undefined {
  const code = hexValue(source, at, 2);
  return code === -1 ? undefined : { text: String.fromCharCode(code), width: 3 };
}

/** The number of that many hex digits at a place; -1 when they are not all there. */
function hexValue(source: string, from: number, digits: number): number {
  if (from + digits > source.length) return -1;
  let value = 0;
  for (let at = from; at < from + digits; at += 1) {
    const byte = source.charCodeAt(at);
    if (HEX[byte] !== 1) return -1;
    value = (value << 4) | (byte < 58 ? byte - 48 : (byte | 32) - 87);
  }
  return value;
}

function leftEdge({ source, spans }: Context, at: number, edges: string): number {
  let from = at;
  const floor = Math.max(spans.last, at - REGION_MAX);
  while (from > floor && !edges.includes(source.charAt(from - 1))) from -= 1;
  return from;
}

function rightEdge(source: string, at: number, edges: string): number {
  let to = at;
  const limit = Math.min(source.length, at + REGION_MAX);
  while (to < limit && !edges.includes(source.charAt(to))) to += 1;
  // A backslash before the edge escapes it.
  while (to > at + 1 && source.charCodeAt(to - 1) === 92) to -= 1;
  return to;
}
