/**
 * The pages of an LMDB file, read and never mapped: whatever is wrong with the file, whoever looks at it here is told so
 * and lives. The library maps it, and a page that is not there ends the process without a word.
 *
 *     page        number (8), transaction (8), pad (2), flags (2), lower (2), upper (2), pointers, …, nodes
 *     meta page   behind the head of 24 bytes: magic (4), version (4), address (8), map size (8), the tree of the free
 *                 list (48), the tree of the tables (48), last page (8), transaction (8)
 *
 * Format: LMDB’s `mdb.c`, MDB_DATA_VERSION 2, of the library’s 3.5.6, on a machine of 64 bits that stores the low byte first.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/**
 * What is wrong with a file, in words that go on behind its path. `head`: already its presence, its length or its first
 * pages are; `tree`: one of the pages that these lead to.
 */
export class PageFault extends Error {
  readonly part: 'head' | 'tree';

  constructor(what: string, part: 'head' | 'tree' = 'head') {
    super(what);
    this.part = part;
  }
}

/** What LMDB says of a tree. */
export interface TreeHead {
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** The page that it begins on; NO_PAGE of an empty one. */
  readonly root: number;
}

/** What the newest commit says of the file. */
export interface FileHead {
  readonly pageBytes: number;
  readonly transaction: number;
  readonly lastPage: number;
  readonly free: TreeHead;
  readonly tables: TreeHead;
}

export const HEAD_BYTES = 24;
export const TREE_BYTES = 48;
/** What stands where an empty tree would have its root. */
export const NO_PAGE = 2 ** 64;
const FLAG_META = 0x08;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
/** The bits of the version that say which it is. */
const VERSION_MASK = 0xffff;
const META_PAGES = 2;
const META_BYTES = 192;
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 65_536;

/** Eight bytes, low to high; what is beyond the whole numbers is so large that no file has it. */
export function wide(buffer: Buffer, at: number): number {
  return buffer.readUInt32LE(at + 4) * 2 ** 32 + buffer.readUInt32LE(at);
}

/** The head of a tree, where 48 bytes have one. */
export function treeHead(buffer: Buffer, at: number): TreeHead {
  const root = wide(buffer, at + 40);
  return {
    depth: buffer.readUInt16LE(at + 6),
    branches: wide(buffer, at + 8),
    leaves: wide(buffer, at + 16),
    overflows: wide(buffer, at + 24),
    entries: wide(buffer, at + 32),
    root: root >= NO_PAGE - 4096 ? NO_PAGE : root,
  };
}

export class PageFile {
  readonly head: FileHead;
  /** Bytes of the file. */
  readonly size: number;
  readonly #descriptor: number;

  /** @throws PageFault for a file that is empty, too short for its first pages, or does not begin as LMDB's do. */
  constructor(path: string) {
    this.#descriptor = openSync(path, 'r');
    try {
      this.size = fstatSync(this.#descriptor).size;
      this.head = this.#readHead();
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  /** Reads a page into `buffer`, which is as long as one or more. @throws PageFault for one behind the file's end. */
  read(number: number, buffer: Buffer): void {
    const { lastPage, pageBytes } = this.head;
    if (number > lastPage) throw new PageFault(`leads to page ${number}, and has ${lastPage + 1}`);
    const read = readSync(this.#descriptor, buffer, 0, buffer.length, number * pageBytes);
    if (read < buffer.length)
      throw new PageFault(`is cut off: it has ${this.size} bytes, and page ${number} is missing`);
  }

  /** @throws PageFault for a page behind the file's end. */
  assertHas(number: number): void {
    if ((number + 1) * this.head.pageBytes > this.size) {
      throw new PageFault(`is cut off: it has ${this.size} bytes, and page ${number} is missing`);
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #readHead(): FileHead {
    if (this.size === 0) throw new PageFault('is empty');
    const first = this.#readMeta(0, 0);
    const second = this.#readMeta(1, first.pageBytes);
    // As the library does: the later commit counts, and both pages have to be whole.
    return second.transaction > first.transaction ? second : first;
  }

  #readMeta(number: number, at: number): FileHead {
    const buffer = Buffer.alloc(META_BYTES);
    if (readSync(this.#descriptor, buffer, 0, META_BYTES, at) < META_BYTES) {
      throw new PageFault(`is cut off within its first ${META_PAGES} pages: it has ${this.size} bytes`);
    }
    const isMeta =
      wide(buffer, 0) === number &&
      buffer.readUInt16LE(18) === FLAG_META &&
      buffer.readUInt32LE(HEAD_BYTES) === MAGIC &&
      (buffer.readUInt32LE(HEAD_BYTES + 4) & VERSION_MASK) === DATA_VERSION;
    if (!isMeta) throw new PageFault(`is not an LMDB file, or its page ${number} is damaged`);
    const pageBytes = buffer.readUInt32LE(48);
    const isPageSize =
      pageBytes >= PAGE_BYTES_MIN && pageBytes <= PAGE_BYTES_MAX && (pageBytes & (pageBytes - 1)) === 0;
    if (!isPageSize) throw new PageFault(`has a damaged page ${number}: its pages would have ${pageBytes} bytes`);
    const head = {
      pageBytes,
      transaction: wide(buffer, 152),
      lastPage: wide(buffer, 144),
      free: treeHead(buffer, 48),
      tables: treeHead(buffer, 96),
    };
    for (const { root } of [head.free, head.tables]) {
      const isThere = root === NO_PAGE || (root >= META_PAGES && root <= head.lastPage);
      if (!isThere) throw new PageFault(`has a damaged page ${number}: it leads to page ${root}`);
    }
    return head;
  }
}
