/** Where a value ends that began behind its key: at its closing quote, or without one by what its class may hold. */
import { indexOf, isDigit, NAME_END, runEnd, runStop, tableOf, VALUE_END, WORD_BITS } from '../bytes.ts';
import { columnOf, type Scan } from '../context.ts';
import { markerEnd } from '../spans.ts';

/** Bytes of a value in angle brackets. */
const BRACKET_MAX = 160;

/** How far to the left the quote is looked for that opened around a value. */
const ENCLOSING_MAX = 4096;

/** The place of the closing quote; where there is none, where the value ends instead. */
export function closerOf(scan: Scan, from: number, stop: number, mark: number): { to: number; isClosed: boolean } {
  const { bytes } = scan;
  if (mark === 60) {
    const limit = Math.min(stop, from + BRACKET_MAX);
    let end = from;
    while (end < limit && bytes[end] !== 62 && bytes[end] !== 60) end += 1;
    return { to: end, isClosed: true };
  }
  for (let at = from; at < stop; at += 1) {
    const byte = bytes[at];
    if (byte === 92 && (bytes[at + 1] === mark || bytes[at + 1] === 92)) at += 1;
    else if (byte === mark) {
      // SQL doubles a quote inside of a string.
      if (mark !== 39 || bytes[at + 1] !== 39 || at === from) return { to: at, isClosed: true };
      at += 1;
    }
  }
  return { to: mark === 39 ? runStop(VALUE_END, bytes, from, stop) : stop, isClosed: false };
}

/** Where a name without quotes ends: at an escaped quote or line end too, unless the backslash follows a domain. */
export function nameEnd({ bytes, text }: Scan, start: number, stop: number): number {
  let end = start;
  for (; end < stop && NAME_END[bytes[end] as number] === 0 && bytes[end] !== 61; end += 1) {
    if (bytes[end] !== 92) continue;
    let next = end + 1;
    while (bytes[next] === 92) next += 1;
    if (next >= stop || '"\''.includes(text.charAt(next))) break;
    if ('nrt'.includes(text.charAt(next)) && /[^A-Z0-9._-]/.test(text.slice(start, end))) break;
  }
  return end;
}

export function wordEnd({ bytes }: Scan, from: number, stop: number): number {
  return runEnd(WORD_BITS, bytes, from, stop);
}

export function spaceEnd({ bytes, text }: Scan, from: number, stop: number): number {
  let at = from;
  while (at < stop && (bytes[at] as number) > 32 && !'"\'&,;<>'.includes(text.charAt(at))) at += 1;
  return at;
}

/** A full name without quotes goes on with words in capitals or other scripts, up to three. */
export function restOfName({ bytes, text }: Scan, from: number, stop: number): number {
  let end = from;
  for (let words = 0; words < 3 && bytes[end] === 32 && end + 1 < stop; words += 1) {
    const first = bytes[end + 1] as number;
    if (!(first >= 128 || (first >= 65 && first <= 90) || (first >= 97 && first <= 122))) break;
    const to = runStop(NAME_END, bytes, end + 1, stop);
    if (/[=:]/.test(text.slice(end, Math.min(to + 1, end + 65))) || (first >= 97 && first <= 122 && to < stop)) break;
    end = to;
  }
  return end;
}

export function phoneEnd({ bytes, text }: Scan, from: number, stop: number): number {
  let at = from;
  let end = from;
  while (
    at < stop &&
    at - from < 64 &&
    (isDigit(bytes[at]) ||
      '+()-.% '.includes(text.charAt(at)) ||
      (text.charAt(at) === 'B' && text.charAt(at - 1) === '2'))
  ) {
    // A number without separators has ended.
    if (bytes[at] === 32 && at - from > 9 && /^\+?\d+$/.test(text.slice(from, at))) break;
    if (
      bytes[at] === 32 &&
      !/^ (?:\(?\d{1,5}\)?(?=[ )-]|$)|\d{2,7}(?=[\s"',;)]|$))/.test(text.slice(at, Math.min(stop, at + 12)))
    )
      break;
    at += 1;
    if (isDigit(bytes[at - 1])) end = at;
  }
  // Digits of the next field are not this one's.
  if (end < stop && (bytes[end] === 61 || WORD_BITS[bytes[end] as number] !== 0)) {
    const space = indexOf(bytes, 32, from, end);
    return space > from ? space : from;
  }
  return end;
}

/** Bytes of the further words of a value. */
const WORDS_MAX = 160;

/**
 * Where a value of several words ends whose first one ends at a place: at the `;` of a connection string, at the next field
 * or the bracket of `Login(name=Kalomi Ren, password=…)`, or with its line below a key of YAML. The place itself where
 * nothing says that further words are of it.
 */
export function wordsEnd(scan: Scan, keyStart: number, keyEnd: number, end: number, stop: number): number {
  const { bytes, floor, text } = scan;
  if ((bytes[end] !== 32 && bytes[end] !== 44) || end >= stop) return end;
  const isEqual = bytes[keyEnd] === 61;
  // Behind a blank stands a field of many.
  if (isEqual && bytes[keyStart - 1] === 32 && bytes[keyStart - 2] !== 44) return end;
  const rest = text.slice(end, Math.min(stop, end + WORDS_MAX));
  const before = keyStart > floor ? text.slice(Math.max(floor, keyStart - 2), keyStart) : '';
  if (isEqual && before.endsWith(';')) return end + (/^[^;"'<>\n]+(?=;)/.exec(rest)?.[0].length ?? 0);
  if (isEqual && (before.endsWith('(') || before === ', '))
    return end + (/^[^=()"\n]{1,120}?(?=, \w{1,40}=|\))/.exec(rest)?.[0].length ?? 0);
  // `Environment="DB_PASS=…"`: the quote before the key closes the value.
  if (isEqual && /["']$/.test(before)) {
    const close = rest.indexOf(before.slice(-1));
    if (close !== -1 && !rest.slice(0, close).includes('=')) return end + close;
  }
  if (isEqual && bytes[end] === 44) return end;
  // The one field of its line, of YAML or of an INI file.
  const sign = bytes[keyEnd] === 32 ? bytes[keyEnd + 1] : bytes[keyEnd];
  const isField = (sign === 58 || (sign === 61 && bytes[keyEnd] === 32)) && columnOf(scan, keyStart) >= 0;
  if (!isField || rest.length >= WORDS_MAX || /[:="]/.test(rest)) return end;
  const comment = / [#;]/.exec(rest);
  return comment === null ? stop : end + comment.index;
}

/** Where a value ends that goes to the end of its line: at the quote that opened around it, or with the line. */
export function outerEnd(scan: Scan, keyStart: number, start: number, stop: number): number {
  const { bytes, around } = scan;
  if (keyStart > scan.floor && bytes[keyStart - 1] === 39)
    return opensAt(scan, keyStart - 1) ? closerOf(scan, start, stop, 39).to : stop;
  lookAround(scan, keyStart);
  const floor = keyStart - ENCLOSING_MAX;
  const { quote, bracket } = around;
  if (quote >= floor && quote !== -1) return opensAt(scan, quote) ? closeOf(scan, start, stop) : stop;
  // Brackets around the whole field: `[ Subject: … ]` of a repeated message.
  return stop > start + 1 && bytes[stop - 1] === 93 && bracket >= floor && bracket !== -1 ? stop - 1 : stop;
}

/** The quote and the bracket before a key. What was passed by for the key before is not walked again. */
function lookAround({ bytes, floor, around }: Scan, keyStart: number): void {
  const isKnown = around.floor === floor && around.to <= keyStart;
  const from = isKnown ? around.to : Math.max(floor, keyStart - ENCLOSING_MAX);
  if (!isKnown) around.quote = around.bracket = -1;
  around.floor = floor;
  around.to = keyStart;
  let bracket = -1;
  for (let at = keyStart - 1; at >= from; at -= 1) {
    const byte = bytes[at];
    if (byte === 91 && bracket === -1 && bytes[at + 1] === 32) bracket = at;
    if (byte !== 34 && byte !== 10) continue;
    around.quote = byte === 34 ? at : -1;
    around.bracket = bracket;
    around.close = -1;
    return;
  }
  if (bracket !== -1) around.bracket = bracket;
}

/** Whether a quote opens what is behind it. */
function opensAt({ text, floor }: Scan, quote: number): boolean {
  const isOpening = quote === floor || ' :=[,{(\t\n'.includes(text.charAt(quote - 1));
  return isOpening && !',}]:'.includes(text.charAt(quote + 1));
}

/** Where the double quote closes that stands around a value: the same for all values in it. */
function closeOf(scan: Scan, start: number, stop: number): number {
  const { around } = scan;
  if (around.close < start || around.openFrom > start || around.close > stop) {
    around.openFrom = start;
    around.close = closerOf(scan, start, stop, 34).to;
  }
  return around.close;
}

const JOINERS = tableOf(',;&)]}|');

/** The end of a secret without quotes: what joins fields ends it only where another field follows. */
export function secretEnd(scan: Scan, keyStart: number, start: number, stop: number): number {
  const { bytes, text } = scan;
  const isQuery = keyStart > scan.floor && '?&'.includes(text.charAt(keyStart - 1));
  for (let at = start; at < stop; at += 1) {
    const byte = bytes[at] as number;
    if (VALUE_END[byte] !== 0) return at;
    if (byte === 91 && markerEnd(text, at) !== -1) at = markerEnd(text, at) - 1;
    else if (byte === 92 && isEscapedEnd(scan, at)) return at;
    // A shell's blank inside of a word.
    else if (byte === 92 && bytes[at + 1] === 32 && bytes[keyStart - 1] === 32) at += 1;
    else if (isQuery && (byte === 38 || byte === 35)) return at;
    else if (JOINERS[byte] === 1 && endsHere(scan, at + 1, stop)) return at;
  }
  return stop;
}

/** An escaped quote or line end: what was inside of a string of JSON ends there. */
function isEscapedEnd({ bytes, stop }: Scan, at: number): boolean {
  let next = at + 1;
  while (bytes[next] === 92 && next - at <= 15) next += 1;
  return next < stop && (bytes[next] === 34 || bytes[next] === 110);
}

function endsHere(scan: Scan, next: number, stop: number): boolean {
  if (next >= stop) return true;
  const { bytes } = scan;
  const byte = bytes[next] as number;
  if (VALUE_END[byte] !== 0 || JOINERS[byte] === 1 || byte === 58 || byte === 92) return true;
  const end = wordEnd(scan, next, Math.min(stop, next + 40));
  return end > next && bytes[end] === 61;
}

/** A DN goes on behind the name; a host in a certificate's subject is no person. */
const IN_DN = /^[^,=\n]{1,128}(?=, ?(?:ou|dc|o|cn|c|l|st)=)/i;

const HOST = /^[*\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/;

/** Where the name under a key of a directory ends that no bracket and no comma announces; -1 where it is none. */
export function directoryEnd(
  { text, floor }: Scan,
  keyStart: number,
  keyEnd: number,
  start: number,
  stop: number,
): number {
  const before = keyStart > floor ? text.charCodeAt(keyStart - 1) : 10;
  if (before === 10 && text.charCodeAt(keyEnd) === 58 && start < stop && text.charCodeAt(start - 1) === 32) {
    const value = text.slice(start, Math.min(stop, start + 256));
    // A serial number has digits, and a DN is seen to by its own names.
    return value.includes('=') || (keyEnd - keyStart === 2 && /\d/.test(value)) ? -1 : stop;
  }
  if (before !== 32 || text.charCodeAt(keyEnd) !== 61) return -1;
  const name = IN_DN.exec(text.slice(start, Math.min(stop, start + 256)))?.[0];
  return name === undefined || HOST.test(name) ? -1 : start + name.length;
}

/** Hashes of passwords: crypt(5), argon2 with its parameters, and those of directories. */
export const HASH =
  /(?:\$2[abxy]\$\d\d\$[A-Za-z0-9./]{22,53}|\$(?:argon2(?:id|i|d))\$(?:v=\d+\$)?[a-z]=\d+(?:,[a-z]=\d+){0,3}\$[A-Za-z0-9+/=.$_-]{16,}|\$(?:1|5|6|7|8|9|y|gy|apr1|sha1|scrypt)\$[A-Za-z0-9./=+$_-]{16,}|\{(?:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[A-Z0-9-]{0,10}|CRYPT|ARGON2|BLF-CRYPT|SHA512-CRYPT)\}[A-Za-z0-9./,=+$_-]{8,})/y;

/** Where a hash of a password ends, whose parameters look like fields; -1 when there is none. */
export function hashEnd(text: string, start: number, stop: number): number {
  const first = text.charCodeAt(start);
  if (first !== 36 && first !== 123) return -1;
  HASH.lastIndex = start;
  return HASH.test(text) ? Math.min(HASH.lastIndex, stop) : -1;
}
