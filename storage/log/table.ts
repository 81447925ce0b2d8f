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
