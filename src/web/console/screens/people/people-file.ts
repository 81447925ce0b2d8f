/** A file of people to invite: read as CSV (RFC 4180), and judged line by line before anything is asked of the server. */
import type { Key } from '../../words/words.ts';

/** Columns of the file by their names in its first line; any order, and any of them may be left out but the first two's one. */
export const COLUMNS = ['display_name', 'email', 'phone', 'title'] as const;
export type Column = (typeof COLUMNS)[number];

/** People that one file holds at most: each is a request, and a list of their links that somebody hands out. */
export const PEOPLE_MAX = 1_000;

export interface PersonLine {
  /** Its number in the file, from one, with the head. */
  readonly line: number;
  readonly texts: Readonly<Record<Column, string>>;
  readonly faults: readonly Key[];
}

/** Fields of a CSV text, line by line. A field in quotes may hold commas, lines and doubled quotes. */
export function readCsv(text: string): string[][] {
  const separator = /^[^\n]*;/.test(text) && !/^[^\n]*,/.test(text) ? ';' : ',';
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  const endField = () => {
    row.push(field);
    field = '';
  };
  const endRow = () => {
    endField();
    if (row.some((each) => each.trim() !== '')) rows.push(row);
    row = [];
  };
  // A mark of the order of bytes is what spreadsheets begin with.
  const source = text.replace(/^\uFEFF/, '');
  for (let at = 0; at < source.length; at += 1) {
    const letter = source[at] as string;
    if (isQuoted) {
      if (letter !== '"') field += letter;
      else if (source[at + 1] === '"') {
        field += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && field === '') isQuoted = true;
    else if (letter === separator) endField();
    else if (letter === '\n') endRow();
    else if (letter !== '\r') field += letter;
  }
  endRow();
  return rows;
}

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const PHONE = /^\+[1-9]\d{6,14}$/;
const TEXT_MAX = 100;

/** What a file has: the people of its lines, or why it cannot be read at all. */
export function readPeople(text: string): { readonly people: readonly PersonLine[]; readonly fault?: Key } {
  const [head = [], ...rows] = readCsv(text);
  const names = head.map((name) =>
    name
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, '_'),
  );
  if (!COLUMNS.some((column) => names.includes(column))) return { people: [], fault: 'import.no-columns' };
  if (rows.length > PEOPLE_MAX) return { people: [], fault: 'import.too-many' };
  const seen = new Set<string>();
  const people = rows.map((row, at): PersonLine => {
    const texts = Object.fromEntries(
      COLUMNS.map((column) => [column, (row[names.indexOf(column)] ?? '').trim()]),
    ) as Record<Column, string>;
    const keys = [texts.email.toLowerCase(), texts.phone].filter((key) => key !== '');
    const isTwice = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    const judged: readonly (readonly [boolean, Key])[] = [
      [Object.values(texts).every((each) => each === ''), 'import.nothing'],
      [texts.email !== '' && !EMAIL.test(texts.email), 'import.bad-email'],
      [texts.phone !== '' && !PHONE.test(texts.phone), 'import.bad-phone'],
      [texts.display_name.length > TEXT_MAX || texts.title.length > TEXT_MAX, 'import.too-long'],
      [isTwice, 'import.twice'],
    ];
    return { line: at + 2, texts, faults: judged.filter(([isFault]) => isFault).map(([, key]) => key) };
  });
  return { people };
}

/**
 * Signs that begin a formula, the wide ones too, where a cell may begin: at the field's first letter, or behind what divides cells in
 * a spreadsheet of another country, which does not take our quotes for quotes. Blanks, seen or not, may stand before them.
 */
const FORMULA = /(^|[,;|\t\r\n])([\s\u200b-\u200f\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/g;

/** Lines of a CSV file. What a spreadsheet would take for a formula has an apostrophe before it, as spreadsheets write it. */
export function writeCsv(rows: readonly (readonly string[])[]): string {
  const quoted = (field: string) => `"${field.replaceAll(FORMULA, "$1'$2").replaceAll('"', '""')}"`;
  return rows.map((row) => `${row.map(quoted).join(',')}\r\n`).join('');
}
