/**
 * What a line leaves to the next ones: a Subject that is folded, a key whose value stands below it, a part of a form, a
 * name whose value stands beside it. A value that a cut of a long line went through goes on here, too.
 */
import { gapEnd, indexOf, isDigit, runStop, VALUE_END } from './bytes.ts';
import { cutColumns } from './values/columns.ts';
import { columnOf, lineStop, type Below, type Block, type LineState, type Scan } from './context.ts';
import { cutElementBelow } from './values/elements.ts';
import { INHERITED, innerClass, pairClass, putNumber } from './values/json.ts';
import type { KeyClass } from './rules/rows.ts';
import { markerEnd, type SecretClass } from './spans.ts';
import { cutFound, cutKeyed } from './values/values.ts';
import { cutValue } from './values/value-classes.ts';
import { wordEnd } from './values/value-ends.ts';

/** Lines of one value at most; those behind them are scanned as any text. */
export const BLOCK_LINES_MAX = 200;
/** Lines below a name on which its value may stand. */
const PAIR_LINES = 3;
/** Bytes around a value in which its name stands. */
const NEAR_MAX = 120;

/** Classes whose values are looked for on the next lines. */
const OPENED: ReadonlySet<KeyClass> = new Set<KeyClass>([...INHERITED, 'user', 'people', 'id']);

/** What the line before left for this one. Answers where the scan goes on, or -1. */
export function cutLeft(scan: Scan, start: number, stop: number): number {
  const { state } = scan;
  if (state.open !== undefined) return cutOpen(scan, start, stop);
  if (state.folded !== undefined) {
    // What curl and a log put before each line of a header.
    const from = /^[<>] [ \t]/.test(scan.text.slice(start, start + 3)) ? start + 2 : start;
    const isIndented = scan.bytes[from] === 32 || scan.bytes[from] === 9;
    // A line of a stack, and a field of an event of Windows, go on with nothing.
    const isOther = /^[ \t]+(?:at [\w$.<>]+[.(]|[A-Z][A-Za-z ]{1,40}:\t)/.test(
      scan.text.slice(from, Math.min(stop, from + 80)),
    );
    if (isIndented && !isOther) return cutFolded(scan, state.folded, from, stop);
    state.folded = undefined;
  }
  if (state.below !== undefined) {
    const next = cutBelow(scan, state.below, start, stop);
    if (next !== -1) return next;
  }
  if (state.columns !== undefined) {
    const next = cutColumns(scan, state.columns, start, stop);
    if (next !== -1) return next;
  }
  if (state.pairLines > 0) state.pairLines -= 1;
  if (state.block !== undefined) return cutBlockLine(scan, state.block, start, stop);
  return state.part === undefined ? -1 : cutPartLine(scan, start, stop);
}

/** Whether a line left nothing: most lines do. */
export function isClear(state: LineState): boolean {
  return (
    state.folded === undefined &&
    state.below === undefined &&
    state.block === undefined &&
    state.part === undefined &&
    state.pairLines === 0 &&
    state.columns === undefined &&
    state.open === undefined
  );
}

/** The rest of a value that a cut went through. */
function cutOpen(scan: Scan, start: number, stop: number): number {
  const { bytes, state } = scan;
  const { keyClass, closer, lines } = state.open as NonNullable<LineState['open']>;
  if (lines > 0 && LOG_LINE.test(scan.text.slice(start, Math.min(stop, start + 16)))) {
    state.open = undefined;
    return -1;
  }
  let to = closer === 0 ? runStop(VALUE_END, bytes, start, stop) : indexOf(bytes, closer, start, stop);
  // An escaped quote closes nothing.
  if (closer !== 0) while (to > start && bytes[to - 1] === 92) to = indexOf(bytes, closer, to + 1, stop);
  if (to === -1) to = stop;
  else state.open = undefined;
  if (to <= start) return -1;
  const name: SecretClass =
    keyClass === 'text' || keyClass === 'cookie' || keyClass === 'authorization' ? keyClass : 'secret';
  return scan.spans.secret(start, to, name);
}

/** A value that begins on this line, below its name. Answers where the scan goes on, or -1. */
function cutBelow(scan: Scan, below: Below, start: number, stop: number): number {
  const { state } = scan;
  const { keyClass, isElement, lines } = below;
  const from = gapEnd(scan.bytes, start, stop, stop - start);
  state.below = lines > 1 ? { ...below, lines: lines - 1 } : undefined;
  if (from >= stop) return -1;
  // `helo=<User>` at the end of a line of a log is no element.
  if (isElement && LOG_LINE.test(scan.text.slice(start, Math.min(stop, start + 16)))) {
    state.below = undefined;
    return -1;
  }
  if (!isElement) {
    const found = { start: from, isColon: false, isSpaced: false, quote: 0, isDouble: false };
    return cutFound(scan, found, keyClass, from, from);
  }
  return cutElementBelow(scan, below, from, stop);
}

/** A header that goes on in this line. */
function cutFolded(scan: Scan, name: SecretClass, start: number, stop: number): number {
  const from = gapEnd(scan.bytes, start, stop, stop - start);
  if (stop <= from || markerEnd(scan.text, from) !== -1) return Math.max(stop, from);
  return scan.spans.secret(from, stop, name);
}

/** Whether a key has its value on the lines below it, which is then remembered. */
export function opensBlock(scan: Scan, start: number, end: number, keyClass: KeyClass): boolean {
  const { bytes, text, state } = scan;
  const isQuoted = bytes[end] === 34;
  if (isQuoted && bytes[end + 1] === 93 && OPENED.has(keyClass) && isDumped(scan, end + 2)) {
    state.below = { keyClass, isElement: false, lines: 1 };
    return true;
  }
  const colon = isQuoted ? end + 1 : end;
  if (bytes[colon] !== 58 || !OPENED.has(keyClass)) return false;
  const at = gapEnd(bytes, colon + 1, scan.stop);
  const byte = at < scan.stop ? (bytes[at] as number) : 10;
  if (byte !== 10 && byte !== 13 && byte !== 124 && byte !== 62 && byte !== 91 && byte !== 123) return false;
  const sign = text.slice(at, Math.min(lineStop(scan, at), at + 16)).trimEnd();
  if (!/^(?:[|>][-+\d]{0,2}|[[{]|)$/.test(sign)) return false;
  const column = columnOf(scan, isQuoted ? start - 1 : start);
  if (column === -1) return false;
  state.block = {
    keyClass: keyClass === 'people' ? 'user' : keyClass,
    isList: keyClass === 'people',
    column,
    isText: sign !== '' && '|>'.includes(sign.charAt(0)),
    isQuoted,
    items: -1,
    lines: BLOCK_LINES_MAX,
  };
  return true;
}

/** `["user"]=>` at the end of a line: the value of a dump of PHP stands below it. */
function isDumped({ text, stop }: Scan, at: number): boolean {
  return text.startsWith('=>', at) && text.slice(at + 2, Math.min(stop, at + 8)).trim() === '';
}

/** A line below a key. Answers where the scan goes on, or -1. */
function cutBlockLine(scan: Scan, block: Block, start: number, stop: number): number {
  const { bytes, state } = scan;
  const from = gapEnd(bytes, start, stop, stop - start);
  block.lines -= 1;
  if (from >= stop) return -1;
  const column = from - start;
  const isItem = !block.isText && bytes[from] === 45 && bytes[from + 1] === 32;
  if (block.lines < 0 || column < block.column || (column === block.column && !isItem)) {
    state.block = undefined;
    return -1;
  }
  if (isItem && block.items === -1) block.items = column;
  if (isItem && block.isList && column > block.items) return -1;
  if (block.isText) return Math.max(putLine(scan, block.keyClass, from, stop), stop);
  return cutItem(scan, block, isItem ? gapEnd(bytes, from + 1, stop) : from, stop, isItem);
}

function cutItem(scan: Scan, block: Block, at: number, stop: number, isItem: boolean): number {
  const { bytes, text, engine } = scan;
  const { keyClass } = block;
  if ('{}[]'.includes(text.charAt(at)) || (block.isList && !isItem && !block.isQuoted)) return -1;
  const mark = bytes[at] === 34 || bytes[at] === 39 ? (bytes[at] as number) : 0;
  const inside = mark === 0 ? at : at + 1;
  const found = mark === 0 ? wordEnd(scan, at, stop) : indexOf(bytes, mark, inside, stop);
  const close = found === -1 ? stop : found;
  const behind = mark === 0 ? close : close + 1;
  if (bytes[behind] === 58 && close > inside && (mark !== 0 || behind + 1 >= stop || bytes[behind + 1] === 32)) {
    const own = engine.keys.classAt(bytes, inside, close);
    const inner = innerClass(own, keyClass, text.slice(inside, Math.min(close, inside + 64)));
    const value = gapEnd(bytes, behind + 1, stop);
    return inner === own || value >= stop || '|>{['.includes(text.charAt(value))
      ? -1
      : cutKeyed(scan, inside, close, inner);
  }
  if (mark !== 0) return Math.max(putLine(scan, keyClass, inside, close), close);
  if (block.isQuoted) return isDigit(bytes[at]) ? putNumber(scan, keyClass, at, wordEnd(scan, at, stop), '"') : -1;
  // Words of a sentence, or of a stack: no name and no token has spaces where it stands alone.
  const isWord = runStop(VALUE_END, bytes, at, stop) === stop;
  return isItem || isWord || keyClass === 'password' || keyClass === 'text' || keyClass === 'phone'
    ? Math.max(putLine(scan, keyClass, at, stop), at)
    : -1;
}

function putLine(scan: Scan, keyClass: KeyClass, from: number, to: number): number {
  return to <= from || markerEnd(scan.text, from) === to ? -1 : cutValue(scan, keyClass, from, to);
}

/** `form-data; name="password"`: the value stands behind an empty line. */
export function opensPart(scan: Scan, end: number): void {
  const { bytes, state, engine } = scan;
  const from = end + (bytes[end + 1] === 34 || bytes[end + 1] === 39 ? 2 : 1);
  const keyClass = engine.keys.classAt(bytes, from, wordEnd(scan, from, scan.stop));
  if (OPENED.has(keyClass)) state.part = { keyClass, isBody: false, lines: BLOCK_LINES_MAX };
}

/** What a line of a log begins with: a form that no boundary ends, ends there. */
const LOG_LINE = /^(?:<\d{1,3}>|\[?\d{4}-\d\d-\d\d|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:|\{"|[A-Z]\d{4} \d\d:)/;

/** A line of a form below the name of its part. Only a text may have more than one line. */
function cutPartLine(scan: Scan, start: number, stop: number): number {
  const { text, state } = scan;
  const part = state.part as NonNullable<LineState['part']>;
  part.lines -= 1;
  const line = text.slice(start, Math.min(stop, start + 66));
  const isEnd = part.isBody
    ? line.startsWith('--') || LOG_LINE.test(line)
    : stop > start && !/^[A-Za-z][\w-]{0,63}:/.test(line);
  if (isEnd || part.lines < 0) {
    state.part = undefined;
    return -1;
  }
  if (!part.isBody) {
    part.isBody = stop <= start;
    return -1;
  }
  if (part.keyClass !== 'text') state.part = undefined;
  return putLine(scan, part.keyClass, start, stop);
}

const PAIR_NAME = 'name|key|field|header|variable|param|parameter|property|attribute';
const BEFORE = new RegExp(`(?:${PAIR_NAME})["']? ?[:=] ?(?:["']([\\w .-]{1,64})["']|([\\w.-]{1,64})(?=,))`, 'gi');
const BEHIND = new RegExp(`^["'] ?,? ?["']?(?:${PAIR_NAME})["']? ?[:=] ?["']([\\w ./-]{1,64})["']`, 'i');

/** The value of a pair under its `value`, by the class of its name. Answers where the scan goes on, or -1. */
export function cutPairValue(scan: Scan, start: number, end: number): number {
  const { text, bytes, state, floor } = scan;
  const before = text.slice(Math.max(floor, start - NEAR_MAX), start);
  const named = [...before.matchAll(BEFORE)].at(-1);
  let keyClass: KeyClass = 'none';
  if (named !== undefined) {
    const between = before.slice(named.index + named[0].length);
    if (/^ ?[, ]/.test(between) && !/[{}<>]/.test(between))
      keyClass = namedClass(scan, named[1] ?? (named[2] as string));
  }
  if (keyClass === 'none' && state.pairLines > 0 && columnOf(scan, bytes[start - 1] === 34 ? start - 1 : start) !== -1)
    keyClass = state.pairClass;
  if (keyClass === 'none') {
    const quote = /^["']? ?[:=] ?["']/.exec(text.slice(end, end + 6))?.[0].length ?? 0;
    const close =
      quote === 0 ? -1 : indexOf(bytes, bytes[end + quote - 1] as number, end + quote, Math.min(scan.stop, end + 1024));
    const name = close === -1 ? undefined : BEHIND.exec(text.slice(close, Math.min(scan.stop, close + NEAR_MAX)))?.[1];
    if (name !== undefined) keyClass = namedClass(scan, name);
  }
  return keyClass === 'none' ? -1 : cutKeyed(scan, start, end, keyClass);
}

function namedClass({ engine }: Scan, name: string): KeyClass {
  return pairClass(engine.keys.classOf(name.slice(name.lastIndexOf('/') + 1)));
}

/**
 * A name of a pair: what it says is remembered for the lines below it, and an element of XML whose text is the value
 * is seen to at once. Answers where the scan goes on, or -1.
 */
export function notePairName(scan: Scan, start: number, end: number): number {
  const { bytes, text, state } = scan;
  const sign = /^["']?[ \t]{0,8}[:=][ \t]{0,8}(["']?)([\w.-]{1,64})(["']?)(>?)/.exec(
    text.slice(end, Math.min(scan.stop, end + 90)),
  );
  if (sign === null) return -1;
  const [all, open, name, close, bracket] = sign as unknown as [string, string, string, string, string];
  const keyClass = namedClass(scan, name);
  if (columnOf(scan, bytes[start - 1] === 34 ? start - 1 : start) !== -1) {
    state.pairClass = keyClass;
    state.pairLines = keyClass === 'none' ? 0 : PAIR_LINES + 1;
  }
  if (keyClass === 'none' || open === '' || open !== close || bracket === '') return -1;
  const from = end + all.length;
  const to = indexOf(bytes, 60, from, Math.min(scan.stop, from + 1024));
  return to <= from || markerEnd(text, from) !== -1 ? -1 : cutValue(scan, keyClass, from, to);
}

const TYPE =
  /(?:User|Account|Person|Member|Participant|Contact|Author|Sender|Recipient)(?:D[Tt][Oo]|Entity|Record)? ?[({[][^(){}[\]\n]{0,80}$/;
const OWNER = /(?:Account|User|Logon) $/;

/** Whether a `name` is that of a person: a field of a value of such a type, or `Account Name`. */
export function isNameOfPerson({ text, floor }: Scan, start: number): boolean {
  const before = text.slice(Math.max(floor, start - 120), start);
  return TYPE.test(before) || OWNER.test(before);
}
