/**
 * How a host comes into its cluster, with a folder that has what the others have, up to where the stream goes on:
 *
 *     nobody was there before ─► its folder, as it is, is the cluster's
 *     a folder of this cluster ─► as it is, while the stream reaches back to it
 *     an empty folder, or one that was away too long ─► the newest snapshot
 *     any other folder ─► refused: nothing is mixed, and nothing overwritten
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DiscardPolicy, JetStreamApiError, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { Log } from '#src/telemetry/log.ts';
import { Follower, StreamGap } from '#storage/cluster/follower.ts';
import { putAllContents } from '#storage/cluster/content-follower.ts';
import { InstallationRecord, type Installation } from '#storage/cluster/installation.ts';
import { foundSnapshot } from '#storage/cluster/snapshot-making.ts';
import { settleSnapshot, takeSnapshot } from '#storage/cluster/snapshot-taking.ts';
import { readClusterPlace, removeClusterPlace, writeClusterPlace } from '#storage/engine/cluster-place.ts';
import {
  FOLDER_FORMAT,
  FolderError,
  folderPaths,
  readManifest,
  type FolderLock,
  type Manifest,
} from '#storage/engine/folder.ts';
import { openServed, type OpenFolder } from '#storage/engine/served-folder.ts';
import { isNatsSound, NATS_LEAST } from '#storage/stream/nats-version.ts';
import { streamInfo } from '#storage/stream/stream-buckets.ts';
import type { StreamConnection } from '#storage/stream/stream-connection.ts';
import { allLogs, PAYLOAD_BYTES_MIN, REPLICAS, streamName } from '#storage/stream/stream-names.ts';
import type { StreamPlace } from '#storage/stream/stream-place.ts';
import type { ClusterConfig } from './cluster-config.ts';

/** How long a host waits for the first snapshot of a cluster, from the last word that somebody is making it. */
const FIRST_SNAPSHOT_MILLIS = 60_000;
const LOOK_MILLIS = 500;
/** How long NATS servers that were started with this host may take to know of each other's room. Then it is refused in words. */
const PLACE_MILLIS = 30_000;

export interface Joining {
  readonly cluster: ClusterConfig;
  readonly connection: StreamConnection;
  readonly folder: string;
  readonly lock: FolderLock;
  readonly log: Log;
  /** Opens the folder for a server, or makes it. */
  readonly opening: Parameters<typeof openServed>[2];
  /** A commit failed here, and why; undefined once one did not. */
  readonly faulted: (error: Error | undefined) => void;
}

export interface Joined {
  readonly place: StreamPlace;
  readonly follower: Follower;
  readonly manifest: Manifest;
  readonly record: InstallationRecord;
  readonly replicas: number;
}

/**
 * Has the folder follow the stream.
 * @throws FolderError for a folder that is not this cluster's, and for NATS servers that cannot carry it.
 */
export async function joinCluster(joining: Joining): Promise<Joined> {
  const { cluster, connection, folder } = joining;
  const replicas = assertUsable(connection, joining.log);
  await settleSnapshot(folder);
  await makeStream(joining, replicas);
  const record = await InstallationRecord.open(connection, cluster.name, replicas);
  const place = await settlePlace(joining, record, replicas);
  for (let taken = ''; ;) {
    const { manifest } = await openOwn(joining);
    if ((await record.snapshot()) === undefined) {
      const { cluster: id, name } = place;
      await putAllContents(folder, place);
      const source = { cluster: id, folder, lanes: manifest.lanes, term: 0 };
      await orUnkept(name, foundSnapshot({ connection, name, record, replicas }, source));
    }
    try {
      const options = { connection, place, folder, lanes: manifest.lanes, faulted: joining.faulted };
      return { place, follower: await Follower.open(options), manifest, record, replicas };
    } catch (error) {
      if (!(error instanceof StreamGap)) throw error;
      joining.log.warn('the stream does not reach back to this host, which takes a snapshot', {
        reason: error.message,
      });
      const copies = await takeSnapshot({ connection, name: cluster.name, record, replicas }, folder, error.logs);
      if (copies.join() === taken) throw notFollowed(cluster.name, error);
      taken = copies.join();
    }
  }
}

/** What is in the snapshot is not what the stream goes on from: no host could come in by it. */
function notFollowed(name: string, { message }: StreamGap): FolderError {
  return new FolderError(
    `The snapshot of the cluster ${name} is older than what its stream goes on from. ${message} Have a host leave that has all data, and found the cluster anew with it.`,
  );
}

/** How many NATS servers keep what is acknowledged. @throws FolderError for servers that cannot. */
function assertUsable({ nats }: StreamConnection, log: Log): number {
  const { info } = nats;
  if (info?.jetstream !== true)
    throw new FolderError('The NATS server has no JetStream: switch it on in its configuration (`jetstream {}`).');
  if (info.max_payload < PAYLOAD_BYTES_MIN) {
    throw new FolderError(
      `The NATS server takes messages of ${info.max_payload} bytes: set max_payload to ${PAYLOAD_BYTES_MIN} at least.`,
    );
  }
  if (info.cluster === undefined) return 1;
  if (!isNatsSound(info.version)) {
    log.warn('the NATS servers are of a version in which two may lead at once and lose what was acknowledged', {
      version: info.version,
      least: NATS_LEAST,
    });
  }
  return REPLICAS;
}

/** @throws FolderError with what the NATS servers lack. */
async function makeStream({ cluster, connection, log }: Joining, replicas: number): Promise<void> {
  const { manager } = connection;
  const name = streamName(cluster.name);
  const known = await streamInfo(manager, name);
  if (known !== undefined && known.config.num_replicas < replicas) {
    throw new FolderError(
      `The stream ${name} has ${known.config.num_replicas} replicas: give it ${replicas} (nats stream edit --replicas=${replicas}).`,
    );
  }
  if (known !== undefined) return;
  const until = Date.now() + PLACE_MILLIS;
  for (let tries = 0; ; tries += 1) {
    try {
      await manager.streams.add({
        name,
        subjects: [allLogs(cluster.name)],
        num_replicas: replicas,
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        // A full stream refuses what comes; it forgets nothing by itself.
        discard: DiscardPolicy.New,
      });
      return;
    } catch (error) {
      if (isPassing(error)) throw error;
      const { code, message } = error as JetStreamApiError;
      if (code !== NO_PLACE || Date.now() > until)
        throw new FolderError(`NATS cannot keep the stream ${name} with ${replicas} replicas: ${message}.`);
      if (tries === 0) log.warn('NATS has no place for the stream yet', { replicas, reason: message });
      await sleep(LOOK_MILLIS);
    }
  }
}

/** Finds out, or decides, which cluster the folder is of. */
async function settlePlace(joining: Joining, record: InstallationRecord, replicas: number): Promise<StreamPlace> {
  const { cluster, connection, folder } = joining;
  const { authoritiesFile, credentialsFile, name, urls } = cluster;
  const reach = { name, urls, authoritiesFile, credentialsFile, replicas };
  const known = readClusterPlace(folder);
  const found = await record.read();
  if (known?.founding !== undefined && known.cluster !== found?.cluster) {
    // The word that the cluster begins with it did not come to NATS.
    const founded = await sayFounded(joining, record, { ...known, ...reach });
    if (founded !== undefined) return founded;
  } else if (known !== undefined && known.cluster !== found?.cluster) {
    const other = found === undefined ? 'which NATS knows nothing of' : 'and NATS has another one of that name';
    throw new FolderError(
      `${folder} is of the cluster ${known.name}, ${other}. Set PARLEY_CLUSTER and PARLEY_CLUSTER_NAME as they were, or have the folder leave: parley cluster leave --data ${folder}`,
    );
  }
  if (known !== undefined && known.cluster === found?.cluster) {
    const place = { ...known, ...reach, founding: undefined };
    writeClusterPlace(folder, place);
    if (!existsSync(folderPaths(folder).manifest)) await takeFirst(joining, record, replicas);
    return place;
  }
  const isEmpty = !existsSync(folderPaths(folder).manifest);
  if (found === undefined && known === undefined) {
    await openOwn(joining);
    const place = { ...reach, cluster: randomBytes(8).toString('hex'), term: 0 };
    const founded = await sayFounded(joining, record, { ...place, founding: isEmpty ? 'empty' : 'alone' });
    if (founded !== undefined) return founded;
  } else if (!isEmpty) throw notThisCluster(folder, cluster.name);
  const { cluster: id } = (await record.read()) as Installation;
  const place = { ...reach, cluster: id, term: 0 };
  writeClusterPlace(folder, place);
  await takeFirst({ ...joining, connection }, record, replicas);
  return place;
}

/**
 * Makes the folder the cluster's, unless another host was faster; that one's is taken then, where this one was empty. The folder says so
 * before NATS does, and that it is not known there: an answer of NATS may be lost, or the process with it.
 */
async function sayFounded(
  { cluster, folder, log }: Joining,
  record: InstallationRecord,
  founding: StreamPlace,
): Promise<StreamPlace | undefined> {
  writeClusterPlace(folder, founding);
  if (await record.found({ cluster: founding.cluster, key: randomBytes(32).toString('hex') })) {
    const place = { ...founding, founding: undefined };
    writeClusterPlace(folder, place);
    log.info('this folder is the cluster’s from now on', { cluster: cluster.name });
    return place;
  }
  removeClusterPlace(folder);
  if (founding.founding === 'alone') throw notThisCluster(folder, cluster.name);
  for (const entry of readdirSync(folder)) {
    if (!entry.startsWith('lock') && entry !== 'control.sock') rmSync(join(folder, entry), { recursive: true });
  }
  return undefined;
}

function notThisCluster(folder: string, name: string): FolderError {
  return new FolderError(
    `${folder} holds another installation than the cluster ${name}. Start this host with an empty folder: it takes what the cluster has.`,
  );
}

/** Waits for the first snapshot, and takes it. */
async function takeFirst({ cluster, connection, folder, log }: Joining, record: InstallationRecord, replicas: number) {
  await untilFounded(record, cluster.name);
  log.info('this host takes a snapshot of the cluster', { cluster: cluster.name });
  await takeSnapshot({ connection, name: cluster.name, record, replicas }, folder);
}

/**
 * Waits for the first snapshot of a cluster for as long as a host says that it makes it.
 * @throws FolderError once nobody has said so for that many milliseconds.
 */
export async function untilFounded(
  record: Pick<InstallationRecord, 'foundingRevision' | 'snapshot'>,
  name: string,
  millis = FIRST_SNAPSHOT_MILLIS,
): Promise<void> {
  let [heard, until] = [0, Date.now() + millis];
  for (; (await record.snapshot()) === undefined; await sleep(LOOK_MILLIS)) {
    const said = await record.foundingRevision();
    if (said !== heard) [heard, until] = [said, Date.now() + millis];
    if (Date.now() > until) throw new FolderError(`The cluster ${name} has no snapshot: is its first host running?`);
  }
}

/** @throws FolderError for a folder in another format than this release writes: batches of two formats do not mix. */
async function openOwn({ folder, lock, opening }: Joining): Promise<OpenFolder> {
  if (readClusterPlace(folder) !== undefined && readManifest(folder).format < FOLDER_FORMAT) {
    throw new FolderError(
      `${folder} is of an older format than this release writes. Stop all hosts, have one leave the cluster and start it alone once; then found the cluster anew with it.`,
    );
  }
  const opened = await openServed(folder, lock, opening);
  if (opened.setAside.length > 0)
    throw new FolderError(`A lane of ${folder} is damaged. Empty the folder: this host takes what the cluster has.`);
  return opened;
}

/** @throws FolderError where NATS has no room for what the cluster begins with. */
async function orUnkept(name: string, making: Promise<void>): Promise<void> {
  try {
    await making;
  } catch (error) {
    if (isPassing(error)) throw error;
    throw new FolderError(`NATS cannot keep what the cluster ${name} begins with: ${(error as Error).message}.`);
  }
}

/** JetStream's code while its servers have not chosen who leads. */
const UNAVAILABLE = 10_008;
/** Its code while too few of them have said what room they have, which they do a moment after one leads. */
const NO_PLACE = 10_005;

/** Whether something failed since NATS does not answer now, and not since it cannot. */
export function isPassing(error: unknown): boolean {
  if (error instanceof FolderError) return false;
  return !(error instanceof JetStreamApiError) || error.code === UNAVAILABLE;
}
