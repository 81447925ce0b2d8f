/**
 * Identifiers, made by the server alone (GOV-01): `<prefix>_<time><random>`, sortable by creation and unguessable.
 *
 *     c_ 0k3f9q2m1 7w8x4n5p6r2t0
 *        │         └ 65 random bits (13 symbols): guessing one is hopeless, so an id may grant
 *        └ milliseconds since 1970 (9 symbols): ids made later sort later, until the year 3084
 */

/** Crockford's base 32 in lower case: digits and letters without i, l, o, u, so that an id survives being read aloud. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_SYMBOLS = 9;
const RANDOM_SYMBOLS = 13;

export type IdPrefix =
  | 'c'
  | 'd'
  | 's'
  | 'inv'
  | 'n'
  | 'ep'
  | 'call'
  | 'ask'
  | 'alrt'
  | 'vst'
  | 'grp'
  | 'pol'
  | 'mtg'
  | 'bot'
  | 'aut'
  | 'dlv'
  | 'att'
  | 'cal'
  | 'inb'
  | 'feed'
  | 'apw'
  | 'hook'
  | 'sub'
  | 'cmd'
  | 'ers'
  | 'rml'
  | 'scim'
  | 'psk'
  | 'res';

/** A random source: fills the array it is given. The platform's own by default, a seeded one in tests. */
export type RandomSource = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

const platformRandom: RandomSource = (bytes) => crypto.getRandomValues(bytes);

/** A new identifier of the kind its prefix names. */
export function makeId(prefix: IdPrefix, now: number, random: RandomSource = platformRandom): string {
  let time = '';
  for (let rest = now, i = 0; i < TIME_SYMBOLS; i += 1) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${time}${randomSymbols(RANDOM_SYMBOLS, random)}`;
}

/** Random symbols for the part of a credential that grants: five bits of entropy a symbol. */
export function randomSymbols(count: number, random: RandomSource = platformRandom): string {
  let symbols = '';
  for (const byte of random(new Uint8Array(count))) symbols += ALPHABET.charAt(byte & 31);
  return symbols;
}

/** Bytes as base-32 symbols, five bits each, for ids that are derived rather than drawn. */
export function toSymbols(bytes: Uint8Array, count: number): string {
  let symbols = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5 && symbols.length < count) {
      bits -= 5;
      symbols += ALPHABET.charAt((held >> bits) & 31);
    }
  }
  return symbols;
}

const ID = /^([a-z]{1,4})_([0-9abcdefghjkmnpqrstvwxyz]{22})$/;

/** Whether a text has the shape of an id of that kind. Shape only: whether it exists is for its store to say. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return ID.exec(text)?.[1] === prefix;
}
