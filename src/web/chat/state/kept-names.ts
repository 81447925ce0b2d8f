/** What people were called when they were shown last, in this browser: a list that is loaded again does not begin with usernames. */
import { keptSession } from '../../account/kept-session.ts';
import { keep, readKept } from '../../kit/kept-values.ts';

const NAMES = 'parley.names';
/** More than a list and some rooms show. Beyond it those go that were confirmed longest ago, and are read again. */
export const NAMES_KEPT_MAX = 500;
/** A name that the directory did not confirm for so long is forgotten: its person may be gone. */
export const NAMES_KEPT_DAYS = 30;
/** What a screen learns at once is written at once. */
const SAVE_MILLIS = 500;
const DAY_MILLIS = 86_400_000;

/** A username, what the directory called them, and the day on which it did, counted from the epoch. */
type KeptName = readonly [user: string, name: string, day: number];

export class KeptNames {
  readonly #owner: string;
  readonly #names = new Map(keptNow().map(([user, name]) => [user, name]));
  /** What was learned and is not written yet; undefined for whom the directory does not show. */
  readonly #learned = new Map<string, string | undefined>();

  constructor(owner: string) {
    this.#owner = owner;
  }

  /** What somebody was called in an earlier visit; undefined where nothing is known. */
  nameOf(user: string): string | undefined {
    return this.#names.get(user);
  }

  /** The directory says what somebody is called, or that it does not show them. */
  learn(user: string, name: string | undefined): void {
    if (this.#learned.size === 0) setTimeout(() => this.#save(), SAVE_MILLIS);
    this.#learned.set(user, name);
  }

  /** Beside what another tab wrote meanwhile. */
  #save(): void {
    // Nothing is written behind somebody who signed out.
    if (keptSession()?.user !== this.#owner) return;
    const others = keptNow().filter(([user]) => !this.#learned.has(user));
    const learned = [...this.#learned].flatMap(([user, name]) => (name === undefined ? [] : [[user, name, today()]]));
    this.#learned.clear();
    keep(NAMES, [...others, ...learned].slice(-NAMES_KEPT_MAX));
  }
}

/** Those that are young enough, the one that was confirmed last at the end: a list, since an object puts numbers first. */
function keptNow(): KeptName[] {
  const kept = readKept(NAMES);
  return Array.isArray(kept) ? kept.filter((one) => isYoung(one)) : [];
}

function isYoung(value: unknown): value is KeptName {
  if (!Array.isArray(value)) return false;
  const [user, name, day] = value as unknown[];
  return (
    [user, name].every((one) => typeof one === 'string') && typeof day === 'number' && today() - day <= NAMES_KEPT_DAYS
  );
}

function today(): number {
  return Math.floor(Date.now() / DAY_MILLIS);
}
