/** What begins with a literal of the table: tokens, phrases of programs, and what says by its content what it is. */
import { VALUE_END, WORD_BITS } from '../bytes.ts';
import { cutBehindColumn, cutChanged, cutFailingRow, cutInsert, cutKeyOfMany } from './commands.ts';
import type { Scan } from '../context.ts';
import { decodePrintableBase64 } from '../encodings/decoding.ts';
import { putDialled, putPerson } from '../identifiers/people.ts';
import { isPublic } from '../secrets/random-strings.ts';
import { PHRASE_MAX, type Lead } from '../rules/rules.ts';
import { isWord, tellsOf } from '../rules/sentences.ts';
import { markerEnd } from '../spans.ts';

/** Bytes of base64 that are decoded to see whether it is a name and a password. */
const BASIC_MAX = 4096;
/** Bytes of a name in brackets. */
const BRACKET_MAX = 80;
/** Words that follow `Bearer` in sentences about it. */
const ABOUT_BEARER =
  /^(?:token|tokens|auth|authentication|authorization|authorisation|scheme|schemes|credential|credentials|error|realm|header|headers|format|method|challenge|of|is|was|or|and|for|the|in|not|missing|required|invalid|expired|prefix)$/i;

/** Carries out what begins at a word. Answers where the scan goes on, or -1. */
export function cutLead(scan: Scan, start: number): number {
  const { bytes, engine } = scan;
  const long = cutAny(scan, engine.rules.longAt(bytes, start), start);
  return long === -1 ? cutAny(scan, engine.rules.shortAt(bytes, start), start) : long;
}

function cutAny(scan: Scan, leads: readonly Lead[], start: number): number {
  const { bytes } = scan;
  for (let which = 0; which < leads.length; which += 1) {
    const lead = leads[which] as Lead;
    const literal = lead.bytes;
    let same = 0;
    while (same < literal.length && bytes[start + same] === literal[same]) same += 1;
    const next = same === literal.length ? cutOne(scan, lead, start) : -1;
    if (next !== -1) return next;
  }
  return -1;
}

/** Carries out what begins at an opening bracket. */
export function cutBracket(scan: Scan, at: number): number {
  const { bytes, text, stop } = scan;
  // A name has no spaces; what is done by whoever it is of stands in capitals behind the bracket.
  let end = at + 1;
  while (end < stop && (bytes[end] as number) > 32 && bytes[end] !== 41 && end - at < BRACKET_MAX) end += 1;
  const isName = bytes[end] === 41;
  const capital = bytes[end + 2] as number;
  if (isName ? bytes[at + 9] !== 47 && (bytes[end + 1] !== 32 || capital < 65 || capital > 90) : bytes[at + 1] !== 116)
    return -1;
  for (const lead of scan.engine.rules.brackets) {
    if (!text.startsWith(lead.literal, at)) continue;
    const next = cutPhrase(scan, lead, at);
    if (next !== -1) return next;
  }
  return -1;
}

function cutOne(scan: Scan, lead: Lead, start: number): number {
  const { text, spans, stop } = scan;
  const after = start + lead.literal.length;
  if (after > stop) return -1;
  if (lead.token !== undefined) {
    const { pattern } = lead;
    pattern.lastIndex = start;
    return pattern.test(text) && !isPublic(text, start)
      ? spans.secret(start, Math.min(pattern.lastIndex, stop), lead.token)
      : -1;
  }
  switch (lead.special) {
    case 'bearer':
      return cutBearer(scan, after);
    case 'basic':
      return cutBase64(scan, after, (plain) => plain.includes(':'), 'authorization');
    case 'sasl':
      return cutBase64(scan, after, (plain) => !plain.endsWith(':'), 'secret');
    case 'plain':
      return cutBase64(scan, after, (plain) => plain.includes('\0'), 'secret');
    case 'told':
    case 'told-code':
      return cutTold(scan, after, lead.special === 'told-code');
    case 'insert':
      return cutInsert(scan, start);
    case 'columns':
      return cutKeyOfMany(scan, start);
    case 'failing':
      return cutFailingRow(scan, after);
    case 'behind-column':
      return cutBehindColumn(scan, start, after);
    case 'changed':
      return cutChanged(scan, start, after);
    case 'recipient':
      return cutBefore(scan, start, RECIPIENT);
    case 'bracketed':
      return cutBefore(scan, start, BRACKETED);
    case 'terminal':
      return cutBefore(scan, start, TERMINAL);
    default:
      return cutPhrase(scan, lead, start);
  }
}

/** The people and secrets of a phrase, with what stands between them. Answers where the scan goes on, or -1. */
function cutPhrase(scan: Scan, { pattern, slots, literal }: Lead, start: number): number {
  const match = pattern.exec(scan.text.slice(start, Math.min(scan.stop, start + PHRASE_MAX)));
  if (match === null) return -1;
  // A phrase without a place says that nothing of it goes.
  let next = start + (slots.length === 0 ? match[0].length : literal.length);
  for (const [group, slot] of slots.entries()) {
    const place = match.indices?.[group + 1];
    if (place === undefined || place[1] <= place[0]) continue;
    const from = start + place[0];
    let to = start + place[1];
    if (slot === 'user') while (to > from + 1 && '.:'.includes(scan.text.charAt(to - 1))) to -= 1;
    if (from > next) scan.run(next, from);
    if (from < scan.spans.last) continue;
    if (slot === 'user') {
      // An address in the place of a name, and the domain behind one, are left to the scan.
      const end = putPerson(scan, from, to);
      if (end < to) {
        next = Math.max(end, scan.spans.last);
        continue;
      }
    } else if (slot === 'dialled') putDialled(scan, from, to);
    else if (markerEnd(scan.text, from) === -1) scan.spans.secret(from, to, slot);
    next = Math.max(to, scan.spans.last);
  }
  return next;
}

/** A line with a form of its own. Answers where the scan goes on, or -1. */
export function cutFormLine(scan: Scan, start: number): number {
  const { bytes, engine } = scan;
  for (const { lead, sign, at } of engine.rules.lines) {
    if (bytes[start + at] !== sign) continue;
    const next = cutPhrase(scan, lead, start);
    if (next > start) return next;
  }
  return -1;
}

/** `password is …`: the word behind it, unless it says something of the password. `isCode` asks for digits in it. */
function cutTold(scan: Scan, after: number, isCode: boolean): number {
  const { text, stop, engine, spans } = scan;
  const found = /^["'`]?([^\s"'`<>[\]]{1,256})/.exec(text.slice(after, Math.min(stop, after + 260)));
  if (found === null) return -1;
  const [all, written] = found as unknown as [string, string];
  const from = after + all.length - written.length;
  let to = after + all.length;
  while (to > from + 1 && '.,:;!?)'.includes(text.charAt(to - 1))) to -= 1;
  const word = text.slice(from, to);
  const isPlain = isWord(word);
  if (isCode ? !/\d.*\d/.test(word) || word.length < 4 : word.length < 4 && isPlain) return -1;
  if (tellsOf(engine.rules, word)) return -1;
  return spans.secret(from, to, 'secret');
}

/** Bytes before a phrase in which the name stands that it is told of. */
const BEFORE_MAX = 80;
/** `=> alice R=…`, `** alice R=…` of exim: a recipient of this host, whose address is not written down. */
const RECIPIENT = /(?:^| )(?:=>|->|>>|\*\*|==) ([^\s<>@=/][^\s<>@=]{0,63}) $/;
/** `[alice] Peer Connection Initiated` of OpenVPN. */
const BRACKETED = /\[([^\s[\]]{1,64})\] $/;

/** `by alice on vty0` of a router. */
const TERMINAL = /(?:^| )(?:by|as) ([^\s"'<>=:]{1,64}) $/;

/** A name that stands before its phrase. */
function cutBefore(scan: Scan, start: number, pattern: RegExp): number {
  const before = scan.text.slice(Math.max(scan.spans.last, scan.floor, start - BEFORE_MAX), start);
  const found = pattern.exec(before);
  if (found !== null) {
    const name = found[1] as string;
    const from = start - before.length + found.index + found[0].indexOf(name);
    putPerson(scan, from, from + name.length);
  }
  return -1;
}

/** `Bearer` and a token; `Bearer of news` is none. */
function cutBearer(scan: Scan, after: number): number {
  const { text, spans } = scan;
  const marked = markerEnd(text, after);
  if (marked !== -1) return marked;
  const to = credentialEnd(scan, after);
  const token = text.slice(after, Math.min(to, after + 64));
  return token.length >= 6 && !token.startsWith('-') && scan.bytes[to] !== 58 && !ABOUT_BEARER.test(token)
    ? spans.secret(after, to, 'authorization')
    : -1;
}

/** Base64 that holds a name and a password. */
function cutBase64(
  scan: Scan,
  after: number,
  isOne: (plain: string) => boolean,
  name: 'authorization' | 'secret',
): number {
  const to = credentialEnd(scan, after);
  if (to - after < 4 || to - after > BASIC_MAX || (name === 'secret' && (to - after < 8 || (to - after) % 4 !== 0)))
    return -1;
  const plain = decodePrintableBase64(scan.text.slice(after, to));
  return plain !== undefined && isOne(plain) ? scan.spans.secret(after, to, name) : -1;
}

function credentialEnd({ bytes, text, stop }: Scan, from: number): number {
  let at = from;
  while (at < stop && (WORD_BITS[bytes[at] as number] !== 0 || './+~='.includes(text.charAt(at)))) at += 1;
  while (at > from && bytes[at - 1] === 46) at -= 1;
  // A name and its value are no token: `=` only pads.
  const isName =
    bytes[at - 1] === 61 && at < stop && VALUE_END[bytes[at] as number] === 0 && !',;)]}'.includes(text.charAt(at));
  return isName || /=[^=]/.test(text.slice(from, Math.min(at, from + 256))) ? from : at;
}
