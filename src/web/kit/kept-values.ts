/** What the browser keeps of the app as JSON, for all of its tabs. */

/** JSON as it was kept; undefined for nothing, or for what is none. */
export function readKept(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value; a storage that is full or closed keeps nothing, and the visit goes on without. Answers whether it did. */
export function keep(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
