/**
 * Holds the folders of two hosts of a cluster against each other, key by key: the one has what the other has, or says what it lacks.
 * Neither may be in use.
 */
import { join } from 'node:path';
import { readClusterPlace } from '../engine/cluster-place.ts';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { logFolderName, logNames, storePath } from '../engine/folder-logs.ts';
import { FolderError, readManifest } from '../engine/folder.ts';
import { recoverLogs } from '../engine/log-recovery.ts';
import { POSITION_KEY, REPLICATED_TABLE } from '../log/replication.ts';
import type { Table } from '../log/table.ts';
import { decodePosition } from '../stream/stream-position.ts';

/** Keys of one table that are named; the others are counted. */
const NAMED_MAX = 3;

export interface Comparison {
  /** One sentence each; empty when both have the same. */
  readonly differences: readonly string[];
  /** Rows that both have alike. */
  readonly alike: number;
}

/**
 * What differs between two locked folders of one cluster. A log in which one is behind is said to be so, and no row of it is compared:
 * what comes with the stream is no difference.
 * @throws FolderError for a folder of no cluster, or two of different ones; LogFault for a damaged log.
 */
export async function compareFolders(folder: string, other: string): Promise<Comparison> {
  const cluster = clusterOf(folder);
  const { lanes } = readManifest(folder);
  if (clusterOf(other) !== cluster || readManifest(other).lanes !== lanes)
    throw new FolderError(`${folder} and ${other} are of different clusters.`);
  await recoverLogs(folder, lanes);
  await recoverLogs(other, lanes);
  const differences: string[] = [];
  let alike = 0;
  for (const log of logNames(lanes)) {
    const pair = [folder, other].map((root) => {
      const path = join(root, storePath(log));
      return new Environment(path, [], { mapBytes: mapBytesOf(path) });
    }) as [Environment<string>, Environment<string>];
    try {
      const batches = pair.map((one) => decodePosition(cluster, one.lookUp(REPLICATED_TABLE, POSITION_KEY)).batch);
      const [here = 0, there = 0] = batches;
      if (here !== there) {
        const [behind, ahead] = here < there ? [folder, other] : [other, folder];
        differences.push(
          `${behind} has ${Math.abs(here - there)} batches less of ${logFolderName(log)} than ${ahead}.`,
        );
        continue;
      }
      for (const name of new Set(pair.flatMap((one) => one.tableNames))) {
        const [one, two] = pair.map((environment) => environment.stored(name)) as [Table, Table];
        const compared = compareTables(one, two);
        alike += compared.alike;
        const { keys } = compared;
        if (keys.length === 0) continue;
        const named = keys.slice(0, NAMED_MAX).map((key) => key.toString('hex'));
        differences.push(
          `${keys.length} rows of ${name} in ${logFolderName(log)} differ, of which the first have the keys ${named.join(', ')}.`,
        );
      }
    } finally {
      for (const environment of pair) await environment.close();
    }
  }
  return { differences, alike };
}

function clusterOf(folder: string): string {
  const place = readClusterPlace(folder);
  if (place === undefined) throw new FolderError(`${folder} is of no cluster.`);
  return place.cluster;
}

/** The keys whose rows are in one of the tables only, or not the same in both. */
function compareTables(one: Table, two: Table): { readonly alike: number; readonly keys: readonly Buffer[] } {
  const keys: Buffer[] = [];
  let alike = 0;
  const rest = two.getRange({})[Symbol.iterator]();
  let there = rest.next();
  for (const { key, value } of one.getRange({})) {
    while (there.done !== true && Buffer.compare(there.value.key, key) < 0) {
      keys.push(Buffer.from(there.value.key));
      there = rest.next();
    }
    const isThere = there.done !== true && Buffer.compare(there.value.key, key) === 0;
    if (isThere && there.value.value.equals(value)) alike += 1;
    else keys.push(Buffer.from(key));
    if (isThere) there = rest.next();
  }
  for (; there.done !== true; there = rest.next()) keys.push(Buffer.from(there.value.key));
  return { alike, keys };
}
