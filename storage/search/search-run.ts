/**
 * One search over all conversations that somebody may read, merged into one order without looking further back than
 * the page needs: the conversation whose next message may be the newest goes on, until that is a hit.
 *
 * Only the searcher's own conversations are touched, so what others write changes neither the answer nor its time.
 */
import { lastPart, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { readConversation, readMember } from '../conversations/conversation-reader.ts';
import { membershipRecord } from '../engine/records.ts';
import { isSearched } from './search-index.ts';
import { comparePlaces, ConversationWalk, type Place, type SearchRequest } from './search-walk.ts';

/** A search has the thread for so long at a time; sockets and posts come in between. */
const SLICE_MILLIS = 2;
/** A search works for so long, then answers what it has and where to go on. */
export const SEARCH_MILLIS_MAX = 30;
/** Memberships read in one go. */
const MEMBERSHIPS_AT_ONCE = 200;

export interface SearchOptions {
  readonly environments: readonly LaneEnvironment[];
  readonly user: string;
  /** Where to look, out of the person's conversations. */
  readonly isWanted: (conversation: string) => boolean;
  readonly request: SearchRequest;
  readonly from: Place | undefined;
  readonly limit: number;
  /** Lets others have the thread; answers false when nobody waits for the answer any more. */
  readonly pause: () => Promise<boolean>;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
  readonly millisMax?: number;
}

export interface SearchResult {
  readonly hits: readonly Place[];
  /** Where to go on; undefined when everything was looked at. */
  readonly next: Place | undefined;
}

/** Undefined when nobody waits for the answer any more. */
export async function runSearch(options: SearchOptions): Promise<SearchResult | undefined> {
  const { environments, from, limit, pause, clock, millisMax = SEARCH_MILLIS_MAX } = options;
  let began = clock();
  let spent = 0;
  /** Gives the thread away when its time is up; false when the search is to end. */
  const breathe = async (): Promise<boolean> => {
    const used = clock() - began;
    if (used < SLICE_MILLIS) return true;
    spent += used;
    const goesOn = await pause();
    for (const environment of environments) environment.refresh();
    began = clock();
    return goesOn;
  };
  for (const environment of environments) environment.refresh();
  const walks = await openWalks(options, breathe);
  if (walks === undefined) return undefined;
  const hits: Place[] = [];
  for (let walk = walks.first; walk?.place !== undefined; walk = walks.first) {
    const { place } = walk;
    const isOut = spent + clock() - began >= millisMax;
    // Every search gets further than it started, however little time it has: so a client that goes on comes to an end.
    const hasMoved = from === undefined || comparePlaces(place, from) > 0;
    const isFull = hits.length === limit;
    if ((isFull || (isOut && hasMoved)) && isPlaced(place)) return { hits, next: place };
    const hit = walk.take();
    if (hit === undefined) walk.step();
    else hits.push(hit);
    walks.settleFirst();
    // One turn of others between two steps at most, and none that the search does not need.
    if (!(await breathe())) return undefined;
  }
  return { hits, next: undefined };
}

/** A walk that has not begun stands nowhere yet, and a cursor has to say where. */
function isPlaced({ seq }: Place): boolean {
  return Number.isFinite(seq);
}

interface MembershipEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

async function openWalks(
  { environments, user, isWanted, request, from }: SearchOptions,
  breathe: () => Promise<boolean>,
): Promise<WalkHeap | undefined> {
  const walks = new WalkHeap();
  const { start: first, end } = under(user);
  for (const { tables } of environments) {
    for (let start: Buffer | undefined = first; start !== undefined;) {
      const some: MembershipEntry[] = [...tables.memberships.getRange({ start, end, limit: MEMBERSHIPS_AT_ONCE })];
      for (const { key: itemKey, value } of some) {
        const id = lastPart(itemKey);
        if (membershipRecord.decode(value).gone || !isWanted(id)) continue;
        const record = readConversation(tables, id);
        if (record === undefined || !isSearched(record.kind) || readMember(tables, id, user) === undefined) continue;
        walks.add(new ConversationWalk(tables, record, request, from));
      }
      const last = some.at(-1)?.key;
      start = some.length < MEMBERSHIPS_AT_ONCE || last === undefined ? undefined : Buffer.concat([last, Buffer.of(0)]);
      if (!(await breathe())) return undefined;
    }
  }
  return walks;
}

/** A binary heap of walks, the one that may have the newest message first; those at their end are not kept. */
export class WalkHeap {
  readonly #walks: ConversationWalk[] = [];
  readonly #places: Place[] = [];

  get first(): ConversationWalk | undefined {
    return this.#walks[0];
  }

  add(walk: ConversationWalk): void {
    const { place } = walk;
    if (place === undefined) return;
    let at = this.#walks.push(walk) - 1;
    this.#places.push(place);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (comparePlaces(this.#places[parent]!, this.#places[at]!) <= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Brings the first walk, which has moved, to where it belongs. */
  settleFirst(): void {
    const place = this.first?.place;
    if (place === undefined) {
      this.#swap(0, this.#walks.length - 1);
      this.#walks.pop();
      this.#places.pop();
    } else this.#places[0] = place;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= this.#walks.length) return;
      const right = left + 1;
      const isRight = right < this.#walks.length && comparePlaces(this.#places[right]!, this.#places[left]!) < 0;
      const child = isRight ? right : left;
      if (comparePlaces(this.#places[at]!, this.#places[child]!) <= 0) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #swap(one: number, other: number): void {
    [this.#walks[one], this.#walks[other]] = [this.#walks[other]!, this.#walks[one]!];
    [this.#places[one], this.#places[other]] = [this.#places[other]!, this.#places[one]!];
  }
}
