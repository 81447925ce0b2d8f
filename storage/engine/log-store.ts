/** What a log needs of the LMDB file behind it. */
import type { ReadTransaction, Write } from './environment.ts';

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
  /** Blocks until it is on disk. */
  putPlace(place: LogPlace): void;
  /** All of it in one transaction; resolves when it is on disk. */
  commit(writes: Iterable<Write>, place?: LogPlace): Promise<void>;
  /** Lets the next read have a new snapshot. */
  refresh(): void;
  /** Takes a snapshot of what is committed; `transaction.done()` gives it back. */
  begin(): ReadTransaction;
}
