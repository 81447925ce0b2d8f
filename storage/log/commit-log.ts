/**
 * The seam of a commit log: sets of writes, in order, each durable before it is acknowledged.
 *
 *     append(batch) ─► position, once durable      read(after) ─► what lies behind a position      trim(upTo)
 *
 * A batch names tables, keys and values and nothing of this host, so that whoever carries batches in order to another
 * machine has a copy there. Positions rise from batch to batch and are told apart by nothing else: how far they rise is
 * the implementation's own. `segment-log.ts` keeps a log in files.
 */
import type { Write } from './table.ts';
import { FolderError } from './folder-error.ts';

/** Writes that become durable together, as bytes: what a log carries. */
export type EncodedBatch = Buffer;

/** A batch and the position behind it. */
export interface LoggedBatch {
  readonly position: number;
  readonly batch: EncodedBatch;
  /** The last three bytes of the time at which it was appended, in milliseconds; 0 where nobody asked for it. */
  readonly stamp: number;
}

export interface CommitLog {
  /** The position behind the last batch that is durable. */
  readonly end: number;
  /** Adds a batch; resolves with the position behind it once it is durable. One at a time. Rejects when it is not there. */
  append(batch: EncodedBatch, stamp?: number): Promise<number>;
  /** The durable batches behind a position, in order. */
  read(after: number): Iterable<LoggedBatch>;
  /** Forgets what lies before a position, which is applied and durable elsewhere. */
  trim(upTo: number): Promise<void>;
  close(): Promise<void>;
}

/** A log that cannot be gone on with, and why, in words for an operator: the file, the place, and what to do. */
export class LogFault extends FolderError {}

/** Stands in the place of a value's length where the key is removed. */
const REMOVED = 0xffffffff;
const COUNT_BYTES = 2;
const WRITE_HEAD_BYTES = 7;

/** The bytes of a batch: the tables that it names, then each write with the number of its table. */
export function encodeBatch(writes: readonly Write[]): EncodedBatch {
  const tables = [...new Set(writes.map(({ table }) => table))];
  const names = tables.map((name) => Buffer.from(name, 'latin1'));
  let bytes = COUNT_BYTES + names.reduce((sum, { length }) => sum + 1 + length, 0);
  for (const { key, value } of writes) bytes += WRITE_HEAD_BYTES + key.length + (value?.length ?? 0);
  const batch = Buffer.allocUnsafe(bytes);
  let at = batch.writeUInt16LE(names.length, 0);
  for (const name of names) {
    at = batch.writeUInt8(name.length, at);
    at += name.copy(batch, at);
  }
  for (const { table, key, value } of writes) {
    at = batch.writeUInt8(tables.indexOf(table), at);
    at = batch.writeUInt16LE(key.length, at);
    at = batch.writeUInt32LE(value === null ? REMOVED : value.length, at);
    batch.set(key, at);
    at += key.length;
    if (value === null) continue;
    batch.set(value, at);
    at += value.length;
  }
  return batch;
}

/** The writes of a batch. Their keys and values share its memory. */
export function decodeBatch(batch: EncodedBatch): Write[] {
  const tables: string[] = [];
  let at = COUNT_BYTES;
  for (let left = batch.readUInt16LE(0); left > 0; left -= 1) {
    const length = batch.readUInt8(at);
    tables.push(batch.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const writes: Write[] = [];
  while (at < batch.length) {
    const table = tables[batch.readUInt8(at)] as string;
    const keyEnd = at + WRITE_HEAD_BYTES + batch.readUInt16LE(at + 1);
    const valueLength = batch.readUInt32LE(at + 3);
    const key = batch.subarray(at + WRITE_HEAD_BYTES, keyEnd);
    at = valueLength === REMOVED ? keyEnd : keyEnd + valueLength;
    writes.push({ table, key, value: valueLength === REMOVED ? null : batch.subarray(keyEnd, at) });
  }
  return writes;
}
