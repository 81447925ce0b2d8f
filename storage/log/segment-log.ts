/**
 * A commit log in files of a folder: segments of a fixed size that are filled with zeros before they are used, appended
 * to through `O_DSYNC`, blanked and used again.
 *
 *     log/lane-00/00000007.seg   what is behind the position from which the log is replayed …
 *     log/lane-00/00000008.seg   … and one more, ready, before it is needed
 *
 * Batches are appended one at a time, so whatever comes behind one on disk was written after that one was durable. A
 * batch of which a part is blank and which nothing follows was torn by a power cut before anybody was told of it: it is
 * blanked when the log is opened. Anything else that is not whole is a `LogFault`, and nothing is cut.
 *
 * Blanked segments are why a text that was purged is not found in the log's files, and why a sector that was never
 * written can be told from a damaged one.
 */
import { join } from 'node:path';
import { LogFault, type CommitLog, type EncodedBatch, type LoggedBatch } from './commit-log.ts';
import { hostFiles, type LogFiles } from './log-files.ts';
import {
  ADVICE,
  layOut,
  nextSegment,
  offsetOf,
  SECTOR_BYTES,
  sectorsOf,
  SEGMENT_BYTES,
  SEGMENT_SECTORS,
  segmentHead,
  segmentOf,
} from './log-sectors.ts';
import { LogTail, segmentPath } from './log-tail.ts';
import { scanLog } from './log-scan.ts';

export interface SegmentLogOptions {
  readonly folder: string;
  /** Eight bytes that tell this log from any other. */
  readonly id: Buffer;
  readonly files?: LogFiles;
}

/** Memory of a log for the sectors of an append, which holds those of most; a larger one gets some of its own. */
const APPEND_BYTES = 16 * 1024;

export class SegmentLog implements CommitLog {
  readonly #folder: string;
  readonly #id: Buffer;
  readonly #files: LogFiles;
  readonly #tail: LogTail;
  /** The segments that are there, without a gap, by number. */
  readonly #open: Map<number, number>;
  /** Used again for each append: they come one at a time, and memory outside of the heap is dear to make and to collect. */
  readonly #memory = Buffer.alloc(APPEND_BYTES);
  #end: number;
  /** Sectors of an append that failed, which are blanked before anything else is written. */
  #unsure = 0;
  #making: Promise<void> = Promise.resolve();
  #trimming: Promise<void> = Promise.resolve();

  private constructor(options: SegmentLogOptions, segments: readonly number[], end: number) {
    const { files = hostFiles, folder, id } = options;
    [this.#folder, this.#id, this.#files, this.#end] = [folder, id, files, end];
    this.#tail = new LogTail(folder, files);
    this.#open = new Map(segments.map((segment) => [segment, files.open(segmentPath(folder, segment))]));
  }

  /** Whether there is a log in a folder. */
  static isIn(folder: string, files: LogFiles = hostFiles): boolean {
    return files.list(folder).some((name) => name.endsWith('.seg'));
  }

  /** A new log from a position on, in a folder that is made where it is missing; what is there is removed. */
  static make(options: SegmentLogOptions, from = 0): SegmentLog {
    const { files = hostFiles, folder, id } = options;
    files.makeFolder(folder);
    for (const name of files.list(folder)) files.remove(join(folder, name));
    const segment = segmentOf(from);
    files.makeNow(segmentPath(folder, segment), blankSegment(id, segment));
    return new SegmentLog(options, [segment], from);
  }

  /**
   * Opens a log, everything before `from` of which is applied; a torn batch at its end is blanked. What is applied stays there
   * from `keep` on, where that is there as a whole.
   * @throws LogFault when it is damaged or not all there.
   */
  static open(options: SegmentLogOptions, from: number, keep = from): SegmentLog {
    const { files = hostFiles, folder } = options;
    const { end, segments, stale, torn } = scanLog(options, from, keep);
    const log = new SegmentLog(options, segments, end);
    for (const name of stale) files.remove(join(folder, name));
    for (const position of torn) {
      files.writeNow(log.#file(position), Buffer.alloc(SECTOR_BYTES), offsetOf(position));
    }
    return log;
  }

  get end(): number {
    return this.#end;
  }

  /** @throws whatever a disk says that takes no more; the batch is not there then. */
  async append(batch: EncodedBatch, stamp = 0): Promise<number> {
    await this.#reach(this.#end + sectorsOf(batch.length));
    await this.#put(layOut(this.#end, batch, this.#memory, stamp));
    this.#end += sectorsOf(batch.length);
    // The next segment is made ready while this one still has room.
    if (this.#end % SEGMENT_SECTORS > SEGMENT_SECTORS / 2)
      void this.#reach(nextSegment(this.#end)).catch(() => undefined);
    return this.#end;
  }

  /** Blanks the last batch, of so many bytes, which nobody was told of; where that fails, before the next append. */
  async takeBack(bytes: number): Promise<void> {
    this.#unsure = sectorsOf(bytes);
    this.#end -= this.#unsure;
    await this.#blankUnsure().catch(() => undefined);
  }

  /** Goes on in the next segment, so that this one can be trimmed; does nothing where it is empty. */
  async turn(): Promise<number> {
    if (this.#end % SEGMENT_SECTORS === 0) return this.#end;
    const next = nextSegment(this.#end);
    await this.#reach(next);
    await this.#put(layOut(this.#end, undefined));
    this.#end = next;
    return next;
  }

  /** The batches behind a position; undefined when the log does not reach back to it. */
  readIfThere(after: number): LoggedBatch[] | undefined {
    return this.#tail.read(after, this.#end);
  }

  read(after: number): LoggedBatch[] {
    const batches = this.readIfThere(after);
    if (batches === undefined)
      throw new LogFault(`The log in ${this.#folder} does not reach back to ${after}. ${ADVICE}`);
    return batches;
  }

  /** Blanks the segments that lie before a position as a whole. One is kept for the next that is needed. */
  async trim(upTo: number): Promise<void> {
    this.#trimming = this.#trimming.catch(() => undefined).then(async () => await this.#trim(segmentOf(upTo)));
    await this.#trimming;
  }

  async close(): Promise<void> {
    await this.#trimming.catch(() => undefined);
    await this.#making.catch(() => undefined);
    this.#tail.close();
    for (const file of this.#open.values()) this.#files.close(file);
    this.#open.clear();
  }

  async #trim(before: number): Promise<void> {
    for (const [segment, file] of this.#open) {
      if (segment >= before) return;
      const path = segmentPath(this.#folder, segment);
      this.#open.delete(segment);
      this.#files.close(file);
      const isSpareThere = this.#open.has(segmentOf(this.#end) + 1);
      if (isSpareThere) this.#files.remove(path);
      else await this.#inTurn(async () => await this.#reuse(path));
    }
  }

  /** Makes the segment behind the last one out of one that nobody needs. */
  async #reuse(path: string): Promise<void> {
    const next = Math.max(...this.#open.keys()) + 1;
    const file = this.#files.open(path);
    try {
      await this.#files.write(file, blankSegment(this.#id, next), 0);
      await this.#files.rename(path, segmentPath(this.#folder, next));
    } catch (error) {
      this.#files.close(file);
      throw error;
    }
    this.#open.set(next, file);
  }

  /** Resolves when there is a segment for that position, and all before it. */
  async #reach(position: number): Promise<void> {
    if (this.#open.has(segmentOf(position))) return;
    await this.#inTurn(async () => {
      while (!this.#open.has(segmentOf(position))) {
        const next = Math.max(...this.#open.keys()) + 1;
        const path = segmentPath(this.#folder, next);
        await this.#files.make(path, blankSegment(this.#id, next));
        this.#open.set(next, this.#files.open(path));
      }
    });
  }

  async #inTurn(make: () => Promise<void>): Promise<void> {
    this.#making = this.#making.catch(() => undefined).then(make);
    await this.#making;
  }

  /** Writes sectors at the end. If that fails, what may be there of them is blanked, now or before the next attempt. */
  async #put(sectors: Buffer): Promise<void> {
    await this.#blankUnsure();
    this.#unsure = sectors.length / SECTOR_BYTES;
    try {
      await this.#write(sectors);
    } catch (error) {
      await this.#blankUnsure().catch(() => undefined);
      throw error;
    }
    this.#unsure = 0;
  }

  async #blankUnsure(): Promise<void> {
    if (this.#unsure === 0) return;
    await this.#write(Buffer.alloc(this.#unsure * SECTOR_BYTES));
    this.#unsure = 0;
  }

  async #write(sectors: Buffer): Promise<void> {
    for (let done = 0; done < sectors.length;) {
      const position = this.#end + done / SECTOR_BYTES;
      const here = Math.min(sectors.length - done, (nextSegment(position) - position) * SECTOR_BYTES);
      await this.#files.write(this.#file(position), sectors.subarray(done, done + here), offsetOf(position));
      done += here;
    }
  }

  #file(position: number): number {
    const file = this.#open.get(segmentOf(position));
    if (file === undefined) throw new Error(`There is no segment for position ${position}.`);
    return file;
  }
}

function blankSegment(id: Buffer, segment: number): Buffer {
  // The system's own zeros, which nobody fills: to fill eight megabytes took 11 ms a log at the first start of a folder.
  const bytes = Buffer.alloc(SEGMENT_BYTES);
  segmentHead(id, segment).copy(bytes);
  return bytes;
}
