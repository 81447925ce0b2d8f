/** Writes that are durable in the log and not in LMDB yet, put over what LMDB has: the last write to each key. */
import type { RangeOptions, ReadTransaction, Table, ValueRange, Write } from './table.ts';

interface Pending {
  readonly key: Buffer;
  readonly value: Buffer | null;
  /** The position behind the batch that it came in. */
  readonly position: number;
}

export class Overlay {
  readonly #tables = new Map<string, Map<string, Pending>>();
  #bytes = 0;
  #droppedUpTo = -1;

  get isEmpty(): boolean {
    return this.#tables.size === 0;
  }

  /** Bytes of keys and values, those that were written over since included. */
  get bytes(): number {
    return this.#bytes;
  }

  add(position: number, writes: readonly Write[]): void {
    for (const { table, key, value } of writes) {
      let pending = this.#tables.get(table);
      if (pending === undefined) this.#tables.set(table, (pending = new Map<string, Pending>()));
      pending.set(key.toString('latin1'), { key, value, position });
      this.#bytes += key.length + (value?.length ?? 0);
    }
  }

  /** Forgets what LMDB has by now: everything up to a position. */
  drop(upTo: number): void {
    // Whoever follows asks in each turn, and LMDB commits a few times a second.
    if (upTo <= this.#droppedUpTo) return;
    this.#droppedUpTo = upTo;
    let bytes = 0;
    for (const [table, writes] of this.#tables) {
      for (const [name, { key, value, position }] of writes) {
        if (position <= upTo) writes.delete(name);
        else bytes += key.length + (value?.length ?? 0);
      }
      if (writes.size === 0) this.#tables.delete(table);
    }
    this.#bytes = bytes;
  }

  get(table: string, key: Buffer): Pending | undefined {
    return this.#tables.get(table)?.get(key.toString('latin1'));
  }

  of(table: string): ReadonlyMap<string, Pending> | undefined {
    return this.#tables.get(table);
  }

  /** The last write to each key. */
  *writes(): Iterable<Write> {
    for (const [table, writes] of this.#tables) {
      for (const { key, value } of writes.values()) yield { table, key, value };
    }
  }
}

/** What reads a table of an environment: LMDB's own, or one with an overlay over it. */
export interface OverlaidOptions {
  readonly name: string;
  readonly stored: Table;
  /** Called before each read: the overlay as it is now, and what LMDB is read with. Undefined where nothing lies over it. */
  readonly view: () => View | undefined;
}

export interface View {
  readonly overlay: Overlay;
  /** LMDB's read transaction; its own where it is undefined. */
  readonly transaction: ReadTransaction | undefined;
}

/** A table as it is with the writes of an overlay. */
export class OverlaidTable implements Table {
  readonly #name: string;
  readonly #stored: Table;
  readonly #view: () => View | undefined;

  constructor({ name, stored, view }: OverlaidOptions) {
    [this.#name, this.#stored, this.#view] = [name, stored, view];
  }

  get(key: Buffer): Buffer | undefined {
    const view = this.#view();
    if (view === undefined) return this.#stored.get(key);
    const pending = view.overlay.get(this.#name, key);
    if (pending === undefined) return this.#stored.get(key, view.transaction);
    // Whoever reads from LMDB has a copy, too.
    return pending.value === null ? undefined : Buffer.from(pending.value);
  }

  getBinaryFast(key: Buffer): Buffer | undefined {
    const view = this.#view();
    const pending = view?.overlay.get(this.#name, key);
    return pending === undefined ? this.#stored.getBinaryFast(key, view?.transaction) : (pending.value ?? undefined);
  }

  getRange(options: RangeOptions = {}): Iterable<{ readonly key: Buffer; readonly value: Buffer }> {
    return { [Symbol.iterator]: () => this.#rows(options)[Symbol.iterator]() };
  }

  walkValues(range: ValueRange, take: (value: Buffer) => unknown): number {
    const { pending, transaction } = this.#pendingIn(range);
    if (pending.length === 0) return this.#stored.walkValues({ ...range, ...transaction }, take);
    let count = 0;
    for (const { value } of this.#rows(range)) {
      count += 1;
      if (take(value) === false) break;
    }
    return count;
  }

  getKeys(options: RangeOptions = {}): Iterable<Buffer> {
    return { [Symbol.iterator]: () => this.#keys(options)[Symbol.iterator]() };
  }

  getKeysCount(options: RangeOptions = {}): number {
    const { pending, transaction } = this.#pendingIn(options);
    if (pending.length === 0) return this.#stored.getKeysCount({ ...options, ...transaction });
    return [...this.getKeys(options)].length;
  }

  getCount(options: RangeOptions = {}): number {
    return this.getKeysCount(options);
  }

  getStats(): { readonly entryCount: number } {
    const view = this.#view();
    const stats = this.#stored.getStats() as { readonly entryCount: number };
    if (view === undefined) return stats;
    let { entryCount } = stats;
    for (const { key, value } of view.overlay.of(this.#name)?.values() ?? []) {
      const isStored = this.#stored.get(key, view.transaction) !== undefined;
      entryCount += Number(value !== null) - Number(isStored);
    }
    return { ...stats, entryCount };
  }

  put(): never {
    throw new Error(`${this.#name} is written through the log.`);
  }

  remove(): never {
    throw new Error(`${this.#name} is written through the log.`);
  }

  /** What lies over a range is looked up when it is walked, in one step with LMDB's own cursor. */
  #rows(options: RangeOptions): Iterable<{ readonly key: Buffer; readonly value: Buffer }> {
    const { pending, transaction } = this.#pendingIn(options);
    if (pending.length === 0) return this.#stored.getRange({ ...options, ...transaction });
    const stored = this.#stored.getRange({ ...beyond(options, pending.length), ...transaction });
    const rows = merged(stored, (row) => row.key, pending, options.reverse === true);
    return part(rows, options) as Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
  }

  #keys(options: RangeOptions): Iterable<Buffer> {
    const { pending, transaction } = this.#pendingIn(options);
    if (pending.length === 0) return this.#stored.getKeys({ ...options, ...transaction });
    const stored = this.#stored.getKeys({ ...beyond(options, pending.length), ...transaction });
    return part(keysOf(merged(stored, (key) => key, pending, options.reverse === true)), options);
  }

  /** The pending writes in a range, in its order. */
  #pendingIn({ end, reverse = false, start }: RangeOptions): {
    readonly pending: readonly Pending[];
    readonly transaction: View['transaction'];
  } {
    const view = this.#view();
    const all = view?.overlay.of(this.#name);
    if (all === undefined) return { pending: [], transaction: view?.transaction };
    const found: Pending[] = [];
    const sign = reverse ? -1 : 1;
    // Names have a letter for each byte, so they are in the order of the keys and compared without leaving JavaScript.
    const [from, to] = [start?.toString('latin1'), end?.toString('latin1')];
    for (const [name, one] of all) if (isWithin(name, from, to, reverse)) found.push(one);
    return { pending: found.toSorted((a, b) => sign * Buffer.compare(a.key, b.key)), transaction: view?.transaction };
  }
}

/** In reverse the start is the last key of the range and the end lies before its first. */
function isWithin(name: string, from: string | undefined, to: string | undefined, isReverse: boolean): boolean {
  if (isReverse) return (from === undefined || name <= from) && (to === undefined || name > to);
  return (from === undefined || name >= from) && (to === undefined || name < to);
}

/** The same range of what is stored, with as many more as the overlay may remove or stand in front of. */
function beyond({ limit, offset = 0, ...range }: RangeOptions, pending: number): RangeOptions {
  return limit === undefined ? range : { ...range, limit: limit + offset + pending };
}

/** Rows of two sources in one order; a pending write stands for the stored row of its key. */
function* merged<Row>(
  stored: Iterable<Row>,
  keyOf: (row: Row) => Buffer,
  pending: readonly Pending[],
  isReverse: boolean,
): Iterable<Row | Pending> {
  const sign = isReverse ? -1 : 1;
  let at = 0;
  for (const row of stored) {
    const key = keyOf(row);
    let order = -1;
    for (let next = pending[at]; next !== undefined; next = pending[at]) {
      order = sign * Buffer.compare(key, next.key);
      if (order < 0) break;
      at += 1;
      if (next.value !== null) yield { ...next, value: Buffer.from(next.value) };
      if (order === 0) break;
    }
    if (order !== 0) yield row;
  }
  for (const next of pending.slice(at)) if (next.value !== null) yield { ...next, value: Buffer.from(next.value) };
}

function* keysOf(rows: Iterable<Buffer | Pending>): Iterable<Buffer> {
  for (const row of rows) yield Buffer.isBuffer(row) ? row : row.key;
}

function* part<Row>(rows: Iterable<Row>, { limit = Infinity, offset = 0 }: RangeOptions): Iterable<Row> {
  if (limit <= 0) return;
  let count = 0;
  for (const row of rows) {
    count += 1;
    if (count > offset) yield row;
    if (count - offset >= limit) return;
  }
}
