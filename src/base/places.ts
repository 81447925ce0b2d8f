/** Places in an order: tuples that are compared part by part, the first so many of them, and cursors that name one. */

/** Where something stands in an order; its last part is its own, so that no two have one place. */
export type Place = readonly (string | number)[];

/** Below 0 where one place stands in front of the other. Both have the same parts. */
export function comparePlaces(one: Place, other: Place): number {
  for (let at = 0; at < one.length; at += 1) {
    const [a, b] = [one[at] as string, other[at] as string];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** The first so many places of all that are added, in order. */
export class FirstPlaces {
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
    if (this.isFull && comparePlaces(place, this.last) >= 0) return false;
    const there = this.places[this.#search(place)];
    return there === undefined || comparePlaces(there, place) !== 0;
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
      if (comparePlaces(this.places[middle] as Place, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A cursor that names a place in an order. */
export function encodePlace(order: string, place: Place): string {
  return Buffer.from(JSON.stringify([order, ...place])).toString('base64url');
}

/** The place of a cursor; undefined for what is none of that order. `types` are those of the place's parts. */
export function decodePlace(text: string, order: string, types: readonly string[]): Place | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts[0] !== order || parts.length !== types.length + 1) return undefined;
  const place = parts.slice(1) as Place;
  if (!types.every((type, at) => typeof place[at] === type)) return undefined;
  // The decoder passes over what is no base64url, so a damaged cursor could read like a whole one.
  return encodePlace(order, place) === text ? place : undefined;
}
