/**
 * The data folder: its manifest, its lock and where everything lies.
 *
 *     data/manifest.json      format, epoch, number of lanes; written once, rewritten by restore and migrations
 *     data/archive.json       where what the logs carry is archived, while it is; rewritten by each start
 *     data/cluster.json       which cluster it is of, while it is (`cluster-place.ts`)
 *     data/host.json          what this host of a cluster is called, where the settings do not say it
 *     data/stores.json        the installation, and which of the .mdb files it has (`stores.ts`)
 *     data/lock               a socket of the process that has the folder
 *     data/control.sock       the command's door to a running server
 *     data/accounts.mdb       people, devices, sessions
 *     data/lanes/00.mdb …     conversations, one file a lane
 *     data/attachments.mdb    what is known of attachments
 *     data/calendar.mdb       calendars and their entries
 *     data/log                what was committed last, a folder for each of these files (`segment-log.ts`)
 *     data/snapshot           a snapshot of a cluster that is being made or taken (`storage/cluster/snapshot-taking.ts`)
 *     data/uploads            attachments that are still arriving
 *     data/blobs              contents of attachments, by their hash
 *     data/acme               the certificate of an ACME authority, where one is ordered; in no backup
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { FolderError } from '../log/folder-error.ts';
import { syncFolder } from '../log/log-files.ts';

export { FolderError } from '../log/folder-error.ts';
export { syncFolder } from '../log/log-files.ts';

/** What is on disk now. Raised with every migration (`storage/engine/migrations.ts`). */
export const FOLDER_FORMAT = 4;

const manifestSchema = z.strictObject({
  format: z.int().min(0),
  /** Changes when a folder is restored from a backup, so that clients start afresh. */
  epoch: z.string().min(1),
  lanes: z.int().min(1).max(64),
  created_at: z.string(),
});
export type Manifest = z.infer<typeof manifestSchema>;

export const folderPaths = (folder: string) => ({
  manifest: join(folder, 'manifest.json'),
  stores: join(folder, 'stores.json'),
  snapshot: join(folder, 'snapshot'),
  archive: join(folder, 'archive.json'),
  cluster: join(folder, 'cluster.json'),
  host: join(folder, 'host.json'),
  drained: join(folder, 'drained.json'),
  lock: join(folder, 'lock'),
  control: join(folder, 'control.sock'),
  accounts: join(folder, 'accounts.mdb'),
  lanes: join(folder, 'lanes'),
  attachments: join(folder, 'attachments.mdb'),
  calendar: join(folder, 'calendar.mdb'),
  logs: join(folder, 'log'),
  uploads: join(folder, 'uploads'),
  blobs: join(folder, 'blobs'),
});

/** Where a lane's file lies. */
export function lanePath(folder: string, lane: number): string {
  return join(folderPaths(folder).lanes, `${String(lane).padStart(2, '0')}.mdb`);
}

/** A new epoch: twelve characters that no restored folder shares with its past. */
export function makeEpoch(): string {
  return randomBytes(9).toString('base64url');
}

/**
 * The folder's manifest; an empty or absent folder is made into a data folder first.
 * @throws FolderError when it holds something else or a newer format than this server knows, or is another user's.
 */
export function openFolder(folder: string, lanes: number, now: string): Manifest {
  makeFolder(folder);
  if (existsSync(folderPaths(folder).manifest)) {
    permitted(folder, () => chmodSync(folder, 0o700));
    return readManifest(folder);
  }
  const foreign = readdirSync(folder).filter((name) => !name.startsWith('lock') && name !== 'control.sock');
  if (foreign.length > 0) throw new FolderError(`${folder} is not empty and not a data folder of Parley.`);
  permitted(folder, () => chmodSync(folder, 0o700));
  const manifest: Manifest = { format: FOLDER_FORMAT, epoch: makeEpoch(), lanes, created_at: now };
  writeManifest(folder, manifest);
  return manifest;
}

/** Makes the folder where it is missing, for its owner alone. @throws FolderError when that is not permitted. */
function makeFolder(folder: string): void {
  permitted(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
}

/** @throws FolderError when the operating system does not permit it: mounts and volumes are often somebody else's. */
function permitted(folder: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw explained(folder, error);
  }
}

/** The codes of what a user may not do to a folder. */
const NOT_PERMITTED: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS'];

/** An error in words for an operator, where it says that the folder is not this user's. */
function explained(folder: string, error: unknown): unknown {
  if (!NOT_PERMITTED.includes((error as NodeJS.ErrnoException).code)) return error;
  return new FolderError(
    `${folder} has to be writable and to belong to the user that runs Parley, ${process.geteuid?.()}.`,
  );
}

/** @throws FolderError when there is no readable manifest, or one of a newer format. */
export function readManifest(folder: string): Manifest {
  let manifest: Manifest;
  try {
    manifest = manifestSchema.parse(JSON.parse(readFileSync(folderPaths(folder).manifest, 'utf8')));
  } catch {
    throw new FolderError(`${folder} has no readable manifest.json: it is not a data folder of Parley.`);
  }
  if (manifest.format > FOLDER_FORMAT) {
    throw new FolderError(
      `${folder} has format ${manifest.format}; this server knows up to ${FOLDER_FORMAT}. Use a newer one.`,
    );
  }
  return manifest;
}

/** Replaces the manifest. */
export function writeManifest(folder: string, manifest: Manifest): void {
  replaceJson(folder, folderPaths(folder).manifest, manifest);
}

/** Replaces a file of a folder in one step, so that a crash leaves the old or the new one. On disk when it returns. */
export function replaceJson(folder: string, path: string, value: unknown): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncFolder(folder);
}

/** A folder that this process has to itself. */
export interface FolderLock {
  /** Whether whoever had it last died with it, so that nobody saw to what it was writing. */
  readonly wasLeft: boolean;
  release(): void;
}

/** Tries to take a lock: one, one more when a dead process left its own, and one for a race with somebody else. */
const LOCK_TRIES = 3;

/** The kernel's bound on the name of a Unix socket, without the NUL at its end. */
const SOCKET_NAME_BYTES_MAX = 107;

/**
 * Takes the folder for this process until `release`; two servers writing one folder would tear it. The lock is a socket
 * that listens: the kernel answers for whoever is alive, also for a process in another container, whose number means
 * nothing here, and no longer once it died, however it did.
 * @throws FolderError when a living process has it, it may not be written, or it lies too deep for a socket.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  makeFolder(folder);
  const path = folderPaths(folder).lock;
  let wasLeft = false;
  for (let tries = 0; tries < LOCK_TRIES; tries += 1) {
    const server = await listenAt(folder, socketName(folder, path));
    if (server !== undefined) return { wasLeft, release: () => void server.close() };
    if (await hasListener(socketName(folder, path))) throw new FolderError(`${folder} is in use by another process.`);
    await removeDeadLock(folder, path);
    wasLeft = true;
  }
  throw new FolderError(`${folder} could not be locked.`);
}

/**
 * The name under which a socket in the folder can be bound and reached from this process.
 * @throws FolderError when the folder lies too deep for one.
 */
export function socketName(folder: string, path: string): string {
  const name = [path, relative(process.cwd(), path)].find((text) => Buffer.byteLength(text) <= SOCKET_NAME_BYTES_MAX);
  if (name !== undefined) return name;
  throw new FolderError(
    `${folder} lies too deep: ${path} is longer than the ${SOCKET_NAME_BYTES_MAX} bytes of a socket name.`,
  );
}

/** Listens, without keeping the process alive; undefined where the name exists. Binding fails for all but one. */
async function listenAt(folder: string, name: string): Promise<Server | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Server | undefined>();
  const server = createServer((socket) => socket.destroy());
  server.once('listening', () => {
    chmodSync(name, 0o600);
    resolve(server);
  });
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') resolve(undefined);
    else reject(explained(folder, error));
  });
  server.listen(name).unref();
  return await promise;
}

/** Whether a process listens there. What cannot be told counts as one: a refusal loses nothing. */
async function hasListener(name: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(name);
  socket.once('connect', () => resolve(true));
  socket.once('error', (error: NodeJS.ErrnoException) => {
    resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
  });
  const isAlive = await promise;
  socket.destroy();
  return isAlive;
}

/**
 * Removes a lock that nobody listens at. It is set aside first and looked at again: between the look and the removal
 * another process may have done the same and put its own there, which then goes back.
 */
async function removeDeadLock(folder: string, path: string): Promise<void> {
  const aside = `${path}-${randomBytes(3).toString('hex')}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw explained(folder, error);
  }
  if (await hasListener(socketName(folder, aside))) linkSync(aside, path);
  rmSync(aside);
}
