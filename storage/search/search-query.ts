/** A search as people type it, read into what is compared: words and "quoted phrases", all of which must occur. */
import { SEARCH_TERMS_MAX } from '#src/protocol/conversations/search.ts';
import { fold, foldWithPlaces } from './search-folding.ts';
import { isCjk, placesBetween, placesOf } from './search-grams.ts';

/** Places looked up in the index. More of them would find no fewer blocks and read more of the disk. */
const PLACES_MAX = 24;

export interface SearchTerms {
  /** Folded words and phrases. */
  readonly terms: readonly string[];
  /** The places that the signature of a block with all of them has. */
  readonly places: readonly number[];
}

/** Reads a query. Nothing in it has a meaning but a pair of quotation marks; `too_short` for what the index cannot look up. */
export function readTerms(text: string): SearchTerms | 'too_short' | 'too_many' {
  const found = [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, phrase, word]) =>
    fold(phrase ?? word ?? '')
      .replaceAll(/ +/g, ' ')
      .trim(),
  );
  const terms = [...new Set(found)].filter((term) => term !== '');
  if (terms.length > SEARCH_TERMS_MAX) return 'too_many';
  const words = terms.flatMap((term) => term.split(' '));
  if (!words.some((word) => word.length > 1 || isCjk(word.charCodeAt(0)))) return 'too_short';
  const between = terms.flatMap((term) => {
    const [, ...others] = term.split(' ');
    return term.split(' ').flatMap((word, at) => placesBetween(word, others[at] ?? ''));
  });
  // What only a phrase has comes first: it leaves the fewest blocks.
  return { terms, places: spread([...new Set([...between, ...words.flatMap((word) => placesOf(word))])]) };
}

/** So many of the places as are looked up, from all over the query. */
function spread(places: readonly number[]): readonly number[] {
  if (places.length <= PLACES_MAX) return places;
  return Array.from({ length: PLACES_MAX }, (_, i) => places[Math.floor((i * places.length) / PLACES_MAX)]!);
}

export function matches(folded: string, terms: readonly string[]): boolean {
  return terms.every((term) => folded.includes(term));
}

/** Where the terms stand in a text: from and up to, in order, without overlaps, at most `limit`. */
export function highlight(text: string, terms: readonly string[], limit: number): [from: number, to: number][] {
  const { folded, starts, ends } = foldWithPlaces(text);
  const found = terms
    .flatMap((term) => {
      const places: [number, number][] = [];
      for (
        let at = folded.indexOf(term);
        at >= 0 && places.length < limit;
        at = folded.indexOf(term, at + term.length)
      ) {
        places.push([starts[at]!, ends[at + term.length - 1]!]);
      }
      return places;
    })
    .toSorted(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const [from, to] of found) {
    const last = merged.at(-1);
    if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged.slice(0, limit);
}
