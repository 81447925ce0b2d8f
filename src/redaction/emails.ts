/** E-mail addresses, found by their at sign in every encoding (RED-04), and what stands around them. */
import { DOMAIN, HEX, isDigit, LOCAL_PART, runEnd, WORD_BITS } from './character-classes.ts';
import type { Context } from './context.ts';
import { decodeText } from './decoding.ts';
import { putLocalPart, putPerson } from './people.ts';
import { canonicalPhone, isPseudonym } from './pseudonyms.ts';

/** RFC 5321 allows 64 bytes; encoded ones take three times that. */
const LOCAL_MAX = 256;
/** Units of systemd look like addresses: `getty@tty1.service`. */
const UNIT = /\.(?:service|socket|timer|slice|mount|target|scope|path|device|swap|automount)$/;
/** Encoded bytes that separate, and so end a local part to the left: quotes, brackets, `=`, `:`, `/`, `&`, `,`, space. */
const SEPARATORS = new Set([
  '20',
  '22',
  '27',
  '28',
  '29',
  '2c',
  '2f',
  '3a',
  '3b',
  '3c',
  '3d',
  '3e',
  '3f',
  '5b',
  '5d',
  '26',
  '0a',
  '0d',
  '09',
]);

/** An address around the at sign of `width` bytes at a place. Answers where the scan goes on, or -1. */
export function cutEmail(context: Context, firstAt: number, width: number): number {
  const { source, spans } = context;
  let at = firstAt;
  let domain = at + width;
  const goDsn = cutGoDsn(context, at);
  if (goDsn !== -1) return goDsn;
  const start = localStart(source, at, spans.last);
  if (start === at) return -1;
  const before = source.charCodeAt(start - 1);
  const isSip = before === 58 && /(?:sips?|tel)$/i.test(source.slice(Math.max(0, start - 5), start - 1));
  let end = runEnd(DOMAIN, source, domain, Math.min(source.length, domain + 255));
  // The last of many at signs is the one before the domain.
  while (source.charCodeAt(end) === 64 && end > domain && end - start < LOCAL_MAX) {
    at = end;
    domain = end + 1;
    end = runEnd(DOMAIN, source, domain, Math.min(source.length, domain + 255));
  }
  // A unit of systemd, whose dashes are escaped.
  if (source.startsWith(String.raw`\x2d`, end)) return -1;
  if (!isSip && !isDomain(source, domain, end)) return -1;
  putDisplayName(context, start);
  const soft = source.slice(start, at).search(/=\r?\n/);
  if (soft !== -1) return putSoftBroken(context, start, start + soft, at, domain);
  const local = decodeText(source.slice(start, at));
  // In a SIP URI any run of digits is a number that is dialled.
  if (isSip && /^\+?[\d().-]+$/.test(local) && canonicalPhone(local) !== '')
    spans.put(start, at, context.pseudonyms.phone(local), 'phone');
  else putLocalPart(context, start, at, domain);
  return domain;
}

/** A local part that quoted-printable breaks over two lines: the break stays, so that the lines keep their count. */
function putSoftBroken(context: Context, start: number, soft: number, at: number, domain: number): number {
  const { source, spans, pseudonyms } = context;
  const next = source.indexOf('\n', soft) + 1;
  if (isPseudonym(source.slice(start, soft)) && next === at) return domain;
  spans.put(start, soft, pseudonyms.user(source.slice(start, at)), 'email');
  spans.put(next, at, '', 'email');
  return domain;
}

function localStart(source: string, at: number, last: number): number {
  const floor = Math.max(last, at - LOCAL_MAX);
  if (source.charCodeAt(at - 1) === 34 && at - 1 > floor) {
    const quote = source.lastIndexOf('"', at - 2);
    const inside = source.slice(Math.max(quote + 1, floor), at - 1);
    return quote >= floor &&
      at - quote < 66 &&
      inside !== '' &&
      !/[\n=:,{}]/.test(inside) &&
      source.charCodeAt(quote - 1) !== 58
      ? quote
      : at;
  }
  let start = at;
  while (start > floor) {
    const byte = source.charCodeAt(start - 1);
    if (LOCAL_PART[byte] !== 0) {
      // `%3Calice`: the encoded byte in front of the name separates.
      if (
        start - 3 >= floor &&
        source.charCodeAt(start - 3) === 37 &&
        HEX[byte] !== 0 &&
        HEX[source.charCodeAt(start - 2)] !== 0
      ) {
        if (SEPARATORS.has(source.slice(start - 2, start).toLowerCase())) break;
        start -= 3;
        continue;
      }
      start -= 1;
      continue;
    }
    if (byte === 10 && isSoftBreak(source, start - 1, floor)) {
      start -= source.charCodeAt(start - 2) === 13 ? 3 : 2;
      continue;
    }
    if (byte === 61 && isQuotedByte(source, start)) {
      start -= 1;
      continue;
    }
    break;
  }
  return trimLeft(source, start, at);
}

/** A line of quoted-printable that goes on in the next one. */
function isSoftBreak(source: string, at: number, floor: number): boolean {
  const equals = source.charCodeAt(at - 1) === 13 ? at - 2 : at - 1;
  return equals > floor && source.charCodeAt(equals) === 61 && LOCAL_PART[source.charCodeAt(equals - 1)] === 1;
}

function isQuotedByte(source: string, at: number): boolean {
  const first = source.charCodeAt(at);
  const second = source.charCodeAt(at + 1);
  // A byte of UTF-8 in quoted-printable has its high bit set.
  return (
    ((first >= 56 && first <= 57) || (first >= 65 && first <= 70)) &&
    ((second >= 48 && second <= 57) || (second >= 65 && second <= 70)) &&
    source.charCodeAt(at + 2) === 61
  );
}

/** Escapes and marks in front of a local part are not of it. */
function trimLeft(source: string, from: number, at: number): number {
  let start = from;
  if (source.charCodeAt(start - 1) === 92) {
    if (source.charCodeAt(start) === 117 && at - start > 5) start += 5;
    else if ('nrtbf'.includes(source.charAt(start))) start += 1;
  }
  while (start < at && ".'-~".includes(source.charAt(start))) start += 1;
  if (source.charCodeAt(start) === 43 && !isDigit(source, start + 1)) start += 1;
  return start;
}

/** A host's name begins with a letter; `pkg@1.2.3` is a version and `getty@tty1.service` a unit. */
function isDomain(source: string, from: number, to: number): boolean {
  if (to === from) return source.charCodeAt(from) === 91;
  let stop = to;
  while (stop > from && '.-'.includes(source.charAt(stop - 1))) stop -= 1;
  const text = source.slice(from, stop);
  // An image's density, a container's digest.
  if (/^\d+x\.|^sha\d{1,3}$/.test(text)) return false;
  if (/^\d/.test(text))
    return /^(?:\d{1,3}\.){3}[\dx]{1,3}$/.test(text) || (/\.[A-Za-z]{2,}$/.test(text) && !UNIT.test(text));
  return (WORD_BITS[text.charCodeAt(0)] !== 0 || text.charCodeAt(0) >= 128) && !UNIT.test(text) && text !== '';
}

/** `"Ivan Petrov" <sip:…`, `"Ivan" <a@b.c>`: the name before the bracket is a person's. */
export function putDisplayName(context: Context, start: number): void {
  const { source, spans, pseudonyms } = context;
  let bracket = start - 1;
  if (source.charCodeAt(bracket) === 58) bracket = source.lastIndexOf('<', bracket);
  if (bracket < 3 || start - bracket > 8 || source.charCodeAt(bracket) !== 60) return;
  let close = bracket - 1;
  if (source.charCodeAt(close) === 32) close -= 1;
  if (source.charCodeAt(close) !== 34) return putListedName(context, bracket);
  let end = close;
  while (source.charCodeAt(end - 1) === 92) end -= 1;
  const open = source.lastIndexOf('"', end - 1);
  if (open < spans.last || end - open > 130 || end - open < 2) return;
  const name = source.slice(open + 1, end);
  if (/[\n:,{}]/.test(name) || /^(?:u|tel)-[0-9a-f]{8}$/.test(name) || name.startsWith('[')) return;
  spans.put(open + 1, end, pseudonyms.user(name), 'user');
}

const NAMED = /[^\s<>"'@:;,=(){}[\]\\|][^<>"'@:;,=(){}[\]\\|]{0,98}(?= ?<[^<>\s]{1,320}(?:@|%40|\\u0040))/y;

/** `From: Alice Liddell <alice@example.org>`: the name in front of an address. Answers where it ends, or -1. */
export function putNamed(context: Context, from: number, to: number): number {
  NAMED.lastIndex = from;
  const name = NAMED.exec(context.source)?.[0].trimEnd();
  if (name === undefined || from + name.length >= to || name.startsWith('=?')) return -1;
  return putPerson(context, from, from + name.length);
}

/** `<alice@example.org>, Bob Builder <`, `=> alice <` of exim: a name in front of an address, behind a sign of its own. */
function putListedName({ source, spans, pseudonyms }: Context, bracket: number): void {
  const before = source.slice(Math.max(spans.last, bracket - 110), bracket);
  const name = /(?:>, ?|[=>*-][>*=] )([^<>"'@:;,=(){}[\]\\|*\s][^<>"'@:;,=(){}[\]\\|*]{0,98})$/.exec(before)?.[1];
  if (name === undefined || isPseudonym(name.trimEnd())) return;
  const start = bracket - name.length;
  spans.put(start, start + name.trimEnd().length, pseudonyms.user(name.trimEnd()), 'user');
}

/** `name:password@tcp(host:3306)/db`, as Go's drivers have it. */
function cutGoDsn(context: Context, at: number): number {
  const { source, spans } = context;
  if (!source.startsWith('tcp(', at + 1) && !source.startsWith('unix(', at + 1)) return -1;
  const floor = Math.max(spans.last, at - 300);
  let start = at;
  while (start > floor && source.charCodeAt(start - 1) > 32 && !'"\'=<>'.includes(source.charAt(start - 1))) start -= 1;
  return source.slice(start, at).includes(':') ? spans.secret(start, at, 'url-credentials') : -1;
}
