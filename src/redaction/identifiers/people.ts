/** Names of people and e-mail addresses (RED-03, RED-04): what stands in such a place, and what goes in for it. */
import { DOMAIN, HEX, isDigit, LOCAL_PART, LOWER, runEnd, tableOf, UPPER, VALUE_END, WORD_BITS } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { decodeAuditHex, decodeEncodedWord, decodeText } from '../encodings/decoding.ts';
import { isDialled, isPhoneText } from './phones.ts';
import { canonicalPhone, isNobody, isPseudonym, isRole } from './pseudonyms.ts';
import { markerEnd } from '../spans.ts';

/** A longer name is looked at up to here and replaced as a whole. */
const LOOKED_AT_MAX = 1024;
/** A name of this length is no plain one. */
const PLAIN_MAX = 64;
/** RFC 5321 allows 64 bytes; encoded ones take three times that. */
const LOCAL_MAX = 256;
/** Without any of these a name holds no address, number of a URI, kind, domain or encoding. */
const SPECIAL = /[@%\\:&]|=(?:40|\?|[0-9A-F]{2}=)/;
const EXPIRY = /^\d{9,11}:/;
/** The audit trail names whoever acts by kind and name. */
const KIND_OF_PERSON = /^(?:user|guest|person):(?=.)/;
/**
 * What is no person in the place of one: `node:n_7f3q`, with an id of the form that the server gives (that of a vendor
 * token has no letters before it), or a name out of a table of the server, `settings:sign-in`, `client:ios`.
 */
const THING =
  /^(?:(?:node|bot|service|server|group|policy|automation|meeting|conversation|attachment):[a-z]{1,8}_[0-9A-Za-z]{1,40}|vendor:[0-9a-hjkmnp-tv-z]{22}|(?:settings|client):[a-z-]{1,20})$/;
const DIRECTORY_DOMAIN = /^[A-Za-z0-9_.-]{1,64}(?:\\{1,4}|%5[Cc])(?!u[0-9A-Fa-f]{4})(?=[^\\])/;
const AT = /@|%(?:25){0,2}40|\\{1,2}u0040|&#64;|=40/g;
const ENCODED_WORD = /^=\?[\w-]{1,40}\?([BbQq])\?([^?\s]*)\?=$/;
/** Units of systemd and what Traefik has from a provider look like addresses: `getty@tty1.service`, `web@docker`. */
const UNIT =
  /(?:^docker|^kubernetes(?:crd|gateway)?|^consulcatalog|\.(?:service|socket|timer|slice|mount|target|scope|path|device|swap|automount))$/;

/** An address that was cut before. */
const CUT = /^(?:\d{1,3}\.){3}x$/;

export interface NameForm {
  /** Put around a value that stood bare in JSON. */
  readonly wrap?: string;
  /** auditd writes names in hex. */
  readonly isHex?: boolean;
  /** A form writes `+` for a space. */
  readonly isForm?: boolean;
}

/**
 * Puts a pseudonym in place of a name. A name that is an e-mail address, a phone or an IP address is treated as one,
 * in every syntax alike. Answers where the scan goes on.
 */
export function putPerson(scan: Scan, start: number, end: number, form: NameForm = {}): number {
  const { text: source, spans, engine } = scan;
  const { pseudonyms } = engine;
  const { wrap = '', isHex = false, isForm = false } = form;
  if (!isHex && wrap === '' && isPlainName(scan, start, end)) {
    // Nobody and what stands for somebody have a short name.
    if (end - start <= 12) {
      const name = source.slice(start, end);
      if (isNobody(name) || isPseudonym(name)) return end;
    }
    return spans.put(start, end, pseudonyms.userAt(scan.bytes, source, start, end), 'user');
  }
  let from = start;
  let to = end;
  while (from < to && source.charCodeAt(from) === 32) from += 1;
  while (to > from && source.charCodeAt(to - 1) === 32) to -= 1;
  const text = source.slice(from, Math.min(to, from + LOOKED_AT_MAX));
  const marked = markerEnd(source, from);
  if (marked !== -1) return marked;
  if (isNobody(text) || isPseudonym(text)) return to;
  const decoded = isHex ? decodeAuditHex(text) : undefined;
  if (decoded !== undefined) return spans.put(from, to, pseudonyms.user(decoded.split('\0')[0] as string), 'user');
  const isSpecial = SPECIAL.test(text);
  if (isSpecial) {
    if (/^(?:sips?|tel|mailto|xmpp|im):/i.test(text)) return from;
    const at = lastAt(text);
    if (at !== undefined && !/^(?:u|tel)-[0-9a-f]{8}$/.test(text.slice(0, at.start))) {
      putLocalPart(scan, from, from + at.start);
      return from + at.end;
    }
    if (at !== undefined) return from + at.end;
    if (/^\[?[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{2,}\]?$/.test(text)) return from;
  }
  if (/^(?:\d{1,3}\.){3}[\dx]{1,3}(?::\d+)?$/.test(text)) return from;
  if (isPhoneText(text)) return spans.put(from, to, wrap + pseudonyms.phone(text) + wrap, 'phone');
  if (isSpecial && THING.test(text)) return to;
  const before = isSpecial ? partBefore(text) : 0;
  if (before > 0) return putPerson(scan, from + before, to);
  const word = text.startsWith('=?') ? ENCODED_WORD.exec(text) : null;
  const plain = isForm ? text.replaceAll('+', ' ') : text;
  const name = word === null ? plain : decodeEncodedWord(word[1] as string, word[2] as string);
  return spans.put(from, to, wrap + pseudonyms.user(name) + wrap, 'user');
}

/** Bytes of what stands before a name and is none of it: an expiry of coturn, a domain of Windows, `user:`. */
function partBefore(text: string): number {
  return (EXPIRY.exec(text) ?? KIND_OF_PERSON.exec(text) ?? DIRECTORY_DOMAIN.exec(text))?.[0].length ?? 0;
}

/** Letters, digits, dots, dashes and underscores behind a letter: nothing else that a name may be reads so. */
function isPlainName({ bytes }: Scan, start: number, end: number): boolean {
  if (end - start > PLAIN_MAX || ((WORD_BITS[bytes[start] as number] as number) & (LOWER | UPPER)) === 0) return false;
  for (let at = start + 1; at < end; at += 1)
    if (WORD_BITS[bytes[at] as number] === 0 && bytes[at] !== 46) return false;
  return true;
}

function lastAt(text: string): { start: number; end: number } | undefined {
  // Every other form of the sign has these digits.
  if (!text.includes('40') && !text.includes('64;')) {
    const at = text.lastIndexOf('@');
    return at === -1 ? undefined : { start: at, end: at + 1 };
  }
  let found: { start: number; end: number } | undefined;
  for (const match of text.matchAll(AT)) found = { start: match.index, end: match.index + match[0].length };
  return found;
}

/** Puts a pseudonym in place of what is before an at sign; the domain is left to the scan. */
function putLocalPart({ text, spans, engine }: Scan, from: number, at: number): void {
  const name = decodeText(text.slice(from, at));
  if (
    name === '' ||
    isRole(name) ||
    isPseudonym(name) ||
    CUT.test(name) ||
    isPseudonym(name.slice(name.lastIndexOf('\\') + 1)) ||
    markerEnd(text, from) === at
  )
    return;
  const isPhone = isPhoneText(name);
  spans.put(
    from,
    at,
    isPhone ? engine.pseudonyms.phone(name) : engine.pseudonyms.user(name),
    isPhone ? 'phone' : 'email',
  );
}

/** A person, or a number that was dialled, however short. */
export function putDialled(scan: Scan, from: number, to: number): number {
  const text = scan.text.slice(from, Math.min(to, from + 64));
  return /^\+?\d[\d ().+-]*$/.test(text) && isDialled(text)
    ? scan.spans.put(from, to, scan.engine.pseudonyms.phone(text), 'phone')
    : putPerson(scan, from, to);
}

/** A number under the name of a phone. A word in its place is a person, a place in a program's text is neither. */
export function putPhone(scan: Scan, from: number, to: number, wrap: string): number {
  const { text: source, spans, engine } = scan;
  const text = source.slice(from, Math.min(to, from + 128));
  if (isPseudonym(text) || markerEnd(source, from) !== -1) return to;
  if (/@|%40|^(?:sips?|tel):/i.test(text)) return from;
  if (/^[x*]+$/i.test(text)) return to;
  if (isDialled(text)) return spans.put(from, to, wrap + engine.pseudonyms.phone(text) + wrap, 'phone');
  return /^[A-Za-z\u00c3-\u00df]/.test(text) && wrap === '' && !/[/(){}#]|::|\.\w{1,4}:\d|\.\w+\.\w+\.|:\d+$/.test(text)
    ? putPerson(scan, from, to)
    : to;
}

/** Algorithms and extensions of SSH (RFC 4251, section 6) have the domain of who defined them. */
const ALGORITHM =
  /^(?:(?:chacha20|aes|curve|ecdsa|ed25519|rsa|ssh|sk|hmac|umac|sntrup|mlkem|zlib|webauthn|rijndael|kex)[\w.-]*|(?:hostkeys|keepalive|posix-rename|statvfs|fstatvfs|hardlink|fsync|lsetstat|limits|expand-path|copy-data|no-more-sessions|eow|tun|auth-agent|server-sig-algs|publickey-hostbound|ping)[\w.-]*)$/;

/** An address around the at sign of `width` bytes at a place. Answers where the scan goes on, or -1. */
export function cutEmail(scan: Scan, firstAt: number, width: number): number {
  const { bytes, text: source, spans, stop } = scan;
  let at = firstAt;
  let domain = at + width;
  const goDsn = cutGoDsn(scan, at);
  if (goDsn !== -1) return goDsn;
  const start = localStart(scan, at);
  // A class of Java and what it stands for: `$Connector@0.0.0.0`.
  if (start === at || bytes[start - 1] === 36) return -1;
  if (
    'olt'.includes(source.charAt(domain)) &&
    /^(?:openssh\.com|libssh\.org|tinyssh\.org|lysator\.liu\.se)/.test(source.slice(domain, domain + 14)) &&
    ALGORITHM.test(source.slice(start, at))
  )
    return domain;
  const isSip = bytes[start - 1] === 58 && /(?:sips?|tel)$/i.test(source.slice(Math.max(0, start - 5), start - 1));
  const hostEnd = (from: number): number => runEnd(DOMAIN, bytes, from, Math.min(stop, from + 255));
  let end = hostEnd(domain);
  // The last of many at signs is the one before the domain.
  while (bytes[end] === 64 && end > domain && end - start < LOCAL_MAX) {
    at = end;
    domain = end + 1;
    end = hostEnd(domain);
  }
  const lastDsn = at === firstAt ? -1 : cutGoDsn(scan, at);
  if (lastDsn !== -1) return lastDsn;
  // A unit of systemd, whose dashes are escaped.
  if (bytes[end] === 92 && source.startsWith('\\x2d', end)) return -1;
  if (!isSip && !isDomain(source, domain, end)) return -1;
  if (bytes[start - 1] === 40) putNameBefore(scan, start - 1);
  else putDisplayName(scan, start);
  const soft = scan.isJoined ? source.slice(start, at).search(/=\r?\n/) : -1;
  if (soft !== -1) return putSoftBroken(scan, start, start + soft, at, domain);
  const local = decodeText(source.slice(start, at));
  // In a SIP URI any run of digits is a number that is dialled.
  if (isSip && /^\+?[\d().-]+$/.test(local) && canonicalPhone(local) !== '')
    spans.put(start, at, scan.engine.pseudonyms.phone(local), 'phone');
  else putLocalPart(scan, start, at);
  return domain;
}

/** A local part that quoted-printable breaks over two lines: the break stays, so that the lines keep their count. */
function putSoftBroken(scan: Scan, start: number, soft: number, at: number, domain: number): number {
  const { text, spans, engine } = scan;
  const next = text.indexOf('\n', soft) + 1;
  if (isPseudonym(text.slice(start, soft)) && next === at) return domain;
  spans.put(start, soft, engine.pseudonyms.user(text.slice(start, at)), 'email');
  spans.put(next, at, '', 'email');
  return domain;
}

/** What a local part does not begin with. */
const NO_START = tableOf(".'-~");

function localStart(scan: Scan, at: number): number {
  const { bytes, text, spans } = scan;
  const floor = Math.max(spans.last, scan.floor, at - LOCAL_MAX);
  if (bytes[at - 1] === 34 && at - 1 > floor) {
    const quote = text.lastIndexOf('"', at - 2);
    const inside = text.slice(Math.max(quote + 1, floor), at - 1);
    return quote >= floor && at - quote < 66 && inside !== '' && !/[\n=:,{}]/.test(inside) && bytes[quote - 1] !== 58
      ? quote
      : at;
  }
  let start = at;
  for (;;) {
    const step = start > floor ? stepLeft(scan, start, floor) : 0;
    if (step === 0) break;
    start -= step;
  }
  while (start < at && NO_START[bytes[start] as number] === 1) start += 1;
  if (bytes[start] === 43 && !isDigit(bytes[start + 1])) start += 1;
  return start;
}

/** Bytes that the local part goes on to the left: one of its own, or one that quoted-printable breaks or encodes. */
function stepLeft({ bytes }: Scan, start: number, floor: number): number {
  const byte = bytes[start - 1] as number;
  if (LOCAL_PART[byte] !== 0) {
    // Letters of an escape that was not decoded: `\nalice`.
    return bytes[start - 2] === 92 && (byte === 110 || byte === 114 || byte === 116) ? 0 : 1;
  }
  if (byte === 10) {
    const equals = bytes[start - 2] === 13 ? start - 3 : start - 2;
    return equals > floor && bytes[equals] === 61 && LOCAL_PART[bytes[equals - 1] as number] === 1 ? start - equals : 0;
  }
  return byte === 61 && isHighCode(bytes, start) && (bytes[start + 2] === 61 || bytes[start - 4] === 61) ? 1 : 0;
}

/** A byte of UTF-8 in quoted-printable has its high bit set. */
export function isHighCode(bytes: Uint8Array, at: number): boolean {
  const first = bytes[at] as number;
  const second = bytes[at + 1] as number;
  return ((first >= 56 && first <= 57) || (first >= 65 && first <= 70)) && second < 71 && HEX[second] === 1;
}

/** A host's name begins with a letter; `pkg@1.2.3` is a version and `getty@tty1.service` a unit. */
function isDomain(source: string, from: number, to: number): boolean {
  // What was random there is no host in brackets.
  if (to === from) return source.charCodeAt(from) === 91 && markerEnd(source, from) === -1;
  let stop = to;
  while (stop > from && '.-'.includes(source.charAt(stop - 1))) stop -= 1;
  const text = source.slice(from, stop);
  // An image's density, a container's digest.
  if (/^\d+x\.|^sha\d{1,3}$/.test(text)) return false;
  if (/^\d/.test(text))
    return /^(?:\d{1,3}\.){3}[\dx]{1,3}(?:_\d{2,5})?$/.test(text) || (/\.[A-Za-z]{2,}$/.test(text) && !UNIT.test(text));
  return text !== '' && (WORD_BITS[text.charCodeAt(0)] !== 0 || text.charCodeAt(0) >= 128) && !UNIT.test(text);
}

const NAME_BEFORE =
  /(?:^|[>"'.,;:\n] ?)((?!(?:User|New|For|By|To|From|The|Account|Mail|Email|Owner|Member|Group|Contact|Support|Sent|Admin|Recipient|Sender)\b)[A-Z\u00c3-\u00df][^\s"'<>()@,;:=\d]{1,30}(?: [A-Z\u00c3-\u00df][^\s"'<>()@,;:=\d]{0,30}){1,2}) $/;

/** `Alice Liddell (alice@example.org)`: two words or three in capitals, with nothing before them but the end of another field. */
function putNameBefore({ text, spans, engine, floor }: Scan, bracket: number): void {
  const before = text.slice(Math.max(spans.last, floor, bracket - 100), bracket);
  const name = NAME_BEFORE.exec(before)?.[1];
  if (name === undefined) return;
  const start = bracket - 1 - name.length;
  spans.put(start, start + name.length, engine.pseudonyms.user(name), 'user');
}

/** `"Ivan Petrov" <sip:…, `"Ivan" <a@b.c>`: the name before the bracket is a person's. */
export function putDisplayName(scan: Scan, start: number): void {
  const { bytes, text, spans, engine } = scan;
  let bracket = start - 1;
  for (let back = 0; back < 8 && bytes[bracket] !== 60 && bracket > scan.floor; back += 1) bracket -= 1;
  if (bracket < scan.floor + 3 || bytes[bracket] !== 60) return;
  let close = bracket - 1;
  if (bytes[close] === 32) close -= 1;
  if (bytes[close] !== 34) return putListedName(scan, bracket);
  // The quotes of a cell of CSV are doubled.
  if (bytes[close - 1] === 34) close -= 1;
  const floor = Math.max(spans.last, scan.floor, close - 130);
  const open = text.slice(floor, close).lastIndexOf('"') + floor;
  if (open < floor || close - open < 2) return;
  const name = text.slice(open + 1, close);
  // An address that stands there is left to the scan.
  if (!/[\n:,{}@]/.test(name) && !isPseudonym(name) && !name.startsWith('['))
    spans.put(open + 1, close, engine.pseudonyms.user(name), 'user');
}

const NAMED = /[^\s<>"'@:;,=(){}[\]\\|][^<>"'@:;,=(){}[\]\\|]{0,98}(?= ?<[^<>\s]{1,320}(?:@|%40|\\u0040))/y;

/** `From: Alice Liddell <alice@example.org>`: the name in front of an address. Answers where it ends, or -1. */
export function putNamed(scan: Scan, from: number, to: number): number {
  NAMED.lastIndex = from;
  const name = NAMED.exec(scan.text)?.[0].trimEnd();
  if (name === undefined || from + name.length >= to || name.startsWith('=?')) return -1;
  return putPerson(scan, from, from + name.length);
}

/** `<alice@example.org>, Bob Builder <`, `=> alice <` of exim: a name in front of an address, behind a sign of its own. */
function putListedName({ text, spans, engine, floor }: Scan, bracket: number): void {
  const before = text.slice(Math.max(spans.last, floor, bracket - 110), bracket);
  const name = /(?:>, ?|[=>*-][>*=] )([^<>"'@:;,=(){}[\]\\|*\s][^<>"'@:;,=(){}[\]\\|*]{0,98})$/.exec(before)?.[1];
  if (name === undefined || isPseudonym(name.trimEnd())) return;
  const start = bracket - name.length;
  spans.put(start, start + name.trimEnd().length, engine.pseudonyms.user(name.trimEnd()), 'user');
}

/** `name:password@tcp(host:3306)/db`, as Go's drivers have it. What was looked through once is not again. */
function cutGoDsn(scan: Scan, at: number): number {
  const { bytes, text, spans } = scan;
  const first = bytes[at + 1];
  if (first !== 116 && first !== 117) return -1;
  if (!text.startsWith('tcp(', at + 1) && !text.startsWith('unix(', at + 1)) return -1;
  const floor = Math.max(spans.last, scan.floor, scan.userinfoTo, at - 300);
  let start = at;
  let hasColon = false;
  while (start > floor && VALUE_END[bytes[start - 1] as number] === 0 && bytes[start - 1] !== 61) {
    start -= 1;
    if (bytes[start] === 58) hasColon = true;
  }
  scan.userinfoTo = at;
  return hasColon ? spans.secret(start, at, 'url-credentials') : -1;
}
