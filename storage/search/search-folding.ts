/**
 * Folding: the form in which texts and queries are compared. Compatibility forms are one (NFKC), so are upper and lower
 * case, Latin and Greek letters with and without accents, ё and е. Й and и, が and か stay two: nobody takes one for the
 * other.
 */

/** Characters of which each folds by itself into exactly one, by lower case alone: most of what is written. */
const PLAIN =
  '\\u0000-\\u007f\\u0400-\\u045f\\u3041-\\u3096\\u30a1-\\u30fa\\u30fc\\u3400-\\u9fff\\uac00-\\ud7a3—–«»‘-„';
const IS_PLAIN = new RegExp(`^[${PLAIN}]*$`);
/** What folds together: conjoining jamo, a character with its marks, or one that is not plain. */
const CLUSTERS = new RegExp(`[\\u1100-\\u11ff]+|.[\\p{M}\\uff9e\\uff9f]+|[^${PLAIN}]`, 'gsu');
/** Marks behind a Latin or Greek letter, once they are taken apart. */
const ACCENTS = /([a-z\u0370-\u03ff\u1f00-\u1fff])\p{M}+/gu;
/** Marks that belong to no letter of an alphabet, as those of Russian stress. */
const LOOSE_MARKS = /[\u0300-\u036f]/g;
/** Letters that no normal form takes apart, as people type them where they lack the key. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  þ: 'th',
  ς: 'σ',
};
const SPECIAL = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/** The text as it is compared. Folding what is folded changes nothing. */
export function fold(text: string): string {
  const plain = IS_PLAIN.test(text) ? text : text.replaceAll(CLUSTERS, foldCluster);
  return plain
    .toLowerCase()
    .replaceAll('ё', 'е')
    .replaceAll(/[\t-\r]/g, ' ');
}

/**
 * Clusters whose folding is remembered, so that a text of one sign over and over, or of a script that is not plain, is not
 * normalized sign by sign: 16,000 euro signs took 30 to 60 ms of a shard's thread, and take 1.1 to 1.4 (a busy machine, the same
 * minutes). Beyond so many all are forgotten and begun anew, which changes the time alone.
 */
const REMEMBERED_MAX = 16_384;
/** A longer one is rare, and would be remembered for nobody. */
const REMEMBERED_UNITS_MAX = 4;
const remembered = new Map<string, string>();

function foldCluster(cluster: string): string {
  if (cluster.length > REMEMBERED_UNITS_MAX) return foldedCluster(cluster);
  const known = remembered.get(cluster);
  if (known !== undefined) return known;
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  const folded = foldedCluster(cluster);
  remembered.set(cluster, folded);
  return folded;
}

function foldedCluster(cluster: string): string {
  return cluster
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(ACCENTS, '$1')
    .normalize('NFC')
    .replaceAll(LOOSE_MARKS, '')
    .replaceAll(SPECIAL, (letter) => LETTERS[letter] ?? letter)
    .replaceAll(/\s/g, ' ');
}

/** A folded text, and for each of its units where the text it comes from begins and ends. */
export interface FoldedText {
  readonly folded: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Folds and keeps the places: for the few texts that are shown with what was found marked. */
export function foldWithPlaces(text: string): FoldedText {
  const starts: number[] = [];
  const ends: number[] = [];
  const takeUnits = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) {
      starts.push(at);
      ends.push(at + 1);
    }
  };
  let done = 0;
  for (const match of text.matchAll(CLUSTERS)) {
    takeUnits(done, match.index);
    done = match.index + match[0].length;
    const { length } = foldCluster(match[0]);
    for (let unit = 0; unit < length; unit += 1) {
      starts.push(match.index);
      ends.push(done);
    }
  }
  takeUnits(done, text.length);
  return { folded: fold(text), starts, ends };
}
