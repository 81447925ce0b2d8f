/** Passwords and people on command lines that sudo, cron and auditd write down, and the rows of SQL. */
import { gapEnd, indexOf, VALUE_END } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { putPerson } from '../identifiers/people.ts';
import type { KeyClass, OptionRow } from '../rules/rows.ts';
import { markerEnd } from '../spans.ts';
import { cutValue } from './value-classes.ts';

/** How far back the program's name may stand. */
const PROGRAM_MAX = 256;
/** The value stands behind a space, or as the next string of a list of arguments. */
const LONG = /^--([A-Za-z][\w-]{2,40})(?: +|\\?["'], ?\\?(["']))/;
const SHORT = /^-([A-Za-z])(?: +|\\?["'], ?\\?(["']))?/;
/** Of PowerShell, Tcl and Java a long name has one dash. */
const SINGLE = /^-([A-Za-z][A-Za-z_-]{2,40})(?: +|\\?["'], ?\\?(["']))/;

/** What an option says of its value. */
export type ArgumentClass = OptionRow['class'] | KeyClass;

/** The class of the value of an option that is a string of its own: `"--password"`. */
export function optionClass(scan: Scan, from: number, to: number): ArgumentClass {
  const match = /^--?([A-Za-z][\w-]{0,40})$/.exec(scan.text.slice(from, Math.min(to, from + 48)));
  return match === null
    ? 'none'
    : classOf(scan, from, match[1] as string, false, from + 1 < to && scan.bytes[from + 1] === 45);
}

function classOf(scan: Scan, at: number, name: string, isGlued: boolean, isLong: boolean): ArgumentClass {
  // The program that stands nearest says what its option is.
  let nearest = -1;
  let found: ArgumentClass | undefined;
  for (const { programs, glue, class: said } of scan.engine.rules.options.get(name) ?? []) {
    if (glue !== 'both' && (glue === 'glued') !== isGlued) continue;
    const last = lastOf(scan, programs, at);
    if (last > nearest) [nearest, found] = [last, said];
  }
  if (found !== undefined) return found === 'flag' ? 'none' : found;
  return isLong ? scan.engine.keys.classOf(name) : 'none';
}

/** Where a program stands last before a place; -1 where none does. What was looked through for the option before is not again. */
function lastOf({ text, bytes, floor, programs: seen }: Scan, programs: RegExp, at: number): number {
  // A string of JSON is looked at by itself; its program stands before it.
  const least = floor < at ? Math.max(floor, at - PROGRAM_MAX) : Math.max(0, at - PROGRAM_MAX);
  const known = seen.get(programs);
  const isKnown = known !== undefined && known.floor === floor && known.to <= at;
  let from = isKnown ? Math.max(least, known.to) : least;
  while (from > least && (bytes[from - 1] as number) > 32) from -= 1;
  const stretch = text.slice(from, at);
  const newline = stretch.lastIndexOf('\n');
  const last = [...stretch.slice(newline + 1).matchAll(programs)].at(-1)?.index;
  const place =
    last !== undefined
      ? from + newline + 1 + last
      : isKnown && newline === -1 && known.place >= least
        ? known.place
        : -1;
  seen.set(programs, { floor, to: at, place });
  return place;
}

function argumentOf(scan: Scan, at: number, match: RegExpExecArray, isLong: boolean): ArgumentClass {
  const name = match[1] as string;
  return classOf(scan, at, name, match[0].length === (isLong ? 2 : 1) + name.length, isLong);
}

/** An option at a place. Answers where the scan goes on, or -1. */
export function cutOption(scan: Scan, at: number): number {
  const { bytes, text, stop, floor } = scan;
  const before = at > floor ? (bytes[at - 1] as number) : 32;
  if (before !== 32 && before !== 34 && before !== 39) return -1;
  const near = text.slice(at, Math.min(stop, at + 60));
  const isLong = near.startsWith('--');
  const match = (isLong ? LONG : SHORT).exec(near);
  let keyClass = match === null ? 'none' : argumentOf(scan, at, match, isLong);
  let width = match?.[0].length ?? 0;
  let opened = match?.[2] ?? '';
  if (keyClass === 'none' && !isLong) {
    const single = SINGLE.exec(near);
    if (single === null) return -1;
    keyClass = classOf(scan, at, single[1] as string, false, true);
    width = single[0].length;
    opened = single[2] ?? '';
  }
  if (keyClass === 'none') return -1;
  const start = at + width;
  const quote = opened === '' ? text.charAt(start) : opened;
  const isQuoted = quote === '"' || quote === "'";
  const from = isQuoted && opened === '' ? start + 1 : start;
  const close = isQuoted ? indexOf(bytes, quote.charCodeAt(0), from, stop) : -1;
  return cutArgument(scan, from, close === -1 ? wordStop(scan, from) : close, keyClass);
}

/** The value of an option. Answers where the scan goes on, or -1. */
export function cutArgument(scan: Scan, from: number, end: number, keyClass: ArgumentClass): number {
  const { bytes, text } = scan;
  const marked = markerEnd(text, from);
  if (marked !== -1) return marked;
  const value = text.slice(from, Math.min(end, from + 256));
  if (end <= from || bytes[from] === 45 || bytes[from] === 61) return -1;
  switch (keyClass) {
    case 'secret':
    case 'password':
      return scan.spans.secret(from, end, 'secret');
    case 'cookie':
      return value.includes('=') ? scan.spans.secret(from, end, 'cookie') : -1;
    case 'login':
    case 'user':
      if (/^\d+(?::\d+)?$/.test(value)) return -1;
      if (/[:%]/.test(value)) return scan.spans.secret(from, end, 'url-credentials');
      return keyClass === 'user' ? putPerson(scan, from, end) : -1;
    case 'text':
    case 'authorization':
    case 'phone':
      return cutValue(scan, keyClass, from, end);
    default:
      return -1;
  }
}

function wordStop({ bytes, stop }: Scan, from: number): number {
  let at = from;
  while (at < stop && VALUE_END[bytes[at] as number] === 0 && !(bytes[at] === 92 && bytes[at + 1] === 34)) at += 1;
  return at;
}

/** Columns of one row that are looked at; those behind them are scanned as any text. */
const COLUMNS_MAX = 128;
const HEAD = /^(?:INSERT|REPLACE) INTO [^\s(]{1,128} ?\(([^()\n]{1,2000})\)[ \t]{0,4}VALUES[ \t]{0,4}/i;
const KEY = /^Key \(([^()\n,]{1,200}, [^()\n]{1,200})\)=\(/;
/** Bytes of a value that a change names. */
const CHANGED_MAX = 1024;

/** `password changed from "…" to "…"`: both values of a name before it. */
export function cutChanged(scan: Scan, start: number, after: number): number {
  const { bytes, text, engine, floor, stop } = scan;
  const name = COLUMN_BEFORE.exec(text.slice(Math.max(floor, start - 72), start))?.[1];
  const keyClass = name === undefined ? 'none' : engine.keys.classOf(name);
  if (keyClass === 'none' || !'"\''.includes(text.charAt(after) || ' ')) return -1;
  const mark = bytes[after] as number;
  const close = indexOf(bytes, mark, after + 1, Math.min(stop, after + CHANGED_MAX));
  if (close === -1) return -1;
  putQuoted(scan, keyClass, after + 1, close);
  const second = /^.(?: to| ->| =>) (?=["'])/.exec(text.slice(close, close + 8))?.[0].length ?? 0;
  const end = second === 0 ? -1 : indexOf(bytes, mark, close + second + 1, Math.min(stop, close + CHANGED_MAX));
  if (end === -1) return close;
  putQuoted(scan, keyClass, close + second + 1, end);
  return end;
}

const COLUMN_BEFORE = /(?:^|[^\w-])([\w-]{1,64})["'`\]]? (?:NOT )?$/;

/** The classes of the columns that are named. A `name` among columns of people is one of them. */
function classesOf({ engine }: Scan, columns: string): (column: number) => KeyClass {
  const names = columns
    .split(',', COLUMNS_MAX)
    .map((column) => column.trim().replaceAll(/^["'`[\\]{1,4}|["'`\]\\]{1,4}$/g, ''));
  const classes = names.map((name) => engine.keys.classOf(name));
  const isOfPeople = classes.some(
    (one) => one === 'user' || one === 'phone' || one === 'address' || one === 'password',
  );
  return (column) => (isOfPeople && names[column]?.toLowerCase() === 'name' ? 'user' : (classes[column] ?? 'none'));
}

/** The rows of an INSERT. */
export function cutInsert(scan: Scan, start: number): number {
  const { bytes, text, stop } = scan;
  const head = HEAD.exec(text.slice(start, Math.min(stop, start + 2300)));
  if (head === null) return -1;
  const classes = classesOf(scan, head[1] as string);
  let at = start + head[0].length;
  while (bytes[at] === 40 && at < stop) {
    at = cutRow(scan, classes, at + 1);
    const next = gapEnd(bytes, at, stop);
    if (bytes[next] !== 44) break;
    at = gapEnd(bytes, next + 1, stop);
  }
  return at;
}

/** `Key (tenant, login)=(1, alice) already exists.` */
export function cutKeyOfMany(scan: Scan, start: number): number {
  const head = KEY.exec(scan.text.slice(start, Math.min(scan.stop, start + 420)));
  return head === null ? -1 : cutRow(scan, classesOf(scan, head[1] as string), start + head[0].length);
}

/** `Failing row contains (1, alice, …).`: values without names, so that all of them go. */
export function cutFailingRow({ text, spans, stop }: Scan, after: number): number {
  const marked = markerEnd(text, after);
  if (marked !== -1) return marked;
  const close = text.slice(after, stop).lastIndexOf(')');
  const to = close === -1 ? stop : after + close;
  return to > after ? spans.secret(after, to, 'text') : -1;
}

/** `login LIKE 'alice%'`, `login IN ('alice', 'bob')`: the column stands before the word. */
export function cutBehindColumn(scan: Scan, start: number, after: number): number {
  const { bytes, text, engine, floor } = scan;
  const column = COLUMN_BEFORE.exec(text.slice(Math.max(floor, start - 72), start))?.[1];
  const keyClass = column === undefined ? 'none' : engine.keys.classOf(column);
  if (keyClass === 'none') return -1;
  if (bytes[after - 1] === 40) return cutRow(scan, () => keyClass, after);
  if (bytes[after] !== 39) return -1;
  const close = sqlQuote(scan, after + 1);
  // Signs that stand for any text are not of the name.
  let [from, to] = [after + 1, close];
  while (from < to && '%_'.includes(text.charAt(from))) from += 1;
  while (to > from && bytes[to - 1] === 37) to -= 1;
  putQuoted(scan, keyClass, from, to);
  return close;
}

/** The values up to the closing bracket. Answers where it ends, or where what is no value stands. */
function cutRow(scan: Scan, classAt: (column: number) => KeyClass, from: number): number {
  const { bytes, text, stop } = scan;
  let at = gapEnd(bytes, from, stop);
  for (let column = 0; at < stop; column += 1) {
    const keyClass = classAt(column);
    const opening = /^[NEB]?'/.exec(text.slice(at, at + 2));
    let end = at;
    if (opening === null) {
      while (end < stop && !",()'".includes(text.charAt(end))) end += 1;
      if ("('".includes(text.charAt(end)) && end < stop) return at;
      putBare(scan, keyClass, at, end);
    } else {
      const inside = at + opening[0].length;
      const close = sqlQuote(scan, inside);
      putQuoted(scan, keyClass, inside, close);
      end = gapEnd(bytes, Math.min(stop, close + 1), stop);
    }
    if (bytes[end] === 41) return end + 1;
    if (bytes[end] !== 44) return Math.min(end, stop);
    at = gapEnd(bytes, end + 1, stop);
  }
  return stop;
}

/** Where a string of SQL ends: at a quote that is neither doubled nor escaped. */
function sqlQuote({ bytes, stop }: Scan, from: number): number {
  for (let at = from; at < stop; at += 1) {
    if (bytes[at] === 92) at += 1;
    else if (bytes[at] === 39) {
      if (bytes[at + 1] !== 39) return at;
      at += 1;
    }
  }
  return stop;
}

function putQuoted(scan: Scan, keyClass: KeyClass, from: number, to: number): void {
  if (to > from && markerEnd(scan.text, from) === -1) scan.value(keyClass, from, to);
}

/** A number, or a value of a key of postgres, which writes them without quotes. */
function putBare(scan: Scan, keyClass: KeyClass, from: number, end: number): void {
  let to = end;
  while (to > from && scan.bytes[to - 1] === 32) to -= 1;
  if (!/^(?:null|default|true|false|\$\d{1,4}|\?|)$/i.test(scan.text.slice(from, Math.min(to, from + 16))))
    putQuoted(scan, keyClass, from, to);
}
