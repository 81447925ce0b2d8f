/** Tables over bytes that the scanner decides by: one load in place of a chain of comparisons. */

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
/** What ends an unquoted value at once: white space, quotes, controls, angle brackets, back quote. */
export const VALUE_END = new Uint8Array(256);
/** What ends an unquoted name of a person. */
export const NAME_END = new Uint8Array(256);
/** The local part of an e-mail address as it stands in logs. */
export const LOCAL_PART = new Uint8Array(256);
/** Host names, ASCII and UTF-8. */
export const DOMAIN = new Uint8Array(256);

/** How the main loop treats a byte that starts something. */
export const PLAIN = 0;
export const WORD = 1;
export const MARK = 2;
export const HIGH = 3;
export const START_KIND = new Uint8Array(256);

/** What a byte behind a word asks for: a look at the word, at the number, or at the byte behind the space. */
export const NEXT_OF_WORD = 1;
export const NEXT_OF_NUMBER = 2;
export const NEXT_IS_SPACE = 4;
export const NEXT_OF_BASE64 = 8;
export const NEXT_KIND = new Uint8Array(256);

function mark(table: Uint8Array, bytes: string, value = 1): void {
  for (let at = 0; at < bytes.length; at += 1) table[bytes.charCodeAt(at)] = value;
}

const DIGITS = '0123456789';
const UPPERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWERS = 'abcdefghijklmnopqrstuvwxyz';

mark(WORD_BITS, DIGITS, DIGIT);
mark(WORD_BITS, UPPERS, UPPER);
mark(WORD_BITS, LOWERS, LOWER);
mark(WORD_BITS, '_', UNDERSCORE);
mark(WORD_BITS, '-', DASH);
mark(HEX, `${DIGITS}abcdefABCDEF`);
mark(BASE64, `${DIGITS}${UPPERS}${LOWERS}+/-_`);
mark(VALUE_END, ' "\'<>`\u007f');
mark(NAME_END, ' "\'<>`,;&|()[]{}\u007f');
mark(LOCAL_PART, `${DIGITS}${UPPERS}${LOWERS}._+-'~`);
mark(DOMAIN, `${DIGITS}${UPPERS}${LOWERS}.-_`);
for (let byte = 0; byte < 256; byte += 1) {
  if (byte < 32) {
    VALUE_END[byte] = 1;
    NAME_END[byte] = 1;
  }
  if (byte >= 128) {
    LOCAL_PART[byte] = 1;
    DOMAIN[byte] = 1;
  }
  START_KIND[byte] = byte >= 128 ? HIGH : WORD_BITS[byte] === 0 ? PLAIN : WORD;
}
mark(START_KIND, '\n@:+%\\=$[-{&(~', MARK);

mark(NEXT_KIND, '="\'`\\])>@%', NEXT_OF_WORD);
mark(NEXT_KIND, '.', NEXT_OF_NUMBER);
mark(NEXT_KIND, ':', NEXT_OF_WORD | NEXT_OF_NUMBER);
mark(NEXT_KIND, '+/', NEXT_OF_BASE64);
mark(NEXT_KIND, ' ', NEXT_IS_SPACE);

/** For each mark the bytes behind it with which it can mean something, 128 places for each. */
const MARK_NEXT = new Uint8Array(128 * 128);
for (const [byte, next] of [
  [':', '/:A'],
  ['=', '?23457'],
  ['+', `${DIGITS}(`],
  ['%', `${DIGITS}abcdefABCDEF`],
  ['&', '#'],
  ['{', UPPERS],
  ['[', `R${DIGITS}`],
] as const)
  for (const each of next) MARK_NEXT[(byte.charCodeAt(0) << 7) | each.charCodeAt(0)] = 1;
for (const byte of '\n@\\$-(~') MARK_NEXT.fill(1, byte.charCodeAt(0) << 7, (byte.charCodeAt(0) + 1) << 7);

/** Whether a mark means anything before the byte behind it. */
export function isTellingMark(byte: number, next: number): boolean {
  return MARK_NEXT[(byte << 7) | (next & 127)] === 1;
}

/** The first three bytes of a literal in one number; letters of either case read alike. */
export function packLead(source: string, at: number): number {
  return (
    ((source.charCodeAt(at) & 31) << 10) | ((source.charCodeAt(at + 1) & 31) << 5) | (source.charCodeAt(at + 2) & 31)
  );
}

/** Whether the byte at a place is a word byte other than a dash; places outside of the text are none. */
export function isWordByte(source: string, at: number): boolean {
  return at >= 0 && at < source.length && ((WORD_BITS[source.charCodeAt(at)] as number) & ~DASH) !== 0;
}

export function isDigit(source: string, at: number): boolean {
  const byte = at < source.length ? source.charCodeAt(at) : 0;
  return byte >= 48 && byte <= 57;
}

/** Where a run of bytes of one table ends, at most `limit` further on. */
export function runEnd(table: Uint8Array, source: string, from: number, limit: number): number {
  let at = from;
  while (at < limit && table[source.charCodeAt(at)] !== 0) at += 1;
  return at;
}

/** Where the first byte of a table stands, at most `limit` further on. */
export function wordStop(table: Uint8Array, source: string, from: number, limit: number): number {
  let at = from;
  while (at < limit && table[source.charCodeAt(at)] === 0) at += 1;
  return at;
}
