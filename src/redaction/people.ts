/** The name of a person in a place that is known to hold one (RED-03): what it is, and what goes in its place. */
import { isDigit, LOWER, UPPER, WORD_BITS } from './character-classes.ts';
import type { Context } from './context.ts';
import { decodeAuditHex, decodeEncodedWord, decodeText } from './decoding.ts';
import { isPhoneText } from './phones.ts';
import { isNobody, isPseudonym, isRole } from './pseudonyms.ts';
import { markerEnd } from './spans.ts';

/** A longer name is looked at up to here and replaced as a whole. */
const LOOKED_AT_MAX = 1024;
/** A name of this length is no plain one. */
const PLAIN_MAX = 64;
/** Without any of these a name holds no address, number of a URI, kind, domain or encoding. */
const SPECIAL = /[@%\\:&]|=(?:40|\?)/;
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

/**
 * Puts a pseudonym in place of a name. A name that is an e-mail address, a phone or an IP address is treated as one,
 * in every syntax alike. `wrap` is put around a value that stood bare in JSON. Answers where the scan goes on.
 */
export function putPerson(
  context: Context,
  start: number,
  end: number,
  options: { wrap?: string; isHex?: boolean; isForm?: boolean } = {},
): number {
  const { source, spans, pseudonyms } = context;
  const { wrap = '', isHex = false, isForm = false } = options;
  if (!isHex && wrap === '' && isPlainName(source, start, end)) {
    const name = source.slice(start, end);
    return isNobody(name) || isPseudonym(name) ? end : spans.put(start, end, pseudonyms.user(name), 'user');
  }
  let from = start;
  let to = end;
  while (from < to && source.charCodeAt(from) === 32) from += 1;
  while (to > from && source.charCodeAt(to - 1) === 32) to -= 1;
  const text = source.slice(from, Math.min(to, from + LOOKED_AT_MAX));
  const marked = markerEnd(source, from);
  if (marked !== -1) return marked;
  if (isNobody(text) || isPseudonym(text)) return to;
  if (!isHex && wrap === '' && !isForm && !SPECIAL.test(text)) {
    if (/^(?:\d{1,3}\.){3}[\dx]{1,3}$/.test(text)) return from;
    const isPhone = isPhoneText(text);
    return spans.put(from, to, isPhone ? pseudonyms.phone(text) : pseudonyms.user(text), isPhone ? 'phone' : 'user');
  }
  const hasColon = text.includes(':');
  if (hasColon && /^(?:sips?|tel|mailto|xmpp|im):/i.test(text)) return from;
  const decoded = isHex ? decodeAuditHex(text) : undefined;
  if (decoded !== undefined) return spans.put(from, to, pseudonyms.user(decoded.split('\0')[0] as string), 'user');
  const at = lastAt(text);
  if (at !== undefined) return putLocalPart(context, from, from + at.start, from + at.end);
  if (hasColon ? /^\[?[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{2,}\]?$/.test(text) : /^(?:\d{1,3}\.){3}[\dx]{1,3}$/.test(text))
    return from;
  if (isPhoneText(text)) return spans.put(from, to, wrap + pseudonyms.phone(text) + wrap, 'phone');
  if (hasColon && THING.test(text)) return to;
  const before = partBefore(text, hasColon);
  if (before > 0) return putPerson(context, from + before, to);
  const word = text.startsWith('=?') ? ENCODED_WORD.exec(text) : null;
  const plain = isForm ? text.replaceAll('+', ' ') : text;
  const name = word === null ? plain : decodeEncodedWord(word[1] as string, word[2] as string);
  return spans.put(from, to, wrap + pseudonyms.user(name) + wrap, 'user');
}

/** Bytes of what stands before a name and is none of it: an expiry of coturn, a domain of Windows, `user:`. */
function partBefore(text: string, hasColon: boolean): number {
  const expiry = hasColon ? (EXPIRY.exec(text) ?? KIND_OF_PERSON.exec(text)) : null;
  if (expiry !== null) return expiry[0].length;
  const hasDomain = text.includes('\\') || text.includes('%5');
  return hasDomain ? (DIRECTORY_DOMAIN.exec(text)?.[0].length ?? 0) : 0;
}

/** Letters, digits, dots, dashes and underscores behind a letter: nothing else that a name may be reads so. */
function isPlainName(source: string, start: number, end: number): boolean {
  if (end - start > PLAIN_MAX || ((WORD_BITS[source.charCodeAt(start)] as number) & (LOWER | UPPER)) === 0)
    return false;
  for (let at = start + 1; at < end; at += 1) {
    const byte = source.charCodeAt(at);
    if (WORD_BITS[byte] === 0 && byte !== 46) return false;
  }
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
export function putLocalPart(context: Context, from: number, at: number, domain: number): number {
  const { source, spans, pseudonyms } = context;
  const local = source.slice(from, at);
  const name = decodeText(local);
  if (local === '' || isRole(name) || isPseudonym(name)) return domain;
  const isPhone = isPhoneText(name);
  spans.put(from, at, isPhone ? pseudonyms.phone(name) : pseudonyms.user(name), isPhone ? 'phone' : 'email');
  return domain;
}

/** Bytes of digits at a place, as coturn writes an expiry before the name. */
export function digitsEnd(source: string, from: number): number {
  let at = from;
  while (isDigit(source, at)) at += 1;
  return at;
}
