/**
 * Follows the log of an environment that another thread writes.
 *
 * What is acknowledged and not in LMDB yet is read from the log's files, which the kernel still has in memory: nobody
 * waits for the writer, and nobody is shown what a power cut could take back. A view is a snapshot of LMDB and, taken
 * behind it, how far the log is durable, with the writes between the two over it. It holds until `refresh`, or until the
 * turn of the event loop ends.
 */
import { decodeBatch, LogFault } from './commit-log.ts';
import type { DurableWord } from './durable-word.ts';
import type { ReadTransaction } from './table.ts';
import { hostFiles } from './log-files.ts';
import type { LogOptions, LogStore } from './log-store.ts';
import { LogTail } from './log-tail.ts';
import { Overlay, type View } from './overlay.ts';

/** The log is trimmed only behind LMDB's commits, so that each further try begins further on. */
const TRIES = 100;

/** Turns of this thread's event loop in which something was read, counted by whoever reads first. */
const turns = { now: 1, isCounting: false };
/** Readers with a snapshot that ends with the turn. */
const holding = new Set<LogReader>();

function turnNow(): number {
  if (!turns.isCounting) {
    turns.isCounting = true;
    setImmediate(() => {
      turns.isCounting = false;
      turns.now += 1;
      for (const reader of holding) reader.letGo();
    });
  }
  return turns.now;
}

export class LogReader {
  readonly #store: LogStore;
  readonly #durable: DurableWord | undefined;
  readonly #tail: LogTail;
  readonly #overlay = new Overlay();
  /** How far LMDB and the overlay reach together. */
  #position = -1;
  /** The turn in which the view was taken. */
  #turn = 0;
  #view: View | undefined;
  #held: ReadTransaction | undefined;

  constructor(store: LogStore, { durable, files = hostFiles, folder }: LogOptions) {
    [this.#store, this.#durable] = [store, durable];
    this.#tail = new LogTail(folder, files);
  }

  view(): View | undefined {
    const turn = turnNow();
    if (this.#turn !== turn) {
      this.#view = this.#renewed();
      this.#turn = turn;
    }
    return this.#view;
  }

  refresh(): void {
    this.letGo();
    this.#store.refresh();
  }

  /** Gives the snapshot back. What walks a range keeps it until its end. */
  letGo(): void {
    this.#turn = 0;
    this.#view = undefined;
    this.#held?.transaction.done();
    this.#held = undefined;
    holding.delete(this);
  }

  async commit(): Promise<void> {
    throw new Error(`${this.#store.path} is written by another thread.`);
  }

  async close(): Promise<void> {
    this.letGo();
    this.#tail.close();
  }

  #renewed(): View | undefined {
    this.letGo();
    // All that was acknowledged was seen in LMDB once, and no later snapshot has less.
    if (this.#overlay.isEmpty && this.#durable?.get() === this.#position) return undefined;
    for (let tries = 0; tries < TRIES; tries += 1) {
      this.#store.refresh();
      const snapshot = this.#store.begin();
      if (this.#catchUp(snapshot)) {
        if (!this.#overlay.isEmpty) return this.#hold(snapshot);
        snapshot.transaction.done();
        return undefined;
      }
      snapshot.transaction.done();
    }
    throw new LogFault(
      `What ${this.#store.path} lacks is not in its log, which ends before position ${this.#durable?.get()}.`,
    );
  }

  #hold(snapshot: ReadTransaction): View {
    this.#held = snapshot;
    holding.add(this);
    return { overlay: this.#overlay, transaction: snapshot };
  }

  /** Reads what lies between a snapshot and what is durable now. False when it was trimmed meanwhile. */
  #catchUp(snapshot: ReadTransaction): boolean {
    const applied = this.#store.place(snapshot)?.applied;
    if (applied === undefined) return true;
    this.#overlay.drop(applied);
    this.#position = Math.max(this.#position, applied);
    // Behind the snapshot, so that it is never less than what the snapshot has.
    const durable = this.#durable?.get();
    if (durable !== undefined && durable <= this.#position) return true;
    const batches = this.#tail.read(this.#position, durable);
    if (batches === undefined) return false;
    for (const { batch, position } of batches) this.#overlay.add(position, decodeBatch(batch));
    this.#position = durable ?? batches.at(-1)?.position ?? this.#position;
    return true;
  }
}
