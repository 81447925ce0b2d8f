/** Values under a key: where they start and end in every syntax of logs, and what their key's class makes of them. */
import { cutSocketAddress } from './addresses.ts';
import { isDigit, wordStop, VALUE_END } from './character-classes.ts';
import { lineEnd, type Context } from './context.ts';
import { decodeAuditHex } from './decoding.ts';
import { cutObject, type Leaves } from './keyed-objects.ts';
import { putNamed } from './emails.ts';
import type { KeyClass } from './keys.ts';
import { cutBase64Value, directoryEnd } from './ldif.ts';
import { putPerson } from './people.ts';
import { isDialled } from './phones.ts';
import { isPseudonym } from './pseudonyms.ts';
import {
  closerOf,
  findSeparator,
  found,
  gap,
  nameEnd,
  outerEnd,
  phoneEnd,
  readOpener,
  restOfName,
  secretEnd,
  spaceEnd,
  unwrapped,
  wordEnd,
} from './value-bounds.ts';
import { isHarmless, looksSecret } from './harmless-values.ts';
import { isNamedValue } from './values.ts';
import { markerEnd, type SecretClass } from './spans.ts';
import { HASH_SHAPES, matchEnd } from './token-shapes.ts';

/** Bytes of a quoted value that may turn out to be none of ours. */
const DOUBTFUL_MAX = 1024;

/** The value under a key of a class, or -1 when there is none to see to. Answers where the scan goes on. */
export function cutKeyed(context: Context, keyStart: number, keyEnd: number, keyClass: KeyClass): number {
  const { source } = context;
  if (!findSeparator(source, keyEnd)) return -1;
  if (keyClass === 'people')
    return source.charCodeAt(found.start) === 91 ? cutKeyed(context, keyStart, keyEnd, 'user') : -1;
  const { isColon, isDouble } = found;
  const start = unwrapped(source, found.start);
  const isJson = found.delimiter !== '';
  const keyDelimiter = found.delimiter;
  const marked = markerEnd(source, start);
  if (marked !== -1) return marked;
  if (isDouble && keyClass !== 'password' && keyClass !== 'secret')
    return cutBase64Value(context, keyStart, keyEnd, start);
  const opener = readOpener(source, start);
  const stop = lineEnd(context, start);
  if (opener !== undefined) {
    const inside = start + opener.length;
    return quoted(
      context,
      keyClass,
      keyStart,
      keyEnd,
      inside,
      closerOf(source, inside, isDoubtful(keyClass) ? Math.min(stop, inside + DOUBTFUL_MAX) : stop, opener),
    );
  }
  if (isJson && isColon) return jsonBare(context, keyClass, start, stop, keyDelimiter);
  return bare(context, keyClass, keyStart, keyEnd, start, stop);
}

/** Classes that leave most values alone: their quotes are not searched to the end of the line each time. */
function isDoubtful(keyClass: KeyClass): boolean {
  return (
    keyClass === 'address' ||
    keyClass === 'id' ||
    keyClass === 'audit' ||
    keyClass === 'socket-address' ||
    keyClass === 'code'
  );
}

function quoted(
  context: Context,
  keyClass: KeyClass,
  keyStart: number,
  keyEnd: number,
  from: number,
  to: number,
): number {
  const { source, spans } = context;
  if (to <= from) return to;
  switch (keyClass) {
    case 'user':
    case 'user-id':
    case 'directory':
      if (
        keyClass === 'user-id' &&
        /^(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.test(source.slice(from, Math.min(to, from + 64)))
      )
        return to;
      return putPerson(context, from, to);
    case 'phone':
      return putPhone(context, from, to, '');
    case 'address':
      if (putNamed(context, from, to) !== -1) return -1;
      // `to=<root>`: a person of this host. Anything else that is no address is none of ours.
      return source.charCodeAt(from - 1) === 60 && to - from < 64 && !hasAt(source, from, to)
        ? putPerson(context, from, to)
        : -1;
    case 'code':
      return isCode(source.slice(from, Math.min(to, from + 12))) ? spans.secret(from, to, 'secret') : -1;
    case 'id':
      return isNamedValue(source, from, to) ? to : -1;
    case 'text':
      return putSecret(context, from, to, 'text');
    case 'authorization':
    case 'cookie':
      return putSecret(context, from, to, keyClass);
    case 'password':
    case 'secret':
      return source.charCodeAt(from - 1) === 60 || isHarmless(source, keyStart, keyEnd, from, to)
        ? -1
        : putSecret(context, from, to, 'secret');
    default:
      return -1;
  }
}

function putSecret(context: Context, from: number, to: number, name: SecretClass): number {
  const marked = markerEnd(context.source, from);
  return marked === -1 ? context.spans.secret(from, to, name) : marked;
}

function hasAt(source: string, from: number, to: number): boolean {
  const text = source.slice(from, Math.min(to, from + 320));
  return text.includes('@') || text.includes('%40') || text.includes('u0040');
}

/** Single values under a key, for what goes through objects and elements. */
export const LEAVES: Leaves = {
  string: (context, keyClass, from, to) =>
    markerEnd(context.source, from) === -1 ? quoted(context, keyClass, from, from, from, to) : to,
  number: jsonBare,
};

/** Numbers, arrays, objects and words of JSON. What takes the place of a number gets the quotes of its key. */
function jsonBare(context: Context, keyClass: KeyClass, start: number, stop: number, delimiter: string): number {
  const { source, spans } = context;
  const byte = source.charCodeAt(start);
  if (byte === 91) return jsonArray(context, keyClass, start + 1, stop, delimiter);
  if (byte === 123) return cutObject(context, keyClass, start, LEAVES);
  if (byte !== 45 && !isDigit(source, start)) return -1;
  let end = start + 1;
  while (end < stop && /[\d.eE+-]/.test(source.charAt(end))) end += 1;
  if (keyClass === 'phone' || keyClass === 'address')
    return end - start >= (keyClass === 'phone' ? 3 : 10) ? putPhone(context, start, end, delimiter) : end;
  if (keyClass === 'user') return putPerson(context, start, end, { wrap: delimiter });
  if (
    keyClass === 'password' ||
    keyClass === 'secret' ||
    (keyClass === 'code' && isCode(source.slice(start, end)) && end - start >= 6)
  )
    return spans.put(start, end, `${delimiter}[REDACTED:secret]${delimiter}`, 'secret');
  return keyClass === 'text' || keyClass === 'id' || keyClass === 'user-id' ? end : -1;
}

/** Strings and numbers of an array each for themselves; anything else in it ends the walk. */
function jsonArray(context: Context, keyClass: KeyClass, from: number, stop: number, delimiter: string): number {
  const { source } = context;
  if (keyClass === 'address' || keyClass === 'id' || keyClass === 'audit') return -1;
  let at = gap(source, from);
  for (;;) {
    const opener = readOpener(source, at);
    if (opener !== undefined && opener.endsWith('"')) {
      const inside = at + opener.length;
      const end = closerOf(source, inside, stop, opener);
      if (markerEnd(source, inside) === -1) quoted(context, keyClass, inside, inside, inside, end);
      at = Math.min(stop, end + opener.length);
    } else if (isDigit(source, at)) {
      const end = Math.max(jsonBare(context, keyClass, at, stop, delimiter), at + 1);
      at = end;
    } else if (source.charCodeAt(at) === 123) {
      const end = cutObject(context, keyClass, at, LEAVES);
      if (end === -1) return at;
      at = end;
    } else return at;
    at = gap(source, at);
    if (source.charCodeAt(at) !== 44) return at;
    at = gap(source, at + 1);
  }
}

function bare(
  context: Context,
  keyClass: KeyClass,
  keyStart: number,
  keyEnd: number,
  start: number,
  stop: number,
): number {
  const { source } = context;
  // Spaces behind `=` separate fields: an empty value.
  if (!found.isColon && found.isSpaced && source.charCodeAt(keyEnd) === 61) return -1;
  switch (keyClass) {
    case 'user':
    case 'user-id':
    case 'directory':
      return bareName(context, keyClass, keyStart, keyEnd, start + (isListed(source, start) ? 1 : 0), stop);
    case 'phone': {
      const end = phoneEnd(source, start, stop);
      return end > start ? putPhone(context, start, end, '') : -1;
    }
    case 'code': {
      const to = wordEnd(source, start, stop);
      return isCode(source.slice(start, Math.min(to, start + 12))) && !found.isSpaced
        ? context.spans.secret(start, to, 'secret')
        : -1;
    }
    case 'text':
      return putText(context, start, outerEnd(source, keyStart, start, stop));
    case 'authorization':
      return putCredentials(context, keyStart, start, stop);
    case 'cookie':
      return putSecret(context, start, outerEnd(source, keyStart, start, stop), 'cookie');
    case 'audit':
      return putAudit(context, start, stop);
    case 'address':
      putNamed(context, start, stop);
      return -1;
    case 'socket-address':
      return cutSocketAddress(context.spans, start, wordEnd(source, start, stop));
    case 'id': {
      const end = wordEnd(source, start, stop);
      return isNamedValue(source, start, end) ? end : -1;
    }
    case 'password':
    case 'secret': {
      const end = Math.max(secretEnd(source, keyStart, start, stop), hashEnd(source, start));
      if (found.isColon && found.isSpaced && keyEnd - keyStart === 4 && source.startsWith('auth', keyStart)) return -1;
      if (end === start || isHarmless(source, keyStart, keyEnd, start, end)) return -1;
      if (found.isColon && found.isSpaced && keyClass === 'secret' && !looksSecret(source, start, end)) return -1;
      return putSecret(context, start, end, 'secret');
    }
    default:
      return -1;
  }
}

/** `user=[alice]`, `user={alice}`: one name in brackets, and no fields. */
function isListed(source: string, start: number): boolean {
  return (
    !found.isColon &&
    '[{('.includes(source.charAt(start)) &&
    /^.[\w.-]{1,64}[\]}),]/.test(source.slice(start, start + 67))
  );
}

function bareName(
  context: Context,
  keyClass: KeyClass,
  keyStart: number,
  keyEnd: number,
  start: number,
  stop: number,
): number {
  const { source } = context;
  const isDirectory = keyClass !== 'user' && '(,"\'+/'.includes(source.charAt(keyStart - 1)) && keyStart > 0;
  let end = start;
  if (keyClass === 'directory' && !isDirectory) {
    end = directoryEnd(source, keyStart, keyEnd, start, stop);
    return end === -1 ? -1 : putPerson(context, start, end);
  }
  if (isDirectory) while (end < stop && !',)("\'+;&'.includes(source.charAt(end))) end += 1;
  else end = nameEnd(source, start, stop);
  if (source.charCodeAt(end) === 61 && end < stop) {
    // `ruser=rhost=1.2.3.4`: the value is empty and the next key follows. An encoded word has signs of its own.
    if (source.startsWith('=?', start))
      end = wordStop(VALUE_END, source, start, stop) === stop ? stop : spaceEnd(source, start, stop);
    else if (source.startsWith('40', end + 1)) end = spaceEnd(source, start, stop);
    else return -1;
  }
  while (end > start && (source.charCodeAt(end - 1) === 46 || source.charCodeAt(end - 1) === 58)) end -= 1;
  if (end === start) return -1;
  if (keyClass === 'user-id' && /^[\d*]+$/.test(source.slice(start, Math.min(end, start + 64)))) return end;
  const key = source.slice(keyStart, keyEnd).toLowerCase();
  // `;user=phone` of a SIP URI says what the user part is.
  if (
    source.charCodeAt(keyStart - 1) === 59 &&
    /^(?:phone|ip|dialstring)$/.test(source.slice(start, Math.min(end, start + 12)))
  )
    return end;
  const isForm = keyStart > 0 && '?&'.includes(source.charAt(keyStart - 1));
  if (/^(?:gecos$|[sd]user$|(?:display|full|real)[\w-]{0,20}(?:name|nick)$)/.test(key))
    end = isForm ? end : restOfName(source, end, stop);
  return putPerson(context, start, end, { isHex: key === 'acct', isForm });
}

function putPhone(context: Context, from: number, to: number, wrap: string): number {
  const { source, spans, pseudonyms } = context;
  const text = source.slice(from, Math.min(to, from + 128));
  if (isPseudonym(text)) return to;
  if (hasAt(source, from, to) || /^(?:sips?|tel):/i.test(text)) return from;
  if (isDialled(text)) return spans.put(from, to, wrap + pseudonyms.phone(text) + wrap, 'phone');
  return /^[A-Za-z]/.test(text) && wrap === '' ? putPerson(context, from, to) : to;
}

function isCode(value: string): boolean {
  return /^(?=[A-Za-z-]*\d)[A-Za-z0-9-]{4,10}$/.test(value) && !/^\d+-|_/.test(value);
}

/** Text without quotes: up to the next `name=`, the `; from=` and ` from ` of a mail log, or the end of the line. */
function putText(context: Context, start: number, stop: number): number {
  const { source } = context;
  let end = stop;
  for (let at = start; at < stop; at += 1) {
    const byte = source.charCodeAt(at);
    if (byte === 38 && /^&[\w.-]{1,40}=/.test(source.slice(at, at + 42))) end = at;
    else if (byte === 59 && source.startsWith('; from=', at)) end = at;
    else if (byte === 32 && isNextField(source, at + 1, stop)) end = at;
    if (end !== stop) break;
  }
  while (end > start && ' ,;'.includes(source.charAt(end - 1))) end -= 1;
  return end > start ? putSecret(context, start, end, 'text') : -1;
}

function isNextField(source: string, from: number, stop: number): boolean {
  if (source.startsWith('from ', from) && /^from \S{1,255}\[[^\]\s]{1,64}\][;:]/.test(source.slice(from, from + 330)))
    return true;
  const end = Math.min(wordEnd(source, from, Math.min(stop, from + 40)), stop);
  return end > from && source.charCodeAt(end) === 61 && source.charCodeAt(end + 1) !== 32 && !isDigit(source, from);
}

const SCHEME = /(?:Basic|Bearer|Token|ApiKey|Negotiate|NTLM|GoogleLogin|Splunk|GenieKey)(?: |%20|\+)+/iy;
const SCHEME_WITH_FIELDS = /(?:Digest|AWS4-HMAC-SHA256|OAuth|Hawk|SharedKey|Signature|SCRAM)/iy;

function putCredentials(context: Context, keyStart: number, start: number, stop: number): number {
  const { source } = context;
  SCHEME.lastIndex = start;
  SCHEME_WITH_FIELDS.lastIndex = start;
  if (SCHEME_WITH_FIELDS.test(source))
    return putSecret(context, start, outerEnd(source, keyStart, start, stop), 'authorization');
  const from = SCHEME.test(source) ? SCHEME.lastIndex : start;
  let end = wordStop(VALUE_END, source, from, stop);
  // `authorization: alice` of a program's own kind may have a second word; what is no scheme goes to its end.
  if (from === start) end = outerEnd(source, keyStart, start, stop);
  while (end > from && ',;)\\'.includes(source.charAt(end - 1))) end -= 1;
  return end > start ? putSecret(context, start, end, 'authorization') : -1;
}

/** Where a hash of a password ends, whose parameters look like fields; -1 when there is none. */
function hashEnd(source: string, start: number): number {
  const first = source.charCodeAt(start);
  const shape = first === 36 ? HASH_SHAPES[0] : first === 123 ? HASH_SHAPES[1] : undefined;
  return shape === undefined ? -1 : matchEnd(shape, source, start);
}

/** Command lines of auditd in hex: the person, the address and the password are inside, so it goes as a whole. */
function putAudit(context: Context, start: number, stop: number): number {
  const end = wordEnd(context.source, start, stop);
  const text = context.source.slice(start, Math.min(end, start + 4096));
  if (end - start < 8 || !/^[0-9A-F]+$/.test(text) || (!/[A-F]/.test(text) && text.length < 16)) return -1;
  return decodeAuditHex(text.slice(0, text.length & ~1)) === undefined ? -1 : putSecret(context, start, end, 'secret');
}

/** A whole text as the value under a key of a class. Answers where the scan goes on. */
export function cutValue(context: Context, keyClass: KeyClass): number {
  const { source } = context;
  if (keyClass === 'code')
    return isCode(source) && source.length >= 4 ? context.spans.secret(0, source.length, 'secret') : -1;
  return quoted(context, keyClass, 0, 0, 0, source.length);
}
