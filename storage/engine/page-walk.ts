/**
 * Walks the trees of an LMDB file, page after page, without the library: that each page is the one it should be, that keys
 * ascend, that counts are right, and that no page is used twice or both used and free. What it finds sound, the library
 * can read without ending the process.
 *
 *     metas ─► free list ─► list of tables ─► each table's tree ─► values of more than a page
 *
 * Bytes that changed within a value are not seen here: the file has no checksums. Those that no longer make a record are
 * found when it is decoded, and all of them by the checksum of a backup.
 */
import { HEAD_BYTES, NO_PAGE, PageFault, PageFile, TREE_BYTES, treeHead, wide, type TreeHead } from './page-file.ts';

const FLAG_BRANCH = 0x01;
const FLAG_LEAF = 0x02;
const FLAG_OVERFLOW = 0x04;
/** The flags of a page that say what it is; the others are about who writes it. */
const FLAGS_KIND = 0xff;
/** Flags of a node: its value lies on pages of its own, or is the head of a table's tree. */
const NODE_BIG = 0x01;
const NODE_TABLE = 0x02;
const NODE_HEAD_BYTES = 8;
/** What stands for a value of more than a page: its first page, a transaction, its number of pages. */
const BIG_BYTES = 24;
const META_PAGES = 2;
const WORD_BYTES = 8;
const TABLES_NAME = 'its list of tables';
/** Pages behind the file's end that may be, because they are free: 64 GiB of them. More is a damaged head. */
const PAGES_AHEAD_MAX = 2 ** 24;

/** How far a walk goes: `tables` reads the free list and the list of tables, `all` every tree. */
export type WalkDepth = 'tables' | 'all';

/** What the list of tables of a sound file has under keys that are no table's: key in latin1 → value. */
export type Marks = ReadonlyMap<string, Buffer>;

/**
 * Walks the file at `path`. Reads each page once; memory is a bit for each of them. Blocks.
 * @throws PageFault for the first thing that is wrong.
 */
export function walkFile(path: string, depth: WalkDepth): Marks {
  const file = new PageFile(path);
  try {
    return new Walk(file).walk(depth);
  } catch (error) {
    // A number that leads out of its page: the page is not what it was.
    if (error instanceof RangeError) throw new PageFault(`is damaged: ${error.message}`, 'tree');
    throw error;
  } finally {
    file.close();
  }
}

/** A node of a leaf: where its key and its value lie in the page. */
interface Node {
  readonly page: Buffer;
  readonly keyAt: number;
  readonly valueAt: number;
  readonly valueBytes: number;
  readonly flags: number;
}

type Compare = (a: Buffer, aAt: number, aEnd: number, b: Buffer, bAt: number, bEnd: number) => number;
const asBytes: Compare = (a, aAt, aEnd, b, bAt, bEnd) => a.compare(b, bAt, bEnd, aAt, aEnd);
/** Keys of the free list are transactions. */
const asNumbers: Compare = (a, aAt, _aEnd, b, bAt) => wide(a, aAt) - wide(b, bAt);

/** A tree under the walk, and what was counted of it so far. */
class Tree {
  readonly name: string;
  readonly head: TreeHead;
  readonly compare: Compare;
  readonly visit: ((node: Node) => void) | undefined;
  branches = 0;
  leaves = 0;
  overflows = 0;
  entries = 0;
  /** The last key that was seen, and the one that the next may not be below. */
  last: Buffer | undefined;
  floor: Buffer | undefined;

  constructor(name: string, head: TreeHead, compare: Compare, visit?: (node: Node) => void) {
    this.name = name;
    this.head = head;
    this.compare = compare;
    this.visit = visit;
  }

  damaged(what: string): PageFault {
    return new PageFault(`is damaged in ${this.name}: ${what}`, 'tree');
  }

  /** @throws PageFault when what was counted is not what the head says. */
  assertCounts(): void {
    for (const what of ['entries', 'branches', 'leaves', 'overflows'] as const) {
      if (this[what] !== this.head[what]) throw this.damaged(`${this[what]} of ${this.head[what]} ${what} are there`);
    }
  }
}

class Walk {
  readonly #file: PageFile;
  /** A bit for each page that is used or free. */
  readonly #taken: Uint8Array;
  /** A page for each level of a tree. */
  readonly #levels: Buffer[] = [];

  constructor(file: PageFile) {
    this.#file = file;
    const { lastPage, pageBytes } = file.head;
    const here = Math.floor(file.size / pageBytes);
    if (lastPage >= here + PAGES_AHEAD_MAX) {
      throw new PageFault(`is cut off or damaged: it has ${here} pages, and says that it has ${lastPage + 1}`);
    }
    this.#taken = new Uint8Array(Math.floor(lastPage / 8) + 1);
  }

  walk(depth: WalkDepth): Marks {
    const { free, tables } = this.#file.head;
    const freeList: Tree = new Tree('its free list', free, asNumbers, (node) => this.#takeFree(freeList, node));
    this.#walkTree(freeList);
    this.#assertLength();
    const marks = new Map<string, Buffer>();
    const trees: Tree[] = [];
    const list: Tree = new Tree(TABLES_NAME, tables, asBytes, ({ flags, keyAt, page, valueAt, valueBytes }) => {
      const key = page.toString('latin1', keyAt, valueAt);
      if ((flags & NODE_TABLE) === 0) marks.set(key, Buffer.from(page.subarray(valueAt, valueAt + valueBytes)));
      else if (valueBytes !== TREE_BYTES) throw list.damaged('a table has no head');
      // The library writes the name with the NUL that ends it.
      else trees.push(new Tree(`its table ${key.replace(/\0$/, '')}`, treeHead(page, valueAt), asBytes));
    });
    this.#walkTree(list);
    for (const tree of trees) {
      if (depth === 'all') this.#walkTree(tree);
      else if (tree.head.root !== NO_PAGE) this.#readNodes(tree, tree.head.root, 1);
    }
    return marks;
  }

  /** @throws PageFault where a page that is not free lies behind the file's end. */
  #assertLength(): void {
    const { lastPage, pageBytes } = this.#file.head;
    for (let page = Math.floor(this.#file.size / pageBytes); page <= lastPage; page += 1) {
      if (this.#isTaken(page)) continue;
      throw new PageFault(
        `is cut off: it has ${this.#file.size} bytes, and ${(lastPage + 1) * pageBytes} were written`,
      );
    }
  }

  #walkTree(tree: Tree): void {
    const { depth, root } = tree.head;
    if (root !== NO_PAGE) this.#walkPage(tree, root, 1);
    else if (depth !== 0) throw tree.damaged('it has no first page');
    tree.assertCounts();
  }

  #walkPage(tree: Tree, number: number, level: number): void {
    this.#take(tree, number);
    const page = this.#readNodes(tree, number, level);
    const count = page.readUInt16LE(20) >> 1;
    if (level < tree.head.depth) {
      tree.branches += 1;
      for (let index = 0; index < count; index += 1) this.#walkBranch(tree, page, index, level);
      return;
    }
    tree.leaves += 1;
    tree.entries += count;
    let before = tree.last;
    let [beforeAt, beforeEnd] = [0, before?.length ?? 0];
    for (let index = 0; index < count; index += 1) {
      const at = HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + 2 * index);
      const keyAt = at + NODE_HEAD_BYTES;
      const keyEnd = keyAt + page.readUInt16LE(at + 6);
      if (before !== undefined && tree.compare(page, keyAt, keyEnd, before, beforeAt, beforeEnd) <= 0) {
        throw tree.damaged(`keys of page ${number} are not in order`);
      }
      if (tree.floor !== undefined) {
        if (tree.compare(page, keyAt, keyEnd, tree.floor, 0, tree.floor.length) < 0) {
          throw tree.damaged(`page ${number} has a key of the page before it`);
        }
        tree.floor = undefined;
      }
      [before, beforeAt, beforeEnd] = [page, keyAt, keyEnd];
      this.#visit(tree, page, at, keyEnd);
    }
    if (before === page) tree.last = Buffer.from(page.subarray(beforeAt, beforeEnd));
  }

  /** Goes down one branch: what stands before it is below its key, and what it leads to is not. */
  #walkBranch(tree: Tree, page: Buffer, index: number, level: number): void {
    const at = HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + 2 * index);
    const child = page.readUInt16LE(at + 4) * 2 ** 32 + page.readUInt16LE(at + 2) * 2 ** 16 + page.readUInt16LE(at);
    // The first branch has no key that counts.
    if (index > 0) {
      const keyAt = at + NODE_HEAD_BYTES;
      const key = Buffer.from(page.subarray(keyAt, keyAt + page.readUInt16LE(at + 6)));
      if (tree.last !== undefined && tree.compare(key, 0, key.length, tree.last, 0, tree.last.length) <= 0) {
        throw tree.damaged(`branches to page ${child} are not in order`);
      }
      tree.floor = key;
    }
    this.#walkPage(tree, child, level + 1);
  }

  #visit(tree: Tree, page: Buffer, at: number, valueAt: number): void {
    const flags = page.readUInt16LE(at + 4);
    const valueBytes = page.readUInt16LE(at + 2) * 2 ** 16 + page.readUInt16LE(at);
    if ((flags & NODE_BIG) !== 0) this.#takeBig(tree, page, valueAt, valueBytes);
    tree.visit?.({ page, keyAt: at + NODE_HEAD_BYTES, valueAt, valueBytes, flags });
  }

  /** Reads a page of a tree. @throws PageFault unless it is that page, of that kind, with all its nodes within it. */
  #readNodes(tree: Tree, number: number, level: number): Buffer {
    const { pageBytes } = this.#file.head;
    const page = (this.#levels[level] ??= Buffer.alloc(pageBytes));
    this.#file.read(number, page);
    const isLeaf = level === tree.head.depth;
    const kind = page.readUInt16LE(18) & FLAGS_KIND;
    if (wide(page, 0) !== number || kind !== (isLeaf ? FLAG_LEAF : FLAG_BRANCH) || level > tree.head.depth) {
      throw tree.damaged(`page ${number} is not ${isLeaf ? 'a leaf' : 'a branch'} of it`);
    }
    const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
    const count = lower >> 1;
    if (count === 0 || lower > upper || HEAD_BYTES + upper > pageBytes) {
      throw tree.damaged(`page ${number} has no bounds`);
    }
    for (let index = 0; index < count; index += 1) {
      const at = HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + 2 * index);
      if (at < HEAD_BYTES + upper || at + NODE_HEAD_BYTES > pageBytes) throw tree.damaged(`page ${number} is torn`);
      const flags = page.readUInt16LE(at + 4);
      const isOdd = isLeaf && (flags & ~(NODE_BIG | (tree.name === TABLES_NAME ? NODE_TABLE : 0))) !== 0;
      const value = page.readUInt16LE(at + 2) * 2 ** 16 + page.readUInt16LE(at);
      const valueHere = !isLeaf ? 0 : (flags & NODE_BIG) === 0 ? value : BIG_BYTES;
      if (isOdd || at + NODE_HEAD_BYTES + page.readUInt16LE(at + 6) + valueHere > pageBytes) {
        throw tree.damaged(`page ${number} is torn`);
      }
    }
    return page;
  }

  /** The pages of a value that is larger than a leaf takes. @throws PageFault when they are not there or somebody else's. */
  #takeBig(tree: Tree, page: Buffer, at: number, bytes: number): void {
    const { pageBytes } = this.#file.head;
    const [first, pages] = [wide(page, at), wide(page, at + 16)];
    if (pages < Math.ceil((HEAD_BYTES + bytes) / pageBytes) || first + pages > this.#file.head.lastPage + 1) {
      throw tree.damaged(`a value of ${bytes} bytes on page ${first} is not all there`);
    }
    const head = Buffer.alloc(HEAD_BYTES);
    this.#file.read(first, head);
    if (
      wide(head, 0) !== first ||
      (head.readUInt16LE(18) & FLAGS_KIND) !== FLAG_OVERFLOW ||
      head.readUInt32LE(20) !== pages
    ) {
      throw tree.damaged(`page ${first} does not begin a value of ${pages} pages`);
    }
    this.#file.assertHas(first + pages - 1);
    for (let taken = first; taken < first + pages; taken += 1) this.#take(tree, taken);
    tree.overflows += pages;
  }

  /**
   * A record of the free list: how many words follow, and each of them a page, nothing, or, below zero, how many pages there
   * are from the one behind it on.
   */
  #takeFree(tree: Tree, { flags, page, valueAt, valueBytes }: Node): void {
    const words =
      (flags & NODE_BIG) === 0
        ? page.subarray(valueAt, valueAt + valueBytes)
        : this.#readBig(page, valueAt, valueBytes);
    const count = words.length < WORD_BYTES ? Infinity : wide(words, 0);
    if ((count + 1) * WORD_BYTES > words.length) throw tree.damaged('a record is longer than its value');
    for (let index = 1; index <= count; index += 1) {
      const word = words.readBigInt64LE(index * WORD_BYTES);
      if (word === 0n) continue;
      const pages = word < 0n ? Number(-word) : 1;
      if (word < 0n) index += 1;
      const first = index > count ? 0 : wide(words, index * WORD_BYTES);
      if (first + pages > this.#file.head.lastPage + 1) throw tree.damaged(`page ${first} is not one of the file`);
      for (let taken = first; taken < first + pages; taken += 1) this.#take(tree, taken);
    }
  }

  #readBig(page: Buffer, at: number, bytes: number): Buffer {
    const value = Buffer.alloc(HEAD_BYTES + bytes);
    this.#file.read(wide(page, at), value);
    return value.subarray(HEAD_BYTES);
  }

  #isTaken(number: number): boolean {
    return ((this.#taken[number >> 3] as number) & (1 << (number & 7))) !== 0;
  }

  #take(tree: Tree, number: number): void {
    if (number < META_PAGES || number > this.#file.head.lastPage)
      throw tree.damaged(`page ${number} is not one of the file`);
    if (this.#isTaken(number)) throw tree.damaged(`page ${number} is used twice, or is free`);
    this.#taken[number >> 3] = (this.#taken[number >> 3] as number) | (1 << (number & 7));
  }
}
