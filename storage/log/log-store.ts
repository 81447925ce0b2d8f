/** What a log needs of the LMDB file behind it, and how it is opened. */
import type { DurableWord } from './durable-word.ts';
import type { ArchiveOptions } from './log-archive.ts';
import type { LogFiles } from './log-files.ts';
import type { Replication } from './replication.ts';
import type { ReadTransaction, Write } from './table.ts';

/** How far an environment has its log, in the same commit as the data. */
export interface LogPlace {
  /** Eight bytes that the log's segments have, too. */
  readonly id: Buffer;
  /** All before this position is in LMDB. */
  readonly applied: number;
  /** Whether the log's first segment was there: from then on it is a fault when it is not. */
  readonly isMade: boolean;
}

export interface LogStore {
  /** The LMDB file, for sentences. */
  readonly path: string;
  place(transaction?: ReadTransaction): LogPlace | undefined;
  /** What stands in a table as LMDB has it, for one that is read once. */
  stored(table: string, key: Buffer): Buffer | undefined;
  /** Blocks until it is on disk. */
  putPlace(place: LogPlace): void;
  /** All of it in one transaction; resolves when it is on disk. */
  commit(writes: readonly Write[], place?: LogPlace): Promise<void>;
  /** Lets the next read have a new snapshot. */
  refresh(): void;
  /** Takes a snapshot of what is committed; `transaction.done()` gives it back. */
  begin(): ReadTransaction;
}

/** The log of an environment: one thread writes it, all others follow it. */
export interface LogOptions {
  readonly folder: string;
  readonly access: 'write' | 'read';
  /** How far the log is durable, for threads of one process. A reader without it follows as far as the files are whole. */
  readonly durable?: DurableWord | undefined;
  readonly files?: LogFiles;
  /** How long what was written may stay in a segment; TURN_MILLIS by default. */
  readonly turnMillis?: number;
  /** Where what the log carries is kept beyond it; for the writer. */
  readonly archive?: ArchiveOptions | undefined;
  /** How other hosts get what the log carries; for the writer. */
  readonly replication?: Replication | undefined;
}
