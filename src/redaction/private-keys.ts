/** Private keys: in one line or over many, under prefixes of a log, and the tail of one whose beginning was cut off. */
import type { KeyClass } from './keys.ts';
import { BASE64, DIGIT, LOWER, UPPER, WORD_BITS } from './character-classes.ts';
import { indexWithin, lineEnd, lineEndOf, type Context } from './context.ts';

/** Lines of one key at most: RSA of 16384 bits has 196. Beyond it the lines are scanned as any others. */
export const KEY_LINES_MAX = 200;
/** Lines in a row that are no body of a key and end it: other programs' lines come between. */
const STRANGE_LINES_MAX = 5;
/** What stands between the dashes, percent-encoded at worst. */
const LABEL_MAX = 160;
/** Lengths of a full line: PEM, OpenSSH, MIME. */
const BODY_LENGTHS = [64, 70, 76] as const;

/** What a line leaves to the next one. */
export interface LineState {
  /** Lines in which the key may go on; 0 outside of a key. */
  keyLines: number;
  strangeLines: number;
  /** The key's lines have a prefix of the log. */
  hasPrefix: boolean;
  /** Words of the log's prefix before the line with the key's beginning; -1 when that was not seen. */
  prefixWords: number;
  /** The key's beginning was not seen. */
  isOrphan: boolean;
  /** The line before was a Subject, and a folded one goes on. */
  isSubject: boolean;
  /** A key above whose value stands on the lines below it. */
  block: Block | undefined;
  /** A part of a form whose value stands below its name, behind an empty line. */
  part: { readonly keyClass: KeyClass; isBody: boolean; lines: number } | undefined;
  /** What the name of a pair said of the value below it, and how many line ends are left until that counts no more. */
  pairClass: KeyClass;
  pairLines: number;
}

/** A key whose value stands below it, further to the right. */
export interface Block {
  readonly keyClass: KeyClass;
  readonly column: number;
  /** All lines are one text, as behind `|` and `>`. */
  readonly isText: boolean;
  /** Only items of a list are values. */
  readonly isList: boolean;
  /** The key has the quotes of JSON, in which a value has them too. */
  readonly isQuoted: boolean;
  lines: number;
}

export function startState(): LineState {
  return {
    keyLines: 0,
    strangeLines: 0,
    hasPrefix: false,
    prefixWords: -1,
    isOrphan: false,
    isSubject: false,
    block: undefined,
    part: undefined,
    pairClass: 'none',
    pairLines: 0,
  };
}

/** `-----BEGIN … PRIVATE KEY-----` that starts here, in any escaping. Answers where the scan goes on, or -1. */
export function cutPrivateKey(context: Context, state: LineState, start: number): number {
  const { source, spans } = context;
  const stop = lineEnd(context, start);
  const head = source.slice(start, Math.min(stop, start + LABEL_MAX));
  const label =
    /^(?:-----?|(?:%2[Dd]){5}) ?BEGIN(.{0,100}?)PRIVATE(?:.{1,6}|)KEY(?:.{1,6}BLOCK)? ?(?:-----?|(?:%2[Dd]){5})/.exec(
      head,
    );
  if (label === null || (label[1] as string).includes('PUBLIC')) return -1;
  const body = start + label[0].length;
  const close = closeOf(source, body, stop);
  if (close !== -1) return spans.secret(start, close, 'private-key');
  const quote = quoteEnd(source, body, stop);
  state.keyLines = KEY_LINES_MAX;
  state.strangeLines = 0;
  state.isOrphan = false;
  state.prefixWords = wordsBefore(source, start);
  state.hasPrefix = start > 0 && source.charCodeAt(start - 1) !== 10;
  return spans.secret(start, quote, 'private-key');
}

/** Where the END line's dashes end, in the same line; -1 when it is not there. */
function closeOf(source: string, from: number, stop: number): number {
  const line = source.slice(from, stop);
  const end = /(?:-{4,5} ?|%2[Dd])END/.exec(line);
  if (end === null) return -1;
  const behind = from + end.index + end[0].length;
  const label = /^[^"\n]{1,120}?KEY(?:.{1,6}BLOCK)? ?(?:-{4,5}|(?:%2[Dd]){5})/.exec(
    source.slice(behind, Math.min(stop, behind + LABEL_MAX)),
  );
  return label === null ? Math.min(quoteEnd(source, behind, stop), behind + LABEL_MAX) : behind + label[0].length;
}

function quoteEnd(source: string, from: number, stop: number): number {
  let first = indexWithin(source, '"', from, stop);
  if (first === -1) return stop;
  while (first > from && source.charCodeAt(first - 1) === 92) first -= 1;
  return first;
}

/** What of a line inside of a key is the key's: its end; undefined for a line that is none of the key. */
export function keyPart(
  source: string,
  start: number,
  stop: number,
  state: LineState,
): { from: number; to: number } | undefined {
  const end = indexWithin(source, '-----END', start, stop);
  if (end !== -1) {
    const dashes = indexWithin(source, '-----', end + 8, stop);
    state.keyLines = 0;
    return { from: bodyStart(source, start, end), to: dashes === -1 ? stop : dashes + 5 };
  }
  state.keyLines -= 1;
  const from = lastWord(source, start, stop);
  if (
    stop > from &&
    isBody(source, from, stop) &&
    (from === start || stop - from >= 16 || followsPrefix(source, from, state))
  ) {
    state.strangeLines = 0;
    return { from, to: stop };
  }
  // `"MIIE…\n" +` of a program's text.
  const joined = JOINED.exec(source.slice(start, Math.min(stop, start + 256)));
  if (joined !== null) {
    state.strangeLines = 0;
    const body = start + joined[0].indexOf(joined[1] as string);
    return { from: body, to: body + (joined[1] as string).length };
  }
  const header = /(?:Proc-Type|DEK-Info|Comment|Version|Subject|Private-Lines|Private-MAC): /.exec(
    source.slice(start, Math.min(stop, start + 200)),
  );
  if (header !== null) return { from: start + header.index, to: stop };
  state.strangeLines += 1;
  if (state.isOrphan || state.strangeLines > STRANGE_LINES_MAX) state.keyLines = 0;
  return undefined;
}

const JOINED = /^[ \t]*["']([A-Za-z0-9+/=]{1,100})(?:\\{1,2}[nr]){0,2}["']?[ \t]*[+,;.\\]?$/;

function followsPrefix(source: string, from: number, state: LineState): boolean {
  if (state.hasPrefix && wordsBefore(source, from) === state.prefixWords) return true;
  return (state.hasPrefix || state.isOrphan) && ':]>|-'.includes(source.charAt(from - 2));
}

/** Words between the beginning of the line and a place. */
function wordsBefore(source: string, at: number): number {
  const start = source.lastIndexOf('\n', at - 1) + 1;
  return at - start > 512 ? -1 : source.slice(start, at).split(/\s+/).length;
}

function bodyStart(source: string, start: number, end: number): number {
  let from = end;
  while (from > start && (BASE64[source.charCodeAt(from - 1)] !== 0 || source.charCodeAt(from - 1) === 61)) from -= 1;
  return from;
}

function lastWord(source: string, start: number, stop: number): number {
  let from = stop;
  while (from > start && source.charCodeAt(from - 1) > 32 && stop - from < 4096) from -= 1;
  return from;
}

function isBody(source: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1)
    if (BASE64[source.charCodeAt(at)] === 0 && source.charCodeAt(at) !== 61) return false;
  return true;
}

/** Whether a line ends in a full line of a key's body: where the beginning is missing, that is how a key looks. */
export function orphanStart(source: string, start: number, stop: number): number {
  for (const length of BODY_LENGTHS) {
    const from = stop - length;
    if (from < start || (from > start && source.charCodeAt(from - 1) > 32)) continue;
    let bits = 0;
    let at = from;
    // Most such lines have a space in their middle.
    if (BASE64[source.charCodeAt(stop - 1)] === 0 || BASE64[source.charCodeAt(from + 32)] === 0) continue;
    while (at < stop && BASE64[source.charCodeAt(at)] !== 0) {
      bits |= WORD_BITS[source.charCodeAt(at)] as number;
      at += 1;
    }
    if (at === stop && (bits & (DIGIT | UPPER | LOWER)) === (DIGIT | UPPER | LOWER)) return from;
  }
  return -1;
}

/**
 * Whether a text begins inside of a key: only lines of a body, then an END line. `undefined` as long as nobody can
 * say, because all lines so far could be of a body.
 */
export function beginsInsideKey(source: string, isWhole: boolean): boolean | undefined {
  let start = 0;
  for (let line = 0; line <= KEY_LINES_MAX && start < source.length; line += 1) {
    const newline = source.indexOf('\n', start);
    if (newline === -1 && !isWhole) return undefined;
    const stop = lineEndOf(source, start);
    const end = indexWithin(source, '-----END', start, stop);
    if (end !== -1) return /PRIVATE KEY/.test(source.slice(end, Math.min(stop, end + LABEL_MAX)));
    const from = lastWord(source, start, stop);
    if (stop === from || !isBody(source, from, stop)) return false;
    if (newline === -1) return false;
    start = newline + 1;
  }
  return start >= source.length && !isWhole ? undefined : false;
}

/** `Private-Lines: 14` of a PuTTY key: that many lines of a body follow. */
export function startPuttyLines(context: Context, state: LineState, after: number): void {
  const lines = Number(/^ (\d{1,3})/.exec(context.source.slice(after, after + 5))?.[1] ?? 0);
  if (lines === 0) return;
  state.keyLines = Math.min(lines, KEY_LINES_MAX);
  state.strangeLines = 0;
  state.isOrphan = false;
  state.hasPrefix = true;
}
