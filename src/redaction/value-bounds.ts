/** Where a value starts behind its key and where it ends, in every syntax of logs. */
import { isDigit, NAME_END, VALUE_END, WORD_BITS, wordStop } from './character-classes.ts';
import { indexWithin } from './context.ts';

/** Spaces allowed on either side of a separator. */
const GAP_MAX = 8;

/** Bytes of a value in angle brackets. */
const BRACKET_MAX = 160;

/** Backslashes before a quote: four turns of JSON inside a string. */
const DEPTH_MAX = 15;

/** Where a value stands. One object is used again and again: a scan makes no garbage for each key. */
export const found = {
  start: 0,
  end: 0,
  isColon: false,
  isQuoted: false,
  isSpaced: false,
  delimiter: '',
  isDouble: false,
};

/** `=`, `:`, `=>`, `:=`, `]=`, with quotes around the key and spaces around the sign. */
export function findSeparator(source: string, keyEnd: number): boolean {
  let at = keyEnd;
  found.delimiter = '';
  let slashes = 0;
  while (source.charCodeAt(at) === 92 && slashes < DEPTH_MAX) {
    slashes += 1;
    at += 1;
  }
  const quote = source.charCodeAt(at);
  if (quote === 34 || quote === 39 || quote === 96) {
    found.delimiter = source.slice(keyEnd, at + 1);
    at += 1;
    // `["password"] = …`, `["password"]=> …`
    if (source.charCodeAt(at) === 93) at += 1;
  } else if (slashes > 0) return false;
  if (quote === 93 || quote === 41) at += 1;
  at = gap(source, at);
  const sign = source.charCodeAt(at);
  found.isDouble = false;
  if (sign === 61) {
    at += source.startsWith('3D', at + 1) && source.charCodeAt(at + 3) !== 61 ? 3 : 1;
    found.isColon = false;
    if (source.charCodeAt(at) === 62) at += 1;
    if (source.charCodeAt(at) === 61) return false;
  } else if (sign === 58) {
    at += 1;
    found.isColon = true;
    // `tel:=2B7…` is a plus sign in quoted-printable and not the sign `:=`.
    if (source.charCodeAt(at) === 61) at += source.startsWith('2B', at + 1) ? 0 : 1;
    else if (source.charCodeAt(at) === 58) {
      if (source.charCodeAt(at + 1) !== 32) return false;
      found.isDouble = true;
      at += 1;
    } else if (source.charCodeAt(at) === 47 && source.charCodeAt(at + 1) === 47) return false;
  } else return false;
  // `Key (login)=(alice)` of postgres.
  if (quote === 41 && source.charCodeAt(at) === 40) at += 1;
  const start = gap(source, at);
  found.isSpaced = start > at;
  found.start = start;
  return start < source.length;
}

export function gap(source: string, from: number): number {
  let at = from;
  while (at - from < GAP_MAX && (source.charCodeAt(at) === 32 || source.charCodeAt(at) === 9)) at += 1;
  return at;
}

/** The opening quote of a value with its backslashes, or `<`. */
export function readOpener(source: string, start: number): string | undefined {
  let at = start;
  // Strings of bytes and of Unicode: `b'…'`, `u'…'`, `N'…'`.
  if ('buNE'.includes(source.charAt(at)) && (source.charCodeAt(at + 1) | 5) === 39) at += 1;
  while (source.charCodeAt(at) === 92 && at - start < DEPTH_MAX) at += 1;
  const byte = source.charCodeAt(at);
  if (byte === 34 || byte === 39 || byte === 96) return source.slice(start, at + 1);
  if (byte === 60 && at === start) return '<';
  return undefined;
}

/** The place of the closing quote: one with as many backslashes as the opening one. A cut value ends with its line. */
export function closerOf(source: string, from: number, stop: number, opener: string): number {
  if (opener === '<') {
    const limit = Math.min(stop, from + BRACKET_MAX);
    const end = indexWithin(source, '>', from, limit);
    return end === -1 ? limit : end;
  }
  const mark = opener.charAt(opener.length - 1);
  let depth = 0;
  while (depth < opener.length - 1 && opener.charCodeAt(opener.length - 2 - depth) === 92) depth += 1;
  for (let at = from; ; at += 1) {
    at = indexWithin(source, mark, at, stop);
    if (at === -1) break;
    let slashes = 0;
    while (at - slashes > from && source.charCodeAt(at - slashes - 1) === 92) slashes += 1;
    // An escaped single quote of a shell, or a doubled one of SQL, does not matter here: the value ends early at worst.
    if (slashes <= depth) return at - slashes;
  }
  return mark === "'" ? Math.min(stop, wordStop(VALUE_END, source, from, stop)) : stop;
}

const WRAPPER =
  /(?:Some\(|Just |Optional\[|Optional\.of\(|(?:\(string\) )?\(len=\d{1,9}\) |string\(\d{1,9}\) |!!?[a-z]{1,16} |&[\w-]{1,32} )/y;

/** What programs write around a value and is none of it: `Some("alice")`, `string(5) "alice"`, `!!str alice`. Where the value starts. */
export function unwrapped(source: string, start: number): number {
  if (!'SJO(s!&'.includes(source.charAt(start))) return start;
  WRAPPER.lastIndex = start;
  return WRAPPER.test(source) ? WRAPPER.lastIndex : start;
}

/** Where a run of letters, digits, dashes and underscores ends. */
export function wordEnd(source: string, from: number, stop: number): number {
  let at = from;
  while (at < stop && WORD_BITS[source.charCodeAt(at)] !== 0) at += 1;
  return at;
}

/** Where a name without quotes ends: at an escaped quote or line end too, unless the backslash follows a domain. */
export function nameEnd(source: string, start: number, stop: number): number {
  let end = start;
  for (; end < stop && NAME_END[source.charCodeAt(end)] === 0 && source.charCodeAt(end) !== 61; end += 1) {
    if (source.charCodeAt(end) !== 92) continue;
    let next = end + 1;
    while (source.charCodeAt(next) === 92) next += 1;
    if (next >= stop || '"\''.includes(source.charAt(next))) break;
    if ('nrt'.includes(source.charAt(next)) && /[^A-Z0-9._-]/.test(source.slice(start, end))) break;
  }
  return end;
}

export function spaceEnd(source: string, from: number, stop: number): number {
  let at = from;
  while (at < stop && source.charCodeAt(at) > 32 && !'"\'&,;<>'.includes(source.charAt(at))) at += 1;
  return at;
}

/** A full name without quotes goes on with words in capitals or other scripts, up to three. */
export function restOfName(source: string, from: number, stop: number): number {
  let end = from;
  for (let words = 0; words < 3 && source.charCodeAt(end) === 32; words += 1) {
    const first = source.charCodeAt(end + 1);
    if (!(first >= 128 || (first >= 65 && first <= 90))) break;
    const to = wordStop(NAME_END, source, end + 1, stop);
    if (source.slice(end + 1, Math.min(to, end + 65)).includes('=')) break;
    end = to;
  }
  return end;
}

export function phoneEnd(source: string, from: number, stop: number): number {
  let at = from;
  let end = from;
  while (
    at < stop &&
    at - from < 64 &&
    (isDigit(source, at) ||
      '+()-.% '.includes(source.charAt(at)) ||
      (source.charAt(at) === 'B' && source.charAt(at - 1) === '2'))
  ) {
    if (source.charCodeAt(at) === 32 && !(isDigit(source, at + 1) || source.charCodeAt(at + 1) === 40)) break;
    at += 1;
    if (isDigit(source, at - 1)) end = at;
  }
  // Digits of the next field are not this one's.
  return end < stop && (source.charCodeAt(end) === 61 || WORD_BITS[source.charCodeAt(end)] !== 0)
    ? firstBreak(source, from, end)
    : end;
}

function firstBreak(source: string, from: number, end: number): number {
  const space = indexWithin(source, ' ', from, end);
  return space > from ? space : from;
}

/** How far to the left the quote is looked for that opened around a value. */
const ENCLOSING_MAX = 4096;

/** Where a value ends that goes to the end of its line: at the quote that opened around it, or with the line. */
export function outerEnd(source: string, keyStart: number, start: number, stop: number): number {
  const floor = Math.max(0, keyStart - ENCLOSING_MAX);
  for (let at = keyStart - 1; at >= floor && source.charCodeAt(at) !== 10; at -= 1) {
    const byte = source.charCodeAt(at);
    if (byte !== 34 && !(byte === 39 && at === keyStart - 1)) continue;
    let first = at;
    while (first > floor && source.charCodeAt(first - 1) === 92) first -= 1;
    const isOpening = first === 0 || ' :=[,{(\t\n'.includes(source.charAt(first - 1));
    return isOpening && !',}]:'.includes(source.charAt(at + 1))
      ? closerOf(source, start, stop, source.slice(first, at + 1))
      : stop;
  }
  return stop;
}

/** The end of a secret without quotes: what joins fields ends it only where another field follows. */
export function secretEnd(source: string, keyStart: number, start: number, stop: number): number {
  const isQuery = keyStart > 0 && '?&'.includes(source.charAt(keyStart - 1));
  for (let at = start; at < stop; at += 1) {
    const byte = source.charCodeAt(at);
    if (VALUE_END[byte] !== 0) return at;
    if (byte === 92 && isEscapedEnd(source, at)) return at;
    if (isQuery && (byte === 38 || byte === 35)) return at;
    if (JOINERS.includes(source.charAt(at)) && endsHere(source, at + 1, stop)) return at;
  }
  return stop;
}

/** An escaped quote or line end: what was inside of a string of JSON ends there. */
function isEscapedEnd(source: string, at: number): boolean {
  let next = at + 1;
  while (source.charCodeAt(next) === 92 && next - at <= DEPTH_MAX) next += 1;
  return '"n'.includes(source.charAt(next)) && next < source.length;
}

const JOINERS = ',;&)]}|';

function endsHere(source: string, next: number, stop: number): boolean {
  if (next >= stop) return true;
  const byte = source.charCodeAt(next);
  if (VALUE_END[byte] !== 0 || JOINERS.includes(source.charAt(next)) || byte === 58 || byte === 92) return true;
  const end = wordEnd(source, next, Math.min(stop, next + 40));
  return end > next && source.charCodeAt(end) === 61;
}
