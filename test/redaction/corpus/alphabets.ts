/** Characters that tokens are made of, drawn at random. */
import type { SeededRandom } from '#test/support/random.ts';

export const DIGITS = '0123456789';
export const HEX = '0123456789abcdef';
export const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
export const LOWER = 'abcdefghijklmnopqrstuvwxyz';
export const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
export const BASE62 = UPPER + LOWER + DIGITS;
export const BASE64 = `${BASE62}+/`;
export const BASE64URL = `${BASE62}-_`;
export const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

/** That many characters of the alphabet. */
export function draw(random: SeededRandom, alphabet: string, length: number): string {
  let text = '';
  for (let index = 0; index < length; index += 1) text += alphabet.charAt(random.whole(0, alphabet.length - 1));
  return text;
}

/** Characters of the alphabet with an upper-case letter, a lower-case letter and a digit among them; letters at the ends. */
export function drawMixed(random: SeededRandom, alphabet: string, length: number): string {
  for (;;) {
    const text = draw(random, alphabet, length);
    if (/^[A-Za-z0-9].*[A-Za-z0-9]$/u.test(text) && /[A-Z]/u.test(text) && /[a-z]/u.test(text) && /\d/u.test(text))
      return text;
  }
}

/** That many random bytes. */
export function bytes(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.whole(0, 255)));
}

/** A random UUID of version 4. */
export function uuid(random: SeededRandom): string {
  const hex = draw(random, HEX, 32);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
