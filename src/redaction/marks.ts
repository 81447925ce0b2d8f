/** What a mark is the middle or the beginning of: addresses, URIs, numbers, escapes, JSON, elements, options. */
import { cutIPv6 } from './identifiers/addresses.ts';
import { HEX, indexOf, isDigit, runEnd, stringEnd, WORD_BITS } from './bytes.ts';
import { cutOption } from './values/commands.ts';
import { DOUBLED, SLASH, type Scan } from './context.ts';
import { decodeEncodedWord } from './encodings/decoding.ts';
import { cutElement } from './values/elements.ts';
import {
  decodeDoubled,
  decodeEscapes,
  decodePercent,
  decodeQuotedPrintable,
  decodeReferences,
} from './encodings/encodings.ts';
import { walkJson } from './values/json.ts';
import { cutDomainUser } from './identifiers/domain-users.ts';
import { cutEmail, isHighCode, putDisplayName, putPerson } from './identifiers/people.ts';
import { cutInternational } from './identifiers/phones.ts';
import { cutBracket } from './values/phrases.ts';
import { cutPrivateKey } from './secrets/private-keys.ts';
import { isPseudonym } from './identifiers/pseudonyms.ts';
import { markerEnd } from './spans.ts';
import { cutUserinfo } from './identifiers/uris.ts';
import { HASH } from './values/value-ends.ts';

/** Bytes of one stretch; a longer one is taken in parts. */
const REGION_MAX = 4096;
/** Bytes of a cell that may hold a name and a value. */
const CELL_MIN = 8;
/** What a number of a country may begin with behind its plus. */
const NUMBER_START = /^\+(?:\d|\(\d)/;

/** Answers where the scan goes on, or -1. */
export function cutMark(scan: Scan, byte: number, at: number): number {
  const { bytes, text } = scan;
  const next = at + 1 < scan.stop ? (bytes[at + 1] as number) : 10;
  switch (byte) {
    case 64: // @
      return cutEmail(scan, at, 1);
    case 58: // :
      return next === 47 || next === 58 || next === 65 || next === 92 ? cutColon(scan, at, next) : -1;
    case 43: // +
      return isDigit(next) || next === 40 ? (NUMBER_START.test(text.slice(at, at + 3)) ? cutCalled(scan, at) : -1) : -1;
    case 37: // %
      return HEX[next] === 1 ? cutPercent(scan, at) : -1;
    case 92: // \
      return cutBackslash(scan, at, next);
    case 61: // =
      return next === 63 ? cutEncodedWord(scan, at) : next < 71 && next > 47 ? cutEquals(scan, at) : -1;
    case 34: // "
      return cutQuote(scan, at, next);
    case 91: // [
      if (next === 82) return markerEnd(text, at);
      return next === 34 || next === 123 || next === 91
        ? startJson(scan, at)
        : isDigit(next) && bytes[at - 1] === 58 && /^\[\d{1,3},/.test(text.slice(at, at + 5))
          ? startJson(scan, at)
          : -1;
    case 123: // {
      return next === 34 || next === 32 || next === 10 ? startJson(scan, at) : cutHash(scan, at);
    case 60: // <
      return WORD_BITS[next] === 0 ? -1 : cutElement(scan, at);
    case 45: // -
      return cutDash(scan, at, next);
    default:
      return cutRareMark(scan, byte, at, next);
  }
}

/** A number of a country; `"Alice Liddell" <+7…>` of a call's record has a name before it. */
function cutCalled(scan: Scan, at: number): number {
  if (scan.bytes[at - 1] === 60 && /^\+\d{7,15}>/.test(scan.text.slice(at, at + 18))) putDisplayName(scan, at);
  return cutInternational(scan, at, 1);
}

function cutRareMark(scan: Scan, byte: number, at: number, next: number): number {
  const { text } = scan;
  switch (byte) {
    case 38: // &
      return next === 35 || (next > 96 && next < 123) ? cutReference(scan, at) : -1;
    case 36: // $
      return Math.max(cutHash(scan, at), cutParameter(scan, at));
    case 40: // (
      return WORD_BITS[next] !== 0 || next >= 128 ? cutBracket(scan, at) : -1;
    case 126: // ~
      return cutTilde(scan, at);
    case 35: // #
      if (text.startsWith('#033[', at)) scan.hasUnseen = true;
      return -1;
    case 94: // ^
      if (text.startsWith('^[[', at)) scan.hasUnseen = true;
      return -1;
    default:
      return -1;
  }
}

function cutColon(scan: Scan, at: number, next: number): number {
  const { bytes, text, spans } = scan;
  if (next === 47 && bytes[at + 2] === 47) return cutUserinfo(scan, at, at + 3);
  if (next === 92) return text.startsWith(':\\/\\/', at) ? cutUserinfo(scan, at, at + 5) : -1;
  if (next === 58) return cutIPv6(scan, at);
  if (next !== 65) return -1;
  const floor = Math.max(spans.last, scan.floor, at - 64);
  let start = at;
  if (text.startsWith('APA91b', at + 1))
    while (start > floor && WORD_BITS[bytes[start - 1] as number] !== 0) start -= 1;
  else while (start > floor && isDigit(bytes[start - 1])) start -= 1;
  // Digits of an escape of JSON are none of the token.
  if (bytes[start - 1] === 117 && bytes[start - 2] === 92) start += 4;
  const token = /^:A[A-Za-z0-9_-]{32,}/.exec(text.slice(at, Math.min(scan.stop, at + REGION_MAX)))?.[0];
  return token !== undefined && at - start >= 5 ? spans.secret(start, at + token.length, 'api-key') : -1;
}

function edge(scan: Scan, at: number, edges: string): number {
  const { bytes, text, spans } = scan;
  const floor = Math.max(spans.last, scan.floor, scan.decodedTo, at - REGION_MAX);
  let from = at;
  while (from > floor && (bytes[from - 1] as number) > 31 && !edges.includes(text.charAt(from - 1))) from -= 1;
  return from;
}

function endOf(scan: Scan, at: number, edges: string): number {
  const { bytes, text } = scan;
  const limit = Math.min(scan.stop, at + REGION_MAX);
  let to = at;
  while (to < limit && (bytes[to] as number) > 31 && !edges.includes(text.charAt(to))) to += 1;
  // A backslash before the edge escapes it.
  while (to > at + 1 && bytes[to - 1] === 92) to -= 1;
  return to;
}

function cutPercent(scan: Scan, at: number): number {
  const { bytes, text } = scan;
  if (HEX[bytes[at + 2] as number] !== 1) return -1;
  if (text.startsWith('%2D%2D', at) || text.startsWith('%2d%2d', at)) {
    const key = cutPrivateKey(scan, at);
    if (key !== -1) return key;
  }
  const from = edge(scan, at, ' "\'<>`=&?;,()|');
  const to = endOf(scan, at, ' "\'<>`&;|');
  scan.within(decodePercent(text, from, to), 'none');
  return Math.max(to, scan.spans.last);
}

function cutReference(scan: Scan, at: number): number {
  const { text } = scan;
  if (!/^&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,6}|quot|apos|lt|gt|amp|nbsp);/.test(text.slice(at, at + 10))) return -1;
  const from = edge(scan, at, ' "<>`');
  const to = endOf(scan, at, '"<>`');
  scan.within(decodeReferences(text, from, to), 'none');
  return Math.max(to, scan.spans.last);
}

/** Escapes outside of a string: of a string whose beginning was cut off, or of a text that was pasted. */
function cutBackslash(scan: Scan, at: number, next: number): number {
  const { text, bytes, stop } = scan;
  if (next === 34 || (next === 92 && /^\\+"/.test(text.slice(at, at + 32)))) {
    let end = at + 1;
    while (end < stop && !(bytes[end] === 34 && bytes[end - 1] !== 92)) end += 1;
    scan.within(decodeEscapes(text, at, end), 'none');
    return Math.max(end, scan.spans.last);
  }
  if (/^\\(?:x1b|033|e)\[|^\\u(?:001b|00a0|00ad|20|3000|feff)/i.test(text.slice(at, at + 6))) scan.hasUnseen = true;
  if (next === 117 && /^\\u00[0-7][0-9a-fA-F]/.test(text.slice(at, at + 6))) {
    const from = edge(scan, at, '"');
    const to = endOf(scan, at, '"');
    scan.within(decodeEscapes(text, from, to), 'none');
    return Math.max(to, scan.spans.last);
  }
  const person = cutDomainUser(scan, at);
  if (person !== -1) return person;
  return next === 110 || next === 114 || next === 116 || next === 98 || next === 102 ? at + 2 : at + 1;
}

/** A string with escapes, or a cell of CSV with doubled quotes: what is in it is read as what it says. */
function cutQuote(scan: Scan, at: number, next: number): number {
  const { bytes, text, stop } = scan;
  const before = at > scan.floor ? text.charAt(at - 1) : ' ';
  if (next === 34) {
    // `""user""` of a cell whose beginning was not seen.
    if (WORD_BITS[bytes[at + 2] ?? 32] === 0 || ' =:,'.includes(before)) return at + 2;
    return cutCell(scan, at, at);
  }
  if (!' \t=:,;([{>|'.includes(before)) return -1;
  const doubled = scan.next(DOUBLED, at + 1);
  if (',;\t '.includes(before) && doubled < stop && isInCell(scan, at + 1, doubled)) return cutCell(scan, at + 1, at);
  if (scan.next(SLASH, at) >= stop || at < scan.openTo) return -1;
  const end = stringEnd(bytes, at + 1, stop);
  if (end === -1) {
    scan.openTo = stop;
    return -1;
  }
  if (scan.next(SLASH, at) > end) return -1;
  scan.within(decodeEscapes(text, at + 1, end), 'none');
  return Math.max(end + 1, scan.spans.last);
}

/** Whether a doubled quote stands inside of the cell that begins at a place: no quote closes the cell before it. */
function isInCell({ bytes }: Scan, from: number, doubled: number): boolean {
  return (
    (doubled - from < REGION_MAX &&
      indexOf(bytes, 34, from, doubled) === -1 &&
      !' ,;:='.includes(String.fromCharCode(bytes[doubled + 2] ?? 32))) ||
    (doubled - from < REGION_MAX && indexOf(bytes, 34, from, doubled) === -1 && bytes[doubled + 2] === 58)
  );
}

function cutCell(scan: Scan, from: number, at: number): number {
  const { bytes, text, stop } = scan;
  let end = from;
  for (; end < stop; end += 1) {
    if (bytes[end] !== 34) continue;
    if (bytes[end + 1] !== 34 || end + 1 >= stop) break;
    end += 1;
  }
  // What is shorter holds no name and value.
  if (end - from < CELL_MIN) return at + 1;
  scan.within(decodeDoubled(text, from, end), 'none');
  return Math.max(end, scan.spans.last, at + 1);
}

function startJson(scan: Scan, at: number): number {
  // `["user"]=> …` of a program's dump is a key in brackets.
  if (/^\["[^"]{1,64}"\] ?=/.test(scan.text.slice(at, Math.min(scan.stop, at + 70)))) return -1;
  // A table of Lua: `{ ["user"] = … }`.
  if (scan.bytes[at] === 123 && /^\{\s{1,16}\[/.test(scan.text.slice(at, Math.min(scan.stop, at + 20)))) return -1;
  return walkJson(scan, at, 'none');
}

function cutHash({ text, spans, stop }: Scan, at: number): number {
  HASH.lastIndex = at;
  return HASH.test(text) ? spans.secret(at, Math.min(HASH.lastIndex, stop), 'secret') : -1;
}

function cutDash(scan: Scan, at: number, next: number): number {
  const { bytes, text, stop } = scan;
  if (next === 32) return bytes[at - 1] === 32 ? cutRemoteUser(scan, at - 1) : -1;
  if (next === 45 && (text.startsWith('----BEGIN', at + 1) || text.startsWith('--- BEGIN', at + 1))) {
    const key = cutPrivateKey(scan, at);
    return key === -1 ? at + 10 : key;
  }
  const option = cutOption(scan, at);
  if (option !== -1) return option;
  let end = at + 1;
  while (end < stop && bytes[end] === 45) end += 1;
  // `--name=` has a key behind its dashes; a flag is none of what its word says elsewhere.
  const word = runEnd(WORD_BITS, bytes, end, stop);
  return word > end && (bytes[at - 1] ?? 32) === 32 && word - end < 20 && (bytes[word] === 32 || word >= stop)
    ? word
    : end;
}

const COMBINED = /^ - (\S{1,256}) \[(?:\d\d\/(?:[A-Z][a-z]{2}|\d\d)\/\d{4}[: ]|\d{4}-\d\d-\d\d[T ])/;

/** The same without a time. */
const REQUESTED = /^ - (\S{1,256}) "(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH|PROPFIND|CONNECT) /;

/** The third field of an access log, behind the address that ends here. */
function cutRemoteUser(scan: Scan, end: number): number {
  let space = end + 3;
  while (space < scan.stop && (scan.bytes[space] as number) > 32) space += 1;
  const mark = scan.bytes[space + 1];
  if (mark !== 91 && mark !== 34) return -1;
  const pattern = mark === 91 ? COMBINED : REQUESTED;
  const name = pattern.exec(scan.text.slice(end, Math.min(scan.stop, end + 280)))?.[1];
  return name === undefined || name === '-' ? -1 : putPerson(scan, end + 3, end + 3 + name.length);
}

/** A secret of Azure: three characters, a digit, `Q~`. */
function cutTilde({ bytes, text, spans, stop, floor }: Scan, at: number): number {
  if (bytes[at - 1] !== 81 || !isDigit(bytes[at - 2]) || at - 5 < Math.max(spans.last, floor)) return -1;
  const token = /^[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}/.exec(
    text.slice(at - 5, Math.min(stop, at + REGION_MAX)),
  )?.[0];
  return token === undefined ? -1 : spans.secret(at - 5, at - 5 + token.length, 'api-key');
}

const ENCODED_WORD = /^=\?[\w-]{1,40}\?([BbQq])\?([^?\s]{0,400})\?=/;

/** An encoded word of a mail's header: before an address it is a name, elsewhere text. */
function cutEncodedWord(scan: Scan, at: number): number {
  const match = ENCODED_WORD.exec(scan.text.slice(at, Math.min(scan.stop, at + 460)));
  if (match === null) return -1;
  const end = at + match[0].length;
  const word = decodeEncodedWord(match[1] as string, match[2] as string);
  if (/^"? {0,2}<[^>\s]*@/.test(scan.text.slice(end, Math.min(scan.stop, end + 320))))
    return scan.spans.put(at, end, scan.engine.pseudonyms.user(word), 'user');
  return scan.spans.secret(at, end, 'text');
}

const PARAMETER = /^\$\d{1,3} = '([^'\n]{0,400})'/;

/** `$1 = 'alice'`: parameters of a statement are whatever people sent. */
function cutParameter({ text, spans, stop }: Scan, at: number): number {
  const value = PARAMETER.exec(text.slice(at, Math.min(stop, at + 420)))?.[1];
  if (value === undefined) return -1;
  const from = text.indexOf("'", at) + 1;
  if (value === '' || isPseudonym(value) || /^\[REDACTED:|^\d{1,6}$|@[\w-]{1,64}\.\w|^\+/.test(value)) return from;
  return spans.secret(from, from + value.length, 'text');
}

/**
 * Quoted-printable: two bytes of UTF-8 beside each other, `=3D`, the at sign before a domain, a plus before a number.
 * Other codes read like fields whose value begins with a number.
 */
function cutEquals(scan: Scan, at: number): number {
  const { bytes, text } = scan;
  const code = text.slice(at + 1, at + 3);
  const isPair = bytes[at + 3] === 61 && isHighCode(bytes, at + 1) && isHighCode(bytes, at + 4);
  if (
    code === '40' &&
    /^(?:[\w.-]{1,80}\.[A-Za-z]{2}|tcp\(|unix\()/.test(text.slice(at + 3, at + 90)) &&
    WORD_BITS[bytes[at - 1] ?? 32] !== 0
  )
    return isSoftBroken(scan, at) ? cutEmail(scan, at, 3) : cutPrintable(scan, at);
  if (isPair || code === '3D' || (code === '2B' && /^[\d .()=-]{7}/.test(text.slice(at + 3, at + 12))))
    return cutPrintable(scan, at);
  return -1;
}

function cutPrintable(scan: Scan, at: number): number {
  const { text } = scan;
  // A name before the sign belongs to it: `token=3Dx`, `To: =D0=B5…`.
  const from = edge(scan, at, ' "\'<>`&?;,()|[]');
  const to = endOf(scan, at, '');
  scan.within(decodeQuotedPrintable(text, from, to), 'none');
  return Math.max(to, scan.spans.last);
}

/** Whether the word before a place began on the line above, which quoted-printable broke. */
function isSoftBroken({ bytes, floor, isJoined }: Scan, at: number): boolean {
  if (!isJoined) return false;
  let from = at;
  while (from > floor && at - from < 256 && (bytes[from - 1] as number) > 32) from -= 1;
  if (bytes[from - 1] !== 10) return false;
  return bytes[bytes[from - 2] === 13 ? from - 3 : from - 2] === 61;
}
