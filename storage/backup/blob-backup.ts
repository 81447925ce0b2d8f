/**
 * Contents of attachments in a backup: copies under the same names, and a list of them with sizes and checksums.
 *
 *     out/blobs/…      as in the data folder
 *     out/blobs.txt    name, bytes and hash of each, a line each
 *
 * What lies in an object store is not copied: the backup says where it lies, and how many there are.
 *
 * Contents never change, so one that an earlier backup has is the same file: it is read there, and given a second name.
 */
import { createReadStream, existsSync, rmSync } from 'node:fs';
import { link, mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ATTACHMENT_TABLES } from '../attachments/attachment-records.ts';
import { isSealedName } from '../attachments/blob-sealing.ts';
import { blobPath } from '../attachments/blobs.ts';
import { makeContentHash } from '../attachments/content-hash.ts';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { FolderError, folderPaths, syncFolder } from '../engine/folder.ts';
import { key } from '../engine/keys.ts';

/** The list of contents in a backup. */
export const BLOB_LIST = 'blobs.txt';
const LINE = /^([bs]?[0-9a-f]{64}) (\d{1,15}) (b?[0-9a-f]{64})$/;

interface BlobLine {
  readonly name: string;
  readonly bytes: number;
  /** Of the file as it lies there, of the same kind as its name where that is one. */
  readonly hash: string;
}

export interface BlobCount {
  readonly attachments: number;
  readonly attachment_bytes: number;
  /** Contents that an attachment has and the disk has not, or not as they were: what `parley check` names. */
  readonly attachments_damaged: number;
  /** Contents in the object store, which the backup leaves there; not said where there are none. */
  readonly attachments_in_object_store?: number;
}

/**
 * Copies every content that the attachments of `out`, a backup under way, have from `folder` to it. The caller sees to
 * it that none is removed meanwhile. `earlier` is a finished backup to take from what it has.
 */
export async function backUpBlobs(folder: string, out: string, earlier: string | undefined): Promise<BlobCount> {
  const known = earlier === undefined ? new Map<string, BlobLine>() : await linesByName(earlier);
  const list = await open(join(out, BLOB_LIST), 'wx', 0o600);
  let [attachments, bytes, damaged, elsewhere] = [0, 0, 0, 0];
  try {
    for await (const { isPlaced, name } of contentsIn(out)) {
      if (isPlaced) {
        elsewhere += 1;
        continue;
      }
      const line = await takeBlob(folder, out, earlier, known.get(name), name);
      if (line === undefined || isDamaged(line)) damaged += 1;
      if (line === undefined) continue;
      attachments += 1;
      bytes += line.bytes;
      await list.write(`${line.name} ${line.bytes} ${line.hash}\n`);
    }
    await list.sync();
  } finally {
    await list.close();
  }
  const counted = { attachments, attachment_bytes: bytes, attachments_damaged: damaged };
  return elsewhere === 0 ? counted : { ...counted, attachments_in_object_store: elsewhere };
}

/** A content that is named by its own hash has to have it; a sealed one says for itself whether it was changed. */
function isDamaged({ name, hash }: BlobLine): boolean {
  return !isSealedName(name) && name !== hash;
}

async function takeBlob(
  folder: string,
  out: string,
  earlier: string | undefined,
  known: BlobLine | undefined,
  name: string,
): Promise<BlobLine | undefined> {
  const target = blobPath(out, name);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  if (earlier !== undefined && known !== undefined && (await isAsListed(earlier, known))) {
    try {
      await link(blobPath(earlier, name), target);
      syncFolder(dirname(target));
      return known;
    } catch (error) {
      // On another disk, or one without second names, it is copied.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    }
  }
  if (!existsSync(blobPath(folder, name))) return undefined;
  const like = isSealedName(name) ? undefined : name;
  return { name, ...(await copyHashing(blobPath(folder, name), target, like)) };
}

/** The contents that the attachments of a backup have, each once, and whether they lie in the object store. */
async function* contentsIn(out: string): AsyncGenerator<{ readonly name: string; readonly isPlaced: boolean }> {
  const path = folderPaths(out).attachments;
  if (!existsSync(path)) return;
  const environment = new Environment(path, ATTACHMENT_TABLES, { mapBytes: mapBytesOf(path), readOnly: true });
  try {
    let last = '';
    // Of a server that never started there is the file and no table in it.
    const { contents, placed }: Partial<typeof environment.tables> = environment.tables;
    for (const itemKey of contents?.getKeys() ?? []) {
      const [name = ''] = itemKey.toString('latin1').split('\0');
      if (name !== last) yield { name, isPlaced: placed?.get(key(name)) !== undefined };
      last = name;
    }
  } finally {
    await environment.close();
    rmSync(`${path}-lock`, { force: true });
  }
}

/** Verifies every content of a backup. @throws FolderError for one that is missing or was changed. */
export async function verifyBlobs(from: string): Promise<void> {
  for await (const line of readLines(from)) {
    if (await isAsListed(from, line)) continue;
    throw new FolderError(`${blobPath(from, line.name)} is missing from the backup, or is not what was backed up.`);
  }
}

/** Puts every content of a backup into a data folder, on disk when it resolves. */
export async function restoreBlobs(from: string, folder: string): Promise<number> {
  let count = 0;
  for await (const { name, hash } of readLines(from)) {
    const target = blobPath(folder, name);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const copied = await copyHashing(blobPath(from, name), target, hash);
    if (copied.hash !== hash) throw new FolderError(`${name} changed while it was restored.`);
    count += 1;
  }
  if (count > 0) syncFolder(folderPaths(folder).blobs);
  return count;
}

/** Removes contents of a backup that nothing in a restored folder has any more. */
export async function dropUnnamedBlobs(from: string, folder: string): Promise<void> {
  const named = new Set<string>();
  for await (const { name } of contentsIn(folder)) named.add(name);
  for await (const { name } of readLines(from)) {
    if (!named.has(name)) rmSync(blobPath(folder, name), { force: true });
  }
}

/** Contents that a restore to a point in time took from elsewhere, and those that it found nowhere. */
export interface LaterBlobs {
  readonly attachments_taken: number;
  readonly attachments_missing: number;
}

/**
 * Takes contents that a restored folder names and does not have from another data folder or backup. One that is not what it is named
 * after is not taken. Nothing is asked of the object store.
 */
export async function takeMissingBlobs(folder: string, elsewhere: string | undefined): Promise<LaterBlobs> {
  let [taken, missing] = [0, 0];
  for await (const { isPlaced, name } of contentsIn(folder)) {
    const target = blobPath(folder, name);
    if (isPlaced || existsSync(target)) continue;
    const source = elsewhere === undefined ? undefined : blobPath(elsewhere, name);
    if (source !== undefined && existsSync(source)) {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const { hash } = await copyHashing(source, target, isSealedName(name) ? undefined : name);
      if (isSealedName(name) || hash === name) {
        taken += 1;
        continue;
      }
      rmSync(target);
    }
    missing += 1;
  }
  return { attachments_taken: taken, attachments_missing: missing };
}

async function linesByName(from: string): Promise<Map<string, BlobLine>> {
  const lines = new Map<string, BlobLine>();
  for await (const line of readLines(from)) lines.set(line.name, line);
  return lines;
}

/** @throws FolderError for a line that is none. */
async function* readLines(from: string): AsyncGenerator<BlobLine> {
  const path = join(from, BLOB_LIST);
  if (!existsSync(path)) return;
  const file = await open(path, 'r');
  try {
    for await (const text of file.readLines()) {
      const [, name = '', bytes = '', hash = ''] = LINE.exec(text) ?? [];
      if (name === '') throw new FolderError(`${path} has a line that names no content.`);
      yield { name, bytes: Number(bytes), hash };
    }
  } finally {
    await file.close();
  }
}

async function isAsListed(from: string, { name, bytes, hash: listed }: BlobLine): Promise<boolean> {
  const path = blobPath(from, name);
  if (!existsSync(path) || (await stat(path)).size !== bytes) return false;
  const hash = makeContentHash(listed);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest() === listed;
}

/** Copies a file; answers its hash, of the same kind as `like`. */
async function copyHashing(source: string, target: string, like?: string): Promise<{ bytes: number; hash: string }> {
  const written: FileHandle = await open(target, 'wx', 0o600);
  const hash = makeContentHash(like);
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(source)) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      await written.writeFile(chunk as Buffer);
    }
    await written.sync();
  } finally {
    await written.close();
  }
  syncFolder(dirname(target));
  return { bytes, hash: hash.digest() };
}
