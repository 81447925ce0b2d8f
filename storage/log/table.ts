/** Tables of an environment, and what is written to them. */
import type { Transaction } from 'lmdb';

/** What a range is read by. In reverse, `start` is its last key and `end` lies before its first. */
export interface RangeOptions {
  readonly start?: Buffer;
  readonly end?: Buffer;
  readonly limit?: number;
  readonly offset?: number;
  readonly reverse?: boolean;
}

/** From the first key up to, not including, the last; with a transaction, as that has them. */
export interface ValueRange extends Partial<ReadTransaction> {
  readonly start: Buffer;
  readonly end: Buffer;
  readonly limit?: number;
}

/** A snapshot of LMDB that several reads share. */
export interface ReadTransaction {
  readonly transaction: Transaction;
}

/** A table as its readers have it. */
export interface Table {
  get(key: Buffer, transaction?: ReadTransaction): Buffer | undefined;
  /** Bytes that hold until the next read. */
  getBinaryFast(key: Buffer, transaction?: ReadTransaction): Buffer | undefined;
  getRange(options?: RangeOptions): Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
  /**
   * Hands over the values of a range in the order of their keys and answers how many there were. Each holds until the next read of
   * any table: nothing is copied where the environment has the table as one that is walked. The first that `take` answers with false is
   the last.
   */
  walkValues(range: ValueRange, take: (value: Buffer) => unknown): number;
  getKeys(options?: RangeOptions): Iterable<Buffer>;
  getKeysCount(options?: RangeOptions): number;
  getCount(options?: RangeOptions): number;
  getStats(): object;
  /** Within `transact` alone. */
  put(key: Buffer, value: Buffer): Promise<boolean>;
  /** Within `transact` alone. */
  remove(key: Buffer): Promise<boolean>;
}

/** A write: a value for a key of a table, or null to remove the key. */
export interface Write<Name extends string = string> {
  readonly table: Name;
  readonly key: Buffer;
  readonly value: Buffer | null;
}
