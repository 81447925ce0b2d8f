/** How much letters read like words: pairs that words of technical English and its neighbours are made of. */

/**
 * For each letter the letters that follow it in words: the pairs that make up 96 % of the prose of software, counted.
 * Of random letters six pairs of ten are not among them, of words and of names that programs give one of ten.
 */
const FOLLOWERS: Readonly<Record<string, string>> = {
  a: 'bcdfgiklmnprstuvwy',
  b: 'aeilorsu',
  c: 'acehiklorstuy',
  d: 'adeilorsuy',
  e: 'abcdefgilmnopqrstuvwxy',
  f: 'aefilortuy',
  g: 'aeghilnorsu',
  h: 'aeiortu',
  i: 'abcdefglmnoprstvxz',
  j: 'aeos',
  k: 'aeis',
  l: 'adeilostuy',
  m: 'abeimopsu',
  n: 'acdefgiklnopstuvy',
  o: 'abcdfgiklmnoprstuvw',
  p: 'aehiloprstu',
  q: 'u',
  r: 'abcdefgiklmnorstuvy',
  s: 'acefhiklmopstuy',
  t: 'acehiloprstuy',
  u: 'abcdegilmnprst',
  v: 'aeio',
  w: 'aehinors',
  x: 'eipt',
  y: 'ainps',
  z: 'ae',
};

const COMMON = new Uint8Array(32 * 32);
for (const [first, followers] of Object.entries(FOLLOWERS))
  for (const second of followers) COMMON[pairOf(first.charCodeAt(0), second.charCodeAt(0))] = 1;
// A letter twice and the next one of the alphabet: fillers and sequences are not random.
for (let letter = 1; letter <= 26; letter += 1) {
  COMMON[pairOf(letter, letter)] = 1;
  COMMON[pairOf(letter, letter + 1)] = 1;
}

/** The share of pairs above which letters are no words. */
export const RARE_SHARE = 0.38;
/** Fewer pairs say nothing. */
const PAIRS_MIN = 12;

function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31);
}

/** The share of letter pairs between two places that words do not have, whatever stands between; 0 for few letters. */
export function rareShare(source: string, start: number, end: number): number {
  let pairs = 0;
  let rare = 0;
  let before = 0;
  for (let at = start; at < end; at += 1) {
    const byte = source.charCodeAt(at) | 32;
    const letter = byte >= 97 && byte <= 122 ? byte : 0;
    if (letter !== 0 && before !== 0) {
      pairs += 1;
      rare += 1 - (COMMON[pairOf(before, letter)] as number);
    }
    before = letter;
  }
  return pairs < PAIRS_MIN ? 0 : rare / pairs;
}

/** Whether the letters between two places do not read like words. */
export function isUnreadable(source: string, start: number, end: number): boolean {
  return rareShare(source, start, end) >= RARE_SHARE;
}
