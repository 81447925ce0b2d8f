/** Looks through a log that is opened: where it ends, what a power cut tore, and whether all of it is there. */
import { LogFault } from './commit-log.ts';
import { hostFiles, type LogFiles } from './log-files.ts';
import {
  ADVICE,
  assertHead,
  batchHead,
  nextSegment,
  offsetOf,
  sectorStart,
  sectorsOf,
  SEGMENT_SECTORS,
  segmentOf,
} from './log-sectors.ts';
import { segmentPath } from './log-tail.ts';

export interface ScannedLog {
  /** The position behind the last batch that is whole. */
  readonly end: number;
  /** The segments from the one that has `from` on, by number. */
  readonly segments: readonly number[];
  /** Names of files that nobody needs any more: segments that are applied, and what a crash left half made. */
  readonly stale: readonly string[];
  /** Positions of the sectors of a batch that was torn before it was acknowledged. */
  readonly torn: readonly number[];
}

/**
 * Looks through a log, everything before `from` of which is applied. Changes nothing. Segments from `keep` on are not stale, where
 * somebody else needs what is applied.
 * @throws LogFault when a segment is missing, short or another log's, or a sector is damaged or missing before others.
 */
export function scanLog(
  { files = hostFiles, folder, id }: { readonly folder: string; readonly id: Buffer; readonly files?: LogFiles },
  from: number,
  keep = from,
): ScannedLog {
  const names = files.list(folder);
  const first = segmentOf(from);
  const kept = keptBefore(first, segmentOf(keep), names);
  const isNeeded = (name: string): boolean => name.endsWith('.seg') && Number.parseInt(name, 10) >= first - kept.length;
  const segments = names
    .filter(isNeeded)
    .map((name) => Number.parseInt(name, 10))
    .filter((segment) => segment >= first)
    .toSorted((a, b) => a - b);
  const scan = new Scan(folder);
  for (const [at, segment] of segments.entries()) {
    if (segment !== first + at) throw missing(folder, first + at);
    const path = segmentPath(folder, segment);
    const bytes = files.readAll(path);
    assertHead(path, bytes, id, segment);
    scan.segments.set(segment, bytes);
  }
  const end = scan.follow(from);
  return {
    end,
    segments: [...kept, ...segments],
    stale: names.filter((name) => !isNeeded(name)),
    torn: scan.behind(end),
  };
}

/** The applied segments from one on that are all there; none where one of them is not. What is in them is not looked at. */
function keptBefore(first: number, from: number, names: readonly string[]): number[] {
  const there = new Set(names.filter((name) => name.endsWith('.seg')).map((name) => Number.parseInt(name, 10)));
  const kept = Array.from({ length: Math.max(0, first - from) }, (_, n) => from + n);
  return kept.every((segment) => there.has(segment)) ? kept : [];
}

function missing(folder: string, segment: number): LogFault {
  return new LogFault(`${segmentPath(folder, segment)} is missing: a part of the log is lost. ${ADVICE}`);
}

class Scan {
  readonly segments = new Map<number, Buffer>();
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The position behind the last whole batch. */
  follow(from: number): number {
    for (let position = from; ;) {
      // What is there instead of it is for `behind` to judge.
      if (this.#start(position) !== position) return position;
      const { bytes, isTurn } = batchHead(this.#segment(position), offsetOf(position));
      const next = isTurn ? nextSegment(position) : position + sectorsOf(bytes);
      if (!isTurn && this.#isTorn(position, next)) return position;
      position = next;
    }
  }

  /**
   * The positions of sectors from the end on that are not blank: a torn batch, which starts there.
   * @throws LogFault when they are of a later batch, which was written only when the one that is missing was durable.
   */
  behind(end: number): number[] {
    const found: number[] = [];
    const last = Math.max(...this.segments.keys());
    for (let position = end; position < (last + 1) * SEGMENT_SECTORS; position += 1) {
      const start = this.#start(position);
      if (start === undefined) continue;
      if (Number.isNaN(start)) throw this.#damaged(position);
      if (start !== end) {
        throw new LogFault(
          `${this.#place(end)} is empty, while later changes follow at byte ${offsetOf(position)} of ${segmentPath(this.#folder, segmentOf(position))}: a part of the log is lost. ${ADVICE}`,
        );
      }
      found.push(position);
    }
    return found;
  }

  /** Whether a sector of a batch is blank. */
  #isTorn(position: number, next: number): boolean {
    let isTorn = false;
    for (let at = position + 1; at < next; at += 1) {
      const start = this.#start(at);
      if (start === undefined) isTorn = true;
      else if (start !== position) throw this.#damaged(at);
    }
    return isTorn;
  }

  #start(position: number): number | undefined {
    return sectorStart(this.#segment(position), offsetOf(position), position);
  }

  #segment(position: number): Buffer {
    const segment = segmentOf(position);
    const bytes = this.segments.get(segment);
    if (bytes === undefined) throw missing(this.#folder, segment);
    return bytes;
  }

  #damaged(position: number): LogFault {
    return new LogFault(`${this.#place(position)} is damaged. ${ADVICE}`);
  }

  #place(position: number): string {
    return `Byte ${offsetOf(position)} of ${segmentPath(this.#folder, segmentOf(position))}`;
  }
}
