/**
 * How a host takes the snapshot of its cluster, all files of it or some, in the place of what it had:
 *
 *     object store ─► snapshot/…, verified ─► `snapshot/whole` ─► in the place of what was there ─► the host follows from there
 */
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '@nats-io/obj';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { logFolderName, logNames, storePath, type LogName } from '../engine/folder-logs.ts';
import { FolderError, folderPaths, syncFolder } from '../engine/folder.ts';
import { openObjects } from '../stream/stream-buckets.ts';
import { snapshotBucket } from '../stream/stream-names.ts';
import type { SnapshotFile } from './installation.ts';
import { objectName, type SnapshotPlace } from './snapshot-making.ts';

/** What says that all is there that was gathered. */
const WHOLE = 'whole';

/** How long nothing of a file may come: its copy was removed meanwhile, or NATS is away. */
const SILENCE_MILLIS = 30_000;
/** How often one copy of a file is tried to be had. */
const TRIES_MAX = 3;

/**
 * Brings the snapshot into a folder that the caller has locked, in the place of what was there: all files, or those of some logs. What
 * is copied anew while this goes on is taken anew. Answers which copies were taken.
 * @throws FolderError when there is none, or a file is not what it should be.
 */
export async function takeSnapshot(
  { connection, name, record, replicas }: SnapshotPlace,
  folder: string,
  logs?: readonly string[],
): Promise<string[]> {
  const gathering = folderPaths(folder).snapshot;
  rmSync(gathering, { recursive: true, force: true });
  mkdirSync(join(gathering, 'lanes'), { recursive: true, mode: 0o700 });
  const store = await openObjects(connection, snapshotBucket(name), replicas);
  const taken = new Map<string, string>();
  const isLacking = (file: SnapshotFile) =>
    taken.get(file.path) !== file.generation && (logs === undefined || isOf(file, logs));
  const failed = new Map<string, number>();
  for (;;) {
    const snapshot = await record.snapshot();
    if (snapshot === undefined) throw new FolderError(`The cluster ${name} has no snapshot.`);
    const file = snapshot.files.find(isLacking);
    if (file === undefined) break;
    try {
      await getFile(store, file, join(gathering, file.path));
      taken.set(file.path, file.generation);
    } catch (error) {
      const tries = (failed.get(objectName(file)) ?? 0) + 1;
      failed.set(objectName(file), tries);
      // Another copy has its place by now, or NATS was away for a while.
      if (tries === TRIES_MAX) throw error;
    }
  }
  syncFolder(join(gathering, 'lanes'));
  writeFileSync(join(gathering, WHOLE), '', { flush: true });
  syncFolder(gathering);
  await settleSnapshot(folder);
  return [...taken].map(([path, generation]) => objectName({ path, generation }));
}

/** Whether a file belongs to one of these logs, or says what the folder is. */
function isOf({ path }: SnapshotFile, logs: readonly string[]): boolean {
  return !path.endsWith('.mdb') || logs.some((log) => logFolderName(logOfPath(path)) === log);
}

/** The log whose file lies at that path within a folder. */
function logOfPath(path: string): LogName {
  const [, lane] = /^lanes\/(\d+)\.mdb$/.exec(path) ?? [];
  return lane === undefined ? (path.slice(0, -'.mdb'.length) as LogName) : Number(lane);
}

/** Puts a snapshot that is all there in the place of what a folder has, also after a crash that came in between. */
export async function settleSnapshot(folder: string): Promise<void> {
  const { lanes, logs, manifest, snapshot: gathering } = folderPaths(folder);
  if (!existsSync(join(gathering, WHOLE))) {
    rmSync(gathering, { recursive: true, force: true });
    return;
  }
  mkdirSync(lanes, { recursive: true, mode: 0o700 });
  const known = existing([join(gathering, 'manifest.json'), manifest]);
  const { lanes: count } = JSON.parse(readFileSync(known, 'utf8')) as { lanes: number };
  for (const log of logNames(count)) {
    const from = join(gathering, storePath(log));
    if (!existsSync(from)) continue;
    await dropLog(from);
    rmSync(join(logs, logFolderName(log)), { recursive: true, force: true });
    replace(from, join(folder, storePath(log)));
  }
  for (const path of ['stores.json', 'manifest.json']) {
    if (existsSync(join(gathering, path))) replace(join(gathering, path), join(folder, path));
  }
  for (const settled of [lanes, folder]) syncFolder(settled);
  rmSync(gathering, { recursive: true, force: true });
}

function replace(from: string, to: string): void {
  for (const old of [`${to}-lock`, `${from}-lock`]) rmSync(old, { force: true });
  renameSync(from, to);
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

/** @throws FolderError for a copy that is not there any more, or damaged; an error where nothing of it comes. */
async function getFile(store: ObjectStore, file: SnapshotFile, path: string): Promise<void> {
  const found = await store.get(objectName(file));
  if (found === null) throw new FolderError(`The cluster’s snapshot lacks ${objectName(file)}.`);
  const hash = createHash('sha256');
  const silence = new AbortController();
  const end = () => silence.abort(new Error(`Nothing came of ${objectName(file)} for ${SILENCE_MILLIS} ms.`));
  const timer = setTimeout(end, SILENCE_MILLIS);
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      timer.refresh();
      hash.update(chunk);
      done(null, chunk);
    },
  });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const out = createWriteStream(path, { mode: 0o600, flush: true });
  try {
    const data = Readable.fromWeb(found.data as Parameters<typeof Readable.fromWeb>[0]);
    await pipeline(data, hashing, out, { signal: silence.signal });
    const fault = await found.error;
    if (fault instanceof Error) throw fault;
  } finally {
    clearTimeout(timer);
  }
  if (hash.digest('hex') !== file.sha256)
    throw new FolderError(`${objectName(file)} of the cluster’s snapshot is damaged.`);
}
