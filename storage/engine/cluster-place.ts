/**
 * Which cluster a data folder is of. It stands in the folder, so that a command on a stopped server, which may know nothing of the
 * server's settings, changes nothing that the other hosts do not have, and so that a server which was told of no cluster does not
 * go on alone with what is theirs.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { CLUSTER_ID } from '../stream/stream-position.ts';
import type { StreamPlace } from '../stream/stream-place.ts';
import { FolderError, folderPaths, replaceJson } from './folder.ts';

const placeSchema = z.strictObject({
  name: z.string().min(1),
  urls: z.array(z.string().min(1)).min(1),
  credentials_file: z.string().min(1).optional(),
  authorities_file: z.string().min(1).optional(),
  cluster: z.string().regex(CLUSTER_ID),
  replicas: z.int().min(1).max(5),
  /** The term in which this host led last; 0 before it ever did. */
  term: z.int().min(0),
  founding: z.enum(['empty', 'alone']).optional(),
});

/** @throws FolderError when it cannot be read. */
export function readClusterPlace(folder: string): StreamPlace | undefined {
  const path = folderPaths(folder).cluster;
  if (!existsSync(path)) return undefined;
  try {
    const {
      authorities_file: authoritiesFile,
      credentials_file: credentialsFile,
      ...place
    } = placeSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { ...place, authoritiesFile, credentialsFile };
  } catch {
    throw new FolderError(`${path} cannot be read. Put it back as it was on a host of the same cluster.`);
  }
}

export function writeClusterPlace(folder: string, { authoritiesFile, credentialsFile, ...place }: StreamPlace): void {
  const files = { authorities_file: authoritiesFile, credentials_file: credentialsFile };
  replaceJson(folder, folderPaths(folder).cluster, { ...place, ...files });
}

/** Has the folder be of no cluster any more. */
export function removeClusterPlace(folder: string): void {
  rmSync(folderPaths(folder).cluster, { force: true });
}
