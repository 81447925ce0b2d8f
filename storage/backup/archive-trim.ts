/** Removes what no backup from one on needs of an archive of logs. */
import { readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FolderError } from '../engine/folder.ts';
import { readArchiveFileName } from '../log/archive-file.ts';
import { backupOrigin, type BackupReport } from './backup.ts';

/**
 * Removes every file of an archive that ended before a backup was begun: of its own installation, and of those that were before a
 * restore. The last file of each of its logs stays. Works beside a running server.
 * @throws FolderError when there is no such archive, or `before` is no finished backup.
 */
export function trimArchive(archive: string, before: string): BackupReport {
  const { createdAt, installation } = backupOrigin(before);
  let [removed, bytes, kept] = [0, 0, 0];
  for (const owner of foldersIn(archive)) {
    for (const log of foldersIn(join(archive, owner))) {
      const folder = join(archive, owner, log);
      const isLive = owner === installation && !log.includes('.');
      const names = readdirSync(folder)
        .filter((name) => readArchiveFileName(name) !== undefined)
        .toSorted();
      for (const [n, name] of names.entries()) {
        const path = join(folder, name);
        if (endOf(path, names[n + 1], isLive) >= createdAt) {
          kept += 1;
          continue;
        }
        bytes += statSync(path).size;
        rmSync(path);
        removed += 1;
      }
      if (!isLive) removeEmpty(folder);
    }
    if (owner !== installation) removeEmpty(join(archive, owner));
  }
  return { archive, removed, removed_bytes: bytes, kept };
}

/** A time before which a file ended, in milliseconds: when the next one of its log was begun. */
function endOf(path: string, next: string | undefined, isLive: boolean): number {
  const [own, other] = [path.slice(path.lastIndexOf('/') + 1), next].map((name) => readArchiveFileName(name ?? ''));
  if (own !== undefined && other?.id.equals(own.id) === true) return other.at;
  return isLive ? Infinity : statSync(path).mtimeMs;
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    throw new FolderError(`${folder} cannot be read: ${(error as Error).message}`);
  }
}

function removeEmpty(folder: string): void {
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}
