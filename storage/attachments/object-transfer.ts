/** A content on its way between this disk and the object store. */
import { open, rm } from 'node:fs/promises';
import { faultOfSealed } from './blob-contents.ts';
import { isSealedName } from './blob-sealing.ts';
import { fetchedPath } from './blobs.ts';
import { makeContentHash } from './content-hash.ts';
import type { StoredObject } from './object-store.ts';

/** Bytes that are asked for at once where nobody waits for the first of them. */
const FETCH_BYTES = 4 * 1024 * 1024;

/** Sends the file of a content to the store. @throws Error when the file is not as long as it was. */
export async function writeObject({ object, store }: StoredObject, path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    await store.write(object, size, async (position, length) => {
      const piece = Buffer.allocUnsafe(length);
      const { bytesRead } = await file.read(piece, 0, length, position);
      if (bytesRead !== length) throw new Error('A content is shorter than it was.');
      return piece;
    });
  } finally {
    await file.close();
  }
}

/**
 * Copies the object of a content of so many stored bytes to a file, on disk when it resolves; answers its path, whose
 * removal is the caller's.
 * @throws Error when it is not the content: by its hash, or by the head and length of a sealed one.
 */
export async function fetchObject(
  folder: string,
  { object, store }: StoredObject,
  { name, bytes, stored }: { readonly name: string; readonly bytes: number; readonly stored: number },
): Promise<string> {
  const path = fetchedPath(folder, object);
  const file = await open(path, 'w', 0o600);
  try {
    try {
      const hash = makeContentHash(name);
      for (let position = 0; position < stored; position += FETCH_BYTES) {
        const piece = await store.read(object, position, Math.min(stored, position + FETCH_BYTES) - 1);
        hash.update(piece);
        await file.writeFile(piece);
      }
      await file.sync();
      if (!isSealedName(name) && hash.digest() !== name) throw new Error('An object is not the content that it was.');
    } finally {
      await file.close();
    }
    const fault = isSealedName(name) ? await faultOfSealed(path, bytes) : undefined;
    if (fault !== undefined) throw new Error(`An object ${fault}.`);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return path;
}
