/** Reads a log while it is written, on this thread or another. */
import { join } from 'node:path';
import type { LoggedBatch } from './commit-log.ts';
import type { LogFiles } from './log-files.ts';
import {
  batchHead,
  nextSegment,
  offsetOf,
  SECTOR_BYTES,
  sectorStart,
  sectorsOf,
  segmentOf,
  takeUp,
} from './log-sectors.ts';

export function segmentPath(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(8, '0')}.seg`);
}

/** Sectors read at a time where it is not known how far the log goes. */
const AHEAD = 32;

export class LogTail {
  readonly #folder: string;
  readonly #files: LogFiles;
  #open: { readonly segment: number; readonly file: number } | undefined;

  constructor(folder: string, files: LogFiles) {
    this.#folder = folder;
    this.#files = files;
  }

  /**
   * The batches from a position up to another one, which is durable; without it, as far as they are whole. Undefined when
   * they are no longer there, because they were applied and trimmed meanwhile.
   */
  read(after: number, upTo?: number): LoggedBatch[] | undefined {
    const batches: LoggedBatch[] = [];
    const end = upTo ?? Infinity;
    for (let position = after; position < end;) {
      const first = this.#sectors(position, upTo === undefined ? AHEAD : end - position);
      const head = first === undefined ? undefined : headAt(first, position);
      if (first === undefined || head === undefined) return upTo === undefined ? batches : undefined;
      if (head.isTurn) {
        position = nextSegment(position);
        continue;
      }
      const count = sectorsOf(head.bytes);
      const sectors = first.length >= count * SECTOR_BYTES ? first : this.#all(position, count);
      if (sectors === undefined || !areWhole(sectors, position, count)) return upTo === undefined ? batches : undefined;
      const batch = takeUp(sectors, head.bytes);
      position += count;
      batches.push({ position, batch, stamp: head.stamp });
    }
    return batches;
  }

  close(): void {
    if (this.#open !== undefined) this.#files.close(this.#open.file);
    this.#open = undefined;
  }

  /** The sectors of a batch, which may go on in the segments behind. */
  #all(position: number, count: number): Buffer | undefined {
    const parts: Buffer[] = [];
    for (let at = position; at < position + count;) {
      const part = this.#sectors(at, position + count - at);
      if (part === undefined) return undefined;
      parts.push(part);
      at += part.length / SECTOR_BYTES;
    }
    return Buffer.concat(parts);
  }

  /** At most so many sectors of one segment from a position on. */
  #sectors(position: number, count: number): Buffer | undefined {
    const segment = segmentOf(position);
    if (this.#open?.segment !== segment) {
      this.close();
      try {
        this.#open = { segment, file: this.#files.open(segmentPath(this.#folder, segment)) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    }
    const bytes = Math.min(count, nextSegment(position) - position) * SECTOR_BYTES;
    const sectors = this.#files.read((this.#open as { file: number }).file, bytes, offsetOf(position));
    return sectors.length === bytes ? sectors : undefined;
  }
}

function headAt(sectors: Buffer, position: number): ReturnType<typeof batchHead> | undefined {
  return sectorStart(sectors, 0, position) === position ? batchHead(sectors, 0) : undefined;
}

function areWhole(sectors: Buffer, position: number, count: number): boolean {
  for (let n = 1; n < count; n += 1) {
    if (sectorStart(sectors, n * SECTOR_BYTES, position + n) !== position) return false;
  }
  return true;
}
