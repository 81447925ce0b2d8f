/**
 * Keeps what a log carries in files of an archive, behind the acknowledgement and never in its way.
 *
 *     durable in the log ─► waits in memory ── ARCHIVE_FLUSH_MILLIS ──► written to the archive ─► may leave the log
 *
 * What waits stays in the log as well. So a server that is killed loses nothing of it: the next one finds where the archive ends
 * and goes on from the log. An archive that takes nothing for too long has a gap, which is known, and begins again behind it.
 */
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { constants, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ARCHIVE_HEAD_BYTES,
  ArchiveFileReader,
  archiveFileName,
  encodeArchiveHead,
  encodeRecordHead,
  readArchiveFileName,
  readArchiveHead,
  seedOf,
} from './archive-file.ts';
import type { ArchiveWord } from './archive-word.ts';
import { decodeBatch, encodeBatch, type EncodedBatch, type LoggedBatch } from './commit-log.ts';

/** From a write's being durable to its being in the archive. What a crash leaves out of it is brought later from the log. */
export const ARCHIVE_FLUSH_MILLIS = 1_000;

/** How often the archive of a log to which nothing is written says how far it reaches. */
export const ARCHIVE_BEAT_MILLIS = 10_000;

/** How long what cannot be archived waits: behind it there is a gap. As long as a network disk may take to come back. */
export const ARCHIVE_WAIT_MILLIS = 10 * 60_000;

/** Bytes of a log that may wait for its archive, in memory and on the disk of the data: behind them there is a gap. */
export const ARCHIVE_PENDING_BYTES_MAX = 32 * 1024 * 1024;

/** A file is followed by another one behind so many bytes, or behind a day, so that what is old can be removed. */
export const ARCHIVE_FILE_BYTES = 16 * 1024 * 1024;
export const ARCHIVE_FILE_MILLIS = 24 * 3_600_000;

/** How long the end of a server waits for its archive. */
const CLOSE_MILLIS = 3_000;
/** How soon whoever found the place taken tries again. */
const GATE_MILLIS = 20;

/** What is kept for each batch that waits, beside its bytes. */
const WAITING_BYTES = 128;

/** In the log's sectors a time has three bytes: milliseconds, over and over again in 4.6 hours. */
export const STAMP_MASK = 0xffffff;

export interface ArchiveOptions {
  /** The folder of all archives, which whoever runs the server made: a disk that is not mounted is not taken for an empty one. */
  readonly folder: string;
  readonly installation: string;
  /** The name of the log. */
  readonly log: string;
  /** Tables that no archive has. */
  readonly withheld: readonly string[];
  /** Where all threads see how it goes. Without it nothing is said before something is to be archived. */
  readonly word: ArchiveWord | undefined;
  /** For tests. */
  readonly flushMillis?: number;
  readonly pendingBytesMax?: number;
  readonly waitMillis?: number;
}

interface Waiting {
  readonly head: Buffer;
  readonly batch: EncodedBatch | undefined;
  readonly after: number;
  readonly position: number;
  readonly at: number;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly path: string;
  readonly begun: number;
  bytes: number;
}

/** Where the files of a log lie in an archive. */
export function archiveFolderOf({
  folder,
  installation,
  log,
}: Pick<ArchiveOptions, 'folder' | 'installation' | 'log'>): string {
  return join(folder, installation, log);
}

export class LogArchive {
  readonly #options: ArchiveOptions;
  readonly #folder: string;
  readonly #id: Buffer;
  readonly #seed: number;
  readonly #flushMillis: number;
  /** Called when the log may forget more than before. */
  readonly #moved: () => void;
  #waiting: Waiting[] = [];
  #bytes = 0;
  /** The position of what was added last. */
  #end: number;
  #at = 0;
  /** All before this position is archived, or given up. */
  #archived: number;
  #file: OpenFile | undefined;
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isClosing = false;

  private constructor(options: ArchiveOptions, id: Buffer, from: number, moved: () => void) {
    [this.#options, this.#id, this.#seed, this.#moved] = [options, id, seedOf(id), moved];
    [this.#end, this.#archived] = [from, from];
    this.#folder = archiveFolderOf(options);
    this.#flushMillis = options.flushMillis ?? ARCHIVE_FLUSH_MILLIS;
  }

  /** Where the archive of a log ends, and when that was; undefined where it has nothing of this log, or cannot be read. Blocks. */
  static endOf(options: ArchiveOptions, id: Buffer): { readonly position: number; readonly at: number } | undefined {
    const folder = archiveFolderOf(options);
    try {
      for (const name of ownFiles(folder, id).toReversed()) {
        const bytes = readFileSync(join(folder, name));
        const head = readArchiveHead(bytes);
        if (head === undefined) continue;
        let last = { position: head.from, at: head.at };
        const reader = new ArchiveFileReader(bytes, id);
        for (let record = reader.next(); record !== undefined; record = reader.next()) last = record;
        return last;
      }
    } catch {
      // What is wrong with the archive is told when it is written.
    }
    return undefined;
  }

  /**
   * Goes on with the archive of a log that ends at a position. `read` answers what the log still has behind another one; what it
   * has no more is a gap. An archive that is ahead of its log is of a state that was put away: it is set aside.
   */
  static open(
    options: ArchiveOptions,
    log: {
      readonly id: Buffer;
      readonly end: number;
      readonly read: (after: number) => readonly LoggedBatch[] | undefined;
      readonly moved: () => void;
    },
  ): LogArchive {
    const before = LogArchive.endOf(options, log.id);
    const missing = before === undefined || before.position > log.end ? undefined : log.read(before.position);
    const archive = new LogArchive(
      options,
      log.id,
      missing === undefined ? log.end : (before?.position ?? log.end),
      log.moved,
    );
    if (before !== undefined && before.position > log.end) setAside(archive.#folder);
    else if (before !== undefined && missing === undefined) options.word?.addGap();
    archive.#at = before?.at ?? 0;
    if (before === undefined) archive.#beginNow(log.end);
    for (const { batch, position, stamp } of missing ?? []) {
      archive.add(position, batch, Math.min(timeBehind(archive.#at, stamp), Date.now()));
    }
    if (archive.#end !== log.end) archive.mark(log.end);
    if (options.word !== undefined) {
      options.word.leave();
      options.word.reaches = Date.now();
      archive.#beat = setTimeout(() => archive.#beatNow(), archive.#flushMillis).unref();
    }
    return archive;
  }

  /** The position from which on the log has to keep what it carries. */
  get needs(): number {
    return this.#archived;
  }

  /** Adds a batch that has become durable. Never throws, and never waits. */
  add(position: number, batch: EncodedBatch, at = Date.now()): void {
    const { withheld } = this.#options;
    this.#push(position, withheld.length === 0 ? batch : without(withheld, batch), at);
  }

  /** Says that there was nothing else up to a position, which a turn of the log reached. */
  mark(position: number): void {
    this.#push(position, undefined, Date.now());
  }

  /** Writes what waits, as far as that takes no longer than the end of a server may. */
  async close(): Promise<void> {
    clearTimeout(this.#beat);
    // A server that ends in order says of every log how far its archive reaches, also of one to which nothing was written.
    if (this.#options.word !== undefined || this.#file !== undefined || this.#waiting.length > 0) this.mark(this.#end);
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const written = (async () => {
      await this.#flushing;
      await this.#flush();
      await this.#letGo();
    })();
    const abort = new AbortController();
    await Promise.race([written, sleep(CLOSE_MILLIS, undefined, { signal: abort.signal }).catch(() => undefined)]);
    abort.abort();
  }

  #push(position: number, batch: EncodedBatch | undefined, now: number): void {
    // A clock that was set back does not put a change before the one that it follows.
    const at = Math.max(now, this.#at);
    const record = { after: this.#end, position, at, batch };
    this.#waiting.push({ ...record, head: encodeRecordHead(record, this.#seed) });
    this.#bytes += WAITING_BYTES + (batch?.length ?? 0);
    [this.#end, this.#at] = [position, at];
    if (this.#bytes > (this.#options.pendingBytesMax ?? ARCHIVE_PENDING_BYTES_MAX)) this.#giveUp();
    this.#schedule(this.#flushMillis);
  }

  #schedule(millis: number): void {
    if (this.#isClosing || this.#flushing !== undefined || this.#waiting.length === 0) return;
    // Whoever ends before has closed it.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flushing ??= this.#flush().then((isDone) => {
        this.#flushing = undefined;
        this.#schedule(isDone ? this.#flushMillis : Math.min(this.#flushMillis, GATE_MILLIS));
      });
    }, millis).unref();
  }

  /** Leaves out of the archive what waits: the next record begins behind a gap. */
  #giveUp(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#archived = this.#end;
    this.#options.word?.addGap();
    this.#moved();
  }

  /** Writes what waits; false when another log is at it. */
  async #flush(): Promise<boolean> {
    const { word } = this.#options;
    while (word?.enter() === false) {
      if (!this.#isClosing) return false;
      await sleep(GATE_MILLIS);
    }
    const entries = this.#waiting;
    const count = entries.length;
    const last = entries.at(-1);
    if (last === undefined) {
      word?.leave();
      return true;
    }
    try {
      await this.#write(entries);
    } catch (error) {
      if (word !== undefined) word.fault = (error as NodeJS.ErrnoException).errno ?? UNKNOWN_ERRNO;
      await this.#letGo();
      const [oldest] = this.#waiting;
      if (oldest !== undefined && Date.now() - oldest.at > (this.#options.waitMillis ?? ARCHIVE_WAIT_MILLIS))
        this.#giveUp();
      return true;
    } finally {
      word?.leave();
    }
    // What was given up meanwhile is there all the same.
    if (this.#waiting === entries) {
      const written = entries.splice(0, count);
      for (const { batch } of written) this.#bytes -= WAITING_BYTES + (batch?.length ?? 0);
      this.#archived = last.position;
    }
    if (word !== undefined) [word.reaches, word.fault] = [last.at, 0];
    this.#moved();
    return true;
  }

  async #write(entries: readonly Waiting[]): Promise<void> {
    const [first] = entries as [Waiting, ...Waiting[]];
    const parts = entries.flatMap(({ batch, head }) => (batch === undefined ? [head] : [head, batch]));
    const bytes = Buffer.concat(parts);
    this.#file ??= await this.#begin(first.after);
    const file = this.#file;
    const { bytesWritten } = await file.handle.write(bytes, 0, bytes.length, file.bytes);
    if (bytesWritten < bytes.length) {
      const { bytesWritten: rest } = await file.handle.write(
        bytes,
        bytesWritten,
        bytes.length - bytesWritten,
        file.bytes + bytesWritten,
      );
      if (bytesWritten + rest < bytes.length) throw new Error(`${file.path} takes no more.`);
    }
    file.bytes += bytes.length;
    if (file.bytes > ARCHIVE_FILE_BYTES || Date.now() - file.begun > ARCHIVE_FILE_MILLIS) await this.#letGo();
  }

  /** Says where the archive of a log begins, so that whoever goes on behind a kill knows. What fails is told by the first flush. */
  #beginNow(from: number): void {
    const head = { ...this.#options, id: this.#id, from, at: Date.now() };
    try {
      for (const folder of [dirname(this.#folder), this.#folder]) {
        if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      }
      const path = join(this.#folder, archiveFileName(head));
      writeFileSync(path, encodeArchiveHead(head), { mode: 0o600, flag: 'wx', flush: true });
    } catch {
      // As above.
    }
  }

  async #begin(from: number): Promise<OpenFile> {
    for (const folder of [dirname(this.#folder), this.#folder]) {
      await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
    const begun = Date.now();
    const { installation, log } = this.#options;
    const path = join(this.#folder, archiveFileName({ at: begun, from, id: this.#id }));
    const handle = await open(path, DURABLE, 0o600);
    try {
      await handle.write(
        encodeArchiveHead({ installation, log, id: this.#id, from, at: begun }),
        0,
        ARCHIVE_HEAD_BYTES,
        0,
      );
      await syncNames(this.#folder);
    } catch (error) {
      await handle.close();
      await rm(path, { force: true });
      throw error;
    }
    return { handle, path, begun, bytes: ARCHIVE_HEAD_BYTES };
  }

  /** Ends the file: what comes next is in another one. One that has nothing is removed. */
  async #letGo(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => undefined);
    if (file?.bytes === ARCHIVE_HEAD_BYTES) await rm(file.path, { force: true }).catch(() => undefined);
  }

  #beatNow(): void {
    // What waits says itself how far the archive reaches, once it is written.
    if (this.#waiting.length === 0) this.mark(this.#end);
    this.#beat = setTimeout(() => this.#beatNow(), ARCHIVE_BEAT_MILLIS).unref();
  }
}

/** Of an error that the operating system did not make: EIO. */
const UNKNOWN_ERRNO = -5;

const DURABLE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;

async function syncNames(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The names of the files of a log, in the order of their positions and times. */
export function ownFiles(folder: string, id: Buffer): string[] {
  const isOwn = (name: string) => readArchiveFileName(name)?.id.equals(id) === true;
  return existsSync(folder) ? readdirSync(folder).filter(isOwn).toSorted() : [];
}

/** What is archived of a log that was put back to an earlier state: no restore of what it does now may run into it. */
function setAside(folder: string): void {
  try {
    renameSync(folder, `${folder}.before-${Date.now()}`);
  } catch {
    // It is told when the archive is written: with a file that goes on before the end of the others, none of them is taken.
  }
}

/** The time with these last three bytes that comes next behind another one. */
function timeBehind(at: number, stamp: number): number {
  return at + ((stamp - (at & STAMP_MASK)) & STAMP_MASK);
}

/** A batch without the writes to some tables; undefined where nothing is left. */
function without(tables: readonly string[], batch: EncodedBatch): EncodedBatch | undefined {
  const writes = decodeBatch(batch);
  const kept = writes.filter(({ table }) => !tables.includes(table));
  if (kept.length === writes.length) return batch;
  return kept.length === 0 ? undefined : encodeBatch(kept);
}
