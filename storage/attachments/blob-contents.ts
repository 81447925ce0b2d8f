/** Contents of attachments as their readers get them, sealed on disk or not. */
import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
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
import { makeContentHash } from './content-hash.ts';

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

/** A content that is open for reading. */
export class Content {
  readonly #file: FileHandle;
  readonly #opened: OpenedContent | undefined;

  constructor(file: FileHandle, opened: OpenedContent | undefined) {
    this.#file = file;
    this.#opened = opened;
  }

  /** @throws Refusal `encryption_locked`; Error `ENOENT` where there is none, and for a sealed one that does not open. */
  static async open(folder: string, name: string, vault: ContentVault): Promise<Content> {
    const keys = isSealedName(name) ? vault.keys : undefined;
    const file = await open(blobPath(folder, name), constants.O_RDONLY);
    try {
      return new Content(file, keys === undefined ? undefined : await readHead(file, name, keys));
    } catch (error) {
      await file.close();
      throw error;
    }
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
      ? readPlain(this.#file, start, end)
      : readSealed(this.#file, this.#opened, start, end);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

async function readHead(file: FileHandle, name: string, keys: ContentKeys): Promise<OpenedContent> {
  const head = Buffer.alloc(SEALED_HEAD_BYTES);
  const { bytesRead } = await file.read(head, 0, head.length, 0);
  const opened = keys.open(name, head.subarray(0, bytesRead));
  if ((await file.stat()).size !== storedBytes(opened.bytes)) throw new Error(`The content ${name} was cut off.`);
  return opened;
}

async function* readPlain(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, Math.max(1, end - start + 1)));
  for (let position = start; position <= end;) {
    const wanted = Math.min(buffer.length, end - position + 1);
    const { bytesRead } = await file.read(buffer, 0, wanted, position);
    if (bytesRead === 0) throw new Error('A content is shorter than it was.');
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readSealed(
  file: FileHandle,
  opened: OpenedContent,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  const stored = Buffer.allocUnsafeSlow(storedBytes(READ_BYTES));
  const last = Math.floor(end / SEALED_CHUNK_BYTES);
  for (let index = Math.floor(start / SEALED_CHUNK_BYTES); index <= last;) {
    const until = Math.min(last, index + READ_BYTES / SEALED_CHUNK_BYTES - 1);
    const from = chunkAt(opened.bytes, index).position;
    const { position, length } = chunkAt(opened.bytes, until);
    const { bytesRead } = await file.read(stored, 0, position + length - from, from);
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

/** What is wrong with a sealed content, as far as can be told without its key; undefined when nothing is. */
export async function faultOfSealed(folder: string, name: string, bytes: number): Promise<string | undefined> {
  const file = await open(blobPath(folder, name), constants.O_RDONLY);
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
