/**
 * Grams: the pieces of a folded text that its signature remembers. Words are what lies between spaces; of a word, every
 * pair of neighbours, every three and four of them that are not CJK, and every CJK character by itself, since one of
 * those is a word already; of two words, the end of one with the beginning of the next. A signature is a Bloom filter
 * over them: what it lacks is not in the text, what it has may be.
 */

/** Bits of a block's signature: 32 messages of chat fill about a quarter of them. */
export const SIGNATURE_BITS = 16_384;
export const SIGNATURE_BYTES = SIGNATURE_BITS / 8;

const SPACE = 0x20;
const NONE = -1;

/** Han, kana, hangul and their punctuation, as UTF-16 units. What lies beyond the first plane counts as two others. */
export function isCjk(unit: number): boolean {
  return (unit >= 0x2e80 && unit <= 0x9fff) || (unit >= 0xac00 && unit <= 0xd7a3) || (unit >= 0xf900 && unit <= 0xfaff);
}

/** Spreads a number over 32 bits, one to one. */
function mix(number: number): number {
  let bits = number;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}

const single = (a: number): number => mix(a ^ 0x5bd1e995);
const pair = (a: number, b: number): number => mix((a << 16) | b);
const triple = (a: number, b: number, c: number): number => mix(Math.imul((a << 16) | b, 0x9e3779b1) + c);
/** Most threes of a language are in any 32 messages, whatever they speak of; of four, most are not. */
const quadruple = (a: number, b: number, c: number, d: number): number =>
  mix(Math.imul((a << 16) | b, 0x9e3779b1) + ((c << 16) | d));
/** Two places for what is rare; one for what is in nearly every text anyway. */
const first = (hash: number): number => hash & (SIGNATURE_BITS - 1);
const second = (hash: number): number => hash >>> 18;

/** Adds what a folded text holds to a signature. */
export function addText(signature: Uint8Array, folded: string): void {
  const set = (place: number): void => {
    signature[place >>> 3]! |= 1 << (place & 7);
  };
  const setBoth = (hash: number): void => {
    set(first(hash));
    set(second(hash));
  };
  /** The end of the word before, both units in one number. */
  let tail = NONE;
  let earliest = NONE;
  let before = NONE;
  let last = NONE;
  for (let at = 0; at < folded.length; at += 1) {
    const unit = folded.charCodeAt(at);
    if (unit === SPACE) {
      // Behind a word of one unit, or two spaces, there is nothing that two words share.
      tail = before === NONE ? NONE : ((before << 16) | last) >>> 0;
      earliest = NONE;
      before = NONE;
      last = NONE;
      continue;
    }
    if (isCjk(unit)) setBoth(single(unit));
    if (last !== NONE) {
      if (before === NONE && tail !== NONE) setBoth(quadruple(tail >>> 16, tail & 0xffff, last, unit));
      const hash = pair(last, unit);
      if (isCjk(last) || isCjk(unit)) setBoth(hash);
      else {
        set(first(hash));
        if (before !== NONE && !isCjk(before)) {
          setBoth(triple(before, last, unit));
          if (earliest !== NONE && !isCjk(earliest)) setBoth(quadruple(earliest, before, last, unit));
        }
      }
    }
    earliest = before;
    before = last;
    last = unit;
  }
}

/** Words up to this are looked up by their threes as well: they have too few fours. */
const SHORT_WORD_LENGTH = 5;

/** The places that the signature of every text with this folded word in it has. None for a word too short to index. */
export function placesOf(word: string): number[] {
  const units = Array.from({ length: word.length }, (_, at) => word.charCodeAt(at));
  if (units.length === 1) return units.filter(isCjk).flatMap((unit) => [first(single(unit)), second(single(unit))]);
  const hashes: number[] = [];
  const once: number[] = [];
  for (let at = 0; at + 1 < units.length; at += 1) {
    const [a = 0, b = 0, ...rest] = units.slice(at, at + 4);
    const [c, d] = rest;
    if (isCjk(a) || isCjk(b)) hashes.push(pair(a, b));
    else if (units.length === 2) once.push(pair(a, b));
    else if (c === undefined || isCjk(c)) continue;
    else {
      const isLast = d === undefined || isCjk(d);
      if (!isLast) hashes.push(quadruple(a, b, c, d));
      if (isLast || units.length <= SHORT_WORD_LENGTH) hashes.push(triple(a, b, c));
    }
  }
  return [...new Set([...hashes.flatMap((hash) => [first(hash), second(hash)]), ...once.map(first)])];
}

/** The places of two words that stand one behind the other, a space between them. */
export function placesBetween(word: string, next: string): number[] {
  if (word.length < 2 || next.length < 2) return [];
  const end = word.length - 2;
  const hash = quadruple(word.charCodeAt(end), word.charCodeAt(end + 1), next.charCodeAt(0), next.charCodeAt(1));
  return [first(hash), second(hash)];
}

/** Whether a signature has all places. */
export function hasPlaces(signature: Uint8Array, places: readonly number[]): boolean {
  return places.every((place) => (signature[place >>> 3]! & (1 << (place & 7))) !== 0);
}
