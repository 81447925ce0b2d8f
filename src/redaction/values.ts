/** The grammar of values: where one starts behind its key, in every syntax, and what is around it. */
import { bare, type Found } from './bare-values.ts';
import { gapEnd, indexOf, isDigit, runStop, VALUE_END, WORD_BITS } from './bytes.ts';
import { lineStop, type Scan } from './context.ts';
import { decodePrintableBase64 } from './decoding.ts';
import { decodeEscapes } from './encodings.ts';
import { noteOpen, putNumber, walkJson } from './json.ts';
import { isHighCode, putPerson } from './people.ts';
import type { KeyClass } from './rows.ts';
import { markerEnd } from './spans.ts';
import { cutValue, isHarmlessAt } from './value-classes.ts';
import { closerOf } from './value-ends.ts';

/** Bytes of base64 that are decoded. */
const BASE64_MAX = 8192;

/** `=`, `:`, `=>`, `:=`, `]=`, and `,` of a call or a tuple, with quotes around the key and spaces around the sign. */
function findSeparator({ bytes, text, stop, floor }: Scan, keyStart: number, keyEnd: number): Found | undefined {
  let at = keyEnd;
  const mark = at < stop ? (bytes[at] as number) : 10;
  const quote = mark === 34 || mark === 39 || mark === 96 ? mark : 0;
  if (quote !== 0) at += bytes[at + 1] === 93 ? 2 : 1;
  else if (mark === 93 || mark === 41) at += 1;
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
    const before = keyStart > floor + 1 ? text.charAt(keyStart - (quote === 0 ? 1 : 2)) : '';
    if (before !== (quote === 0 ? '{' : '(')) return undefined;
    const value = gapEnd(bytes, at + 1, stop);
    return '"\''.includes(text.charAt(value) || ' ') || text.startsWith('<<"', value)
      ? { start: value + (bytes[value] === 60 ? 2 : 0), isColon: false, isSpaced: false, quote, isDouble }
      : undefined;
  } else return undefined;
  // `Key (login)=(alice)` of postgres.
  if (mark === 41 && bytes[at] === 40) at += 1;
  const start = gapEnd(bytes, at, stop);
  return start < stop ? { start, isColon: sign === 58, isSpaced: start > at, quote, isDouble } : undefined;
}

const WRAPPER =
  /(?:Some\(|Just |Optional\[|Optional\.of\(|(?:\(string\) )?\(len=\d{1,9}\) |string\(\d{1,9}\) |!!?[a-z]{1,16} |&[\w-]{1,32} |<!\[CDATA\[|(?:PASSWORD|MD5|SHA1|SHA2|CRYPT|ENCRYPT|AES_ENCRYPT|password|md5|sha1|crypt)\((?=["']))/y;

/** What programs write around a value and is none of it: `Some("alice")`, `PASSWORD('…')`. Where the value starts. */
function unwrapped(text: string, start: number): number {
  if (!'SJO(s!&<PMACEpmac'.includes(text.charAt(start))) return start;
  WRAPPER.lastIndex = start;
  return WRAPPER.test(text) ? WRAPPER.lastIndex : start;
}

/** Bytes of an opening quote or angle bracket with the letter of a string before it; 0 where there is none. */
function openerWidth({ bytes }: Scan, start: number): number {
  const first = bytes[start];
  if (first === 34 || first === 39 || first === 96 || first === 60) return 1;
  // Strings of bytes and of Unicode: `b'…'`, `u'…'`, `N'…'`.
  const second = bytes[start + 1];
  return (first === 98 || first === 117 || first === 78 || first === 69) && (second === 39 || second === 34) ? 2 : 0;
}

/** The value under a key of a class. Answers where the scan goes on, or -1 when there is none to see to. */
export function cutKeyed(scan: Scan, keyStart: number, keyEnd: number, keyClass: KeyClass): number {
  const { bytes, text } = scan;
  const found = findSeparator(scan, keyStart, keyEnd);
  if (found === undefined) return -1;
  if (keyClass === 'people') return bytes[found.start] === 91 ? listed(scan, found, 'user') : -1;
  const start = unwrapped(text, found.start);
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
    if (!isClosed && to >= stop) noteOpen(scan, keyClass, mark);
    if ((keyClass === 'password' || keyClass === 'secret') && isHarmlessAt(scan, keyStart, keyEnd, inside, to))
      return -1;
    return delimited(scan, keyClass, inside, to, mark);
  }
  if (found.quote !== 0 && found.isColon) {
    const end = jsonBare(scan, found, keyClass, start, stop);
    if (end !== undefined) return end;
  }
  if (bytes[start] === 91 && (bytes[start + 1] === 34 || bytes[start + 1] === 123))
    return walkJson(scan, start, keyClass);
  return bare(scan, found, keyClass, keyStart, keyEnd, start, stop);
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
  const isWhole =
    keyClass === 'password' ||
    keyClass === 'secret' ||
    keyClass === 'text' ||
    keyClass === 'cookie' ||
    keyClass === 'authorization';
  if (isWhole && mark === 60) return -1;
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
