/**
 * The data folder: its manifest, its lock and where everything lies.
 *
 *     data/manifest.json      format, epoch, number of lanes; written once, rewritten by restore and migrations
 *     data/lock               the process that has the folder
 *     data/control.sock       the command's door to a running server
 *     data/accounts.mdb       people, devices, sessions
 *     data/lanes/00.mdb …     conversations, one file a lane
 *     data/attachments.mdb    what is known of attachments
 *     data/calendar.mdb       calendars and their entries
 *     data/uploads            attachments that are still arriving
 *     data/blobs              contents of attachments, by their hash
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** What is on disk now. Raised with every migration (`storage/migrations.ts`). */
export const FOLDER_FORMAT = 2;

const manifestSchema = z.strictObject({
  format: z.int().min(0),
  /** Changes when a folder is restored from a backup, so that clients start afresh. */
  epoch: z.string().min(1),
  lanes: z.int().min(1).max(64),
  created_at: z.string(),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** A folder that cannot be used, and why, in words for an operator. */
export class FolderError extends Error {}

export const folderPaths = (folder: string) => ({
  manifest: join(folder, 'manifest.json'),
  lock: join(folder, 'lock'),
  control: join(folder, 'control.sock'),
  accounts: join(folder, 'accounts.mdb'),
  lanes: join(folder, 'lanes'),
  attachments: join(folder, 'attachments.mdb'),
  calendar: join(folder, 'calendar.mdb'),
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
 * @throws FolderError when it holds something else or a newer format than this server knows.
 */
export function openFolder(folder: string, lanes: number, now: string): Manifest {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  if (existsSync(folderPaths(folder).manifest)) return readManifest(folder);
  const foreign = readdirSync(folder).filter((name) => !name.startsWith('lock') && name !== 'control.sock');
  if (foreign.length > 0) throw new FolderError(`${folder} is not empty and not a data folder of Parley.`);
  const manifest: Manifest = { format: FOLDER_FORMAT, epoch: makeEpoch(), lanes, created_at: now };
  writeManifest(folder, manifest);
  return manifest;
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

/** Replaces the manifest in one step, so that a crash leaves the old or the new one. */
export function writeManifest(folder: string, manifest: Manifest): void {
  const path = folderPaths(folder).manifest;
  writeFileSync(`${path}.new`, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncFolder(folder);
}

/** Makes the names in a folder durable: a file's own flush says nothing about the entry that leads to it. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Takes the folder for this process until `release`; two servers writing one folder would tear it.
 * A lock left by a process that died is recognised by its process id and start time, and taken over.
 * @throws FolderError when a living process has it.
 */
export function lockFolder(folder: string): { release(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = folderPaths(folder).lock;
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, started: startOf(process.pid) }), { mode: 0o600 });
  try {
    // link() fails when the name exists, so of two processes that start together only one gets it.
    for (let tries = 0; tries < 3; tries += 1) {
      if (tryLink(mine, path)) return { release: () => rmSync(path, { force: true }) };
      const holder = readHolder(path);
      if (holder !== undefined && isAlive(holder)) {
        throw new FolderError(`${folder} is in use by process ${holder.pid}.`);
      }
      rmSync(path, { force: true });
    }
    throw new FolderError(`${folder} could not be locked.`);
  } finally {
    rmSync(mine, { force: true });
  }
}

interface Holder {
  pid: number;
  started: string;
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return z.object({ pid: z.int(), started: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return startOf(holder.pid) === holder.started;
}

/** When a process started, in the kernel's ticks, so that a reused process id is told apart. Empty where unknown. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold spaces and brackets; fields are counted from the last bracket.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
