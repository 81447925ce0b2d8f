/**
 * A lane: one LMDB file that one shard writes, by group commit.
 *
 *     append ─► open batch ──(end of turn, none in flight, paced)──► commit ──► on disk ─► released, in order
 *                  │                                                    │
 *                  └────────── reads see both, then the disk ───────────┘
 *
 * While one batch is being written, the next gathers: under load a commit carries as many records as arrived in the
 * time of one disk flush or of COMMIT_PACE_MILLIS, and alone it leaves at the end of the turn. If a commit fails,
 * everything in it and behind it fails, because what came behind was decided on top of what is not there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Environment, type LogOptions, type Table, type Write } from './environment.ts';
import { key, numberAt, numberValue } from './keys.ts';

export const LANE_TABLES = [
  'conversations',
  'messages',
  'idempotency',
  'watermarks',
  'members',
  'memberships',
  'roster',
  'changes',
  'personal',
  'reactions',
  'reactionCounts',
  'pins',
  'senders',
  'deleted',
  'attachments',
  'references',
  'signatures',
  'segments',
  'mentions',
  'mentioned',
  'threads',
  'replies',
  'outcomes',
  'keptVersions',
  'roomInvitations',
  'invited',
  'roomLinks',
  'pushRegistrations',
  'pushOutbox',
  'pushCursors',
  'meta',
] as const;
export type LaneTable = (typeof LANE_TABLES)[number];
export type LaneWrite = Write<LaneTable>;
export type LaneEnvironment = Environment<LaneTable>;

const STAMP_KEY = key('stamp');

/** Without a log, a commit is LMDB's own: for tools and files that are no server's. */
export function openLane(path: string, mapBytes: number, log?: LogOptions): LaneEnvironment {
  const options = { mapBytes, walked: ['messages'] };
  return new Environment(path, LANE_TABLES, log === undefined ? options : { ...options, log });
}

/** The lane's change number as the disk has it. Whatever carries a lower or equal stamp is visible too. */
export function stampOf(tables: Readonly<Record<LaneTable, Table>>): number {
  const value = tables.meta.get(STAMP_KEY);
  return value === undefined ? 0 : numberAt(value);
}

/** What waits for a batch: `done` when it is on disk, `failed` when it never will be. */
export interface Gated {
  done(): void;
  failed(error: Error): void;
}

/** Writes that become durable together. */
export class Batch {
  /** `table/key` → the last write to it: what is committed, and what the writer reads before it is. */
  readonly writes = new Map<string, LaneWrite>();
  readonly gated: Gated[] = [];
  settled = false;
}

/**
 * From one commit's start to the next one's, at least, so that what arrives within a millisecond shares an append. With
 * 1,000 writes a second over four lanes and a log, 0 ms, 1 ms, 2 ms and 4 ms took 198, 190, 178 and 236 µs of CPU each, and p50
 * 3.4, 5.2, 12.7 and 6.1 ms; without a log, at 4 ms, 270 µs and 5.2 ms (means of two runs, a busy machine, 2026-11-22).
 * Whoever posts into a quiet lane does not wait.
 */
export const COMMIT_PACE_MILLIS = 1;

/** What the lane reports of each commit, for the metrics. */
export interface CommitReport {
  (records: number, nanos: number, failed: boolean): void;
}

export class Lane {
  readonly number: number;
  readonly environment: LaneEnvironment;
  readonly #report: CommitReport;
  readonly #paceMillis: number;
  #began = Number.NEGATIVE_INFINITY;
  #open = new Batch();
  #inFlight: Batch | undefined;
  #writing = false;
  #stamp: number;
  #idle: (() => void)[] = [];

  constructor(
    number: number,
    environment: LaneEnvironment,
    report: CommitReport,
    { paceMillis = COMMIT_PACE_MILLIS }: { readonly paceMillis?: number } = {},
  ) {
    this.number = number;
    this.#paceMillis = paceMillis;
    this.environment = environment;
    this.#report = report;
    this.#stamp = stampOf(environment.tables);
  }

  /** The next change number of this lane. */
  nextStamp(): number {
    this.#stamp += 1;
    return this.#stamp;
  }

  /** Adds writes to the open batch and returns it, so that what depends on them can wait for it. */
  append(writes: readonly LaneWrite[]): Batch {
    const batch = this.#open;
    for (const write of writes) {
      batch.writes.set(nameOf(write.table, write.key), write);
    }
    this.#schedule();
    return batch;
  }

  /** The value as this lane's writer must see it: what was appended counts, on disk or not. */
  get(table: LaneTable, itemKey: Buffer): Buffer | undefined {
    const name = nameOf(table, itemKey);
    const pending = this.#open.writes.get(name) ?? this.#inFlight?.writes.get(name);
    if (pending !== undefined) return pending.value ?? undefined;
    return this.environment.tables[table].get(itemKey);
  }

  /**
   * The first `limit` keys in a range as the writer must see them, in order, or a few more. For rare and bounded work.
   */
  keys(table: LaneTable, range: { start: Buffer; end: Buffer }, limit = Number.MAX_SAFE_INTEGER): Buffer[] {
    const [start, end] = [nameOf(table, range.start), nameOf(table, range.end)];
    const pending = [this.#inFlight, this.#open].flatMap((batch) =>
      [...(batch?.writes ?? [])].filter(([name]) => name >= start && name < end),
    );
    const found = new Map<string, Buffer>();
    // As many more as may be removed already, so that what is left is never mistaken for nothing.
    const most = Math.min(limit + pending.length, Number.MAX_SAFE_INTEGER);
    for (const itemKey of this.environment.tables[table].getKeys({ ...range, limit: most })) {
      const copy = Buffer.from(itemKey);
      found.set(copy.toString('latin1'), copy);
    }
    for (const [name, write] of pending) {
      const bytes = name.slice(table.length + 1);
      if (write.value === null) found.delete(bytes);
      else found.set(bytes, write.key);
    }
    return [...found.keys()].toSorted().map((bytes) => found.get(bytes) as Buffer);
  }

  /** Resolves when nothing waits to be written. */
  async settle(): Promise<void> {
    if (!this.#writing && this.#open.writes.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  /** Records not yet on disk. */
  get backlog(): number {
    return this.#open.writes.size + (this.#inFlight?.writes.size ?? 0);
  }

  #schedule(): void {
    if (this.#writing) return;
    this.#writing = true;
    // Behind all that is decided in this turn of the actors, which comes behind the input: what arrived together commits
    // together, and the event loop is not gone round once more for it.
    queueMicrotask(() => void this.#write());
  }

  async #write(): Promise<void> {
    while (this.#open.writes.size > 0) {
      const early = this.#began + this.#paceMillis - performance.now();
      // A timer has whole milliseconds: what is left below one is not worth it.
      if (early >= 1) await sleep(early);
      this.#began = performance.now();
      await this.#commit();
    }
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #commit(): Promise<void> {
    const batch = this.#open;
    this.#open = new Batch();
    this.#inFlight = batch;
    const stamp: LaneWrite = { table: 'meta', key: STAMP_KEY, value: numberValue(this.#stamp) };
    const began = performance.now();
    let failure: Error | undefined;
    try {
      await this.environment.commit([...batch.writes.values(), stamp]);
    } catch (error) {
      failure = error as Error;
    }
    this.#report(batch.writes.size, (performance.now() - began) * 1e6, failure !== undefined);
    this.#inFlight = undefined;
    this.environment.refresh();
    if (failure === undefined) release(batch);
    else this.#fail(batch, failure);
  }

  #fail(batch: Batch, error: Error): void {
    const behind = this.#open;
    this.#open = new Batch();
    for (const failed of [batch, behind]) {
      failed.settled = true;
      for (const gated of failed.gated) gated.failed(error);
    }
  }
}

function release(batch: Batch): void {
  batch.settled = true;
  for (const gated of batch.gated) gated.done();
}

/** One text for table and key: the map's key, in the order of the keys. */
function nameOf(table: LaneTable, itemKey: Buffer): string {
  return `${table}/${itemKey.toString('latin1')}`;
}
