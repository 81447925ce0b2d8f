/**
 * Files of attachments: uploads that are under way, and finished contents by their hash, each content once.
 *
 *     uploads/att_…        what has arrived of an upload; its length is the upload's offset
 *     uploads/att_….sealed the sealed copy of a whole upload, before it gets its name
 *     uploads/seal-…       the sealed copy of a content that lay there unsealed
 *     uploads/fetch-…      a copy of an object of the object store, for a thumbnail or to bring it back
 *     blobs/ab/babcd…      a content, never changed once it is there
 *     blobs/ab/cd/abcd…    one whose hash is a SHA-256, from before; blobs/s1/23/s123…, a sealed one
 *     blobs/…/babcd….320   its thumbnail of that size, made anew whenever it is not there
 *
 * An upload that somebody may come back to becomes a blob by a second name for the same file, so that a crash between the
 * two names leaves both. Names in a folder are on disk before anything says that the file is there.
 */
import { closeSync, fstatSync, fsync, openSync, read } from 'node:fs';
import { link, mkdir, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { THUMBNAIL_SIZES } from '#src/protocol/attachments/attachments.ts';
import { isSealedName } from './blob-sealing.ts';
import { CONTENT_NAME, isSha256, makeContentHash } from './content-hash.ts';
import { folderPaths } from '../engine/folder.ts';

/** Bytes read at once where a file is hashed or looked through. */
const READ_BYTES = 256 * 1024;

/**
 * Where the content with that name lies. One folder for each first byte is enough for millions, and a folder that is
 * known to be on disk saves the next content in it a turn of the disk; older names have folders in folders.
 */
export function blobPath(folder: string, hash: string): string {
  if (!CONTENT_NAME.test(hash)) throw new Error('A content is named by 64 hex digits.');
  const { blobs } = folderPaths(folder);
  if (isSha256(hash) || isSealedName(hash)) return join(blobs, hash.slice(0, 2), hash.slice(2, 4), hash);
  return join(blobs, hash.slice(1, 3), hash);
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

/** Where a copy of an object gathers. The object's name is the server's own, so that it is a safe one. */
export function fetchedPath(folder: string, object: string): string {
  if (!/^[0-9a-f-]{36}$/.test(object)) throw new Error('An object is named by a UUID.');
  return join(folderPaths(folder).uploads, `fetch-${object}`);
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
  await settleFolder(folder);
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

/** Gives an upload's file its name among the contents, on disk when it resolves. The upload's own name stays. */
export async function adoptUpload(folder: string, id: string, hash: string): Promise<void> {
  await adoptFile(folder, isSealedName(hash) ? sealedUploadPath(folder, id) : uploadPath(folder, id), hash);
}

/** Gives a file a name among the contents, on disk when it resolves. */
export async function adoptFile(folder: string, source: string, hash: string): Promise<void> {
  const path = blobPath(folder, hash);
  try {
    await withFolder(path, async () => await link(source, path));
  } catch (error) {
    // The same content was uploaded before.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  await settleNames(folder, path);
}

/**
 * Makes the file of an upload, all of it on disk, the content, on disk under its name when it resolves; nothing is left
 * of the upload. For one that nobody knows the id of, and so nobody can come back to.
 */
export async function takeUpload(folder: string, id: string, hash: string): Promise<void> {
  const path = blobPath(folder, hash);
  const source = isSealedName(hash) ? sealedUploadPath(folder, id) : uploadPath(folder, id);
  await withFolder(path, async () => await rename(source, path));
  if (isSealedName(hash)) await removeFile(uploadPath(folder, id));
  await settleNames(folder, path);
}

/** Does something that needs the folder of a path, which is nearly always there. */
async function withFolder(path: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isAbsent(error)) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await action();
  }
}

/** Folders of contents whose own names this thread put on disk; 256, and 4,096 of sealed ones, at most. */
const settled = new Set<string>();

/** Puts a content's name on disk, with those of the folders above it. */
async function settleNames(folder: string, path: string): Promise<void> {
  const own = dirname(path);
  const folders = [own];
  for (let at = own; at !== folderPaths(folder).blobs && !settled.has(at); at = dirname(at)) folders.push(dirname(at));
  await settleFolders(folders);
  for (const at of folders) settled.add(at);
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
    for (const folder of batch) await settleFolder(folder);
  });
  const own = upcoming;
  running = own.catch(() => undefined);
  await own;
}

export async function removeUpload(folder: string, id: string): Promise<void> {
  await removeFile(uploadPath(folder, id));
  await removeFile(sealedUploadPath(folder, id));
}

/** Removes a content with its thumbnails. */
export async function removeBlob(folder: string, hash: string): Promise<void> {
  for (const size of THUMBNAIL_SIZES) {
    const path = thumbnailPath(folder, hash, size);
    await removeFile(path);
    // Half of one, that a crash left.
    await removeFile(`${path}.new`);
  }
  await removeFile(blobPath(folder, hash));
}

/** Removes a file, if it is there. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
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
    const names = await namesIn(join(root, first));
    const isFolder = (name: string) => name.length === 2;
    yield names.filter((name) => !isFolder(name));
    for (const second of names.filter(isFolder)) yield await namesIn(join(root, first, second));
  }
}

/** Bytes and hash of a content as it lies on disk; undefined where there is none. */
export async function measureBlob(
  folder: string,
  hash: string,
): Promise<{ readonly bytes: number; readonly hash: string } | undefined> {
  let file: number;
  try {
    file = openSync(blobPath(folder, hash), 'r');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    return { bytes: fstatSync(file).size, hash: await hashFile(file, hash) };
  } finally {
    closeSync(file);
  }
}

/** The hash of an open file's content, of the same kind as `like`. */
export async function hashFile(file: number, like?: string): Promise<string> {
  const hash = makeContentHash(like);
  for await (const chunk of readAll(file)) hash.update(chunk);
  return hash.digest();
}

/** The content of an open file. Every chunk is in the same memory: it is good until the next one is asked for. */
export async function* readAll(file: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await promisify(read)(file, buffer, 0, buffer.length, position);
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

/** Puts the names in a folder on disk. */
export async function settleFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r');
  try {
    await promisify(fsync)(folder);
  } finally {
    closeSync(folder);
  }
}

/** Whether what a path names is not there. */
function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
