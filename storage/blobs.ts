/**
 * Files of attachments: uploads that are under way, and finished contents by their SHA-256, each content once.
 *
 *     uploads/att_…        what has arrived of an upload; its length is the upload's offset
 *     uploads/att_….sealed the sealed copy of a whole upload, before it gets its name
 *     uploads/seal-…       the sealed copy of a content that lay there unsealed
 *     blobs/ab/cd/abcd…    a content, never changed once it is there
 *     blobs/…/abcd….320    its thumbnail of that size, made anew whenever it is not there
 *
 * An upload becomes a blob by a second name for the same file, so that no byte is copied and a crash between the two
 * names leaves both. Names in a folder are on disk before anything says that the file is there.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants, readSync, writeSync } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { THUMBNAIL_SIZES } from '#src/protocol/attachments.ts';
import { isSealedName } from './blob-sealing.ts';
import { folderPaths } from './folder.ts';

/** Bytes read at once where a file is hashed or looked through. */
const READ_BYTES = 256 * 1024;
/**
 * Bytes that gather before the disk is set to write them while more arrive. Without it the disk rests until the last
 * byte is there and all of the file is waited for then.
 */
const WRITE_BEHIND_BYTES = 16 * 1024 * 1024;

/** A content's own SHA-256, or, of a sealed one, the keyed hash that takes its place. */
const NAME = /^s?[0-9a-f]{64}$/;

/** Where the content with that hash lies. */
export function blobPath(folder: string, hash: string): string {
  if (!NAME.test(hash)) throw new Error('A content is named by 64 hex digits.');
  return join(folderPaths(folder).blobs, hash.slice(0, 2), hash.slice(2, 4), hash);
}

/** Where an upload's bytes gather. The id is the server's own, so that it is a safe name. */
export function uploadPath(folder: string, id: string): string {
  if (!/^att_[0-9a-z]+$/.test(id)) throw new Error('An upload is named by its id.');
  return join(folderPaths(folder).uploads, id);
}

/** Where the sealed copy of a whole upload gathers before it gets its name. */
export function sealedUploadPath(folder: string, id: string): string {
  return `${uploadPath(folder, id)}.sealed`;
}

/** Where the sealed copy of a content gathers. */
export function sealedBlobPath(folder: string, hash: string): string {
  return join(folderPaths(folder).uploads, `seal-${hash}`);
}

/** Where a content's thumbnail lies. */
export function thumbnailPath(folder: string, hash: string, size: number): string {
  return `${blobPath(folder, hash)}.${size}`;
}

/** Makes the folders, once, before anything is uploaded. */
export async function prepareBlobs(folder: string): Promise<void> {
  const { uploads, blobs } = folderPaths(folder);
  await mkdir(uploads, { recursive: true, mode: 0o700 });
  await mkdir(blobs, { recursive: true, mode: 0o700 });
  await sync(folder);
}

/** How many bytes of an upload have arrived; 0 for one without a file. */
export async function uploadedBytes(folder: string, id: string): Promise<number> {
  try {
    return (await stat(uploadPath(folder, id))).size;
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}

/** When bytes last arrived, in milliseconds since 1970; undefined for an upload without a file. */
export async function uploadTouchedAt(folder: string, id: string): Promise<number | undefined> {
  try {
    return (await stat(uploadPath(folder, id))).mtimeMs;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Appends to one upload. One at a time has it: whoever holds the upload's lease. */
export class UploadWriter {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #begun: number;
  #offset: number;
  /** How far the disk was set to write, and its work while it does. */
  #behind: number;
  #writing: Promise<void> | undefined;
  /** What the disk said to that: it says so once, and would call the next attempt a success. */
  #failure: unknown;
  /** How far the content is on disk. */
  #settled = 0;
  #isNamed = false;
  /** Of the whole content, while every byte of it passed through here. */
  readonly #whole: Hash | undefined;

  private constructor(path: string, file: FileHandle, offset: number) {
    this.#path = path;
    this.#file = file;
    this.#begun = offset;
    this.#offset = offset;
    this.#behind = offset;
    this.#whole = offset === 0 ? createHash('sha256') : undefined;
  }

  static async open(folder: string, id: string): Promise<UploadWriter> {
    const path = uploadPath(folder, id);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      return new UploadWriter(path, file, (await file.stat()).size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get offset(): number {
    return this.#offset;
  }

  /**
   * Returns when the bytes are with the operating system. It does not give way to anything else, so that whoever brings
   * them cannot bring more meanwhile: half a megabyte takes a fraction of a millisecond.
   */
  append(chunk: Buffer): void {
    this.#whole?.update(chunk);
    for (let written = 0; written < chunk.length;) {
      const bytes = writeSync(this.#file.fd, chunk, written, chunk.length - written, this.#offset);
      written += bytes;
      this.#offset += bytes;
    }
    if (this.#writing === undefined && this.#offset - this.#behind >= WRITE_BEHIND_BYTES) this.#writeBehind();
  }

  /** Has the disk write what there is, beside what else happens. That it failed is for `settle` to say. */
  #writeBehind(): void {
    this.#behind = this.#offset;
    this.#writing = this.#file
      .datasync()
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** Takes back what was appended since it was opened. */
  async undo(): Promise<void> {
    await this.#file.truncate(this.#begun);
    this.#offset = this.#begun;
    this.#behind = this.#begun;
    this.#settled = 0;
  }

  /** Puts what was appended on disk with its name: whoever comes back finds it. */
  async settle(): Promise<void> {
    const name = this.#isNamed ? undefined : sync(dirname(this.#path));
    await Promise.all([this.settleContent(), name]);
    this.#isNamed = true;
  }

  /** Puts what was appended on disk. It gets another name next, or nobody was told of it. */
  async settleContent(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure as Error;
    const offset = this.#offset;
    if (offset === this.#settled) return;
    await this.#file.sync();
    this.#settled = offset;
  }

  /** The first bytes of the content. */
  head(bytes: number): Buffer {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, readSync(this.#file.fd, buffer, 0, bytes, 0));
  }

  /** SHA-256 of the whole content, in hex; ends the writing. Reads it again where a part of it came earlier. */
  async hash(): Promise<string> {
    if (this.#whole !== undefined) return this.#whole.digest('hex');
    return await hashOf(this.#file);
  }

  /** The content from its beginning, for whoever has to look through it. */
  async *read(): AsyncGenerator<Buffer> {
    yield* readAll(this.#file);
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }
}

/** Gives an upload's file its name among the contents, on disk when it resolves. The upload's own name stays. */
export async function adoptUpload(folder: string, id: string, hash: string): Promise<void> {
  await adoptFile(folder, isSealedName(hash) ? sealedUploadPath(folder, id) : uploadPath(folder, id), hash);
}

/** Gives a file a name among the contents, on disk when it resolves. */
export async function adoptFile(folder: string, source: string, hash: string): Promise<void> {
  const path = blobPath(folder, hash);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await link(source, path);
  } catch (error) {
    // The same content was uploaded before.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  await settleNames(path);
}

/** Folders of contents whose own names this thread put on disk; 65,536 and 256 at most. */
const settled = new Set<string>();

/** Puts a content's name on disk, with those of the folders above it. */
async function settleNames(path: string): Promise<void> {
  const [own, above] = [dirname(path), dirname(dirname(path))];
  const folders = [own];
  if (!settled.has(own)) folders.push(above);
  if (!settled.has(above)) folders.push(dirname(above));
  await settleFolders(folders);
  settled.add(own).add(above);
}

/** Folders that wait for the disk, which is busy with those before them; and when these are done. */
let waiting = new Set<string>();
let upcoming: Promise<void> | undefined;
let running: Promise<void> = Promise.resolve();

/**
 * Puts the names in these folders on disk. What is asked for meanwhile goes together: a file system writes down all that
 * changed, so that only the first one of a batch takes long, and uploads that end together wait for the disk once.
 */
async function settleFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) waiting.add(folder);
  upcoming ??= running.then(async () => {
    const batch = [...waiting];
    waiting = new Set();
    upcoming = undefined;
    // One after the other: each of several at once would hold a thread, and wait for the same.
    for (const folder of batch) await sync(folder);
  });
  const own = upcoming;
  running = own.catch(() => undefined);
  await own;
}

export async function removeUpload(folder: string, id: string): Promise<void> {
  await rm(uploadPath(folder, id), { force: true });
  await rm(sealedUploadPath(folder, id), { force: true });
}

/** Removes a content with its thumbnails. */
export async function removeBlob(folder: string, hash: string): Promise<void> {
  for (const size of THUMBNAIL_SIZES) {
    const path = thumbnailPath(folder, hash, size);
    await rm(path, { force: true });
    // Half of one, that a crash left.
    await rm(`${path}.new`, { force: true });
  }
  await rm(blobPath(folder, hash), { force: true });
}

/** Writes a content's thumbnail, whole or not at all. Nobody needs it to outlive a power cut. */
export async function writeThumbnail(folder: string, hash: string, size: number, bytes: Uint8Array): Promise<void> {
  const path = thumbnailPath(folder, hash, size);
  await writeFile(`${path}.new`, bytes, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The names of the files of uploads. */
export async function uploadFiles(folder: string): Promise<string[]> {
  return await namesIn(folderPaths(folder).uploads);
}

/** The names of all files of contents, one folder of them at a time. */
export async function* blobFiles(folder: string): AsyncGenerator<string[]> {
  const root = folderPaths(folder).blobs;
  for (const first of await namesIn(root)) {
    for (const second of await namesIn(join(root, first))) yield await namesIn(join(root, first, second));
  }
}

/** Bytes and SHA-256 of a content as it lies on disk; undefined where there is none. */
export async function measureBlob(
  folder: string,
  hash: string,
): Promise<{ readonly bytes: number; readonly hash: string } | undefined> {
  let file: FileHandle;
  try {
    file = await open(blobPath(folder, hash), 'r');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    return { bytes: (await file.stat()).size, hash: await hashOf(file) };
  } finally {
    await file.close();
  }
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readAll(file)) hash.update(chunk);
  return hash.digest('hex');
}

/** Every chunk is in the same memory: it is good until the next one is asked for. */
async function* readAll(file: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
