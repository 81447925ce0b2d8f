/** Private keys: in one line or over many, under prefixes of a log, and the tail of one whose beginning was cut off. */
import { BODY, DIGIT, LOWER, UPPER, WORD_BITS } from '../bytes.ts';
import { lineStop, type KeyState, type Scan } from '../context.ts';
import { isUnreadable } from './letter-pairs.ts';
import { markerEnd } from '../spans.ts';

/** Lines of one key at most: RSA of 16384 bits has 196. Beyond it the lines are scanned as any others. */
export const KEY_LINES_MAX = 200;
/** Lines in a row that are no body of a key and end it: other programs' lines come between. */
const STRANGE_LINES_MAX = 5;
/** What stands between the dashes, percent-encoded at worst. */
const LABEL_MAX = 160;
/** Lengths of a full line: PEM, OpenSSH, MIME. */
const BODY_LENGTHS = [64, 70, 76] as const;
/** No full line of a body is shorter. */
const FULL_MIN = 60;
/** A shorter run of base64 is a line of a key only where it stands like the lines before it. */
const PLAIN_BODY_MIN = 16;
/** Bytes of a last line that are looked at. */
const TAIL_MAX = 4096;

const BEGIN =
  /^(?:-----?|(?:%2[Dd]){5}) ?BEGIN(.{0,100}?)PRIVATE(?:.{1,6}|)KEY(?:.{1,6}BLOCK)? ?(?:-----?|(?:%2[Dd]){5})/;

/** `-----BEGIN … PRIVATE KEY-----` that starts here. Answers where the scan goes on, or -1. */
export function cutPrivateKey(scan: Scan, start: number): number {
  const { text, spans } = scan;
  const stop = lineStop(scan, start);
  const label = BEGIN.exec(text.slice(start, Math.min(stop, start + LABEL_MAX)));
  if (label === null || (label[1] as string).includes('PUBLIC')) return -1;
  const body = start + label[0].length;
  const close = closeOf(text.slice(body, stop));
  if (close !== -1) return spans.secret(start, body + close, 'private-key');
  const { key } = scan.state;
  key.lines = KEY_LINES_MAX;
  key.strange = 0;
  key.isFull = false;
  key.prefixWords = wordsBefore(scan, start);
  if (stop >= scan.bytes.length) scan.state.open = { keyClass: 'secret', closer: 34, lines: 0 };
  // Behind the label stand the body's own bytes, or a quote and what is no body at all.
  let end = body;
  while (end < stop && isBodyByte(text.charCodeAt(end))) end += 1;
  return spans.secret(start, end, 'private-key');
}

/** Bytes of a key in one line, with the escapes and spaces between its lines. */
function isBodyByte(byte: number): boolean {
  return BODY[byte] === 1 || byte === 32 || byte === 9 || byte === 92 || byte === 37 || byte === 45 || byte === 95;
}

/** Where the END line's dashes end, in the same stretch; -1 when it is not there. */
function closeOf(line: string): number {
  const end = /(?:-{4,5} ?|%2[Dd])END/.exec(line);
  if (end === null) return -1;
  const behind = end.index + end[0].length;
  const label = /^[^"\n]{1,120}?KEY(?:.{1,6}BLOCK)? ?(?:-{4,5}|(?:%2[Dd]){5})/.exec(
    line.slice(behind, behind + LABEL_MAX),
  );
  if (label !== null) return behind + label[0].length;
  const quote = line.slice(behind, behind + LABEL_MAX).indexOf('"');
  return quote === -1 ? Math.min(line.length, behind + LABEL_MAX) : behind + quote;
}

/** A line, or a string of JSON (which is a `share` of one), in which a key may go on. Answers where the scan goes on, or -1. */
export function cutKeyLine(scan: Scan, start: number, stop: number, share = 1): number {
  const { text, spans, state } = scan;
  const { key } = state;
  const line = text.slice(start, stop);
  const end = line.indexOf('-----END');
  const begin = line.indexOf('-----BEGIN');
  // The key before has no end, and another one begins.
  if (begin !== -1 && (end === -1 || begin < end)) {
    key.lines = 0;
    return -1;
  }
  if (end !== -1) {
    const dashes = text.indexOf('-----', start + end + 8);
    key.lines = 0;
    return hide(
      scan,
      start,
      bodyStart(scan, start, start + end),
      dashes === -1 || dashes + 5 > stop ? stop : dashes + 5,
    );
  }
  key.lines -= 1;
  const body = bodyOf(scan, start, stop);
  key.isFull = body !== undefined && body.to - body.from >= FULL_MIN;
  if (body !== undefined) {
    key.strange = 0;
    if (markerEnd(text, body.from) !== -1) return stop;
    return hide(scan, start, body.from, body.to);
  }
  const header = /(?:Proc-Type|DEK-Info|Private-Lines|Private-MAC): /.exec(
    text.slice(start, Math.min(stop, start + 200)),
  );
  if (header !== null) return hide(scan, start, start + header.index, stop);
  if (spans.last <= start && stop > start && !isMarkedLine(text, start, stop)) key.strange += share;
  if (key.strange > STRANGE_LINES_MAX) key.lines = 0;
  return -1;
}

function isMarkedLine(text: string, start: number, stop: number): boolean {
  return text.slice(start, stop).includes('[REDACTED:private-key]');
}

function hide(scan: Scan, start: number, from: number, to: number): number {
  if (from > start) scan.run(start, from);
  return from >= scan.spans.last ? scan.spans.secret(from, to, 'private-key') : to;
}

/**
 * The key's part of a line: base64 at its end, behind a prefix of the log and before what a program puts around it,
 * `\n" +` of a source, ` +` of psql, `',` of Python.
 */
function bodyOf(scan: Scan, start: number, stop: number): { from: number; to: number } | undefined {
  const { bytes, text, state } = scan;
  const to = withoutFrame(scan, start, stop);
  let from = to;
  const floor = Math.max(start, to - TAIL_MAX);
  while (from > floor && BODY[bytes[from - 1] as number] === 1) from -= 1;
  if (from >= to) return undefined;
  const length = to - from;
  const before = from > start ? (bytes[from - 1] as number) : 10;
  const isAlone = text.slice(start, from).trim() === '' || /^[ \t]*[bru]?["'(]*$/.test(text.slice(start, from));
  if (
    isAlone
      ? length >= PLAIN_BODY_MIN || isShortBody(text.slice(from, to))
      : length >= PLAIN_BODY_MIN && isDense(text, from, to)
  )
    return { from, to };
  const stands =
    wordsBefore(scan, from) === state.key.prefixWords ||
    ':]>|-"\''.includes(String.fromCharCode(before)) ||
    (before === 32 && ':]>|-'.includes(text.charAt(from - 2)));
  if (!stands) return undefined;
  const run = text.slice(from, to);
  // The last groups of a key whose lines have this prefix: no word, or whatever stands alone behind a full line.
  const isLast =
    wordsBefore(scan, from) === state.key.prefixWords &&
    ((state.key.isFull && (from === start || before <= 32)) ||
      (length % 4 === 0 && /[\d+/=]/.test(run) && /[A-Za-z]/.test(run)));
  return isShortBody(run) || isLast ? { from, to } : undefined;
}

/** Bytes that programs put behind the line of a key, at most. */
const FRAME_MAX = 128;

/** Where a line ends before what a program puts behind it: escapes of line ends, quotes, commas, ` +`. */
function withoutFrame({ bytes, text }: Scan, start: number, stop: number): number {
  const floor = Math.max(start + 1, stop - FRAME_MAX);
  let to = stop;
  while (to > floor) {
    const [byte, before] = [bytes[to - 1], bytes[to - 2]];
    const isBreak = before === 92 && (byte === 110 || byte === 114);
    if (isBreak || (byte === 43 && (before === 32 || before === 9))) to -= 2;
    else if (' \t,;.)]"\'\\'.includes(text.charAt(to - 1))) to -= 1;
    else break;
  }
  return to;
}

/** Whether a longer run has capitals, small letters or digits as base64 does, and is no path or word. */
function isDense(text: string, from: number, to: number): boolean {
  const run = text.slice(from, Math.min(to, from + 80));
  return (
    !/^\d+$/.test(run) &&
    !/^\/?(?:[a-z]+\/)+/.test(run) &&
    (run.endsWith('=') || (/[A-Z]/.test(run) && /[a-z]/.test(run) && /[\d+/]/.test(run)) || run.length >= 60)
  );
}

/** A last line of a key: groups of four, which are no word, no number and no time. */
function isShortBody(run: string): boolean {
  if (run.endsWith('=')) return run.length >= 4 && /^[A-Za-z0-9+/]+={1,2}$/.test(run);
  if (run.length % 4 !== 0 && run.length < 16) return false;
  return (
    run.length >= 8 && !/^(?:[A-Za-z]?[a-z]+|[A-Z]+|\d+|[a-z]+\d+)$/.test(run) && /[A-Z]/.test(run) && /[a-z]/.test(run)
  );
}

/** Words between the beginning of the line and a place. */
function wordsBefore({ text, floor }: Scan, at: number): number {
  return at - floor > 512 ? -1 : text.slice(floor, at).split(/\s+/).length;
}

function bodyStart({ bytes }: Scan, start: number, end: number): number {
  let from = end;
  while (
    from > start &&
    (BODY[bytes[from - 1] as number] === 1 ||
      (bytes[from - 1] === 110 && bytes[from - 2] === 92) ||
      bytes[from - 1] === 92)
  )
    from -= 1;
  return from;
}

/** Whether a line ends in a full line of a key's body: where the beginning is missing, that is how a key looks. */
export function orphanStart({ bytes }: Scan, start: number, stop: number): number {
  // Most lines end otherwise, or have a space in their last part.
  if (
    BODY[bytes[stop - 1] as number] === 0 ||
    BODY[bytes[stop - 9] as number] === 0 ||
    BODY[bytes[stop - 33] as number] === 0
  )
    return -1;
  for (const length of BODY_LENGTHS) {
    const from = stop - length;
    if (from < start || (from > start && (bytes[from - 1] as number) > 32 && BODY[bytes[from - 1] as number] === 1))
      continue;
    let bits = 0;
    let at = from;
    while (at < stop && BODY[bytes[at] as number] === 1) {
      bits |= WORD_BITS[bytes[at] as number] as number;
      at += 1;
    }
    if (at === stop && (bits & (DIGIT | UPPER | LOWER)) === (DIGIT | UPPER | LOWER)) return from;
  }
  return -1;
}

/** The line of a key whose beginning is missing. Answers where the scan goes on, or -1. */
export function cutOrphan(scan: Scan, start: number, stop: number): number {
  const orphan = orphanStart(scan, start, stop);
  if (orphan === -1 || (orphan > start && !isUnreadable(scan.text, orphan, stop))) return -1;
  const { key } = scan.state;
  key.lines = KEY_LINES_MAX;
  key.strange = STRANGE_LINES_MAX;
  key.prefixWords = wordsBefore(scan, orphan);
  if (orphan > start) scan.run(start, orphan);
  return orphan >= scan.spans.last ? scan.spans.secret(orphan, stop, 'random') : stop;
}

/**
 * Whether a text begins inside of a key: only lines of a body, then an END line. `undefined` as long as nobody can
 * say, because all lines so far could be of a body.
 */
export function beginsInsideKey(text: string, isWhole: boolean): boolean | undefined {
  let start = 0;
  for (let line = 0; line <= KEY_LINES_MAX && start < text.length; line += 1) {
    const newline = text.indexOf('\n', start);
    if (newline === -1 && !isWhole) return text.length - start > TAIL_MAX ? false : undefined;
    const stop = newline === -1 ? text.length : newline;
    const row = text.slice(start, Math.min(stop, start + TAIL_MAX)).trimEnd();
    const end = row.indexOf('-----END');
    if (end !== -1) return row.includes('PRIVATE KEY', end) && row.lastIndexOf('-----BEGIN', end) === -1;
    if (!/(?:^|[\s:"'|>-])[A-Za-z0-9+/]{4,}={0,2}(?:\\n)?["',+ ]{0,4}$/.test(row) || newline === -1) return false;
    start = newline + 1;
  }
  return start >= text.length && !isWhole ? undefined : false;
}

/** `Private-Lines: 14` of a PuTTY key: that many lines of a body follow. */
export function startPuttyLines({ text, state }: Scan, after: number): void {
  const lines = Number(/^: (\d{1,3})/.exec(text.slice(after, after + 6))?.[1] ?? 0);
  if (lines === 0) return;
  state.key.lines = Math.min(lines, KEY_LINES_MAX);
  state.key.strange = 0;
}

export function startInside(key: KeyState): void {
  key.lines = KEY_LINES_MAX;
}
