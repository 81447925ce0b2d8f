/** Phone numbers (RED-05): the international form, the Russian forms, and what a key or a URI says is a number. */
import { isDigit, isWordByte } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { decodeText } from '../encodings/decoding.ts';
import { putDisplayName } from './people.ts';

/** E.164 allows 15 digits; the shortest numbers with a country code that are dialled have 7. */
const DIGITS_MIN = 7;
const DIGITS_MAX = 15;
/** Bytes of the longest number with its separators. */
const PHONE_MAX = 64;
/** Digits of a group behind a space that is an instant or a count and no part of a number. */
const GROUP_MAX = 8;

/**
 * Digits behind a country's code after which a space ends a number, and how many there are at most: ITU-T E.164 with
 * the numbering plans of the countries. Numbers of other countries end at a space behind eight digits.
 */
const PLANS: readonly (readonly [codes: string, least: number, most: number])[] = [
  ['1 7', 10, 10],
  ['20 27 30 31 33 34 36 40 48 51 52 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 94 98', 8, 11],
  ['32 45 46 47 41 43 53 93 95', 8, 11],
  ['33 34 48 351 380 375 371 370 372 373 374 992 993 996 998 420 421 971 972 966 353 359 381 385 386', 8, 10],
  ['33 34 48 380 375 998 992 996 420 421 972', 9, 9],
  ['39 44', 10, 10],
  ['49', 10, 11],
  ['55 86 91 52 90 30 81 82 98 92', 10, 11],
  ['358', 9, 10],
];
const LEAST = new Map(
  PLANS.flatMap(([codes, least, most]) => codes.split(' ').map((code) => [code, { least, most }] as const)),
);
const ANYWHERE = { least: 8, most: 12 };

/** The code of a country and its plan. */
function planOf(digits: string): { code: number; least: number; most: number } {
  for (const width of [1, 2, 3]) {
    const plan = LEAST.get(digits.slice(0, width));
    if (plan !== undefined) return { code: width, ...plan };
  }
  return { code: 3, ...ANYWHERE };
}

/** A number that begins at a plus sign, or at what stands for one (`&#43;`), of `plus` bytes. */
export function cutInternational(scan: Scan, start: number, plus: number): number {
  const { bytes, spans, engine, text, floor } = scan;
  if (plus === 1 && start > floor && isWordByte(bytes[start - 1]) && !isEscape(scan, start - 1)) return -1;
  const first = start + plus;
  let from = first;
  if (bytes[from] === 40) from += 1;
  if (!isDigit(bytes[from]) || (bytes[from] === 48 && from !== first)) return -1;
  const end = numberEnd(scan, first, undefined);
  const digits = digitsIn(text.slice(first, end));
  if (digits < DIGITS_MIN || digits > DIGITS_MAX || !isFree(scan, end) || isOffset(text.slice(first, end))) return -1;
  // `"Alice Liddell" <+7…>` of a call's record.
  if (bytes[start - 1] === 60) putDisplayName(scan, start);
  return spans.put(start, end, engine.pseudonyms.phone(text.slice(first, end)), 'phone');
}

function isEscape({ bytes }: Scan, letter: number): boolean {
  return bytes[letter - 1] === 92;
}

/** `+0.270003` is a number that counts, and so is `+2.0000001`. */
function isOffset(written: string): boolean {
  return /^\d{1,3}\.\d+$/.test(written);
}

/**
 * Where groups of digits end that separators join: two of them in a row at most, one pair of brackets. Behind a space
 * a number that is whole by its country's plan has ended, and a day, an address, a time or an instant is none of it.
 */
function numberEnd(scan: Scan, from: number, whole: number | undefined): number {
  const { bytes, text, stop } = scan;
  let end = from;
  let digits = '';
  let brackets = 0;
  let separators = 0;
  for (let at = from; at < stop && at - from < PHONE_MAX && digits.length <= DIGITS_MAX;) {
    if (isDigit(bytes[at])) {
      if (separators > 0 && !continues(scan, digits, end, at, whole)) break;
      let group = at;
      while (group < stop && isDigit(bytes[group])) group += 1;
      digits += text.slice(at, group);
      separators = 0;
      at = group;
      end = at;
      continue;
    }
    const width = separatorWidth(bytes, at);
    const byte = bytes[at];
    if (byte === 40 || byte === 41) {
      brackets += 1;
      if (brackets > 2 || (byte === 40) !== (brackets === 1)) break;
    }
    separators += 1;
    if (width === 0 || separators > 3) break;
    at += width;
  }
  return end;
}

/** Whether the digits at a place go on a number whose digits so far ended at `end`. */
function continues(scan: Scan, digits: string, end: number, at: number, whole: number | undefined): boolean {
  const { bytes, text, stop } = scan;
  const group = /^\d*/.exec(text.slice(at, Math.min(stop, at + 20)))?.[0].length ?? 0;
  const spaced = at - end === 1 ? isSpace(bytes, end) : /\s|\u00a0|\u00af/.test(text.slice(end, at));
  if (whole !== undefined) return !spaced || (digits.length < whole && !startsOther(text.slice(at, at + 20)));
  const { code, least, most } = planOf(digits);
  const national = digits.length - code;
  if (national + group > most && national >= least) return false;
  if (!spaced) return true;
  if (national >= least) {
    // Numbers of some countries are a group longer than others of the same one.
    return (
      national + group <= most &&
      group <= 4 &&
      group >= 2 &&
      most > least &&
      !startsOther(text.slice(at, at + 20)) &&
      national < 10
    );
  }
  return group <= Math.max(GROUP_MAX, most - national) && !startsOther(text.slice(at, at + 20));
}

/** A day, a time, an address or a fraction, which are no groups of a number. */
function startsOther(text: string): boolean {
  return /^(?:(?:19|20)\d\d-\d\d-\d\d|\d{1,2}:\d\d|\d{1,3}\.\d{1,3}\.\d{1,3}\.[\dx]|1[5-9]\d{8}(?!\d))/.test(text);
}

/** Bytes of a separator at a place: space, dash, dot, bracket, no-break spaces and dashes in UTF-8, `%20`, `=20`. */
function separatorWidth(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === 32 || byte === 45 || byte === 46 || byte === 40 || byte === 41) return 1;
  if (byte === 0xc2 && bytes[at + 1] === 0xa0) return 2;
  if ((byte === 37 || byte === 61) && bytes[at + 1] === 50 && bytes[at + 2] === 48) return 3;
  return byte === 0xe2 && bytes[at + 1] === 0x80 && isDashOrSpace(bytes[at + 2] as number) ? 3 : 0;
}

function isSpace(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 32;
}

function isDashOrSpace(byte: number): boolean {
  return byte === 0xaf || (byte >= 0x90 && byte <= 0x93) || byte === 0x89;
}

/** Nothing goes on behind a number that would make it part of a longer thing. */
function isFree({ bytes, stop }: Scan, end: number): boolean {
  if (end >= stop) return true;
  const next = bytes[end];
  if (isWordByte(next)) return false;
  return !((next === 46 || next === 45 || next === 58 || next === 47) && isDigit(bytes[end + 1]));
}

/** Digits of a number of Russia with its 7 or 8. */
const RUSSIAN_DIGITS = 11;
/** Groups of a Russian number behind its 8 or 7: 3-3-2-2, 3-3-4, 3-7, or all in one. */
const RUSSIAN_GROUPS = new Set(['3,3,2,2', '3,3,4', '3,7', '10', '3,2,2,3', '3,2,3,2']);

/** `8 (9xx) xxx-xx-xx` and its kin, from the 8 on. */
export function cutRussian(scan: Scan, start: number): number {
  const { bytes, text, spans, engine, floor } = scan;
  const before = start > floor ? (bytes[start - 1] as number) : 32;
  if (before === 46 || before === 47 || before === 43 || before === 45) return -1;
  if (isWordByte(before) && !isEscape(scan, start - 1)) return -1;
  if (before === 58 && isDigit(bytes[start - 2])) return -1;
  if (!/^8(?:[ .(-]|\u00c2\u00a0|\u00e2\u0080.){0,3}[3489]\d\d/.test(text.slice(start, start + 14))) return -1;
  const end = numberEnd(scan, start, RUSSIAN_DIGITS);
  const written = text.slice(start, end);
  const groups = written
    .slice(1)
    .split(/[^0-9]+/)
    .filter((group) => group !== '');
  const lengths = groups.map((group) => group.length).join(',');
  if (!RUSSIAN_GROUPS.has(lengths) || !isFree(scan, end)) return -1;
  // Unbroken digits are a number of a mobile; other such runs are counts and ids.
  if (lengths === '10' && written.length === 11 && (!written.startsWith('89') || isCounted(scan, start))) return -1;
  return spans.put(start, end, engine.pseudonyms.phone(written), 'phone');
}

/** Whether a whole value is a number of a phone: with a plus, or as the Russian plan has it. */
export function isPhoneText(value: string): boolean {
  if (value.length < DIGITS_MIN || value.length > PHONE_MAX || !/^[\s+\d(%\\&=]/.test(value)) return false;
  const text = decodeText(value).trim();
  if (!/^[+\d(][\d\s().\u00a0\u00c2\u00e2\u0080-\u00af-]*$/.test(text)) return false;
  const digits = text.replaceAll(/[^0-9]/g, '');
  if (text.startsWith('+')) return digits.length >= DIGITS_MIN && digits.length <= DIGITS_MAX;
  return digits.length === 11 && /^[78][3489]/.test(digits) && /^[78][\s(\u00c2\u00e2.-]*[3489]/.test(text);
}

/** Whether a value under a phone's key has a number's digits, whatever its form. */
export function isDialled(value: string): boolean {
  const text = decodeText(value);
  const digits = digitsIn(text);
  return digits >= 3 && digits <= 20 && !/[A-Za-z]{2}/.test(text);
}

function digitsIn(text: string): number {
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) if (isDigit(text.charCodeAt(at))) digits += 1;
  return digits;
}

/** Last words of names under which numbers are counted: eleven digits under them are no phone. */
const COUNTED = new Set(
  'seq size offset bytes count packets id time ts timestamp length len total pos position lsn block blocks inode ino used free limit max min rx tx order lag ns us ms cursor version rev epoch serial sum memory heap rss'.split(
    ' ',
  ),
);

function isCounted({ text, floor }: Scan, start: number): boolean {
  const match = /([A-Za-z]{1,16})"?[=:] ?$/.exec(text.slice(Math.max(floor, start - 24), start));
  return match !== null && COUNTED.has((match[1] as string).toLowerCase());
}
