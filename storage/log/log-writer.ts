/**
 * The one writer of an environment with a log.
 *
 *     commit ─► append, durable ─► word raised, overlay ─► resolved
 *                                      └── APPLY_MILLIS ──► one commit of LMDB with the position ─► overlay dropped, log trimmed
 *
 * A commit of LMDB takes several times what an append takes, whatever it carries. So it is made for all that came in
 * a fifth of a second, with the last write to each key.
 */
import { randomBytes } from 'node:crypto';
import { decodeBatch, encodeBatch, LogFault } from './commit-log.ts';
import { DurableWord } from './durable-word.ts';
import { LogArchive, STAMP_MASK } from './log-archive.ts';
import type { Write } from './table.ts';
import type { LogOptions, LogPlace, LogStore } from './log-store.ts';
import { Overlay, type View } from './overlay.ts';
import { LogUnavailable, POSITION_KEY, REPLICATED_TABLE, type Replication } from './replication.ts';
import { SegmentLog } from './segment-log.ts';

/**
 * From a write's being durable in the log to the commit of LMDB that has it. At 40 ms, four lanes made a hundred commits of
 * LMDB a second under any load. What waits is bounded by `APPLY_BYTES`, whatever the time.
 */
export const APPLY_MILLIS = 200;

/** Bytes that wait for LMDB before its commit is made at once. */
export const APPLY_BYTES = 512 * 1024;

/** Bytes that may wait for LMDB: whoever commits beyond them waits for LMDB, too. */
export const PENDING_BYTES_MAX = 8 * 1024 * 1024;

/** How often a commit of LMDB that failed is tried again, where nobody writes. */
const RETRY_MILLIS = 1_000;

/** What was written does not stay in a segment for longer than this and the next commit of LMDB. */
export const TURN_MILLIS = 60_000;

const ID_BYTES = 8;

export class LogWriter {
  readonly #store: LogStore;
  readonly #log: SegmentLog;
  readonly #durable: DurableWord;
  readonly #id: Buffer;
  readonly #archive: LogArchive | undefined;
  readonly #replication: Replication | undefined;
  readonly #overlay = new Overlay();
  /** What is in the overlay or before it: raised in one step with the overlay. */
  #position: number;
  #applied: number;
  #turn: Promise<void> = Promise.resolve();
  #storing: Promise<void> = Promise.resolve();
  #applying: Promise<void> | undefined;
  /** Whether LMDB refused its last commit: nothing more is acknowledged before it took what waits. */
  #isRefused = false;
  #applyTimer: NodeJS.Timeout | undefined;
  #turnTimer: NodeJS.Timeout | undefined;
  readonly #turnMillis: number;
  #isClosing = false;

  /** @throws LogFault when the log is damaged, or it or the LMDB file is not there. */
  constructor(store: LogStore, options: LogOptions) {
    this.#store = store;
    this.#durable = options.durable ?? new DurableWord();
    this.#turnMillis = options.turnMillis ?? TURN_MILLIS;
    const { place, log } = openBeside(store, options);
    [this.#log, this.#id, this.#applied, this.#position] = [log, place.id, place.applied, log.end];
    for (const { position, batch } of log.read(place.applied)) this.#overlay.add(position, decodeBatch(batch));
    this.#durable.set(this.#position);
    this.#archive =
      options.archive &&
      LogArchive.open(options.archive, {
        id: place.id,
        end: log.end,
        read: (after) => log.readIfThere(after),
        moved: () => this.#trim(),
      });
    this.#replication = options.replication;
    this.#replication?.begin(
      this.#overlay.get(REPLICATED_TABLE, POSITION_KEY)?.value ?? store.stored(REPLICATED_TABLE, POSITION_KEY),
    );
    if (this.#position > this.#applied) this.#schedule();
  }

  view(): View | undefined {
    return this.#overlay.isEmpty ? undefined : { overlay: this.#overlay, transaction: undefined };
  }

  refresh(): void {
    this.#store.refresh();
  }

  /**
   * Resolves when the writes are durable and every thread reads them; rejects when none of them is there.
   * @throws LogUnavailable while other hosts cannot be reached, or when another one leads.
   */
  async commit(writes: readonly Write[]): Promise<void> {
    if (this.#replication?.isStalled === true) throw new LogUnavailable('The stream of the cluster does not answer.');
    await this.#inTurn(async () => {
      if (this.#replication !== undefined) await this.#replicate(this.#replication, writes);
      else if (this.#isRefused) await this.#storeInTurn(async () => await this.#storeWith(writes));
      else await this.#append(writes);
    });
    if (this.#overlay.bytes > PENDING_BYTES_MAX) await this.#apply();
  }

  /** Commits to LMDB in turn: one at a time, so that none puts back what another one had over it, or fails with it. */
  async #storeInTurn(action: () => Promise<void>): Promise<void> {
    const storing = this.#storing.then(action);
    this.#storing = storing.catch(() => undefined);
    await storing;
  }

  /** Brings everything to LMDB and leaves an empty log; where LMDB takes no more, the log keeps it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#replication?.giveUp();
    clearTimeout(this.#turnTimer);
    await this.#inTurn(async () => await this.#goOn()).catch(() => undefined);
    await this.#applying;
    clearTimeout(this.#applyTimer);
    await this.#apply();
    await this.#archive?.close();
    await this.#replication?.close();
    await this.#log.trim(this.#unneeded).catch(() => undefined);
    await this.#log.close();
  }

  /**
   * What the stream has can no longer be taken back: a host that then cannot have it itself, or whose LMDB takes no more, resigns,
   * and what it has of the stream it gets as any other.
   */
  async #replicate(replication: Replication, writes: readonly Write[]): Promise<void> {
    if (this.#isRefused) {
      replication.resign('its disk takes no more');
      throw new Error('ENOSPC: the disk of this host takes no more');
    }
    const position = await replication.append(encodeBatch(writes));
    try {
      await this.#append([...writes, position]);
    } catch (error) {
      replication.resign((error as Error).message);
      throw new LogUnavailable('This host could not keep what the others have.', { cause: error });
    }
  }

  async #append(writes: readonly Write[]): Promise<void> {
    const batch = encodeBatch(writes);
    const position = await this.#log.append(batch, this.#stamp());
    this.#overlay.add(position, decodeBatch(batch));
    this.#raise(position);
    this.#archive?.add(position, batch);
    this.#turnTimer ??= setTimeout(() => this.#turnLater(), this.#turnMillis).unref();
  }

  /**
   * With a full disk behind it, LMDB decides before anything is acknowledged: a change that makes room or finds it is
   * taken, with all that waits or without it, and one that needs more is refused and taken back from the log.
   */
  async #storeWith(writes: readonly Write[]): Promise<void> {
    const batch = encodeBatch(writes);
    const position = await this.#log.append(batch, this.#stamp());
    const all = new Overlay();
    // The last write to each key alone: what is removed takes no room for its time in between.
    all.add(position, [...this.#overlay.writes(), ...writes]);
    let isAll = true;
    try {
      await this.#store.commit([...all.writes()], this.#placeAt(position)).catch(async () => {
        isAll = false;
        await this.#store.commit(writes);
      });
    } catch (error) {
      await this.#log.takeBack(batch.length);
      throw error;
    }
    this.#overlay.add(position, decodeBatch(batch));
    this.#raise(position);
    this.#archive?.add(position, batch);
    if (isAll) this.#stored(position);
  }

  #raise(position: number): void {
    this.#position = position;
    this.#durable.set(position);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#overlay.bytes > APPLY_BYTES && !this.#isRefused) void this.#apply();
    else this.#applyTimer ??= setTimeout(() => void this.#apply(), this.#isRefused ? RETRY_MILLIS : APPLY_MILLIS);
  }

  /** Brings to LMDB what is durable by now. A commit that fails is tried again later. */
  async #apply(): Promise<void> {
    clearTimeout(this.#applyTimer);
    this.#applyTimer = undefined;
    this.#applying ??= this.#storeInTurn(async () => await this.#applyOnce()).finally(() => {
      this.#applying = undefined;
      if (this.#position > this.#applied && !this.#isClosing) this.#schedule();
    });
    await this.#applying;
  }

  async #applyOnce(): Promise<void> {
    const upTo = this.#position;
    if (upTo === this.#applied) return;
    try {
      await this.#store.commit([...this.#overlay.writes()], this.#placeAt(upTo));
    } catch {
      this.#isRefused = true;
      return;
    }
    this.#stored(upTo);
  }

  #stored(upTo: number): void {
    this.#isRefused = false;
    this.#applied = upTo;
    this.#store.refresh();
    this.#overlay.drop(upTo);
    this.#trim();
  }

  /** All before this position is in LMDB, and in the archive where there is one. */
  get #unneeded(): number {
    return Math.min(this.#applied, this.#archive?.needs ?? Infinity);
  }

  #trim(): void {
    // What cannot be blanked now is removed when the log is opened the next time.
    void this.#log.trim(this.#unneeded).catch(() => undefined);
  }

  /** What the log says of the time, for an archive that a crash left behind. */
  #stamp(): number {
    return this.#archive === undefined ? 0 : Date.now() & STAMP_MASK;
  }

  /** Leaves the segment, so that what is in it can be blanked. */
  async #goOn(): Promise<void> {
    const position = await this.#log.turn();
    if (position <= this.#position) return;
    this.#raise(position);
    this.#archive?.mark(position);
  }

  #turnLater(): void {
    this.#turnTimer = undefined;
    void this.#inTurn(async () => await this.#goOn()).catch(() => {
      this.#turnTimer ??= setTimeout(() => this.#turnLater(), this.#turnMillis).unref();
    });
  }

  #placeAt(applied: number): LogPlace {
    return { id: this.#id, applied, isMade: true };
  }

  async #inTurn(action: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(action);
    // Whoever comes next waits for the end, whatever it was.
    this.#turn = turn.catch(() => undefined);
    await turn;
  }
}

/** The log of an environment; a new one where there never was one. */
function openBeside(store: LogStore, options: LogOptions): { readonly place: LogPlace; readonly log: SegmentLog } {
  const place = store.place();
  const { files, folder } = options;
  const logOptions = { folder, ...(files === undefined ? {} : { files }) };
  if (place?.isMade === true) {
    const archived = options.archive && LogArchive.endOf(options.archive, place.id);
    const keep = Math.min(place.applied, archived?.position ?? Infinity);
    return { place, log: SegmentLog.open({ ...logOptions, id: place.id }, place.applied, keep) };
  }
  if (place === undefined && SegmentLog.isIn(folder, files)) {
    throw new LogFault(
      `${store.path} does not know its log in ${folder}: the file was removed, or another one put in its place. ` +
        'Put it back, or restore a backup; the log alone has only what was changed last.',
    );
  }
  const made = { id: place?.id ?? randomBytes(ID_BYTES), applied: 0, isMade: true };
  // A crash between the two leaves a place that says that nothing can be missing yet.
  store.putPlace({ ...made, isMade: false });
  const log = SegmentLog.make({ ...logOptions, id: made.id });
  store.putPlace(made);
  return { place: made, log };
}
