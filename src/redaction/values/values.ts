/** The grammar of values: where one starts behind its key, in every syntax, and what is around it. */
import { bare, type Found } from './bare-values.ts';
import { gapEnd, indexOf, isDigit, isWordByte, KEY_NAME, runStop, tableOf, VALUE_END, WORD_BITS } from '../bytes.ts';
import { columnOf, lineStop, type Scan } from '../context.ts';
import { decodePrintableBase64 } from '../encodings/decoding.ts';
import { decodeEscapes } from '../encodings/encodings.ts';
import { isHeaderName, isNameOfHeader, noteOpen, putNumber, walkJson } from './json.ts';
import { isHighCode, putPerson } from '../identifiers/people.ts';
import type { KeyClass } from '../rules/rows.ts';
import { markerEnd } from '../spans.ts';
import { cutValue, isHarmlessAt } from './value-classes.ts';
import { closerOf } from './value-ends.ts';

/** Bytes of base64 that are decoded. */
const BASE64_MAX = 8192;

/** `=`, `:`, `=>`, `:=`, `]=`, and `,` of a call or a tuple, with quotes around the key and spaces around the sign. */
function findSeparator(scan: Scan, keyStart: number, keyEnd: number): Found | undefined {
  const { bytes, text, stop, floor } = scan;
  let at = keyEnd;
  const mark = at < stop ? (bytes[at] as number) : 10;
  const quote = mark === 34 || mark === 39 || mark === 96 ? mark : 0;
  if (quote !== 0) at += bytes[at + 1] === 93 ? 2 : 1;
  else if (mark === 93 || mark === 41 || mark === 125) at += 1;
  at = gapEnd(bytes, at, stop);
  const sign = at < stop ? bytes[at] : 10;
  let isDouble = false;
  if (sign === 61) {
    at += text.startsWith('3D', at + 1) && (bytes[at + 3] !== 61 || isHighCode(bytes, at + 4)) ? 3 : 1;
    if (bytes[at] === 62) at += 1;
    if (bytes[at] === 61) return undefined;
  } else if (sign === 58) {
    at += 1;
    // `tel:=2B7…` is a plus sign in quoted-printable and not the sign `:=`.
    if (bytes[at] === 61) at += text.startsWith('2B', at + 1) ? 0 : 1;
    else if (bytes[at] === 58) {
      if (bytes[at + 1] !== 32) return undefined;
      isDouble = true;
      at += 1;
    } else if (bytes[at] === 47 && bytes[at + 1] === 47) return undefined;
  } else if (sign === 44) {
    const opener = keyStart - (quote === 0 ? 1 : 2);
    const before = opener >= floor ? text.charAt(opener) : '';
    const value = gapEnd(bytes, at + 1, stop);
    if (before !== (quote === 0 ? '{' : '(') && (quote === 0 || !isHeaderPair(scan, keyStart, keyEnd, value)))
      return undefined;
    return '"\''.includes(text.charAt(value) || ' ') || text.startsWith('<<"', value)
      ? { start: value + (bytes[value] === 60 ? 2 : 0), isColon: false, isSpaced: false, quote, isDouble }
      : undefined;
  } else return signed(scan, keyStart, keyEnd);
  // `Key (login)=(alice)` of postgres.
  if (mark === 41 && bytes[at] === 40) at += 1;
  const start = gapEnd(bytes, at, stop);
  return start < stop ? { start, isColon: sign === 58, isSpaced: start > at, quote, isDouble } : undefined;
}

/** Bytes of the value of a header that are looked at. */
const HEADER_NAME_MAX = 64;

/** `'Cookie', 'sid=…'`: a header and its value beside each other in a list; a list of names has a name there. */
function isHeaderPair({ bytes, text, engine, stop }: Scan, keyStart: number, keyEnd: number, value: number): boolean {
  if (!isHeaderName(text.slice(keyStart, keyEnd)) || bytes[value] !== bytes[keyEnd]) return false;
  const close = indexOf(bytes, bytes[value] as number, value + 1, Math.min(stop, value + HEADER_NAME_MAX));
  return (
    close === -1 ||
    (engine.keys.classAt(bytes, value + 1, close) === 'none' && !isNameOfHeader(text.slice(value + 1, close)))
  );
}

/** Bytes before a key in which what makes a sign one stands. */
const BEFORE_KEY = 16;

/** A sign of the table behind a key. */
function signed({ text, stop, floor, engine }: Scan, keyStart: number, keyEnd: number): Found | undefined {
  for (const { pattern, before } of engine.rules.signs) {
    pattern.lastIndex = keyEnd;
    if (!pattern.test(text) || pattern.lastIndex >= stop) continue;
    if (!before.test(text.slice(Math.max(floor, keyStart - BEFORE_KEY), keyStart))) continue;
    return { start: pattern.lastIndex, isColon: false, isSpaced: false, quote: 0, isDouble: false };
  }
  return undefined;
}

/** Whether what stands behind a word can be a sign of a key: most words have none. */
export function hasSign(scan: Scan, start: number, end: number, next: number): boolean {
  const { bytes, stop, floor } = scan;
  const behind = bytes[end + 1];
  switch (next) {
    case 32:
    case 9: {
      const at = gapEnd(bytes, end, stop);
      const sign = bytes[at];
      if (sign === 45) return bytes[at + 1] === 62;
      if (sign === 34) return start > floor && bytes[start - 1] === 58;
      if (sign === 46) return bytes[start - 1] === 40;
      // A list that is laid out: `UserName      : alice`.
      if (sign === 58 && behind !== 58) return bytes[at + 1] === 32 && columnOf(scan, start) === 0;
      return sign === 61 || sign === 124 || sign === 58;
    }
    case 34:
    case 39:
    case 96:
      return behind !== undefined && BEHIND_QUOTE.has(behind);
    case 93:
    case 125:
    case 41:
      return behind === 61 || (behind === 32 && bytes[end + 2] === 61);
    case 44:
      return bytes[start - 1] === 123;
    case 58:
      return behind !== 58 || bytes[end + 2] === 32;
    default:
      return next === 61;
  }
}

/** Bytes behind the quote of a key: the signs, white space, brackets that close, and those of PHP and Erlang. */
const BEHIND_QUOTE: ReadonlySet<number> = new Set([58, 61, 32, 9, 93, 41, 44, 59, 62]);

/** What programs write around a value and is none of it: `Some("alice")`, `PASSWORD('…')`. Where the value starts. */
function unwrapped({ bytes, text, engine }: Scan, start: number): number {
  const { wrapper } = engine.rules;
  // A word that no bracket and no blank ends is in no wrapper, whatever the table has.
  const first = bytes[start] as number;
  if (isWordByte(first)) {
    let end = start + 1;
    while (KEY_NAME[bytes[end] as number] === 1) end += 1;
    if (bytes[end] !== 40 && bytes[end] !== 32 && bytes[end] !== 91) return start;
  }
  wrapper.lastIndex = start;
  return wrapper.test(text) ? wrapper.lastIndex : start;
}

/** What stands before the quote of a string: `b'…'`, `u'…'`, `N'…'`, `E'…'`, `$'…'` of a shell, `@"…"` of Objective-C. */
const STRING_LETTERS: ReadonlySet<number> = new Set([98, 117, 78, 69, 36, 64]);

/** Bytes of an opening quote or angle bracket with the letter of a string before it; 0 where there is none. */
function openerWidth({ bytes }: Scan, start: number): number {
  const first = bytes[start];
  // `user=""alice""` of a cell whose beginning was not seen.
  if (first === 34 && bytes[start + 1] === 34 && isWordByte(bytes[start + 2])) return 2;
  if (first === 34 || first === 39 || first === 96 || first === 60) return 1;
  const second = bytes[start + 1];
  return first !== undefined && STRING_LETTERS.has(first) && (second === 39 || second === 34) ? 2 : 0;
}

/** The value under a key of a class. Answers where the scan goes on, or -1 when there is none to see to. */
export function cutKeyed(scan: Scan, keyStart: number, keyEnd: number, keyClass: KeyClass): number {
  const { bytes } = scan;
  const found = findSeparator(scan, keyStart, keyEnd);
  if (found === undefined) return -1;
  if (keyClass === 'people') return bytes[found.start] === 91 ? listed(scan, found, 'user') : -1;
  return cutFound(scan, found, keyClass, keyStart, keyEnd);
}

/** The value of a class that stands at a place, and what it was changed to. Answers where the scan goes on, or -1. */
export function cutFound(scan: Scan, found: Found, keyClass: KeyClass, keyStart: number, keyEnd: number): number {
  const end = cutOne(scan, found, keyClass, keyStart, keyEnd);
  return end === -1 ? -1 : further(scan, keyClass, end, lineStop(scan, found.start));
}

function cutOne(scan: Scan, found: Found, keyClass: KeyClass, keyStart: number, keyEnd: number): number {
  const { bytes, text } = scan;
  const start = unwrapped(scan, found.start);
  const marked = markerEnd(text, start);
  if (marked !== -1 && !isWordLike(bytes[marked])) return marked;
  if (found.isDouble && keyClass !== 'password' && keyClass !== 'secret')
    return cutBase64Value(scan, keyStart, keyEnd, start);
  const stop = lineStop(scan, start);
  const isData = start > found.start && text.startsWith('<![CDATA[', found.start);
  if (isData) {
    const end = text.slice(start, stop).indexOf(']]>');
    return delimited(scan, keyClass, start, end === -1 ? stop : start + end, 0);
  }
  const width = openerWidth(scan, start);
  if (width > 0) {
    const mark = bytes[start + width - 1] as number;
    const inside = start + width;
    const { to, isClosed } = closerOf(scan, inside, isDoubtful(keyClass) ? Math.min(stop, inside + 1024) : stop, mark);
    if (!isClosed && to >= stop) noteOpen(scan, keyClass, mark, mark === 39 ? 0 : OPEN_LINES_MAX);
    if ((keyClass === 'password' || keyClass === 'secret') && isHarmlessAt(scan, keyStart, keyEnd, inside, to))
      return -1;
    if (mark === 60 && keyClass === 'text' && !isAngled(scan, to))
      return bare(scan, found, keyClass, keyStart, keyEnd, start, stop);
    return delimited(scan, keyClass, inside, to, mark);
  }
  if (found.quote !== 0 && found.isColon) {
    const end = jsonBare(scan, found, keyClass, start, stop);
    if (end !== undefined) return end;
  }
  if (bytes[start] === 91 && (bytes[start + 1] === 34 || bytes[start + 1] === 123))
    return walkJson(scan, start, keyClass);
  if (bytes[start] === 91 && WHOLE.has(keyClass)) {
    const end = bracketed(scan, keyClass, start, stop);
    if (end !== -1) return end;
  }
  return bare(scan, found, keyClass, keyStart, keyEnd, start, stop);
}

/** Classes of which the whole value goes. */
const WHOLE: ReadonlySet<KeyClass> = new Set<KeyClass>(['password', 'secret', 'text', 'cookie', 'authorization']);

/** Lines that a value in quotes goes on over, at most. */
export const OPEN_LINES_MAX = 20;
/** Bytes of a value in square brackets. */
const BRACKETED_MAX = 4096;

/** A value in square brackets, as headers are printed: `[Bearer …]`. Answers where it ends, or -1. */
function bracketed(scan: Scan, keyClass: KeyClass, start: number, stop: number): number {
  const { bytes, text } = scan;
  const marked = markerEnd(text, start + 1);
  if (marked !== -1) return marked;
  const close = indexOf(bytes, 93, start + 1, Math.min(stop, start + BRACKETED_MAX));
  if (close <= start + 1 || !isOver(scan, close + 1)) return -1;
  return cutValue(scan, keyClass, start + 1, close);
}

/** Whether a field is over at a place. */
function isOver({ text, stop }: Scan, at: number): boolean {
  return at >= stop || ' ,;)]}|"\'\\'.includes(text.charAt(at));
}

/** Whether an angle bracket closes a value at a place, and no element of XML begins there. */
function isAngled(scan: Scan, close: number): boolean {
  return scan.bytes[close] === 62 && isOver(scan, close + 1);
}

const CHANGED = /["'`]? ?(?:->|=>| to) ?(?=["'`])|(?<![->=]) -> (?=[^\s"'`])/y;

/** What such a sign begins with: a quote, a blank, or its own first byte. */
const CHANGE_SIGN = tableOf('"\'` -=');

/** `"old" -> "new"`: a second value behind the first one that ends at a place. Answers where the scan goes on. */
function further(scan: Scan, keyClass: KeyClass, end: number, stop: number): number {
  if (end >= stop || CHANGE_SIGN[scan.bytes[end] as number] === 0 || (!WHOLE.has(keyClass) && keyClass !== 'user'))
    return end;
  CHANGED.lastIndex = end;
  if (!CHANGED.test(scan.text) || CHANGED.lastIndex >= stop) return end;
  const start = CHANGED.lastIndex;
  const found: Found = { start, isColon: false, isSpaced: false, quote: 0, isDouble: false };
  const next = cutOne(scan, found, keyClass, start, start);
  return next === -1 ? end : next;
}

function isWordLike(byte: number | undefined): boolean {
  return byte !== undefined && (WORD_BITS[byte] !== 0 || byte >= 128);
}

/** Classes that leave most values alone: their quotes are not searched to the end of the line each time. */
function isDoubtful(keyClass: KeyClass): boolean {
  return keyClass === 'address' || keyClass === 'id' || keyClass === 'audit' || keyClass === 'code';
}

/** A value between quotes, or a whole string. `mark` is the quote, 0 for any other bound. Or -1: it is any text. */
function delimited(scan: Scan, keyClass: KeyClass, from: number, to: number, mark: number): number {
  const { bytes, spans, text } = scan;
  if (to <= from) return to;
  const isWhole = WHOLE.has(keyClass);
  // `password=<password>` and `token=<input type=…>` hold no value.
  if (isWhole && mark === 60 && !isAngled(scan, to)) return -1;
  if (
    isWhole &&
    mark === 60 &&
    (/=/.test(text.slice(from, to)) || scan.engine.keys.classAt(bytes, from, to) !== 'none')
  )
    return -1;
  if (!isWhole && mark !== 60 && indexOf(bytes, 92, from, to) !== -1) {
    // A domain of Windows is no escape: `"CORP\alice"`.
    if (keyClass === 'user' && /^[\w.-]+\\[^"\\/nrtu]/.test(text.slice(from, Math.min(to, from + 80))))
      return putPerson(scan, from, to);
    if (keyClass === 'audit' || keyClass === 'id') return -1;
    const before = spans.list.length;
    scan.within(decodeEscapes(text, from, to), keyClass);
    return spans.list.length > before || keyClass !== 'address' ? to : -1;
  }
  return cutValue(scan, keyClass, from, to, mark);
}

/** Numbers, lists and objects of JSON behind a key in quotes. Undefined for what is none of them. */
function jsonBare(scan: Scan, found: Found, keyClass: KeyClass, start: number, stop: number): number | undefined {
  const { bytes } = scan;
  const byte = bytes[start] as number;
  if (byte >= 97 && /^(?:null|true|false)[\s,}\]]/.test(`${scan.text.slice(start, Math.min(stop, start + 6))} `))
    return -1;
  if (byte === 123) return INSIDE.has(keyClass) ? walkJson(scan, start, keyClass) : -1;
  if (byte === 91) return listed(scan, { ...found, start }, keyClass);
  if (byte !== 45 && !isDigit(byte)) return undefined;
  let end = start + 1;
  while (end < stop && (isDigit(bytes[end]) || '.eE+-'.includes(String.fromCharCode(bytes[end] as number)))) end += 1;
  return putNumber(scan, keyClass, start, end, String.fromCharCode(found.quote));
}

/** Classes that what is inside of an object belongs to, or some of it. */
const INSIDE: ReadonlySet<KeyClass> = new Set<KeyClass>([
  'password',
  'secret',
  'authorization',
  'cookie',
  'text',
  'phone',
  'user',
]);

/** A list: of JSON, or of a program that puts the names of people in brackets. */
function listed(scan: Scan, { start }: Found, keyClass: KeyClass): number {
  const next = scan.bytes[gapEnd(scan.bytes, start + 1, scan.stop)];
  return next === 34 || next === 123 || next === 91 || isDigit(next) ? walkJson(scan, start, keyClass) : -1;
}

/** `mail:: …`: the base64 is read as what it says, and written anew where a piece of that is personal. Or -1. */
function cutBase64Value(scan: Scan, keyStart: number, keyEnd: number, start: number): number {
  const { bytes, text, spans } = scan;
  const end = runStop(VALUE_END, bytes, start, Math.min(scan.stop, start + BASE64_MAX));
  const encoded = text.slice(start, end);
  if ((end - start) % 4 !== 0 || !/^[A-Za-z0-9+/]{4,8192}={0,2}$/.test(encoded)) return -1;
  const decoded = decodePrintableBase64(encoded);
  if (decoded === undefined || /[\r\n]/.test(decoded)) return -1;
  const name = `${text.slice(keyStart, keyEnd)}: `;
  const clean = scan.engine.clean(name + decoded).slice(name.length);
  return clean === decoded ? end : spans.put(start, end, Buffer.from(clean, 'latin1').toString('base64'), 'user');
}
