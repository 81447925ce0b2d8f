/** Times that suit several people and a room, from when each of them is taken. Pure. */
import type { BusyPeriod } from '../icalendar/free-busy.ts';

/** Somebody's time, by start; `isCut` where more of it may be taken than is said. */
export interface AskedTime {
  readonly user: string;
  readonly periods: readonly BusyPeriod[];
  readonly isCut: boolean;
}

/** What is looked for; instants and lengths in milliseconds. */
export interface SlotQuestion {
  readonly window: { readonly from: number; readonly to: number };
  readonly length: number;
  /** Slots begin at multiples of this. */
  readonly step: number;
  readonly most: number;
  readonly required: readonly AskedTime[];
  readonly optional: readonly AskedTime[];
  /** One of these has to be free, unless there is none. */
  readonly rooms: readonly AskedTime[];
}

export interface Slot {
  readonly start: number;
  readonly end: number;
  readonly doubtful: readonly string[];
  readonly busy: readonly string[];
  readonly rooms: readonly string[];
}

/** How a slot stands to somebody's time. */
const FREE = 0;
const DOUBTFUL = 1;
const TAKEN = 2;

/** The best slots: fewest of the required in doubt, then fewest of the optional taken, then in doubt, then the earliest. */
export function findSlots(question: SlotQuestion): Slot[] {
  const { length, most, step, window } = question;
  const [required, optional, rooms] = [question.required, question.optional, question.rooms].map((asked) =>
    asked.map((one) => new Walk(one)),
  ) as [Walk[], Walk[], Walk[]];
  const found: { readonly slot: Slot; readonly rank: readonly number[] }[] = [];
  for (let start = Math.ceil(window.from / step) * step; start + length <= window.to; start += step) {
    const end = start + length;
    const standing = (walks: Walk[], at: number) =>
      walks.filter((walk) => walk.at(start, end) === at).map(({ user }) => user);
    if (standing(required, TAKEN).length > 0) continue;
    const free = standing(rooms, FREE);
    if (rooms.length > 0 && free.length === 0) continue;
    const [doubtful, maybe, busy] = [
      standing(required, DOUBTFUL),
      standing(optional, DOUBTFUL),
      standing(optional, TAKEN),
    ];
    const slot = { start, end, doubtful: [...doubtful, ...maybe], busy, rooms: free };
    found.push({ slot, rank: [doubtful.length, busy.length, maybe.length, start] });
  }
  return found
    .toSorted((a, b) => compare(a.rank, b.rank))
    .slice(0, most)
    .map(({ slot }) => slot);
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

/** Somebody's time, walked along once: slots are asked for in the order of their starts. */
class Walk {
  readonly user: string;
  readonly #periods: readonly BusyPeriod[];
  readonly #isCut: boolean;
  #next = 0;

  constructor({ isCut, periods, user }: AskedTime) {
    this.user = user;
    this.#isCut = isCut;
    this.#periods = periods.toSorted((a, b) => a.start - b.start);
  }

  at(start: number, end: number): number {
    // What is long may end behind what begins after it: only what is over at the front is left behind.
    while ((this.#periods[this.#next]?.end ?? Infinity) <= start) this.#next += 1;
    let standing = this.#isCut ? DOUBTFUL : FREE;
    for (let index = this.#next; (this.#periods[index]?.start ?? Infinity) < end; index += 1) {
      const period = this.#periods[index] as BusyPeriod;
      if (period.end <= start) continue;
      if (period.type === 'BUSY') return TAKEN;
      standing = DOUBTFUL;
    }
    return standing;
  }
}
