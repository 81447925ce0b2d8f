/** What the parts of the engine share while a text is scanned. */
import type { Decoded } from './encodings/encodings.ts';
import type { KnownPeople } from './identifiers/known-people.ts';
import type { Pseudonyms } from './identifiers/pseudonyms.ts';
import type { KeyCache, Rules } from './rules/rules.ts';
import type { KeyClass } from './rules/rows.ts';
import type { Spans } from './spans.ts';

/** Signs that are looked for ahead: a backslash, a doubled quote, an at sign, and one in quoted-printable. */
export const SIGNS = ['\\', '""', '@', '=40'] as const;
export const SLASH = 0;
export const DOUBLED = 1;
export const AT = 2;
export const CODED_AT = 3;
export type Sign = 0 | 1 | 2 | 3;

/** A scan of one text: its bytes, the same as a Latin-1 string, and what was put in place of what. */
export interface Scan {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly spans: Spans;
  readonly engine: Engine;
  readonly state: LineState;
  /** Where the line, or the string of JSON in it, begins and ends: nothing outside of that is looked at. */
  floor: number;
  stop: number;
  /** The window holds lines that quoted-printable joins. */
  isJoined: boolean;
  /** The line of it that was asked for last: a long one with many keys is measured once. */
  readonly line: { from: number; to: number; stop: number };
  /** Up to here stretches in an encoding, and base64, were looked at. */
  decodedTo: number;
  judgedTo: number;
  /** Up to here names and passwords before a host were looked for. */
  userinfoTo: number;
  /** Where each of the programs that have options stood last before a place of a line. */
  readonly programs: Map<RegExp, { readonly floor: number; readonly to: number; readonly place: number }>;
  /** What stands around the key that was asked for last: the next one of the line is measured from there. */
  readonly around: Around;
  /** Where a sign stands next, from a place on: most texts have few of them, and each is looked for once. */
  next(sign: Sign, place: number): number;
  /** What nobody sees was written down with a backslash: the line is read again without it. */
  hasUnseen: boolean;
  /** Up to here no string is closed any more. */
  openTo: number;
  /** Scans a stretch of the text in place, as any text. */
  run(from: number, to: number): void;
  /** Scans a stretch in place as a value of a class, whole and without escapes. */
  value(keyClass: KeyClass, from: number, to: number): void;
  /** Scans what was decoded out of the text, as any text or as a value of a class. */
  within(decoded: Decoded, keyClass: KeyClass): void;
}

/** The last quote and the last `[ ` before a place of a line, -1 where there is none, and where that quote closes. */
export interface Around {
  floor: number;
  to: number;
  quote: number;
  bracket: number;
  /** The stretch that has no closing quote but at its end. */
  openFrom: number;
  close: number;
}

/** What stays the same from text to text. */
export interface Engine {
  readonly rules: Rules;
  readonly keys: KeyCache;
  readonly pseudonyms: Pseudonyms;
  readonly people: KnownPeople;
  /** A text of its own without what is personal, UTF-8 as Latin-1. */
  readonly clean: (text: string) => string;
}

/** A private key that goes on in the next lines. */
export interface KeyState {
  /** Lines in which the key may go on; 0 outside of a key. */
  lines: number;
  strange: number;
  /** The line before was a full one of the body: whatever stands alone in the next one belongs to it. */
  isFull: boolean;
  /** Words of the log's prefix before the line with the key's beginning; -1 when that was not seen. */
  prefixWords: number;
}

/** What a line leaves to the next one. */
export interface LineState {
  readonly key: KeyState;
  /** The line before was a Subject or another header, and a folded one goes on; undefined for any other line. */
  folded: 'text' | 'cookie' | 'authorization' | undefined;
  /** A key above whose value stands on the lines below it. */
  block: Block | undefined;
  /** A part of a form whose value stands below its name, behind an empty line. */
  part: { readonly keyClass: KeyClass; isBody: boolean; lines: number } | undefined;
  /** What the name of a pair said of the value below it, and how many line ends are left until that counts no more. */
  pairClass: KeyClass;
  pairLines: number;
  /** The line before was a name and one value: a configuration, in which `user x` is one, too. */
  isListed: boolean;
  /** A line above named the columns of a table. */
  columns: Columns | undefined;
  /**
   * A value that a cut of a longer line went through, or one in quotes that goes on in the next lines: its class, the byte
   * that closes it, 0 for white space, and the lines in which it may go on.
   */
  open: { readonly keyClass: KeyClass; readonly closer: number; readonly lines: number } | undefined;
  /** A value that is to begin on the next line: the text of an element, what a program's dump has below a key. */
  below: Below | undefined;
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
  /** The column of its first item, -1 before that: what is listed further to the right is of the items. */
  items: number;
  lines: number;
}

/** What is known of a value that begins on the next line. */
export interface Below {
  readonly keyClass: KeyClass;
  /** It is the text of an element of XML, which its end tag ends. */
  readonly isElement: boolean;
  readonly lines: number;
}

/** The columns below a line of names. */
export interface Columns {
  readonly separator: string;
  readonly classes: readonly KeyClass[];
}

/** The state before the first line; a text inside of another one shares its private key. */
export function startState(key: KeyState = { lines: 0, strange: 0, isFull: false, prefixWords: -1 }): LineState {
  return {
    key,
    folded: undefined,
    below: undefined,
    block: undefined,
    part: undefined,
    pairClass: 'none',
    pairLines: 0,
    isListed: false,
    columns: undefined,
    open: undefined,
  };
}

/** Where the line around a place ends, within the window: lines that quoted-printable joins are scanned together. */
export function lineStop(scan: Scan, from: number): number {
  const { line, stop, text } = scan;
  if (!scan.isJoined) return stop;
  if (from < line.from || from > line.to || line.stop !== stop) {
    const end = text.indexOf('\n', from);
    line.from = from;
    line.stop = stop;
    line.to = end === -1 || end > stop ? stop : end > from && text.charCodeAt(end - 1) === 13 ? end - 1 : end;
  }
  return line.to;
}

/** Columns before a key that begins its line. */
const COLUMN_MAX = 128;

/** The column of a key that begins its line, behind dashes of a list at most; -1 for any other. */
export function columnOf({ bytes, floor, text }: Scan, start: number): number {
  let at = start;
  while (at > floor && start - at <= COLUMN_MAX && bytes[at - 1] !== 10) {
    if (!' \t-'.includes(text.charAt(at - 1))) return -1;
    at -= 1;
  }
  return start - at > COLUMN_MAX ? -1 : start - at;
}
