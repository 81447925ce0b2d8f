/** `parley cluster leave`: a folder that goes on alone. */
import { readClusterPlace, removeClusterPlace } from '#storage/engine/cluster-place.ts';
import {
  FolderError,
  folderPaths,
  lockFolder,
  makeEpoch,
  readManifest,
  writeManifest,
} from '#storage/engine/folder.ts';
import { openServed } from '#storage/engine/served-folder.ts';
import { settleStores } from '#storage/engine/stores.ts';
import { rm } from 'node:fs/promises';
import type { Config } from '#src/config.ts';

/**
 * Makes the folder of a stopped host an installation of its own, with all that it has: under a new epoch, since what the others
 * acknowledged meanwhile is not in it. Answers the name of the cluster that it left.
 * @throws FolderError for a folder that is in use, damaged, or of no cluster.
 */
export async function leaveCluster({ data: folder, lanes }: Pick<Config, 'data' | 'lanes'>): Promise<string> {
  const lock = await lockFolder(folder);
  try {
    const place = readClusterPlace(folder);
    if (place === undefined) throw new FolderError(`${folder} is of no cluster.`);
    const log = { error: () => undefined, info: () => undefined };
    await openServed(folder, lock, { lanes, log, now: Date.now() });
    const manifest = readManifest(folder);
    await settleStores(folder, manifest, { anew: true });
    writeManifest(folder, { ...manifest, epoch: makeEpoch() });
    await rm(folderPaths(folder).host, { force: true });
    await rm(folderPaths(folder).drained, { force: true });
    removeClusterPlace(folder);
    return place.name;
  } finally {
    lock.release();
  }
}
