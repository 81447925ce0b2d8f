/** Contents of attachments as their readers get them: from this disk or from an object store, sealed or not. */
import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { readClusterPlace } from '../engine/cluster-place.ts';
import { blobPath } from './blobs.ts';
import {
  chunkAt,
  ContentKeys,
  isSealedName,
  lockedRefusal,
  openChunk,
  SEALED_CHUNK_BYTES,
  SEALED_HEAD_BYTES,
  sealedLength,
  storedBytes,
  type AttachmentSealing,
  type OpenedContent,
} from './blob-sealing.ts';
import { ContentCopies } from './content-copies.ts';
import { makeContentHash } from './content-hash.ts';
import { OBJECT_READ_BYTES, type StoredObject } from './object-store.ts';

/** Bytes read from the disk at once, and held for one reader: whole chunks of a sealed content. */
const READ_BYTES = 4 * SEALED_CHUNK_BYTES;

/** The keys of contents as one thread has them, told by the main thread. */
export class ContentVault {
  #state: AttachmentSealing['state'] = 'off';
  #keys: ContentKeys | undefined;

  constructor(sealing: AttachmentSealing = { state: 'off' }) {
    this.take(sealing);
  }

  /** Keeps contents like this from now on; the keys before are forgotten. */
  take(sealing: AttachmentSealing): void {
    this.#keys?.wipe();
    this.#state = sealing.state;
    this.#keys = sealing.state === 'unlocked' ? new ContentKeys(sealing.secret) : undefined;
  }

  get isUnlocked(): boolean {
    return this.#state === 'unlocked';
  }

  /** Whether contents lie there as they are. */
  get isOff(): boolean {
    return this.#state === 'off';
  }

  /** Whether new contents can be kept. */
  get keepsContents(): boolean {
    return this.#state !== 'locked';
  }

  /** What new contents are sealed with; undefined while encryption at rest is off. @throws Refusal `encryption_locked`. */
  get sealing(): ContentKeys | undefined {
    return this.#state === 'off' ? undefined : this.keys;
  }

  /** What opens sealed contents. @throws Refusal `encryption_locked`. */
  get keys(): ContentKeys {
    if (this.#keys === undefined) throw lockedRefusal();
    return this.#keys;
  }
}

/** The stored bytes of a content, wherever they lie. */
interface StoredBytes {
  /** Bytes that are read at once: whole chunks of a sealed content. */
  readonly pieceBytes: number;
  /** Fills `into` from `position`; answers how many bytes there were. */
  read(into: Buffer, length: number, position: number): Promise<number>;
  /** How many there are, where that can be told before they are read. */
  size(): Promise<number | undefined>;
  close(): Promise<void>;
}

/** A content that is open for reading. */
export class Content {
  readonly #stored: StoredBytes;
  readonly #opened: OpenedContent | undefined;

  private constructor(stored: StoredBytes, opened: OpenedContent | undefined) {
    this.#stored = stored;
    this.#opened = opened;
  }

  /**
   * Opens the content of that name: the file where there is one, as of what was uploaded once more while the store is away, else
   * the object that `find` answers, which is asked when the key is there.
   * @throws Refusal `encryption_locked`, `object_store_unavailable`; Error `ENOENT` where there is none, and for a sealed
   * one that does not open.
   */
  static async open(
    folder: string,
    name: string,
    vault: ContentVault,
    find?: (name: string) => StoredObject | undefined,
  ): Promise<Content> {
    const keys = isSealedName(name) ? vault.keys : undefined;
    const stored = await openStored(folder, name, () => find?.(name));
    try {
      return new Content(stored, keys === undefined ? undefined : await readHead(stored, name, keys));
    } catch (error) {
      await stored.close();
      throw error;
    }
  }

  /** The content of a file that another process opened the head of. */
  static async ofFile(path: string, opened: OpenedContent | undefined): Promise<Content> {
    return new Content(await openFile(path), opened);
  }

  /** What another process needs to read it by itself; undefined for one that is not sealed. */
  get opened(): OpenedContent | undefined {
    return this.#opened;
  }

  /**
   * Its bytes from `start` to `end`, both included. Every piece may be in the same memory: it is good until the next one
   * is asked for.
   */
  read(start: number, end: number): AsyncGenerator<Buffer> {
    return this.#opened === undefined
      ? readPlain(this.#stored, start, end)
      : readSealed(this.#stored, this.#opened, start, end);
  }

  async close(): Promise<void> {
    await this.#stored.close();
  }
}

async function openStored(folder: string, name: string, find: () => StoredObject | undefined): Promise<StoredBytes> {
  const path = blobPath(folder, name);
  try {
    return await openFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const object = find();
    if (object !== undefined) return openObject(object);
    // A host that has just begun to lead may lack what the others have. And one that came back between the two looks is a file by now.
    await fetchMissing(folder, name);
    return await openFile(path);
  }
}

/** The copies of the cluster that a folder is of, for this thread. */
const copiesOf = new Map<string, ContentCopies>();

async function fetchMissing(folder: string, name: string): Promise<void> {
  const place = readClusterPlace(folder);
  if (place === undefined) return;
  const copies = copiesOf.get(folder) ?? new ContentCopies(place);
  copiesOf.set(folder, copies);
  await copies.bring(folder, name);
}

async function openFile(path: string): Promise<StoredBytes> {
  const file: FileHandle = await open(path, constants.O_RDONLY);
  return {
    pieceBytes: READ_BYTES,
    read: async (into, length, position) => (await file.read(into, 0, length, position)).bytesRead,
    size: async () => (await file.stat()).size,
    close: async () => await file.close(),
  };
}

/** A sealed object that was cut off ends in an error where it ends: its length is asked for with no read of its own. */
function openObject({ object, store }: StoredObject): StoredBytes {
  return {
    pieceBytes: OBJECT_READ_BYTES,
    read: async (into, length, position) => (await store.read(object, position, position + length - 1)).copy(into),
    size: async () => await Promise.resolve(undefined),
    close: async () => await Promise.resolve(),
  };
}

/** Reads all of the file of a sealed content. @throws Error where a part of it does not open. */
export async function requireOpening(path: string, name: string, keys: ContentKeys): Promise<void> {
  const file = await openFile(path);
  try {
    const opened = await readHead(file, name, keys);
    for await (const piece of readSealed(file, opened, 0, opened.bytes - 1)) void piece;
  } finally {
    await file.close();
  }
}

async function readHead(file: StoredBytes, name: string, keys: ContentKeys): Promise<OpenedContent> {
  const head = Buffer.alloc(SEALED_HEAD_BYTES);
  const bytesRead = await file.read(head, head.length, 0);
  const opened = keys.open(name, head.subarray(0, bytesRead));
  const size = await file.size();
  if (size !== undefined && size !== storedBytes(opened.bytes)) throw new Error(`The content ${name} was cut off.`);
  return opened;
}

async function* readPlain(file: StoredBytes, start: number, end: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(file.pieceBytes, Math.max(1, end - start + 1)));
  for (let position = start; position <= end;) {
    const wanted = Math.min(buffer.length, end - position + 1);
    const bytesRead = await file.read(buffer, wanted, position);
    if (bytesRead === 0) throw new Error('A content is shorter than it was.');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readSealed(
  file: StoredBytes,
  opened: OpenedContent,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  const stored = Buffer.allocUnsafeSlow(storedBytes(file.pieceBytes));
  const last = Math.floor(end / SEALED_CHUNK_BYTES);
  for (let index = Math.floor(start / SEALED_CHUNK_BYTES); index <= last;) {
    const until = Math.min(last, index + file.pieceBytes / SEALED_CHUNK_BYTES - 1);
    const from = chunkAt(opened.bytes, index).position;
    const { position, length } = chunkAt(opened.bytes, until);
    const bytesRead = await file.read(stored, position + length - from, from);
    for (; index <= until; index += 1) {
      const at = chunkAt(opened.bytes, index);
      const chunk = stored.subarray(at.position - from, at.position - from + at.length);
      if (at.position - from + at.length > bytesRead) throw new Error('A content is shorter than it was.');
      const clear = openChunk(opened, index, chunk);
      const first = index * SEALED_CHUNK_BYTES;
      yield clear.subarray(Math.max(0, start - first), Math.min(clear.length, end - first + 1));
    }
  }
}

/**
 * Writes the sealed copy of a file of so many bytes, on disk when it resolves. Answers its name.
 * @throws Error when the file does not have that hash, and there is no copy then.
 */
export async function writeSealedCopy(
  source: string,
  target: string,
  { bytes, hash: expected }: { readonly bytes: number; readonly hash: string },
  keys: ContentKeys,
): Promise<string> {
  const name = keys.nameOf(expected);
  const { head, chunk } = keys.sealer(name, bytes);
  const from = await open(source, constants.O_RDONLY);
  try {
    const to = await open(target, 'w', 0o600);
    try {
      await to.writeFile(head);
      const hash = makeContentHash(expected);
      // One piece is as long as it can be, so that it holds whole chunks but at the end.
      for (let position = 0; position < bytes;) {
        const clear = Buffer.allocUnsafe(Math.min(SEALED_CHUNK_BYTES, bytes - position));
        const { bytesRead } = await from.read(clear, 0, clear.length, position);
        if (bytesRead !== clear.length) break;
        hash.update(clear);
        await to.writeFile(chunk(clear));
        position += clear.length;
      }
      if (hash.digest() !== expected) throw new Error(`${source} is not the content that it was.`);
      await to.sync();
    } finally {
      await to.close();
    }
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await from.close();
  }
  return name;
}

/** What is wrong with the file of a sealed content, as far as can be told without its key; undefined when nothing is. */
export async function faultOfSealed(path: string, bytes: number): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY);
  try {
    const head = Buffer.alloc(SEALED_HEAD_BYTES);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (sealedLength(head.subarray(0, bytesRead)) !== bytes) return 'has a content that was changed on disk';
    const { size } = await file.stat();
    return size === storedBytes(bytes) ? undefined : `has ${size} bytes on disk, not ${storedBytes(bytes)}`;
  } finally {
    await file.close();
  }
}
