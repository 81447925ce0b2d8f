/**
 * Search in the directory: people and bots by the beginnings of the words in their names, ranked and in pages.
 *
 * The index is fed by the log of the directory's changes, at the start and before each answer, so that there is one way
 * in which it learns of anybody and an answer misses nobody whose change was answered before. Both reading the log and
 * looking through candidates give way to other work: nothing here holds the thread for longer than SLICE_MILLIS.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { NameIndex, rankOf, readNameQuery, type NamedPerson } from './name-index.ts';

/** Work of a search in one go, of what it takes on the thread that everybody's requests to the coordinator go through. */
const SLICE_MILLIS = 4;
/** Candidates between two looks at the clock. */
const LOOKED_AT_ONCE = 256;
/** Lines of the log read in one go: a few milliseconds. */
const CHANGES_AT_ONCE = 250;

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

/** Where somebody stands in an order. Of somebody who was answered before, so that a cursor says nothing new. */
type Place = readonly (string | number)[];

/** The log of changes, as `Directory.changedSince` reads it. */
export interface ChangeLog {
  readonly rev: () => number;
  readonly changedSince: (rev: number, limit: number) => { entries: DirectoryEntry[]; rev: number; more: boolean };
}

export class DirectorySearch {
  readonly #log: ChangeLog;
  readonly #index = new NameIndex();
  #rev = 0;
  #catchingUp: Promise<void> | undefined;
  #isStopped = false;

  constructor(log: ChangeLog) {
    this.#log = log;
  }

  /** Takes in what changed since. Cheap where nothing did; after a start it reads everybody, beside other work. */
  async catchUp(): Promise<void> {
    while (this.#rev < this.#log.rev() && !this.#isStopped) {
      this.#catchingUp ??= this.#read().finally(() => (this.#catchingUp = undefined));
      await this.#catchingUp;
    }
  }

  /** Ends reading, before the log is closed. */
  stop(): void {
    this.#isStopped = true;
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
    const best = new Best(limit + 1);
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
      if (from !== undefined && compare(place, from) <= 0) continue;
      if (best.wants(place) && isShown(person)) best.add(place);
    }
    const { places } = best;
    const page = places.slice(0, limit);
    const last = page.at(-1);
    const next = places.length > limit && last !== undefined ? writeCursor(order, last) : null;
    return { users: page.map((place) => String(place.at(-1))), next };
  }

  async #read(): Promise<void> {
    for (let more = true; more && !this.#isStopped;) {
      const { entries, rev, more: isMore } = this.#log.changedSince(this.#rev, CHANGES_AT_ONCE);
      for (const entry of entries) this.#index.put(entry);
      this.#rev = rev;
      more = isMore;
      if (more) await othersFirst();
    }
  }
}

/** The first so many places of all that are added, in order. */
class Best {
  readonly #most: number;
  readonly places: Place[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.places.length === this.#most;
  }

  /** The last of them, of which there is one. */
  get last(): Place {
    return this.places.at(-1) as Place;
  }

  /** Whether a place would be among them: one that is there already would not. */
  wants(place: Place): boolean {
    if (this.isFull && compare(place, this.last) >= 0) return false;
    const there = this.places[this.#search(place)];
    return there === undefined || compare(there, place) !== 0;
  }

  add(place: Place): void {
    this.places.splice(this.#search(place), 0, place);
    if (this.places.length > this.#most) this.places.pop();
  }

  /** Where the place stands, or would. */
  #search(place: Place): number {
    let [low, high] = [0, this.places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.places[middle] as Place, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
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

function compare(one: Place, other: Place): number {
  for (let at = 0; at < one.length; at += 1) {
    const [a, b] = [one[at] as string, other[at] as string];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

const writeCursor = (order: SearchOrder, place: Place) =>
  Buffer.from(JSON.stringify([order, ...place])).toString('base64url');

/** Types of the parts of a place, by order. */
const PARTS: Readonly<Record<SearchOrder, readonly string[]>> = {
  fit: ['number', 'string', 'string'],
  name: ['string', 'string'],
  user: ['string'],
  changed: ['number', 'string'],
};

function readCursor(text: string, order: SearchOrder): Place {
  const invalid = new Refusal('cursor_invalid', { field: 'after' });
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw invalid;
  }
  if (!Array.isArray(parts) || parts[0] !== order) throw invalid;
  const place = parts.slice(1) as Place;
  const isWhole = PARTS[order].every((type, at) => typeof place[at] === type) && place.length === PARTS[order].length;
  // The decoder passes over what is no base64url, so a damaged cursor could read like a whole one.
  if (!isWhole || writeCursor(order, place) !== text) throw invalid;
  return place;
}
