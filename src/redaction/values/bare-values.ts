/** Values without quotes: where they end depends on what they are. */
import { cutSocketAddress } from '../identifiers/addresses.ts';
import { indexOf, runStop, tableOf, VALUE_END } from '../bytes.ts';
import { columnOf, type Scan } from '../context.ts';
import { noteOpen, walkJson } from './json.ts';
import { putNamed, putPerson, putPhone } from '../identifiers/people.ts';
import { isNamedValue } from '../secrets/random-strings.ts';
import type { KeyClass } from '../rules/rows.ts';
import { isHarmless } from '../rules/rules.ts';
import { cutValue, isCode, isHarmlessAt, isId, putAudit, putSecret } from './value-classes.ts';
import {
  directoryEnd,
  hashEnd,
  nameEnd,
  outerEnd,
  phoneEnd,
  restOfName,
  secretEnd,
  spaceEnd,
  wordEnd,
  wordsEnd,
} from './value-ends.ts';

/** Bytes of a person's name in the place of a number. */
const PERSON_MAX = 256;

/** Where a value stands, and by which sign it stands there. */
export interface Found {
  readonly start: number;
  readonly isColon: boolean;
  /** White space stands between the sign and the value. */
  readonly isSpaced: boolean;
  /** The quote around the key; 0 without one. */
  readonly quote: number;
  /** `::` of LDIF: the value is in base64. */
  readonly isDouble: boolean;
}

export function bare(
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
  if (isProse && isOfCommand(scan, keyStart)) {
    // A header on a command line ends with its quote.
    const quote = outerEnd(scan, keyStart, start, stop);
    if (quote > start && (keyClass === 'user' || keyClass === 'password' || keyClass === 'secret'))
      return cutValue(scan, keyClass, start, quote);
  }
  // Spaces behind `=` separate fields: an empty value, unless the line is of this one field.
  if (!found.isColon && found.isSpaced && bytes[keyEnd] === 61) {
    if (columnOf(scan, keyStart) === -1 || !/^[^\s=]+ *$/.test(text.slice(start, Math.min(stop, start + 160))))
      return -1;
  }
  switch (keyClass) {
    case 'user':
    case 'user-id':
    case 'directory':
      return bareName(scan, found, keyClass, keyStart, keyEnd, start, stop);
    case 'phone': {
      const end = phoneEnd(scan, start, stop);
      if (end > start) return putPhone(scan, start, end, '');
      // A URI says itself what is behind it.
      if ((bytes[start] as number) < 65 || isProse || /^(?:sips?|tel):/i.test(text.slice(start, start + 5))) return -1;
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
      // `body: {…}`: every string of it is text.
      if (bytes[start] === 123 || bytes[start] === 91) {
        const end = walkJson(scan, start, 'text');
        if (end > start + 1) return end;
      }
      if (namesFields(scan, start, stop)) return -1;
      return putText(scan, found, keyStart, start, outerEnd(scan, keyStart, start, stop));
    case 'authorization':
      return putCredentials(scan, keyStart, start, stop);
    case 'cookie':
      return putSecret(scan, start, cookieEnd(scan, start, outerEnd(scan, keyStart, start, stop)), 'cookie');
    case 'audit':
      return putAudit(scan, start, stop);
    case 'address':
      putNamed(scan, start, stop);
      return -1;
    case 'socket-address':
      return cutSocketAddress(scan, start, wordEnd(scan, start, stop));
    case 'id':
      return idEnd(scan, start, wordEnd(scan, start, stop));
    case 'password':
    case 'secret':
      return bareSecret(scan, keyStart, keyEnd, start, stop, isProse);
    default:
      return -1;
  }
}

/** Whether a key is the name of a header behind `-H '` of a command line. */
function isOfCommand({ bytes, text, floor }: Scan, keyStart: number): boolean {
  const quote = bytes[keyStart - 1];
  return (
    (quote === 34 || quote === 39) &&
    /(?:-H|--header)[ =]["']$/.test(text.slice(Math.max(floor, keyStart - 12), keyStart))
  );
}

/** Where an id goes on that ends at a place, or -1 for what is none. */
function idEnd({ bytes, text }: Scan, start: number, end: number): number {
  // The host behind an id of a call is none of a mail's.
  if (bytes[end] === 64 && /^[0-9a-f-]{12,64}$/.test(text.slice(start, end))) return end + 1;
  // `hash=SCRAM-SHA-256$…` is more than its first word.
  return bytes[end] !== 36 && isNamedValue(text, start, end) ? end : -1;
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
  if (bytes[keyStart - 1] === 40 && /^(?:auth|account|session|chauthtok|setcred)\)/.test(text.slice(start, start + 10)))
    return -1;
  if (end === start || isHarmlessAt(scan, keyStart, keyEnd, start, end)) return -1;
  if (isProse && (bytes[start] === 40 || (columnOf(scan, keyStart) === -1 && isSentence(scan, start, end, stop))))
    return -1;
  // `auth01:443`, `com.example.Auth:142`: a port, or a place in a program.
  if (isPlace(text, keyStart, keyEnd, start)) return -1;
  if (end >= stop) noteOpen(scan, 'secret', 0);
  return putSecret(scan, start, wordsEnd(scan, keyStart, keyEnd, end, stop), 'secret');
}

const PLACE = /^[A-Za-z.]{0,60}(?:[Aa]uth|[Tt]oken|[Ss]ecret)\d{0,3}$/;

function isPlace(text: string, keyStart: number, keyEnd: number, start: number): boolean {
  return (
    start === keyEnd + 1 &&
    text.charCodeAt(keyEnd) === 58 &&
    PLACE.test(text.slice(keyStart, keyEnd)) &&
    /^\d{1,5}(?=[\s/,;)\]]|$)/.test(text.slice(start, start + 6))
  );
}

/** Whether a word behind `token: ` goes on as a sentence does: in small letters, with two more such words behind it. */
function isSentence({ text, engine }: Scan, start: number, end: number, stop: number): boolean {
  if (!/^[a-z']+$/.test(text.slice(start, end))) return false;
  const next = /^ ([a-z']+)(?: [a-z']+)?(?=[ .,:;]|$)/.exec(text.slice(end, Math.min(stop, end + 64)));
  return next !== null && (engine.rules.words.has(next[1] as string) || next[0].split(' ').length > 2);
}

const OPENING = tableOf('[{(');
/** What a constant of a program begins with, or a number, or the name of a package. */
const OF_CONSTANT = tableOf('U0123456789coni');
/** What the names begin with whose value may be a full name, or in hex. */
const OF_FULL = tableOf('gGsSdDfFrRaA');

/** What a directory of Windows keeps its entries in. */
const CONTAINER =
  /^(?:Users|Computers|Policies|System|Builtin|Configuration|Schema|Services|Sites|Program Data|Microsoft|Partitions|Managed Service Accounts|Domain Controllers|ForeignSecurityPrincipals)$/;

/** The name of a policy is its id. */
function isGuid(value: string): boolean {
  return /^\{?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?$/.test(value);
}

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
  // `Author: Alice Liddell <alice@example.org>`.
  const named = found.isColon && found.isSpaced ? putNamed(scan, first, stop) : -1;
  if (named !== -1) return named;
  const before = keyStart > floor ? text.charAt(keyStart - 1) : '\n';
  const isDirectory = keyClass !== 'user' && '(,"\'+/'.includes(before);
  const isInBrackets =
    !found.isColon &&
    OPENING[bytes[first] as number] === 1 &&
    /^.[\w.-]{1,64}[\]}),]/.test(text.slice(first, first + 67));
  const start = first + (isInBrackets ? 1 : 0);
  let end = start;
  if (keyClass === 'directory' && !isDirectory) {
    end = directoryEnd(scan, keyStart, keyEnd, start, stop);
    if (end === -1) return -1;
    const entry = text.slice(start, Math.min(end, start + 64));
    return CONTAINER.test(entry) || isGuid(entry) ? end : putPerson(scan, start, end);
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
  if (keyClass === 'directory' && (CONTAINER.test(value) || isGuid(value))) return end;
  // `login: user "alice"`, `FAIL LOGIN: Client "…"`, `imap-login: Warning: …`: a word about what follows.
  if (found.isColon && /^[A-Za-z]+$/.test(value) && isAbout(scan, keyStart, value, end)) return -1;
  // The services of PAM: `login:auth`; a storage account of Azure.
  if (before === '(' && bytes[end] === 41 && /^(?:auth|account|session|chauthtok|setcred|password)$/.test(value))
    return end;
  if (text.startsWith(';AccountKey=', end)) return end;
  if (found.isColon && found.isSpaced && engine.rules.words.has(value.toLowerCase())) return end;
  // A constant of a program, which says what kind of user is meant.
  if (OF_CONSTANT[bytes[start] as number] === 1 && /^USER_[A-Z_]+$|^\d{1,2}$|^(?:com|org|net|io)\.\w+\.\w/.test(value))
    return end;
  const key = OF_FULL[bytes[keyStart] as number] === 1 ? text.slice(keyStart, keyEnd).toLowerCase() : '';
  // `;user=phone` of a SIP URI says what the user part is.
  if (before === ';' && /^(?:phone|ip|dialstring)$/.test(value)) return end;
  const isForm = before === '?' || before === '&';
  if ('(,; '.includes(before)) end = wordsEnd(scan, keyStart, keyEnd, end, stop);
  if (/^(?:gecos$|[sd]user$|(?:display|full|real)[\w-]{0,20}(?:name|nick)$)/.test(key))
    end = isForm ? end : restOfName(scan, end, stop);
  return putPerson(scan, start, end, { isHex: key === 'acct', isForm });
}

function isAbout({ bytes, text }: Scan, keyStart: number, value: string, end: number): boolean {
  if (bytes[end] === 58) return text.charCodeAt(keyStart - 1) === 45;
  return /^(?:user|client|account|username|login)$/i.test(value) && / ["'<\w]/.test(text.slice(end, end + 2));
}

function isErrorCode({ text, floor }: Scan, keyStart: number): boolean {
  const before = text.slice(Math.max(floor, keyStart - 60), keyStart).toLowerCase();
  if (!/[ _-]$/.test(before)) return false;
  const words = before.slice(0, -1);
  return (
    OF_ERRORS.some((word) => words.endsWith(word)) || words.slice(words.lastIndexOf(' ') + 1).startsWith('domain=')
  );
}

/** What a code is of that opens nothing. */
const OF_ERRORS =
  'error exit status return reason result response zip postal country area err http sqlstate signal'.split(' ');

/** Whether a text is a form, which is read by its fields, or the name of a certificate, which has names of its own. */
function namesFields({ text, state }: Scan, start: number, stop: number): boolean {
  const isNamed = /^(?:[\w.-]{1,40}=[^\s&]{0,200}&|\/?(?:CN|C|O|OU|ST|L|DC|emailAddress) ?= ?)/.test(
    text.slice(start, Math.min(stop, start + 256)),
  );
  if (isNamed) state.folded = undefined;
  return isNamed;
}

/** Cookies of a form end with their field, those of a header with the line. */
function cookieEnd(scan: Scan, start: number, stop: number): number {
  if (scan.bytes[start] === 123) {
    const close = indexOf(scan.bytes, 125, start, stop);
    if (close !== -1) return close + 1;
  }
  if (scan.bytes[start - 1] !== 61) return stop;
  const next = /&[\w.-]{1,40}=/.exec(scan.text.slice(start, stop));
  return next === null ? stop : start + next.index;
}

/** Bytes at which what is behind a text can begin: a tab, a space, `&`, `,`, `;`, `|`. */
const FIELD_MARKS: ReadonlySet<number> = new Set([9, 32, 38, 44, 59, 124]);

/** What is behind a text, by the sign that its own key has: the next field, or the ` from ` of a mail log. */
const BEHIND_TEXT = {
  equal: /(?:[ \t|]|, ?)(?!\d)[\w.-]{1,40}=(?! )|[&;][\w.-]{1,40}=|; from=| from [^\s[]{1,255}\[[^\]\s]{1,64}\][;:]/y,
  spacedEqual: /[,;] ?[\w.-]{1,40} = /y,
  colon: /,? [A-Za-z][\w.-]{0,39}[:=](?=[^\s/])/y,
  listed: /, [\w.-]{1,40}: | (?!\d)[\w.-]{1,40}=(?! )|; from=| from [^\s[]{1,255}\[[^\]\s]{1,64}\][;:]/y,
  arrow: /, ?[\w.-]{1,40} -> /y,
};

/** The bracket that closes what a key begins. */
const CLOSERS: ReadonlyMap<string, number> = new Map([
  ['[', 93],
  ['(', 41],
  ['{', 125],
]);

/** Text without quotes: up to the next field, the ` from ` of a mail log, or the end of the line. */
function putText(scan: Scan, found: Found, keyStart: number, start: number, stop: number): number {
  const { text, bytes, floor } = scan;
  const before = keyStart > floor ? text.slice(Math.max(floor, keyStart - 2), keyStart) : '';
  const pattern = behindText(found, before, bytes[start - 2]);
  const closer = CLOSERS.get(before.slice(-1));
  const close = closer === undefined ? -1 : indexOf(bytes, closer, start, stop);
  const limit = close === -1 ? stop : close;
  let end = start;
  for (; end < limit; end += 1) {
    if (!FIELD_MARKS.has(bytes[end] as number)) continue;
    pattern.lastIndex = end;
    if (pattern.test(text)) break;
  }
  while (end > start && ' ,;'.includes(text.charAt(end - 1))) end -= 1;
  return end > start ? putSecret(scan, start, end, 'text') : -1;
}

function behindText({ isColon, isSpaced }: Found, before: string, sign: number | undefined): RegExp {
  if (sign === 62) return BEHIND_TEXT.arrow;
  if (isColon && isSpaced)
    return before === ', ' || CLOSERS.has(before.slice(-1)) ? BEHIND_TEXT.listed : BEHIND_TEXT.equal;
  if (isColon) return BEHIND_TEXT.colon;
  return isSpaced ? BEHIND_TEXT.spacedEqual : BEHIND_TEXT.equal;
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
