/**
 * Snapshots of a host's files in the object store of the cluster: what a new host begins with, and one that was away for longer than
 * the stream reaches back. Each file is one state of its environment and says itself how far it has the stream, so the files need not
 * be of one instant.
 *
 *     leader ─► copies of its files, while it serves ─► object store ─► named in the installation's bucket ─► the stream is cut behind
 *     host   ─► snapshot/…, verified ─► `snapshot/whole` ─► put in the place of what it had ─► follows
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '@nats-io/obj';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { logFolderName, logNames, logOf, storePath, type DurableWords, type LogName } from '../engine/folder-logs.ts';
import { FolderError, folderPaths, syncFolder } from '../engine/folder.ts';
import { openObjects } from '../stream/stream-buckets.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { POSITION_KEY, REPLICATED_TABLE } from '../log/replication.ts';
import { logSubject, snapshotBucket, streamName } from '../stream/stream-names.ts';
import { decodePosition } from '../stream/stream-position.ts';
import type { InstallationRecord, Snapshot } from './installation.ts';

type SnapshotFile = Snapshot['files'][number];

/** Where a snapshot gathers, and what says that it is all there. */
const WHOLE = 'whole';

/**
 * Puts copies of a folder's files into the object store and says so in the installation's bucket; then forgets what the stream has
 * of what is in them. Works on the folder of the server that leads, in its main thread.
 */
export async function makeSnapshot(
  { cluster, connection, name, record, replicas }: SnapshotPlace & { readonly cluster: string },
  { folder, lanes, words }: { readonly folder: string; readonly lanes: number; readonly words?: DurableWords },
): Promise<void> {
  const store = await openObjects(connection, snapshotBucket(name), replicas);
  const generation = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const gathering = folderPaths(folder).snapshot;
  rmSync(gathering, { recursive: true, force: true });
  mkdirSync(join(gathering, 'lanes'), { recursive: true, mode: 0o700 });
  try {
    const files: SnapshotFile[] = [];
    const reaches = new Map<string, number>();
    for (const path of ['manifest.json', 'stores.json'])
      files.push(await putFile(store, generation, path, join(folder, path)));
    for (const log of logNames(lanes)) {
      const copy = join(gathering, storePath(log));
      await copyStore(folder, log, copy, words);
      reaches.set(logSubject(name, logFolderName(log)), await positionIn(copy, cluster));
      files.push(await putFile(store, generation, storePath(log), copy));
      rmSync(copy);
    }
    await record.putSnapshot({ generation, files });
    // The last message of each subject stays: whoever writes comes behind it.
    for (const [filter, seq] of reaches) await connection.manager.streams.purge(streamName(name), { filter, seq });
    for (const { name: object } of await store.list()) {
      if (!object.startsWith(`${generation}/`)) await store.delete(object);
    }
  } finally {
    rmSync(gathering, { recursive: true, force: true });
  }
}

export interface SnapshotPlace {
  readonly connection: StreamConnection;
  /** The installation's name. */
  readonly name: string;
  readonly record: InstallationRecord;
  readonly replicas: number;
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

async function putFile(store: ObjectStore, generation: string, path: string, source: string): Promise<SnapshotFile> {
  const { size } = await stat(source);
  const hash = createHash('sha256');
  const hashed = createReadStream(source).pipe(
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    }),
  );
  const bytes = Readable.toWeb(hashed) as ReadableStream<Uint8Array>;
  await store.put({ name: `${generation}/${path}` }, bytes);
  return { path, bytes: size, sha256: hash.digest('hex') };
}

/**
 * Brings the newest snapshot into a folder that the caller has locked, in the place of what was there.
 * @throws FolderError when there is none, or it is not what it should be.
 */
export async function takeSnapshot(
  { connection, name, record, replicas }: SnapshotPlace,
  folder: string,
): Promise<void> {
  const snapshot = await record.snapshot();
  if (snapshot === undefined) throw new FolderError(`The cluster ${name} has no snapshot.`);
  const store = await openObjects(connection, snapshotBucket(name), replicas);
  const gathering = folderPaths(folder).snapshot;
  rmSync(gathering, { recursive: true, force: true });
  mkdirSync(join(gathering, 'lanes'), { recursive: true, mode: 0o700 });
  for (const file of snapshot.files) await getFile(store, snapshot.generation, file, join(gathering, file.path));
  syncFolder(join(gathering, 'lanes'));
  writeFileSync(join(gathering, WHOLE), '', { flush: true });
  syncFolder(gathering);
  await settleSnapshot(folder);
}

/** Puts a snapshot that is all there in the place of what a folder has, also after a crash that came in between. */
export async function settleSnapshot(folder: string): Promise<void> {
  const { lanes, logs, manifest, snapshot: gathering } = folderPaths(folder);
  if (!existsSync(join(gathering, WHOLE))) {
    rmSync(gathering, { recursive: true, force: true });
    return;
  }
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(lanes, { recursive: true, mode: 0o700 });
  const { lanes: count } = JSON.parse(
    await readFile(existing([join(gathering, 'manifest.json'), manifest]), 'utf8'),
  ) as {
    lanes: number;
  };
  for (const path of [...logNames(count).map(storePath), 'stores.json', 'manifest.json']) {
    const [from, to] = [join(gathering, path), join(folder, path)];
    if (!existsSync(from)) continue;
    if (path.endsWith('.mdb')) await dropLog(from);
    for (const old of [`${to}-lock`, `${from}-lock`]) rmSync(old, { force: true });
    renameSync(from, to);
  }
  for (const settled of [lanes, folder]) syncFolder(settled);
  rmSync(gathering, { recursive: true, force: true });
}

function existing(paths: readonly string[]): string {
  return paths.find((path) => existsSync(path)) as string;
}

/** The log that stood before the file on the host that copied it is not here. */
async function dropLog(path: string): Promise<void> {
  const environment = new Environment(path, [], { mapBytes: mapBytesOf(path) });
  environment.forgetLog();
  await environment.close();
}

async function getFile(store: ObjectStore, generation: string, file: SnapshotFile, path: string): Promise<void> {
  const found = await store.get(`${generation}/${file.path}`);
  if (found === null)
    throw new FolderError(`The snapshot ${generation} lacks ${file.path}: another one was made meanwhile.`);
  const hash = createHash('sha256');
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const out = createWriteStream(path, { mode: 0o600, flush: true });
  await pipeline(Readable.fromWeb(found.data as Parameters<typeof Readable.fromWeb>[0]), hashing, out);
  const fault = await found.error;
  if (fault instanceof Error) throw fault;
  if (hash.digest('hex') !== file.sha256)
    throw new FolderError(`${file.path} of the snapshot ${generation} is damaged.`);
}
