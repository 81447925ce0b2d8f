/**
 * Tables with their names in a line above: CSV and TSV, `COPY … FROM stdin` of PostgreSQL, the extended log format of the W3C
 * (`#Fields:`) and Zeek's (`#fields`). A value there is what the name of its column says.
 */
import type { Columns, Scan } from '../context.ts';
import type { KeyClass } from '../rules/rows.ts';
import type { KeyCache } from '../rules/rules.ts';

/** Bytes of a line of names; a longer one is read as any text. */
const HEADER_MAX = 2048;
/** Columns of fewer names are told apart from a sentence with commas by nothing. */
const COLUMNS_MIN = 2;
/** What names are made of, with what stands between them. */
const NAMES = /^(?:#[Ff]ields:?[ \t])?\|?[\w "'.()@$-]+(?:[,;|\t][\w "'.()@$-]+)*\|? ?$/;
/** The bytes of them: 1. */
const OF_NAMES = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) if (/[\w "'.()@$\-,;|\t]/.test(String.fromCharCode(byte))) OF_NAMES[byte] = 1;
/** The line below the names of a table that is drawn. */
const RULE = /^[-+| :=]{3,2048}$/;
/** Two names make a table where they are no words of a sentence. */
const TWO = /^(?:"?[\w.-]+"?[,;\t]"?[\w.-]+"?|\|? [\w.-]+ +\| [\w.-]+ *\|?)$/;
const COPY = /^COPY [\w."]{1,128} \(([\w ,"]{1,1024})\) FROM stdin/i;
const EXTENDED = /^#Fields: ([\w ().-]+)$/;

/** Classes that the name of a column gives to the values below it. */
const OF_COLUMNS: ReadonlySet<KeyClass> = new Set<KeyClass>([
  'user',
  'password',
  'secret',
  'authorization',
  'cookie',
  'text',
  'address',
  'phone',
  'id',
]);
/** A value that was replaced: a line that has one is none of names. */
const DONE = /(?:^|[^\w-])(?:u|tel)-[0-9a-f]{8}(?![\w-])|\d\.x(?!\w)/;
/** What a column has where there is nothing. */
const NOTHING = /^(?:|-|\\N|null|nil|none|\(empty\)|n\/a)$/i;

/** The columns that a line names; undefined for any other line, which most tell by their first bytes. */
function columnsNamed({ bytes, engine, text }: Scan, start: number, stop: number): Columns | undefined {
  const first = bytes[start] as number;
  if (stop - start < 8 || stop - start > HEADER_MAX) return undefined;
  // Letters, a quote, and the mark of a comment.
  const isLetter = (first | 32) >= 97 && (first | 32) <= 122;
  if (!isLetter && first !== 34 && first !== 35 && first !== 124 && first !== 32) return undefined;
  // The names of most lines end before they have begun: at a sign that no name has.
  let end = start + 1;
  while (end < stop && OF_NAMES[bytes[end] as number] === 1) end += 1;
  if (end < stop && first !== 35 && (first | 32) !== 99) return undefined;
  const line = text.slice(start, stop);
  const [, copied] = first === 67 || first === 99 ? (COPY.exec(line) ?? []) : [];
  if (copied !== undefined) return columnsOf(copied.split(','), '\t', engine.keys);
  const [, extended] = first === 35 ? (EXTENDED.exec(line) ?? []) : [];
  if (extended !== undefined) return columnsOf(extended.split(' '), ' ', engine.keys);
  if (!NAMES.test(line) || DONE.test(line)) return undefined;
  const names = line.replace(/^#[Ff]ields:?[ \t]/, '');
  const separator = ['|', '\t', ',', ';'].find((sign) => names.includes(sign));
  if (separator === undefined || (separator !== '|' && first === 32)) return undefined;
  const all = names.split(separator);
  return all.length > 2 || TWO.test(names) ? columnsOf(all, separator, engine.keys) : undefined;
}

function columnsOf(names: readonly string[], separator: string, keys: KeyCache): Columns | undefined {
  // Behind a comma of a sentence stands a space.
  if (names.length < COLUMNS_MIN || (separator === ',' && names.slice(1).some((name) => /^ \w+ \w/.test(name))))
    return undefined;
  const classes = names.map((name): KeyClass => {
    // Nothing of `password_hash` is the hash of a file.
    if (/^ ?"?(?:pass|pwd|pw).{0,8}hash"?$/i.test(name)) return 'password';
    const keyClass = keys.classOf(
      name
        .replaceAll(/["'()]/g, ' ')
        .trim()
        .replaceAll(' ', '_'),
    );
    return OF_COLUMNS.has(keyClass) ? keyClass : 'none';
  });
  besideOthers(names, classes);
  return classes.every((keyClass) => keyClass === 'none' || keyClass === 'id') ? undefined : { separator, classes };
}

/** Names of columns beside which `name` is that of a person. */
const OF_PEOPLE = /e-?mail|phone|mobile|passw/i;

/** A name that says nothing by itself says what it is by the columns beside it: of a list of people, or of calls. */
function besideOthers(names: readonly string[], classes: KeyClass[]): void {
  const hasPeople = names.some((name) => OF_PEOPLE.test(name));
  const hasCalls = classes.includes('phone');
  for (const [at, name] of names.entries()) {
    if (hasPeople && /^ ?"?name"? ?$/i.test(name)) classes[at] = 'user';
    if (hasCalls && /^ ?"?(?:src|dst)"? ?$/i.test(name)) classes[at] = 'phone';
  }
}

/** A line below the names. Answers where the scan goes on, or -1. */
export function cutColumns(scan: Scan, columns: Columns, start: number, stop: number): number {
  const { bytes, state, text } = scan;
  // A comment of the format, or a line that is drawn, stands between.
  if (bytes[start] === 35 || RULE.test(text.slice(start, stop))) return -1;
  const places = placesOf(text, start, stop, columns.separator);
  if (places.length !== columns.classes.length) {
    state.columns = undefined;
    return -1;
  }
  // Two words of which the first is a name: a configuration, whose first line read like the names of a table.
  if (places.length === 2 && scan.engine.keys.classAt(bytes, ...(places[0] as [number, number])) !== 'none') {
    state.columns = undefined;
    return -1;
  }
  for (const [index, [first, last]] of places.entries()) {
    const [from, to] = columns.separator === '|' ? trimmed(text, first, last) : [first, last];
    const keyClass = columns.classes[index] as KeyClass;
    const isValue = keyClass !== 'none' && !NOTHING.test(text.slice(from, Math.min(to, from + 16)));
    if (isValue) scan.value(keyClass, from, to);
    else if (to > from) scan.run(from, to);
  }
  return stop;
}

/** A cell without the blanks around it. */
function trimmed(text: string, start: number, stop: number): [from: number, to: number] {
  let [from, to] = [start, stop];
  while (from < to && text.charCodeAt(from) === 32) from += 1;
  while (to > from && text.charCodeAt(to - 1) === 32) to -= 1;
  return [from, to];
}

/** Where the values of a line stand, without their quotes. */
function placesOf(text: string, start: number, stop: number, separator: string): [from: number, to: number][] {
  const places: [number, number][] = [];
  for (let at = start; at <= stop;) {
    const isQuoted = text.charAt(at) === '"' && separator !== '\t';
    let end = isQuoted ? closing(text, at + 1, stop) : text.indexOf(separator, at);
    if (end === -1 || end > stop) end = stop;
    places.push([isQuoted ? at + 1 : at, end]);
    const next = isQuoted ? text.indexOf(separator, end) : end;
    at = next === -1 || next > stop ? stop + 1 : next + 1;
  }
  return places;
}

/** The quote that closes a value: a doubled one closes nothing. */
function closing(text: string, from: number, stop: number): number {
  for (let at = text.indexOf('"', from); at !== -1 && at < stop; at = text.indexOf('"', at + 2)) {
    if (text.charAt(at + 1) !== '"') return at;
  }
  return -1;
}

/** Remembers the columns that a line names. */
export function noteColumns(scan: Scan, start: number, stop: number): void {
  const columns = columnsNamed(scan, start, stop);
  if (columns !== undefined) scan.state.columns = columns;
}
