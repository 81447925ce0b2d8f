/**
 * Migrations: what brings a data folder of an earlier format to the one this server reads.
 *
 *     format 0 ──addFloors──► manifest says 1 ──gatherBlocks──► … ──► manifest says FOLDER_FORMAT
 *
 * Each runs once, in order, on a locked folder before anything else opens it. The manifest says how far the folder
 * came only after a migration is on disk, so one that a crash interrupted runs again: it must find its way through what
 * it did before. Migrations keep their own idea of the records that they rewrite, because `records.ts` moves on.
 */
import { FOLDER_FORMAT, FolderError, writeManifest, type Manifest } from './folder.ts';
import { addFloors } from './format-1.ts';
import { gatherBlocks } from './format-2.ts';
import { countUses } from './format-3.ts';
import { beginLogs } from './format-4.ts';

/** Brings a folder from the format of its place in the list to the next one. Everything it does is on disk when it ends. */
export type Migration = (folder: string, manifest: Manifest) => Promise<void>;

/** The migration at place n leads from format n to n + 1. None is ever changed or removed once it was released. */
export const MIGRATIONS: readonly Migration[] = [addFloors, gatherBlocks, countUses, beginLogs];

/**
 * Brings a locked folder to FOLDER_FORMAT; answers its manifest. Does nothing to one that is there already.
 * @throws FolderError when it is newer.
 */
export async function migrateFolder(
  folder: string,
  manifest: Manifest,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Manifest> {
  if (manifest.format > FOLDER_FORMAT) {
    throw new FolderError(
      `${folder} has format ${manifest.format}; this server knows up to ${FOLDER_FORMAT}. Use a newer one.`,
    );
  }
  let current = manifest;
  for (const migrate of migrations.slice(manifest.format)) {
    await migrate(folder, current);
    current = { ...current, format: current.format + 1 };
    writeManifest(folder, current);
  }
  return current;
}
