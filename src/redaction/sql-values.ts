/** Values of SQL whose name stands apart from them: rows of an INSERT, lists, keys of many columns, accounts. */
import { indexWithin, lineEnd, type Context } from './context.ts';
import { LEAVES } from './keyed-values.ts';
import type { KeyClass } from './keys.ts';
import type { Phrase, Rule } from './log-shapes.ts';
import { peopleOf } from './session-shapes.ts';
import { markerEnd } from './spans.ts';
import { gap } from './value-bounds.ts';

/** Columns of one row that are looked at; those behind them are scanned as any text. */
const COLUMNS_MAX = 128;

/** A row's table, columns and the word before its values. */
const HEAD = /(?:INSERT|REPLACE) INTO [^\s(]{1,128} ?\(([^()\n]{1,2000})\)[ \t]{0,4}VALUES[ \t]{0,4}/iy;
const KEY = /Key \(([^()\n]{1,200}, [^()\n]{1,200})\)=\(/y;
const COLUMN_BEFORE = /(?:^|[^\w-])([\w-]{1,64})["'`\]]? (?:NOT )?$/;
const ACCOUNT =
  /(?:(?:CREATE|ALTER|DROP) (?:USER|ROLE)|SET PASSWORD FOR) (?:IF (?:NOT )?EXISTS )?["'`]?([^\s"'`;,]{1,64})/dy;
const THIN = /oracle:thin:([^/@\s]{1,64}\/[^@\s]{1,128})@/dy;

/** The classes of the columns that are named. A `name` among columns of people is one of them. */
function classesOf({ keys }: Context, columns: string): (column: number) => KeyClass {
  const names = columns
    .split(',', COLUMNS_MAX)
    .map((column) => column.trim().replaceAll(/^["'`[\\]{1,4}|["'`\]\\]{1,4}$/g, ''));
  const classes = names.map((name) => keys.classAt(name, 0, name.length));
  const isOfPeople = classes.some(
    (one) => one === 'user' || one === 'phone' || one === 'address' || one === 'password',
  );
  return (column) => (isOfPeople && names[column]?.toLowerCase() === 'name' ? 'user' : (classes[column] ?? 'none'));
}

const insert: Rule = (context, start) => {
  HEAD.lastIndex = start;
  const head = HEAD.exec(context.source);
  if (head === null) return -1;
  const classes = classesOf(context, head[1] as string);
  const stop = lineEnd(context, start);
  let at = HEAD.lastIndex;
  while (context.source.charCodeAt(at) === 40) {
    at = cutRow(context, classes, at + 1, stop);
    const next = gap(context.source, at);
    if (context.source.charCodeAt(next) !== 44) break;
    at = gap(context.source, next + 1);
  }
  return at;
};

/** The values up to the closing bracket. Answers where it ends, or where what is no value stands. */
function cutRow(context: Context, classAt: (column: number) => KeyClass, from: number, stop: number): number {
  const { source } = context;
  let at = gap(source, from);
  for (let column = 0; at < stop; column += 1) {
    const keyClass = classAt(column);
    const opening = /^[NEB]?'/.exec(source.slice(at, at + 2));
    let end = at;
    if (opening === null) {
      while (end < stop && !",()'".includes(source.charAt(end))) end += 1;
      if ("('".includes(source.charAt(end))) return at;
      putBare(context, keyClass, at, end);
    } else {
      const inside = at + opening[0].length;
      const close = sqlQuote(source, inside, stop);
      putQuoted(context, keyClass, inside, close);
      end = gap(source, Math.min(stop, close + 1));
    }
    if (source.charCodeAt(end) === 41) return end + 1;
    if (source.charCodeAt(end) !== 44) return Math.min(end, stop);
    at = gap(source, end + 1);
  }
  return stop;
}

/** Where a string of SQL ends: at a quote that is neither doubled nor escaped. */
function sqlQuote(source: string, from: number, stop: number): number {
  let at = from;
  for (; at < stop; at += 1) {
    const byte = source.charCodeAt(at);
    if (byte === 92) at += 1;
    else if (byte === 39) {
      if (source.charCodeAt(at + 1) !== 39) return at;
      at += 1;
    }
  }
  return stop;
}

function putQuoted(context: Context, keyClass: KeyClass, from: number, to: number): void {
  const { source, spans, scanNested } = context;
  if (to <= from || markerEnd(source, from) !== -1) return;
  if (keyClass !== 'none' && LEAVES.string(context, keyClass, from, to) !== -1) return;
  for (const { class: spanClass, start, end, replacement } of scanNested(source.slice(from, to)))
    spans.put(from + start, from + end, replacement, spanClass);
}

/** A number, or a value of a key of postgres, which writes them without quotes. */
function putBare(context: Context, keyClass: KeyClass, from: number, end: number): void {
  let to = end;
  while (to > from && context.source.charCodeAt(to - 1) === 32) to -= 1;
  if (/^(?:null|default|true|false|\$\d{1,4}|\?|)$/i.test(context.source.slice(from, Math.min(to, from + 16)))) return;
  putQuoted(context, keyClass, from, to);
}

/** `Key (tenant, login)=(1, alice) already exists.` */
const keyOfMany: Rule = (context, start) => {
  KEY.lastIndex = start;
  const head = KEY.exec(context.source);
  return head === null
    ? -1
    : cutRow(context, classesOf(context, head[1] as string), KEY.lastIndex, lineEnd(context, start));
};

/** `Failing row contains (1, alice, …).`: values without names, so that all of them go. */
const failingRow: Rule = (context, _start, after) => {
  const { source, spans } = context;
  if (markerEnd(source, after) !== -1) return markerEnd(source, after);
  const stop = lineEnd(context, after);
  const close = source.slice(after, stop).lastIndexOf(')');
  const to = close === -1 ? stop : after + close;
  return to > after ? spans.secret(after, to, 'text') : -1;
};

/** `login LIKE 'alice%'`, `login IN ('alice', 'bob')`: the column stands before the word. */
const behindColumn: Rule = (context, start, after) => {
  const { source, keys } = context;
  const column = COLUMN_BEFORE.exec(source.slice(Math.max(0, start - 72), start))?.[1];
  const keyClass = column === undefined ? 'none' : keys.classAt(column, 0, column.length);
  if (keyClass === 'none') return -1;
  const stop = lineEnd(context, after);
  if (source.charCodeAt(after - 1) === 40) return cutRow(context, () => keyClass, after, stop);
  if (source.charCodeAt(after) !== 39) return -1;
  const close = sqlQuote(source, after + 1, stop);
  // Signs that stand for any text are not of the name.
  let [from, to] = [after + 1, close];
  while (from < to && '%_'.includes(source.charAt(from))) from += 1;
  while (to > from && source.charCodeAt(to - 1) === 37) to -= 1;
  putQuoted(context, keyClass, from, to);
  return close;
};

const account = peopleOf(ACCOUNT);

/** `CREATE USER alice`, `SET PASSWORD FOR 'alice'@'%' = '…'`. */
const accountAndPassword: Rule = (context, start, after) => {
  const { source, spans } = context;
  const next = account(context, start, after);
  if (next === -1 || !source.startsWith('SET', start)) return next;
  const stop = lineEnd(context, next);
  const sign = indexWithin(source, "= '", next, Math.min(stop, next + 128));
  if (sign === -1 || markerEnd(source, sign + 3) !== -1) return next;
  return spans.secret(sign + 3, sqlQuote(source, sign + 3, stop), 'secret');
};

/** `jdbc:oracle:thin:alice/password@…` */
const thin: Rule = (context, start) => {
  THIN.lastIndex = start;
  const place = THIN.exec(context.source)?.indices?.[1];
  return place === undefined ? -1 : context.spans.secret(place[0], place[1], 'url-credentials');
};

/** What a server of SQL and its drivers write, each with its rule. */
export const SQL_PHRASES: readonly Phrase[] = [
  ['INSERT INTO ', insert],
  ['insert into ', insert],
  ['REPLACE INTO ', insert],
  ['Key (', keyOfMany],
  ['Failing row contains (', failingRow],
  ['LIKE ', behindColumn],
  ['ILIKE ', behindColumn],
  ['like ', behindColumn],
  ['IN (', behindColumn],
  ['in (', behindColumn],
  ['CREATE USER ', account],
  ['CREATE ROLE ', account],
  ['ALTER USER ', account],
  ['ALTER ROLE ', account],
  ['DROP USER ', account],
  ['DROP ROLE ', account],
  ['SET PASSWORD FOR ', accountAndPassword],
  ['oracle:thin:', thin],
];
