/** The grammar of values: where one starts behind its key and where it ends, in every syntax, and what its class makes of it. */
import { cutSocketAddress } from './addresses.ts';
import { gapEnd, indexOf, isDigit, NAME_END, runEnd, runStop, VALUE_END, WORD_BITS } from './bytes.ts';
import { lineStop, type Scan } from './context.ts';
import { decodeAuditHex, decodePrintableBase64 } from './decoding.ts';
import { decodeEscapes } from './encodings.ts';
import { noteOpen, putNumber, walkJson } from './json.ts';
import { isHighCode, putNamed, putPerson, putPhone } from './people.ts';
import { isNamedValue } from './random-strings.ts';
import { isHarmless, type KeyClass } from './rules.ts';
import { markerEnd, type SecretClass } from './spans.ts';

/** Bytes of a value in angle brackets. */
const BRACKET_MAX = 160;
/** How far to the left the quote is looked for that opened around a value. */
const ENCLOSING_MAX = 4096;
/** Bytes of a person's name in the place of a number. */
const PERSON_MAX = 256;
/** Bytes of base64 that are decoded. */
const BASE64_MAX = 8192;

/** Where a value stands, and by which sign it stands there. */
interface Found {
  readonly start: number;
  readonly isColon: boolean;
  /** White space stands between the sign and the value. */
  readonly isSpaced: boolean;
  /** The quote around the key; 0 without one. */
  readonly quote: number;
  /** `::` of LDIF: the value is in base64. */
  readonly isDouble: boolean;
}

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

/** The place of the closing quote; where there is none, where the value ends instead. */
function closerOf(scan: Scan, from: number, stop: number, mark: number): { to: number; isClosed: boolean } {
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

/** A whole value of a class, without escapes. Answers where the scan goes on, or -1 for what is any text. */
export function cutValue(scan: Scan, keyClass: KeyClass, from: number, to: number, mark = 0): number {
  const { text, bytes, spans } = scan;
  if (to <= from) return to;
  switch (keyClass) {
    case 'user-id':
      return isId(text.slice(from, Math.min(to, from + 64))) ? to : putPerson(scan, from, to);
    case 'user':
    case 'directory':
      return putPerson(scan, from, to);
    case 'phone':
      return putPhone(scan, from, to, '');
    case 'address':
      if (putNamed(scan, from, to) !== -1) return -1;
      // `to=<root>`: a person of this host. Anything else that is no address is none of ours.
      return mark === 60 && to - from < 64 && !/@|%40|u0040/.test(text.slice(from, to))
        ? putPerson(scan, from, to)
        : -1;
    case 'code':
      return isCode(text.slice(from, Math.min(to, from + 12))) ? spans.secret(from, to, 'secret') : -1;
    case 'id':
      return isNamedValue(text, from, to) ? to : -1;
    case 'text':
    case 'authorization':
    case 'cookie':
      return /^[ \t]+$/.test(text.slice(from, Math.min(to, from + 8))) ? to : putSecret(scan, from, to, keyClass);
    case 'password':
    case 'secret':
      return isHarmless(scan.engine.rules, text.slice(from, Math.min(to, from + 32)))
        ? to
        : putSecret(scan, from, to, 'secret');
    case 'audit':
      return mark === 0 && bytes[from] !== 34 ? putAudit(scan, from, to) : -1;
    default:
      return -1;
  }
}

/** Ids that people search their logs by: numbers, uuids, ULIDs and hex. */
function isId(value: string): boolean {
  return /^(?:[\d*]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64}|[0-9A-HJKMNP-TV-Z]{26})$/i.test(value);
}

function putSecret({ text, spans }: Scan, from: number, to: number, name: SecretClass): number {
  return markerEnd(text, from) === to ? to : spans.secret(from, to, name);
}

function isHarmlessAt({ text, engine }: Scan, keyStart: number, keyEnd: number, start: number, end: number): boolean {
  // The working directory in a line of sudo.
  if (keyEnd - keyStart === 3 && text.startsWith('PWD=/', keyStart)) return true;
  const value = text.slice(start, Math.min(end, start + 64));
  const key = text.slice(keyStart, keyEnd).toLowerCase();
  if (key === 'signature' && value.startsWith('SHA256')) return true;
  // What a sign-in was done by is no secret.
  if (
    key === 'auth' &&
    /^(?:simple|kerberos|token|plain|digest|basic|ntlm|negotiate|bearer|oauth2?|scram\S*|cram\S*|sasl|anonymous|external|login|pam|sql|ldap|local|md5|peer|trust)$/i.test(
      value,
    )
  )
    return true;
  // A status of delivery (RFC 3463), which postfix calls `dsn`.
  if (key === 'dsn' && /^\d\.\d{1,3}\.\d{1,3}\b/.test(value)) return true;
  return isHarmless(engine.rules, value);
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

function bare(
  scan: Scan,
  found: Found,
  keyClass: KeyClass,
  keyStart: number,
  keyEnd: number,
  start: number,
  stop: number,
): number {
  const { bytes, text, spans } = scan;
  const isProse = found.isColon && found.isSpaced;
  // Spaces behind `=` separate fields: an empty value.
  if (!found.isColon && found.isSpaced && bytes[keyEnd] === 61) return -1;
  switch (keyClass) {
    case 'user':
    case 'user-id':
    case 'directory':
      return bareName(scan, found, keyClass, keyStart, keyEnd, start, stop);
    case 'phone': {
      const end = phoneEnd(scan, start, stop);
      if (end > start) return putPhone(scan, start, end, '');
      if ((bytes[start] as number) < 65 || isProse) return -1;
      const to = nameEnd(scan, start, Math.min(stop, start + PERSON_MAX));
      return to > start ? putPhone(scan, start, to, '') : -1;
    }
    case 'code': {
      const to = wordEnd(scan, start, stop);
      return isCode(text.slice(start, Math.min(to, start + 12))) &&
        !isErrorCode(scan, keyStart) &&
        (to >= stop || bytes[to] !== 46)
        ? spans.secret(start, to, 'secret')
        : -1;
    }
    case 'text':
      return putText(scan, start, outerEnd(scan, keyStart, start, stop));
    case 'authorization':
      return putCredentials(scan, keyStart, start, stop);
    case 'cookie':
      return putSecret(scan, start, outerEnd(scan, keyStart, start, stop), 'cookie');
    case 'audit':
      return putAudit(scan, start, stop);
    case 'address':
      putNamed(scan, start, stop);
      return -1;
    case 'socket-address':
      return cutSocketAddress(scan, start, wordEnd(scan, start, stop));
    case 'id': {
      const end = wordEnd(scan, start, stop);
      return isNamedValue(text, start, end) ? end : -1;
    }
    case 'password':
    case 'secret':
      return bareSecret(scan, keyStart, keyEnd, start, stop, isProse);
    default:
      return -1;
  }
}

/** Schemes of credentials, with what separates them from the credential. */
const SCHEME = /(?:Basic|Bearer|Token|ApiKey|Negotiate|NTLM|GoogleLogin|Splunk|GenieKey)(?: |%20|\+)+/iy;
const SCHEME_WITH_FIELDS = /(?:Digest|AWS4-HMAC-SHA256|OAuth|Hawk|SharedKey|Signature|SCRAM)[ %+]/iy;

function bareSecret(
  scan: Scan,
  keyStart: number,
  keyEnd: number,
  start: number,
  stop: number,
  isProse: boolean,
): number {
  const { bytes, text } = scan;
  SCHEME.lastIndex = start;
  if (SCHEME.test(text) && SCHEME.lastIndex < stop) return putCredentials(scan, keyStart, start, stop);
  // `auth: sql(alice)` of a mail server: the name of a part of it, which says nothing of a secret.
  if (isProse && keyEnd - keyStart === 4 && text.slice(keyStart, keyEnd).toLowerCase() === 'auth') return -1;
  const end = Math.max(secretEnd(scan, keyStart, start, stop), hashEnd(text, start, stop));
  if (end === start || isHarmlessAt(scan, keyStart, keyEnd, start, end)) return -1;
  if (isProse && (bytes[start] === 40 || isSentence(scan, start, end, stop))) return -1;
  if (end >= stop) noteOpen(scan, 'secret', 0);
  return putSecret(scan, start, end, 'secret');
}

/** Whether a word behind `token: ` goes on as a sentence does: in small letters, with two more such words behind it. */
function isSentence({ text, engine }: Scan, start: number, end: number, stop: number): boolean {
  if (!/^[a-z']+$/.test(text.slice(start, end))) return false;
  const next = /^ ([a-z']+)(?: [a-z']+)?(?=[ .,:;]|$)/.exec(text.slice(end, Math.min(stop, end + 64)));
  return next !== null && (engine.rules.words.has(next[1] as string) || next[0].split(' ').length > 2);
}

/** Where a hash of a password ends, whose parameters look like fields; -1 when there is none. */
function hashEnd(text: string, start: number, stop: number): number {
  const first = text.charCodeAt(start);
  if (first !== 36 && first !== 123) return -1;
  HASH.lastIndex = start;
  return HASH.test(text) ? Math.min(HASH.lastIndex, stop) : -1;
}

/** Hashes of passwords: crypt(5), argon2 with its parameters, and those of directories. */
export const HASH =
  /(?:\$2[abxy]\$\d\d\$[A-Za-z0-9./]{22,53}|\$(?:argon2(?:id|i|d))\$(?:v=\d+\$)?[a-z]=\d+(?:,[a-z]=\d+){0,3}\$[A-Za-z0-9+/=.$_-]{16,}|\$(?:1|5|6|7|8|9|y|gy|apr1|sha1|scrypt)\$[A-Za-z0-9./=+$_-]{16,}|\{(?:S?SHA(?:256|384|512)?|S?MD5|PBKDF2[A-Z0-9-]{0,10}|CRYPT|ARGON2|BLF-CRYPT|SHA512-CRYPT)\}[A-Za-z0-9./,=+$_-]{8,})/y;

function bareName(
  scan: Scan,
  found: Found,
  keyClass: KeyClass,
  keyStart: number,
  keyEnd: number,
  first: number,
  stop: number,
): number {
  const { bytes, text, floor, engine } = scan;
  const before = keyStart > floor ? text.charAt(keyStart - 1) : '\n';
  const isDirectory = keyClass !== 'user' && '(,"\'+/'.includes(before);
  const isInBrackets =
    !found.isColon && '[{('.includes(text.charAt(first)) && /^.[\w.-]{1,64}[\]}),]/.test(text.slice(first, first + 67));
  const start = first + (isInBrackets ? 1 : 0);
  let end = start;
  if (keyClass === 'directory' && !isDirectory) {
    end = directoryEnd(scan, keyStart, keyEnd, start, stop);
    return end === -1 ? -1 : putPerson(scan, start, end);
  }
  if (isDirectory) while (end < stop && !',)("\'+;&'.includes(text.charAt(end))) end += 1;
  else end = nameEnd(scan, start, stop);
  if (bytes[end] === 61 && end < stop) {
    // `ruser=rhost=1.2.3.4`: the value is empty and the next key follows. An encoded word has signs of its own.
    if (text.startsWith('=?', start)) end = spaceEnd(scan, start, stop);
    else if (text.startsWith('40', end + 1) || /^=[0-9A-F]{2}(?:=|[^0-9A-Fa-f])/.test(text.slice(end, end + 4)))
      end = spaceEnd(scan, start, stop);
    else return -1;
  }
  while (end > start && (bytes[end - 1] === 46 || bytes[end - 1] === 58)) end -= 1;
  if (end === start) return -1;
  const value = text.slice(start, Math.min(end, start + 64));
  if (keyClass === 'user-id' && isId(value)) return end;
  if (found.isColon && found.isSpaced && engine.rules.words.has(value.toLowerCase())) return end;
  // A constant of a program, which says what kind of user is meant.
  if (/^USER_[A-Z_]+$|^\d{1,2}$|^(?:com|org|net|io)\.\w+\.\w/.test(value)) return end;
  const key = text.slice(keyStart, keyEnd).toLowerCase();
  // `;user=phone` of a SIP URI says what the user part is.
  if (before === ';' && /^(?:phone|ip|dialstring)$/.test(value)) return end;
  const isForm = before === '?' || before === '&';
  if (/^(?:gecos$|[sd]user$|(?:display|full|real)[\w-]{0,20}(?:name|nick)$)/.test(key))
    end = isForm ? end : restOfName(scan, end, stop);
  return putPerson(scan, start, end, { isHex: key === 'acct', isForm });
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

function spaceEnd({ bytes, text }: Scan, from: number, stop: number): number {
  let at = from;
  while (at < stop && (bytes[at] as number) > 32 && !'"\'&,;<>'.includes(text.charAt(at))) at += 1;
  return at;
}

/** A full name without quotes goes on with words in capitals or other scripts, up to three. */
function restOfName({ bytes, text }: Scan, from: number, stop: number): number {
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

function phoneEnd({ bytes, text }: Scan, from: number, stop: number): number {
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
      !/^ (?:\(?\d{1,4}\)?(?=[ )-]|$)|\d{2,7}(?=[\s"',;)]|$))/.test(text.slice(at, Math.min(stop, at + 12)))
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

function isCode(value: string): boolean {
  // Five capitals or digits are a state of SQL.
  return /^(?=[A-Za-z-]*\d)[A-Za-z0-9][A-Za-z0-9-]{3,9}$/.test(value) && !/^\d+-|_|^[0-9A-Z]{5}$/.test(value);
}

function isErrorCode({ text, floor }: Scan, keyStart: number): boolean {
  return /(?:error|exit|status|return|reason|result|response|zip|postal|country|area|err|http|sql ?state|signal)[ _-]$|Domain=\S{1,50} $/i.test(
    text.slice(Math.max(floor, keyStart - 60), keyStart),
  );
}

/** Text without quotes: up to the next `name=`, the `; from=` and ` from ` of a mail log, or the end of the line. */
function putText(scan: Scan, start: number, stop: number): number {
  const { bytes, text } = scan;
  let end = stop;
  for (let at = start; at < stop && end === stop; at += 1) {
    const byte = bytes[at];
    if (
      (byte === 38 && /^&[\w.-]{1,40}=/.test(text.slice(at, at + 42))) ||
      (byte === 59 && (text.startsWith('; from=', at) || /^;[\w.-]{1,40}=/.test(text.slice(at, at + 42)))) ||
      (byte === 32 && isNextField(scan, at + 1, stop))
    )
      end = at;
  }
  while (end > start && ' ,;'.includes(text.charAt(end - 1))) end -= 1;
  return end > start ? putSecret(scan, start, end, 'text') : -1;
}

function isNextField(scan: Scan, from: number, stop: number): boolean {
  const { bytes, text } = scan;
  if (bytes[from] === 102 && /^from \S{1,255}\[[^\]\s]{1,64}\][;:]/.test(text.slice(from, Math.min(stop, from + 330))))
    return true;
  const end = wordEnd(scan, from, Math.min(stop, from + 40));
  return end > from && end < stop && bytes[end] === 61 && bytes[end + 1] !== 32 && !isDigit(bytes[from]);
}

function putCredentials(scan: Scan, keyStart: number, start: number, stop: number): number {
  const { bytes, text } = scan;
  SCHEME.lastIndex = start;
  SCHEME_WITH_FIELDS.lastIndex = start;
  if (SCHEME_WITH_FIELDS.test(text))
    return putSecret(scan, start, outerEnd(scan, keyStart, start, stop), 'authorization');
  const from = SCHEME.test(text) ? Math.min(SCHEME.lastIndex, stop) : start;
  let end = runStop(VALUE_END, bytes, from, stop);
  // `authorization: alice` of a program's own kind may have a second word; what is no scheme goes to its end.
  if (from === start) {
    if (isHarmless(scan.engine.rules, text.slice(start, Math.min(end, start + 64)))) return -1;
    end = outerEnd(scan, keyStart, start, stop);
    const field = / [\w.-]{1,40}=/.exec(text.slice(start, Math.min(end, start + 512)));
    if (field !== null) end = start + field.index;
  }
  while (end > from && ',;)]\\'.includes(text.charAt(end - 1))) end -= 1;
  if (end >= stop) noteOpen(scan, 'authorization', 0);
  return end > start ? putSecret(scan, start, end, 'authorization') : -1;
}

/** Command lines of auditd in hex: the person, the address and the password are inside, so it goes as a whole. */
function putAudit(scan: Scan, start: number, stop: number): number {
  const end = wordEnd(scan, start, stop);
  const text = scan.text.slice(start, Math.min(end, start + 4096));
  if (end - start < 8 || !/^[0-9A-F]+$/.test(text) || (!/[A-F]/.test(text) && text.length < 16)) return -1;
  return decodeAuditHex(text.slice(0, text.length & ~1)) === undefined ? -1 : putSecret(scan, start, end, 'secret');
}

/** Where a value ends that goes to the end of its line: at the quote that opened around it, or with the line. */
function outerEnd(scan: Scan, keyStart: number, start: number, stop: number): number {
  const { bytes, text } = scan;
  const floor = Math.max(scan.floor, keyStart - ENCLOSING_MAX);
  for (let at = keyStart - 1; at >= floor && bytes[at] !== 10; at -= 1) {
    const byte = bytes[at];
    if (byte !== 34 && !(byte === 39 && at === keyStart - 1)) continue;
    const isOpening = at === floor || ' :=[,{(\t\n'.includes(text.charAt(at - 1));
    return isOpening && !',}]:'.includes(text.charAt(at + 1)) ? closerOf(scan, start, stop, byte).to : stop;
  }
  // Brackets around the whole field: `[ Subject: … ]` of a repeated message.
  return stop > start + 1 && bytes[stop - 1] === 93 && text.lastIndexOf('[ ', keyStart) >= floor ? stop - 1 : stop;
}

const JOINERS = ',;&)]}|';

/** The end of a secret without quotes: what joins fields ends it only where another field follows. */
function secretEnd(scan: Scan, keyStart: number, start: number, stop: number): number {
  const { bytes, text } = scan;
  const isQuery = keyStart > scan.floor && '?&'.includes(text.charAt(keyStart - 1));
  for (let at = start; at < stop; at += 1) {
    const byte = bytes[at] as number;
    if (VALUE_END[byte] !== 0) return at;
    if (byte === 91 && markerEnd(text, at) !== -1) at = markerEnd(text, at) - 1;
    else if (byte === 92 && isEscapedEnd(scan, at)) return at;
    else if (isQuery && (byte === 38 || byte === 35)) return at;
    else if (JOINERS.includes(text.charAt(at)) && endsHere(scan, at + 1, stop)) return at;
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
  const { bytes, text } = scan;
  const byte = bytes[next] as number;
  if (VALUE_END[byte] !== 0 || JOINERS.includes(text.charAt(next)) || byte === 58 || byte === 92) return true;
  const end = wordEnd(scan, next, Math.min(stop, next + 40));
  return end > next && bytes[end] === 61;
}

/** A DN goes on behind the name; a host in a certificate's subject is no person. */
const IN_DN = /^[^,=\n]{1,128}(?=, ?(?:ou|dc|o|cn|c|l|st)=)/i;
const HOST = /^[*\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/;

/** Where the name under a key of a directory ends that no bracket and no comma announces; -1 where it is none. */
function directoryEnd({ text, floor }: Scan, keyStart: number, keyEnd: number, start: number, stop: number): number {
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
