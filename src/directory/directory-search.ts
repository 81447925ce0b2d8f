/**
 * Search in the directory: people and bots by the beginnings of the words in their names, ranked and in pages.
 *
 * The index is fed by the log of the directory's changes, at the start and before each answer, so that there is one way
 * in which it learns of anybody and an answer misses nobody whose change was answered before. Both reading the log and
 * looking through candidates give way to other work: nothing here holds the thread for longer than SLICE_MILLIS.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import { comparePlaces, decodePlace, encodePlace, FirstPlaces, type Place } from '#src/base/places.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { ChangeReader, type ChangeLog } from './change-reader.ts';
import { NameIndex, rankOf, readNameQuery, type NamedPerson } from './name-index.ts';

/** Work of a search in one go, of what it takes on the thread that everybody's requests to the coordinator go through. */
const SLICE_MILLIS = 4;
/** Candidates between two looks at the clock. */
const LOOKED_AT_ONCE = 256;

/** By how well they fit, by name, by username, or by their last change, the newest first. */
export const SEARCH_ORDERS = ['fit', 'name', 'user', 'changed'] as const;
export type SearchOrder = (typeof SEARCH_ORDERS)[number];

export interface SearchForm {
  /** As it was typed; undefined for everybody. */
  readonly query: string | undefined;
  readonly order: SearchOrder;
  /** The `next` of an earlier page. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Who may be answered at all. Asked for those only who would stand in the page. */
  readonly isShown: (person: NamedPerson) => boolean;
}

export class DirectorySearch {
  readonly #index = new NameIndex();
  readonly #changes: ChangeReader<DirectoryEntry>;

  constructor(log: ChangeLog<DirectoryEntry>) {
    this.#changes = new ChangeReader(log, (entry) => this.#index.put(entry));
  }

  /** Takes in what changed since. Cheap where nothing did; after a start it reads everybody, beside other work. */
  async catchUp(): Promise<void> {
    await this.#changes.catchUp();
  }

  /** Ends reading, before the log is closed. */
  stop(): void {
    this.#changes.stop();
  }

  /**
   * Usernames in order, and where the next page starts, or null at the end. A page is full unless it is the last.
   * @throws Refusal `cursor_invalid` for what is no `next` of the same order.
   */
  async find({ query, order, after, limit, isShown }: SearchForm): Promise<{ users: string[]; next: string | null }> {
    const asked = readNameQuery(query ?? '');
    // Dots and dashes alone are in nobody's name.
    if (query !== undefined && asked.words.length === 0) return { users: [], next: null };
    const from = after === undefined ? undefined : readCursor(after, order);
    await this.catchUp();
    const best = new FirstPlaces(limit + 1);
    let looked = 0;
    let since = performance.now();
    for (const person of this.#index.candidates(asked)) {
      looked += 1;
      if (looked % LOOKED_AT_ONCE === 0 && performance.now() - since > SLICE_MILLIS) {
        await othersFirst();
        since = performance.now();
      }
      const rank = rankOf(person, asked);
      if (rank === undefined) continue;
      // Most are behind all that are kept already: they are told by what they have, before anything is made of it.
      if (best.isFull && isBehind(person, rank, best.last, order)) continue;
      const place = placeOf(person, order, rank);
      if (from !== undefined && comparePlaces(place, from) <= 0) continue;
      if (best.wants(place) && isShown(person)) best.add(place);
    }
    const { places } = best;
    const page = places.slice(0, limit);
    // Of somebody who is answered, so that a cursor says nothing new.
    const last = page.at(-1);
    const next = places.length > limit && last !== undefined ? encodePlace(order, last) : null;
    return { users: page.map((place) => String(place.at(-1))), next };
  }
}

/** The username stands last, so that no two have one place. */
function placeOf({ name, rev, user }: NamedPerson, order: SearchOrder, rank: number): Place {
  if (order === 'fit') return [rank, name, user];
  if (order === 'name') return [name, user];
  return order === 'changed' ? [-rev, user] : [user];
}

/** Whether somebody stands behind a place, by the first part of theirs or, among equals, by the second. */
function isBehind({ name, rev, user }: NamedPerson, rank: number, place: Place, order: SearchOrder): boolean {
  const [first = '', second = ''] = place;
  if (order === 'fit') return rank > Number(first) || (rank === first && name > second);
  if (order === 'name') return name > first;
  return order === 'changed' ? -rev > Number(first) : user > first;
}

/** Types of the parts of a place, by order. */
const PARTS: Readonly<Record<SearchOrder, readonly string[]>> = {
  fit: ['number', 'string', 'string'],
  name: ['string', 'string'],
  user: ['string'],
  changed: ['number', 'string'],
};

function readCursor(text: string, order: SearchOrder): Place {
  const place = decodePlace(text, order, PARTS[order]);
  if (place === undefined) throw new Refusal('cursor_invalid', { field: 'after' });
  return place;
}
