/**
 * The snapshot of a cluster's files in its object store: what a new host begins with, and one that was away for longer than the stream
 * reaches back. Each file is of its own instant and says itself how far it has the stream, so they are made one at a time.
 *
 *     leader ─► a copy of one file, while it serves ─► object store ─► named in the installation's bucket ─► the stream is cut behind it
 */
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ObjectStore } from '@nats-io/obj';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { logFolderName, logNames, logOf, storePath, type DurableWords, type LogName } from '../engine/folder-logs.ts';
import { folderPaths } from '../engine/folder.ts';
import { POSITION_KEY, REPLICATED_TABLE } from '../log/replication.ts';
import { OBJECTS_PREFIX, openObjects } from '../stream/stream-buckets.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { allLogs, logOfSubject, logSubject, snapshotBucket, streamName } from '../stream/stream-names.ts';
import { decodePosition } from '../stream/stream-position.ts';
import type { InstallationRecord, SnapshotFile } from './installation.ts';
import { chooseLog } from './snapshot-choice.ts';

/** How often it is said that the first snapshot is being made. */
const FOUNDING_MILLIS = 5_000;
/** Files that say what a folder is, beside its stores: they come along with each copy. */
const DESCRIPTIONS = ['manifest.json', 'stores.json'] as const;

/** Where snapshots are. */
export interface SnapshotPlace {
  readonly connection: StreamConnection;
  /** The installation's name. */
  readonly name: string;
  readonly record: InstallationRecord;
  readonly replicas: number;
}

/** The folder of the host that makes one, and the term in which it leads; 0 where the cluster begins with it. */
export interface SnapshotSource {
  readonly cluster: string;
  readonly folder: string;
  readonly lanes: number;
  readonly term: number;
  readonly words?: DurableWords;
}

/** A copy that lies in the object store. */
interface Copied {
  readonly file: SnapshotFile;
  /** How far it has the stream, and under which subject. */
  readonly reaches?: { readonly filter: string; readonly seq: number };
}

/** Puts copies of all files of a folder into the object store, which the cluster begins with. */
export async function foundSnapshot(place: SnapshotPlace, source: SnapshotSource): Promise<void> {
  const saying = setInterval(() => void place.record.sayFounding().catch(() => undefined), FOUNDING_MILLIS);
  try {
    await place.record.sayFounding();
    const store = await openObjects(place.connection, snapshotBucket(place.name), place.replicas);
    const copied: Copied[] = [];
    for (const path of DESCRIPTIONS) copied.push({ file: await putFile(store, path, join(source.folder, path)) });
    for (const log of logNames(source.lanes)) copied.push(await copyLog(place, source, store, log));
    await settle(place, source, store, copied);
  } finally {
    clearInterval(saying);
  }
}

/**
 * Copies files of the host that leads, in its main thread, until the stream is short enough, and has the stream forget what they have.
 * Answers the names of the logs whose files were copied. One that is told to stop finishes no file but the copy on its own disk.
 */
export async function cutStream(
  place: SnapshotPlace,
  source: SnapshotSource,
  leastBytes: number,
  stopping: AbortSignal,
): Promise<string[]> {
  const names = new Map(logNames(source.lanes).map((log) => [logFolderName(log), log]));
  const cut: string[] = [];
  // What is written meanwhile is for the next look: nobody copies without a pause.
  while (cut.length < names.size) {
    const log = await nextLog(place, source, [...names.values()], leastBytes);
    if (log === undefined || stopping.aborted) return cut;
    const store = await openObjects(place.connection, snapshotBucket(place.name), place.replicas);
    const copied = [await copyLog(place, source, store, names.get(log) as LogName, stopping)];
    for (const path of DESCRIPTIONS) copied.push({ file: await putFile(store, path, join(source.folder, path)) });
    if (!(await settle(place, source, store, copied))) return cut;
    cut.push(log);
  }
  return cut;
}

/** Whose turn it is. */
async function nextLog(
  { connection, name, record }: SnapshotPlace,
  { term }: SnapshotSource,
  logs: readonly LogName[],
  leastBytes: number,
): Promise<string | undefined> {
  const { state } = await connection.manager.streams.info(streamName(name), { subjects_filter: allLogs(name) });
  const subjects = Object.entries(state.subjects ?? {});
  const counts = new Map(subjects.map(([subject, count]) => [logOfSubject(subject), count]));
  const snapshot = await record.snapshot();
  // Another host leads: it has the say.
  if (snapshot === undefined || snapshot.term > term) return undefined;
  const files = new Map(snapshot.files.map((file) => [file.path, file]));
  const snapshotted = logs.map((log) => ({ log: logFolderName(log), file: files.get(storePath(log)) }));
  return chooseLog({ bytes: state.bytes, messages: state.messages, counts }, snapshotted, leastBytes, Date.now());
}

/** Names copies in the record, and forgets what nothing needs any more. Answers whether this host has the say. */
async function settle(
  { connection, name, record }: SnapshotPlace,
  { term }: SnapshotSource,
  store: ObjectStore,
  copied: readonly Copied[],
): Promise<boolean> {
  const made = copied.map(({ file }) => file);
  const snapshot = await record.changeSnapshot(term, ({ files }) => [
    ...files.filter(({ path }) => !made.some((file) => file.path === path)),
    ...made,
  ]);
  if (snapshot === undefined) return false;
  // The last message of each subject stays: whoever writes comes behind it.
  for (const { reaches } of copied)
    if (reaches !== undefined) await connection.manager.streams.purge(streamName(name), reaches);
  await sweep(connection, name, store, snapshot.files);
  return true;
}

/**
 * Removes what the record does not name: copies that others took the place of, and what a host left that died over one. Nobody adds a
 * file in an earlier term than the record's, so nothing that is being made is needed any more but by the caller.
 */
async function sweep(
  { manager }: StreamConnection,
  name: string,
  store: ObjectStore,
  files: readonly SnapshotFile[],
): Promise<void> {
  const named = new Set(files.map((file) => objectName(file)));
  const kept = new Set<string>();
  for (const { name: object, nuid } of await store.list()) {
    if (named.has(object)) kept.add(nuid);
    else await store.delete(object);
  }
  const bucket = snapshotBucket(name);
  const stream = `${OBJECTS_PREFIX}${bucket}`;
  const prefix = `$O.${bucket}.C.`;
  const { state } = await manager.streams.info(stream, { subjects_filter: `${prefix}*` });
  for (const filter of Object.keys(state.subjects ?? {}))
    if (!kept.has(filter.slice(prefix.length))) await manager.streams.purge(stream, { filter });
}

/** What the copy of a file is called in the object store. */
export function objectName({ generation, path }: Pick<SnapshotFile, 'generation' | 'path'>): string {
  return `${generation}/${path}`;
}

/** Copies the file behind a log into the object store. */
async function copyLog(
  { name }: SnapshotPlace,
  { cluster, folder, words }: SnapshotSource,
  store: ObjectStore,
  log: LogName,
  stopping?: AbortSignal,
): Promise<Copied> {
  const gathering = folderPaths(folder).snapshot;
  rmSync(gathering, { recursive: true, force: true });
  mkdirSync(join(gathering, 'lanes'), { recursive: true, mode: 0o700 });
  try {
    const path = storePath(log);
    const copy = join(gathering, path);
    await copyStore(folder, log, copy, words);
    const seq = await positionIn(copy, cluster);
    const file = await putFile(store, path, copy, stopping);
    return { file, reaches: { filter: logSubject(name, logFolderName(log)), seq } };
  } finally {
    rmSync(gathering, { recursive: true, force: true });
  }
}

async function copyStore(folder: string, log: LogName, copy: string, words: DurableWords | undefined): Promise<void> {
  const source = join(folder, storePath(log));
  // No table by name: opening one could race with a thread that opens it at the same time.
  const options = { mapBytes: mapBytesOf(source), readOnly: true, log: logOf(folder, log, 'read', words) };
  const environment = new Environment(source, [], options);
  try {
    await environment.copyTo(copy);
  } finally {
    await environment.close();
  }
}

/** How far the copy of a store has the stream. */
async function positionIn(copy: string, cluster: string): Promise<number> {
  const environment = new Environment(copy, [], { mapBytes: mapBytesOf(copy) });
  try {
    return decodePosition(cluster, environment.lookUp(REPLICATED_TABLE, POSITION_KEY)).sequence;
  } finally {
    await environment.close();
  }
}

/** @throws what ends it, and the reason of `stopping`: what was put by then is removed. */
async function putFile(
  store: ObjectStore,
  path: string,
  source: string,
  stopping?: AbortSignal,
): Promise<SnapshotFile> {
  const { size } = await stat(source);
  const [hash, now] = [createHash('sha256'), new Date()];
  const generation = now.toISOString().replaceAll(/[:.]/g, '-');
  const made = { path, generation, made_at: now.getTime() };
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(source, { signal: stopping })) {
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
  }
  const bytes = Readable.toWeb(Readable.from(hashed(), { objectMode: false })) as ReadableStream<Uint8Array>;
  await store.put({ name: objectName(made) }, bytes);
  return { ...made, bytes: size, sha256: hash.digest('hex') };
}
