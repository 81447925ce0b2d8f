/**
 * Names of people and bots for search: every word of a name under its first two characters, so that a search looks at
 * those who have such a word and not at everybody. In memory, some 550 bytes a person; what it was made of is on disk.
 */
import { fold } from '#storage/search/search-folding.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';

/** Words of a query that count: the longest names have fewer. What stands behind them is passed over. */
export const QUERY_WORDS_MAX = 8;

/** Characters of a word by which it is found. */
const PAIR = 2;

/** Letters and digits; everything between them parts words. */
const WORDS = /[\p{L}\p{N}]+/gu;

/** What is looked at of a person or a bot. */
export interface NamedPerson {
  readonly user: string;
  readonly rev: number;
  readonly state: DirectoryEntry['state'];
  /** The words of the display name, or of the username where there is none: what lists are ordered by. */
  readonly name: string;
  readonly email: string;
  /** All words that are found, each with a space before it. */
  readonly text: string;
}

/** A query made ready: folded, in words. */
export interface NameQuery {
  readonly words: readonly string[];
  /** The same with a space before each, as they stand in a text. */
  readonly spaced: readonly string[];
  /** The words in a row, as a name has them. */
  readonly whole: string;
  /** As it was asked, folded: usernames and addresses have more in them than words. */
  readonly typed: string;
}

/** How well somebody fits: the lower, the better. */
export const RANK = { exact: 0, beginning: 1, word: 2 } as const;
export type Rank = (typeof RANK)[keyof typeof RANK];

/** A query as it is compared. Words of an address stay together: its domain is everybody's. */
export function readNameQuery(query: string): NameQuery {
  const typed = fold(query).trim();
  const terms = typed.split(' ').flatMap((term) => (term.includes('@') ? [term] : (term.match(WORDS) ?? [])));
  const words = terms.slice(0, QUERY_WORDS_MAX);
  return { words, spaced: words.map((word) => ` ${word}`), whole: words.join(' '), typed };
}

/**
 * How well a candidate fits; undefined for who does not. Every word of the query begins a word of theirs.
 * @param person one of the index's candidates for that query.
 */
export function rankOf(person: NamedPerson, { words, spaced, whole, typed }: NameQuery): Rank | undefined {
  const { email, name, text, user } = person;
  // Whom the index gave for one short word has it.
  if (words.length > 1 || whole.length > PAIR) {
    for (const word of spaced) if (!text.includes(word)) return undefined;
  }
  const [startsName, startsUser] = [name.startsWith(whole), user.startsWith(typed)];
  const isName = startsName && name.length === whole.length;
  if (isName || (startsUser && user.length === typed.length) || email === typed) return RANK.exact;
  return startsName || startsUser ? RANK.beginning : RANK.word;
}

export class NameIndex {
  readonly #people = new Map<string, NamedPerson>();
  /** First two characters of a word → those who have such a word. */
  readonly #pairs = new Map<string, Set<NamedPerson>>();
  /** First character → the pairs that begin with it. */
  readonly #letters = new Map<string, Set<string>>();

  get size(): number {
    return this.#people.size;
  }

  /** Takes somebody in as they are now, in place of what was known of them. */
  put({ user, rev, state, display_name: displayName, email }: DirectoryEntry): void {
    this.#drop(this.#people.get(user));
    const address = fold(email ?? '');
    const [called, named] = [wordsOf(displayName ?? ''), wordsOf(user)];
    const found = new Set([...called, ...named, ...wordsOf(address.split('@')[0] ?? '')]);
    if (address !== '') found.add(address);
    const name = called.length === 0 ? named.join(' ') : called.join(' ');
    const person: NamedPerson = { user, rev, state, name, email: address, text: ` ${[...found].join(' ')}` };
    this.#people.set(user, person);
    for (const pair of pairsOf(person)) {
      const holders = this.#pairs.get(pair) ?? new Set();
      this.#pairs.set(pair, holders.add(person));
      const letter = pair.slice(0, 1);
      this.#letters.set(letter, (this.#letters.get(letter) ?? new Set()).add(pair));
    }
  }

  /** Everybody who may fit, some of them twice; everybody at all for a query of no words. */
  *candidates({ words }: NameQuery): IterableIterator<NamedPerson> {
    const longest = words.toSorted((a, b) => b.length - a.length)[0];
    if (longest === undefined) yield* this.#people.values();
    else if (longest.length >= PAIR) yield* this.#pairs.get(longest.slice(0, PAIR)) ?? [];
    else for (const pair of this.#letters.get(longest) ?? []) yield* this.#pairs.get(pair) ?? [];
  }

  #drop(person: NamedPerson | undefined): void {
    if (person === undefined) return;
    for (const pair of pairsOf(person)) {
      const holders = this.#pairs.get(pair);
      holders?.delete(person);
      if (holders?.size !== 0) continue;
      this.#pairs.delete(pair);
      this.#letters.get(pair.slice(0, 1))?.delete(pair);
    }
  }
}

function wordsOf(text: string): readonly string[] {
  return fold(text).match(WORDS) ?? [];
}

function pairsOf({ text }: NamedPerson): Set<string> {
  return new Set(
    text
      .slice(1)
      .split(' ')
      .map((word) => word.slice(0, PAIR)),
  );
}
