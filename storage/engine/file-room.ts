/**
 * Room at the end of an LMDB file, made before a commit needs it:
 *
 *     pages in use, and free ones between them │ zeros, at least what the next commit may take │ end of the file
 *
 * The library must not meet the end of the disk by itself: for a page that it cannot write it puts a sentence of up to 120
 * bytes into 100 (`mdb_page_flush`, 3.5.6), after which the process may go on, hang or die. So the disk is asked here, by
 * writing zeros; what it refuses is an error like any other, and LMDB does not begin. That holds on file systems that write
 * in place (ext4, XFS, tmpfs).
 */
import { closeSync, fstatSync, openSync, write } from 'node:fs';
import { promisify } from 'node:util';
import type { Write } from '../log/table.ts';

const writeAt = promisify(write);

/** What the library makes its pages of, where the machine's are not larger. */
const PAGE_BYTES = 4096;

/** What LMDB says of a tree, as the library names it. */
export interface TreeStats {
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** A file grows by whole steps, so that small commits seldom have it grow. */
const STEP_BYTES = 64 * PAGE_BYTES;
/** Behind the head of a page, an entry's own head of 8 bytes. */
const ENTRY_HEAD_BYTES = 8;
const PAGE_HEAD_BYTES = 24;
/** The longest entry that lies in a leaf; a longer value has pages of its own. */
const ENTRY_BYTES_MAX = 2000;
/** Splits that are reckoned with whatever is written: a page that is full is split by the smallest entry. */
const SPLITS_MIN = 64;
/** A page made by splits has this much of what is written at least, over many of them. */
const SPLIT_BYTES = 1024;
/** For the table of tables, and for the list of free pages beside what it holds. */
const OTHER_PAGES = 16;

/** Pages that a commit of these writes takes at most, where not one of those in the file can be used again. */
export function pagesFor(writes: Iterable<Write>, treeOf: (table: string) => TreeStats, free: TreeStats): number {
  const tables = new Map<string, { count: number; bytes: number; own: number }>();
  for (const { key, table, value } of writes) {
    const sum = tables.get(table) ?? { count: 0, bytes: 0, own: 0 };
    tables.set(table, sum);
    const bytes = ENTRY_HEAD_BYTES + key.length + (value?.length ?? 0);
    sum.count += 1;
    sum.bytes += Math.min(bytes, ENTRY_BYTES_MAX);
    if (bytes > ENTRY_BYTES_MAX) sum.own += Math.ceil((PAGE_HEAD_BYTES + bytes) / PAGE_BYTES);
  }
  let pages = 0;
  for (const [table, { bytes, count, own }] of tables) {
    const { treeBranchPageCount, treeDepth, treeLeafPageCount } = treeOf(table);
    const splits = Math.min(count, SPLITS_MIN + Math.ceil(bytes / SPLIT_BYTES));
    const branches = Math.min(count * treeDepth, treeBranchPageCount) + Math.ceil(splits / SPLITS_MIN) + treeDepth + 1;
    pages += Math.min(count, treeLeafPageCount) + splits + branches + own;
  }
  const listed = free.treeLeafPageCount + free.treeBranchPageCount + free.overflowPages;
  return pages + listed + Math.ceil((pages * 16) / PAGE_BYTES) + OTHER_PAGES;
}

export class FileRoom {
  readonly #path: string;
  readonly #used: () => number;
  #file: number | undefined;

  /** `used` says how many bytes of the file LMDB uses, free pages among them. */
  constructor(path: string, used: () => number) {
    this.#path = path;
    this.#used = used;
  }

  /** Whether so many bytes lie behind the last page in use. A commit that is under way may take some of them. */
  has(bytes: number): boolean {
    return fstatSync(this.#open()).size >= this.#used() + bytes;
  }

  /**
   * Resolves when so many bytes lie behind the last page in use. Nobody else may write the file meanwhile: what is not
   * there is filled with zeros.
   * @throws the error of the file system that has no room for them.
   */
  async make(bytes: number): Promise<void> {
    if (this.has(bytes)) return;
    const file = this.#open();
    const wanted = this.#used() + bytes;
    const size = () => fstatSync(file).size;
    const end = Math.ceil(wanted / STEP_BYTES) * STEP_BYTES;
    const zeros = Buffer.alloc(Math.min(end - size(), STEP_BYTES));
    try {
      for (let at = size(); at < end;) {
        const { bytesWritten } = await writeAt(file, zeros, 0, Math.min(end - at, zeros.length), at);
        at += bytesWritten;
      }
    } catch (error) {
      if (size() < wanted) throw error;
    }
  }

  #open(): number {
    this.#file ??= openSync(this.#path, 'r+');
    return this.#file;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
