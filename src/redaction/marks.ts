/** What a mark tells: `@` of an address, `://` of a URI, `+` of a number, escapes, options, brackets. */
import { cutIPv6 } from './addresses.ts';
import { cutBracket, cutRemoteUser } from './bracketed-names.ts';
import { HEX, isDigit, WORD_BITS } from './character-classes.ts';
import type { Context } from './context.ts';
import { cutEmail } from './emails.ts';
import { cutByteArray, cutPercent, cutUnicode } from './encoded-regions.ts';
import { cutParameter } from './encoded-words.ts';
import { cutOption } from './options.ts';
import { cutInternational } from './phones.ts';
import { cutPrivateKey, type LineState } from './private-keys.ts';
import { markerEnd } from './spans.ts';
import { AZURE, DIGIT_SHAPES, HASH_SHAPES, matchEnd, type TokenShape } from './token-shapes.ts';
import { cutUserinfo } from './urls.ts';

/** What a mark is the middle or the beginning of; `=` is left to the scan. Answers where the scan goes on, or -1. */
export function cutMark(context: Context, state: LineState, byte: number, at: number): number {
  const { source } = context;
  switch (byte) {
    case 64: // @
      return cutEmail(context, at, 1);
    case 58: // :
      return cutColon(context, at);
    case 43: // +
      return cutInternational(context, at, 1);
    case 37: // %
      return cutPercentMark(context, state, at);
    case 92: // \
      return cutBackslash(context, at);
    case 38: // &
      if (source.startsWith('#64;', at + 1)) return cutEmail(context, at, 5);
      return source.startsWith('#43;', at + 1) ? cutInternational(context, at, 5) : -1;
    case 36: // $
      return Math.max(cutShape(context, HASH_SHAPES[0] as TokenShape, at, at), cutParameter(context, at));
    case 123: // {
      return cutShape(context, HASH_SHAPES[1] as TokenShape, at, at);
    case 91: // [
      return source.charCodeAt(at - 1) === 58 && isDigit(source, at + 1)
        ? cutByteArray(context, at)
        : source.charCodeAt(at + 1) === 82
          ? markerEnd(source, at)
          : -1;
    case 45: // -
      return cutDash(context, state, at);
    case 40: // (
      return cutBracket(context, at);
    case 126: // ~
      return cutTilde(context, at);
    default:
      return -1;
  }
}

/** A token of a shape that is matched at a place and began before it. */
export function cutShape(context: Context, shape: TokenShape, at: number, start: number): number {
  const end = matchEnd(shape, context.source, at);
  return end === -1 || start < context.spans.last ? -1 : context.spans.secret(start, end, shape.class);
}

function cutColon(context: Context, at: number): number {
  const { source } = context;
  const next = source.charCodeAt(at + 1);
  if (next === 47 && source.charCodeAt(at + 2) === 47) return cutUserinfo(context, at);
  if (next === 58) return cutIPv6(context.spans, at);
  if (next !== 65) return -1;
  let start = at;
  if (source.startsWith('APA91b', at + 1))
    while (start > context.spans.last && at - start < 64 && WORD_BITS[source.charCodeAt(start - 1)] !== 0) start -= 1;
  else while (start > context.spans.last && at - start < 20 && isDigit(source, start - 1)) start -= 1;
  // Digits of an escape of JSON are none of the token.
  if (source.charCodeAt(start - 1) === 117 && source.charCodeAt(start - 2) === 92) start += 4;
  return at - start >= 5 ? cutShape(context, DIGIT_SHAPES[0] as TokenShape, at, start) : -1;
}

function cutPercentMark(context: Context, state: LineState, at: number): number {
  const { source } = context;
  if (HEX[source.charCodeAt(at + 1)] !== 1 || HEX[source.charCodeAt(at + 2)] !== 1) return -1;
  if (source.startsWith('2D%2D', at + 1) && /^(?:%2[Dd]){5}BEGIN/.test(source.slice(at, at + 20)))
    return cutPrivateKey(context, state, at);
  return cutPercent(context, at);
}

function cutBackslash(context: Context, at: number): number {
  const { source } = context;
  const next = source.charCodeAt(at + 1);
  if (next === 117) {
    if (source.charCodeAt(at + 2) === 48 && /^00[2-7][0-9a-f]$/i.test(source.slice(at + 2, at + 6)))
      return cutUnicode(context, at);
    return /^[0-9a-f]{4}$/i.test(source.slice(at + 2, at + 6)) ? at + 6 : at + 1;
  }
  return next === 110 || next === 114 || next === 116 || next === 98 || next === 102 ? at + 2 : at + 1;
}

function cutDash(context: Context, state: LineState, at: number): number {
  const { source } = context;
  const next = source.charCodeAt(at + 1);
  if (next === 32) return source.charCodeAt(at - 1) === 32 ? cutRemoteUser(context, at - 1) : -1;
  if (next === 45 && source.startsWith('----BEGIN', at + 1)) {
    const key = cutPrivateKey(context, state, at);
    return key === -1 ? at + 10 : key;
  }
  if (next === 45 && source.startsWith('--- BEGIN', at + 1)) return cutPrivateKey(context, state, at);
  return cutOption(context, at);
}

/** A secret of Azure: three characters, a digit, `Q~`. */
function cutTilde(context: Context, at: number): number {
  const { source } = context;
  if (source.charCodeAt(at - 1) !== 81 || !isDigit(source, at - 2) || at - 5 < context.spans.last) return -1;
  const end = matchEnd(AZURE, source, at - 5);
  return end === -1 ? -1 : context.spans.secret(at - 5, end, 'api-key');
}

/** Whether the word before a place began on the line above, which quoted-printable broke. */
export function isBehindSoftBreak(source: string, at: number): boolean {
  let from = at;
  while (from > 0 && at - from < 256 && source.charCodeAt(from - 1) > 32) from -= 1;
  if (source.charCodeAt(from - 1) !== 10) return false;
  return source.charCodeAt(source.charCodeAt(from - 2) === 13 ? from - 3 : from - 2) === 61;
}
