/**
 * Where what the logs of a data folder carry is archived. It stands in the folder, so that a command on a stopped server, which
 * may know nothing of the server's settings, archives what it changes as the server does.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { FolderError, folderPaths, replaceJson } from './folder.ts';
import { installationIn } from './stores.ts';

const placeSchema = z.strictObject({ folder: z.string().min(1), installation: z.string().min(1) });
export type ArchivePlace = z.infer<typeof placeSchema>;

/** @throws FolderError when it cannot be read. */
export function readArchivePlace(folder: string): ArchivePlace | undefined {
  const path = folderPaths(folder).archive;
  if (!existsSync(path)) return undefined;
  try {
    return placeSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new FolderError(`${path} cannot be read. Remove it: the next start makes it anew.`);
  }
}

/** Has the logs of a folder whose stores are settled archived in another folder from now on, or no more. */
export function settleArchivePlace(folder: string, archive: string | undefined): void {
  const path = folderPaths(folder).archive;
  const installation = installationIn(folder);
  if (archive === undefined || installation === undefined) rmSync(path, { force: true });
  else replaceJson(folder, path, { folder: resolve(archive), installation });
}
