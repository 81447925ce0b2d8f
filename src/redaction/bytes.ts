/** Tables over bytes that the scan decides by: one load in place of a chain of comparisons. */

export const DIGIT = 1;
export const UPPER = 2;
export const LOWER = 4;
export const UNDERSCORE = 8;
export const DASH = 16;

/** What a byte adds to the word it is in; 0 ends the word. Bytes of 0x80 and above are no word bytes. */
export const WORD_BITS = new Uint8Array(256);
/** Hex digits: 1. */
export const HEX = new Uint8Array(256);
/** Base64 and base64url, padding left out: 1. */
export const BASE64 = new Uint8Array(256);
/** The body of a private key: base64 with its padding. */
export const BODY = new Uint8Array(256);
/** What ends an unquoted value at once: white space, quotes, an escape of a terminal, angle brackets, back quote. */
export const VALUE_END = new Uint8Array(256);
/** What ends an unquoted name of a person. */
export const NAME_END = new Uint8Array(256);
/** The local part of an e-mail address as it stands in logs. */
export const LOCAL_PART = new Uint8Array(256);
/** Host names, ASCII and UTF-8. */
export const DOMAIN = new Uint8Array(256);
/** Names of keys with their dots. */
export const KEY_NAME = new Uint8Array(256);
/** Bytes at which something may begin that is no word. */
export const MARK = new Uint8Array(256);

/** What the byte behind a word asks for. */
export const ASKS_KEY = 1;
export const ASKS_NUMBER = 2;
export const ASKS_GAP = 4;
export const ASKS_BASE64 = 8;
export const ASKS_COLON = 16;
/** Nothing by itself, but a space before it asks for a key. */
export const ASKS_SIGN = 32;
export const NEXT = new Uint8Array(256);

function fill(table: Uint8Array, bytes: string, value = 1): void {
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes.charCodeAt(at);
    table[byte] = (table[byte] as number) | value;
  }
}

/** A table of some bytes. */
export function tableOf(bytes: string): Uint8Array {
  const table = new Uint8Array(256);
  fill(table, bytes);
  return table;
}

const DIGITS = '0123456789';
const UPPERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWERS = 'abcdefghijklmnopqrstuvwxyz';
const LETTERS = UPPERS + LOWERS;

fill(WORD_BITS, DIGITS, DIGIT);
fill(WORD_BITS, UPPERS, UPPER);
fill(WORD_BITS, LOWERS, LOWER);
fill(WORD_BITS, '_', UNDERSCORE);
fill(WORD_BITS, '-', DASH);
fill(HEX, `${DIGITS}abcdefABCDEF`);
fill(BASE64, `${DIGITS}${LETTERS}+/-_`);
fill(BODY, `${DIGITS}${LETTERS}+/=`);
fill(VALUE_END, ' \t\n\v\f\r"\'<>`\u001b\u001d\u007f');
fill(NAME_END, ' "\'<>`,;&|()[]{}^\u007f');
fill(LOCAL_PART, `${DIGITS}${LETTERS}._+-'~`);
fill(DOMAIN, `${DIGITS}${LETTERS}.-_`);
fill(KEY_NAME, `${DIGITS}${LETTERS}._-`);
for (let byte = 0; byte < 256; byte += 1) {
  if (byte < 32) NAME_END[byte] = 1;
  if (byte >= 128) {
    LOCAL_PART[byte] = 1;
    DOMAIN[byte] = 1;
    MARK[byte] = 1;
  }
}
fill(MARK, '@:+%\\=$[{&(~"<#^-');

fill(NEXT, '="\'`])}', ASKS_KEY);
fill(NEXT, ':', ASKS_COLON);
fill(NEXT, '.:', ASKS_NUMBER);
fill(NEXT, ' \t', ASKS_GAP);
fill(NEXT, '+/', ASKS_BASE64);
fill(NEXT, ',', ASKS_KEY);
fill(NEXT, '-|', ASKS_SIGN);

/** For each mark the bytes behind it with which it can mean something: the mark in the upper half of the index. */
export const MARK_NEXT = new Uint8Array(1 << 16);
for (let mark = 0; mark < 256; mark += 1) if (MARK[mark] === 1) MARK_NEXT.fill(1, mark << 8, (mark + 1) << 8);
const HIGHS = Array.from({ length: 128 }, (_each, at) => String.fromCharCode(128 + at)).join('');
for (const [mark, next] of [
  [':', '/:A\\'],
  ['=', '?23489ABCDEF'],
  ['+', `${DIGITS}(`],
  ['%', `${DIGITS}abcdefABCDEF`],
  ['&', `#${LOWERS}`],
  ['{', `" \n${UPPERS}`],
  ['[', `R"{[${DIGITS}`],
  ['(', `${DIGITS}${LETTERS}_-${HIGHS}`],
  ['<', LETTERS],
  ['#', '0'],
  ['^', '['],
] as const) {
  const row = mark.charCodeAt(0) << 8;
  MARK_NEXT.fill(0, row, row + 256);
  for (const each of next) MARK_NEXT[row | each.charCodeAt(0)] = 1;
}

/** Whether the byte at a place is a word byte other than a dash. */
export function isWordByte(byte: number | undefined): boolean {
  return byte !== undefined && ((WORD_BITS[byte] as number) & ~DASH) !== 0;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/** Where a run of bytes of one table ends, at most at `stop`. */
export function runEnd(table: Uint8Array, bytes: Uint8Array, from: number, stop: number): number {
  let at = from;
  while (at < stop && table[bytes[at] as number] !== 0) at += 1;
  return at;
}

/** Where the first byte of a table stands, at most at `stop`. */
export function runStop(table: Uint8Array, bytes: Uint8Array, from: number, stop: number): number {
  let at = from;
  while (at < stop && table[bytes[at] as number] === 0) at += 1;
  return at;
}

/** Where white space ends, at most so many bytes further on. */
export function gapEnd(bytes: Uint8Array, from: number, stop: number, most = 32): number {
  const limit = Math.min(stop, from + most);
  let at = from;
  while (at < limit && (bytes[at] === 32 || bytes[at] === 9)) at += 1;
  return at;
}

/** The first place of a byte between two places; -1 where there is none. */
export function indexOf(bytes: Uint8Array, byte: number, from: number, stop: number): number {
  for (let at = from; at < stop; at += 1) if (bytes[at] === byte) return at;
  return -1;
}

/** Where a string of JSON ends that begins behind a quote: at its closing quote; -1 when there is none. */
export function stringEnd(bytes: Uint8Array, from: number, stop: number): number {
  for (let at = from; at < stop; at += 1) {
    const byte = bytes[at];
    if (byte === 34) return at;
    if (byte === 92) at += 1;
  }
  return -1;
}
