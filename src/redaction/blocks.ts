/** Values that stand on the lines below their key: scalars, texts and lists of YAML, JSON laid out over lines, form parts. */
import { isDigit, wordStop, VALUE_END } from './character-classes.ts';
import { lineEnd, type Context } from './context.ts';
import { cutKeyed, LEAVES } from './keyed-values.ts';
import { INHERITED, innerClass } from './json-walk.ts';
import type { KeyClass } from './keys.ts';
import type { Block, LineState } from './private-keys.ts';
import { markerEnd } from './spans.ts';
import { closerOf, gap, readOpener, wordEnd } from './value-bounds.ts';

/** Lines of one value at most; those behind them are scanned as any text. */
export const BLOCK_LINES_MAX = 200;
/** Columns before a key that begins its line. */
const COLUMN_MAX = 128;

/** Classes whose values are looked for on the next lines. */
const OPENED: ReadonlySet<KeyClass> = new Set<KeyClass>([...INHERITED, 'user', 'people']);

/** Whether a key has its value on the lines below it, which is then remembered. */
export function opensBlock(
  context: Context,
  state: LineState,
  start: number,
  end: number,
  keyClass: KeyClass,
): boolean {
  const { source } = context;
  const isQuoted = source.charCodeAt(end) === 34;
  const colon = isQuoted ? end + 1 : end;
  if (source.charCodeAt(colon) !== 58 || !OPENED.has(keyClass)) return false;
  const at = gap(source, colon + 1);
  const byte = at < source.length ? source.charCodeAt(at) : 10;
  if (byte !== 10 && byte !== 13 && byte !== 124 && byte !== 62 && byte !== 91 && byte !== 123) return false;
  const sign = source.slice(at, Math.min(lineEnd(context, at), at + 16)).trimEnd();
  if (!/^(?:[|>][-+\d]{0,2}|[[{]|)$/.test(sign)) return false;
  const column = columnOf(source, isQuoted ? start - 1 : start);
  if (column === -1) return false;
  state.block = {
    keyClass: keyClass === 'people' ? 'user' : keyClass,
    isList: keyClass === 'people',
    column,
    isText: '|>'.includes(sign.charAt(0)) && sign !== '',
    isQuoted,
    lines: BLOCK_LINES_MAX,
  };
  return true;
}

/** The column of a key that begins its line, behind dashes of a list at most; -1 for any other. */
export function columnOf(source: string, start: number): number {
  let at = start;
  while (at > 0 && start - at < COLUMN_MAX && ' \t-'.includes(source.charAt(at - 1))) at -= 1;
  return at === 0 || source.charCodeAt(at - 1) === 10 ? start - at : -1;
}

/** A line below such a key. Answers where the scan goes on, or -1 when the line is as any other. */
export function cutBlockLine(context: Context, state: LineState, block: Block, start: number): number {
  const { source } = context;
  const stop = lineEnd(context, start);
  let from = start;
  while (from < stop && (source.charCodeAt(from) === 32 || source.charCodeAt(from) === 9)) from += 1;
  block.lines -= 1;
  if (from >= stop) return -1;
  const column = from - start;
  const isItem = !block.isText && source.charCodeAt(from) === 45 && source.charCodeAt(from + 1) === 32;
  if (block.lines < 0 || column < block.column || (column === block.column && !isItem)) {
    state.block = undefined;
    return -1;
  }
  if (block.isText) return Math.max(putLine(context, block.keyClass, from, stop), stop);
  return cutItem(context, block, isItem ? gap(source, from + 1) : from, stop, isItem);
}

function cutItem(context: Context, block: Block, at: number, stop: number, isItem: boolean): number {
  const { source, keys } = context;
  const { keyClass } = block;
  if ('{}[]'.includes(source.charAt(at)) || (block.isList && !isItem && !block.isQuoted)) return -1;
  const opener = readOpener(source, at);
  const inside = at + (opener?.length ?? 0);
  const isString = opener !== undefined && opener !== '<';
  const close = isString ? closerOf(source, inside, stop, opener) : wordEnd(source, at, stop);
  const behind = isString ? close + opener.length : close;
  if (
    source.charCodeAt(behind) === 58 &&
    close > inside &&
    (isString || behind + 1 >= stop || source.charCodeAt(behind + 1) === 32)
  ) {
    const name = source.slice(inside, Math.min(close, inside + 64));
    const own = keys.classAt(source, inside, close);
    const inner = innerClass(own, keyClass, name);
    const value = source.charAt(gap(source, behind + 1));
    return inner === own || gap(source, behind + 1) >= stop || '|>{['.includes(value)
      ? -1
      : cutKeyed(context, inside, close, inner);
  }
  if (isString) return Math.max(putLine(context, keyClass, inside, close), close);
  if (block.isQuoted) return isDigit(source, at) ? LEAVES.number(context, keyClass, at, stop, '"') : -1;
  // Words of a sentence, or of a stack: no name and no token has spaces where it stands alone.
  const isWord = wordStop(VALUE_END, source, at, stop) === stop;
  return isItem || isWord || keyClass === 'password' || keyClass === 'text' || keyClass === 'phone'
    ? Math.max(putLine(context, keyClass, at, stop), at)
    : -1;
}

function putLine(context: Context, keyClass: KeyClass, from: number, to: number): number {
  if (to <= from || markerEnd(context.source, from) !== -1) return -1;
  return LEAVES.string(context, keyClass, from, to);
}

const ESCAPED_BREAKS = /n(?:\\{1,8}r)?\\{1,8}n/;

/** `form-data; name="password"`: the value stands behind an empty line, written out or escaped. Or -1. */
export function opensPart(context: Context, state: LineState, start: number, end: number): number {
  const { source, keys } = context;
  const opener = readOpener(source, end + 1) ?? '';
  const from = end + 1 + opener.length;
  const stop = lineEnd(context, from);
  const to = wordEnd(source, from, stop);
  const keyClass = keys.classAt(source, from, to);
  if (source.charCodeAt(end) !== 61 || !OPENED.has(keyClass)) return -1;
  const rest = source.slice(to, Math.min(stop, to + 512));
  const breaks = ESCAPED_BREAKS.exec(rest);
  if (breaks === null) {
    if (source.slice(stop - 1, stop) !== '\\') state.part = { keyClass, isBody: false, lines: BLOCK_LINES_MAX };
    return -1;
  }
  const value = to + breaks.index + breaks[0].length;
  let close = value;
  while (close < stop && source.charCodeAt(close) !== 34 && source.charCodeAt(close) !== 92) close += 1;
  return Math.max(putLine(context, keyClass, value, close), close, start + 1);
}

/** A line of a form below the name of its part. */
export function cutPartLine(context: Context, state: LineState, start: number): number {
  const { source } = context;
  const part = state.part as NonNullable<LineState['part']>;
  const stop = lineEnd(context, start);
  part.lines -= 1;
  const isEnd = part.isBody
    ? source.startsWith('--', start)
    : stop > start && !/^[A-Za-z][\w-]{0,63}:/.test(source.slice(start, Math.min(stop, start + 66)));
  if (isEnd || part.lines < 0) {
    state.part = undefined;
    return -1;
  }
  if (!part.isBody) {
    part.isBody = stop <= start;
    return -1;
  }
  return Math.max(putLine(context, part.keyClass, start, stop), -1);
}
