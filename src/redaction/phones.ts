/** Phone numbers (RED-05): the international form, the Russian forms, and what a key or a URI says is a number. */
import { isDigit, isWordByte } from './character-classes.ts';
import type { Context } from './context.ts';
import { decodeText } from './decoding.ts';

/** E.164 allows 15 digits; the shortest numbers with a country code that are dialled have 7. */
const DIGITS_MIN = 7;
const DIGITS_MAX = 15;
/** Bytes of the longest number with its separators. */
const PHONE_MAX = 64;

/** A number that begins at a plus sign, or at what stands for one (`%2B`, `\u002b`, `&#43;`), of `plus` bytes. */
export function cutInternational(context: Context, start: number, plus: number): number {
  const { source, spans } = context;
  if (isWordByte(source, start - 1) && plus === 1) return -1;
  const first = start + plus;
  let from = first;
  if (source.charCodeAt(from) === 40) from += 1;
  if (!isDigit(source, from) || (source.charCodeAt(from) === 48 && from !== first)) return -1;
  const isRussian = source.charCodeAt(from) === 55;
  const { end, digits } = groupsEnd(source, first, (count, groups) =>
    isRussian ? count === RUSSIAN_DIGITS : groups === 1 && count >= UNBROKEN_MIN,
  );
  if (digits < DIGITS_MIN || digits > DIGITS_MAX) return -1;
  if (!isFree(source, end)) return -1;
  return spans.put(start, end, context.pseudonyms.phone(source.slice(first, end)), 'phone');
}

/** Digits of a number of Russia with its 7 or 8. */
const RUSSIAN_DIGITS = 11;
/** Digits behind a plus sign without a separator that are a number by themselves. */
const UNBROKEN_MIN = 10;

/**
 * Where groups of digits end that separators join: two of them in a row at most, one pair of brackets. Behind a space
 * a number that is whole has ended (`isWhole`): what follows is another one, or a count.
 */
function groupsEnd(
  source: string,
  from: number,
  isWhole: (digits: number, groups: number) => boolean,
): { end: number; digits: number } {
  let end = from;
  let digits = 0;
  let groups = 0;
  let brackets = 0;
  let separators = 0;
  for (let at = from; at < source.length && at - from < PHONE_MAX && digits <= DIGITS_MAX;) {
    if (isDigit(source, at)) {
      if (separators > 0 || digits === 0) groups += 1;
      digits += 1;
      separators = 0;
      at += 1;
      end = at;
      continue;
    }
    const width = separatorWidth(source, at);
    if (at === end && isWhole(digits, groups) && isSpace(source, at, width)) break;
    const byte = source.charCodeAt(at);
    if (byte === 40 || byte === 41) {
      brackets += 1;
      if (brackets > 2 || (byte === 40) !== (brackets === 1)) break;
    }
    separators += 1;
    if (width === 0 || separators > 3) break;
    at += width;
  }
  return { end, digits };
}

/** Bytes of a separator at a place: space, dash, dot, bracket, no-break spaces and dashes in UTF-8, `%20`, `=20`. */
function separatorWidth(source: string, at: number): number {
  const byte = source.charCodeAt(at);
  if (byte === 32 || byte === 45 || byte === 46 || byte === 40 || byte === 41) return 1;
  if (byte === 0xc2 && source.charCodeAt(at + 1) === 0xa0) return 2;
  if (byte === 0xe2 && source.charCodeAt(at + 1) === 0x80) return isDashOrSpace(source.charCodeAt(at + 2)) ? 3 : 0;
  if ((byte === 37 || byte === 61) && source.startsWith('20', at + 1)) return 3;
  return 0;
}

/** Whether a separator is white space, in whatever encoding: dashes and dots join, spaces may also part. */
function isSpace(source: string, at: number, width: number): boolean {
  const byte = source.charCodeAt(at);
  return byte === 32 || (width > 1 && byte !== 0xe2);
}

function isDashOrSpace(byte: number): boolean {
  return byte === 0xaf || (byte >= 0x90 && byte <= 0x93) || byte === 0x89;
}

/** Nothing goes on behind a number that would make it part of a longer thing. */
function isFree(source: string, end: number): boolean {
  const next = source.charCodeAt(end);
  if (isWordByte(source, end)) return false;
  return !((next === 46 || next === 45 || next === 58 || next === 47) && isDigit(source, end + 1));
}

/** Groups of a Russian number behind its 8 or 7: 3-3-2-2, 3-3-4, 3-7, or all in one. */
const RUSSIAN_GROUPS = new Set(['3,3,2,2', '3,3,4', '3,7', '10', '3,2,2,3', '3,2,3,2']);

/** `8 (9xx) xxx-xx-xx` and its kin, from the 8 on. */
export function cutRussian(context: Context, start: number): number {
  const { source, spans } = context;
  const before = start > 0 ? source.charCodeAt(start - 1) : 32;
  if (isWordByte(source, start - 1) || before === 46 || before === 47 || before === 43 || before === 45) return -1;
  if (before === 58 && isDigit(source, start - 2)) return -1;
  if (!isAreaCode(source, start + 1)) return -1;
  const { end, digits } = groupsEnd(source, start, (count) => count === RUSSIAN_DIGITS);
  if (digits !== RUSSIAN_DIGITS || !isFree(source, end)) return -1;
  const text = source.slice(start, end);
  const groups = text
    .slice(1)
    .split(/[^0-9]+/)
    .filter((group) => group !== '');
  const lengths = groups.map((group) => group.length).join(',');
  if (!RUSSIAN_GROUPS.has(lengths) || !'3489'.includes((groups[0] as string).charAt(0))) return -1;
  // Unbroken digits are a number of a mobile; other such runs are counts and ids.
  if (lengths === '10' && text.length === 11 && (!text.startsWith('89') || isCounted(source, start))) return -1;
  return spans.put(start, end, context.pseudonyms.phone(text), 'phone');
}

/** Whether three digits stand behind what may separate them from the 8; separators of many bytes are let through. */
function isAreaCode(source: string, from: number): boolean {
  let at = from;
  while (at - from < 3 && ' -.('.includes(source.charAt(at))) at += 1;
  const byte = source.charCodeAt(at);
  return (
    byte > 127 ||
    byte === 37 ||
    (byte === 61 && source.startsWith('20', at + 1)) ||
    (isDigit(source, at) && isDigit(source, at + 1) && isDigit(source, at + 2))
  );
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
  const digits = decodeText(value).replaceAll(/[^0-9]/g, '').length;
  return digits >= 3 && digits <= 20 && !/[A-Za-z]{2}/.test(decodeText(value));
}

/** Last words of names under which numbers are counted: eleven digits under them are no phone. */
const COUNTED = new Set(
  'seq size offset bytes count packets id time ts timestamp length len total pos position lsn block blocks inode ino used free limit max min rx tx number no num order lag ns us ms cursor version rev epoch serial sum memory heap rss'.split(
    ' ',
  ),
);

function isCounted(source: string, start: number): boolean {
  const match = /([A-Za-z]{1,16})"?[=:] ?$/.exec(source.slice(Math.max(0, start - 24), start));
  return match !== null && COUNTED.has((match[1] as string).toLowerCase());
}
