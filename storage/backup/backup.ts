/**
 * Backups: a verified copy of a data folder, made while the server runs, and its way back.
 *
 *     out/backup.json      format, epoch, lanes, and size and SHA-256 of every file; written last
 *     out/accounts.mdb     people, devices, sessions; without the keys that sign in the server's name
 *     out/lanes/00.mdb …   conversations, one file a lane
 *     out/calendar.mdb     calendars and their entries
 *     out/attachments.mdb  what is known of attachments; their contents as `blob-backup.ts` says
 *
 * Each file is one snapshot of its LMDB environment. Lanes are independent of one another, so the snapshots are taken
 * one after the other: each lane is consistent in itself, and a later one may be some seconds ahead. Attachments come
 * behind the lanes, and a running server removes none meanwhile, so that each one that a message has is there. The
 * accounts come last, so that whoever is named in a lane is there.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { formatInstant } from '#src/base/time.ts';
import { ACCOUNT_TABLES, Accounts } from '../accounts/accounts.ts';
import { ATTACHMENT_TABLES } from '../attachments/attachment-records.ts';
import { CALENDAR_TABLES } from '../calendars/calendar-records.ts';
import { endCalendarCredentials, endCredentials, removeSigningKeys, type Ended } from './credential-endings.ts';
import {
  backUpBlobs,
  BLOB_LIST,
  dropUnnamedBlobs,
  restoreBlobs,
  takeMissingBlobs,
  verifyBlobs,
} from './blob-backup.ts';
import { applyReplay, findReplay, replayed, type Replay, type ReplayTarget } from './log-replay.ts';
import { readArchivePlace } from '../engine/archive-place.ts';
import { logFolderName, logOf, type DurableWords, type LogName } from '../engine/folder-logs.ts';
import { Environment, mapBytesOf, MARK_KEY } from '../engine/environment.ts';
import {
  FOLDER_FORMAT,
  FolderError,
  lanePath,
  makeEpoch,
  readManifest,
  syncFolder,
  writeManifest,
} from '../engine/folder.ts';
import { LANE_TABLES } from '../engine/lane.ts';
import { walkFile } from '../engine/page-walk.ts';
import { assertStoresThere, settleStores } from '../engine/stores.ts';

/** What a backup or restore says of itself: one line each. */
export type BackupReport = Readonly<Record<string, string | number>>;

const DESCRIPTION = 'backup.json';
/** Made first and renamed last: whoever makes it has the folder, and a backup without its description is unfinished. */
const UNFINISHED = 'backup.json.new';
const ACCOUNTS_FILE = 'accounts.mdb';
const ATTACHMENTS_FILE = 'attachments.mdb';
const CALENDAR_FILE = 'calendar.mdb';
/** The tables of files that are no lanes. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  [ACCOUNTS_FILE]: ACCOUNT_TABLES,
  [ATTACHMENTS_FILE]: ATTACHMENT_TABLES,
  [CALENDAR_FILE]: CALENDAR_TABLES,
};
/** The logs before files that are no lanes. */
const LOGS: Readonly<Record<string, LogName>> = {
  [ACCOUNTS_FILE]: 'accounts',
  [ATTACHMENTS_FILE]: 'attachments',
  [CALENDAR_FILE]: 'calendar',
};
/** Records of a copy read between two turns of the event loop: about a millisecond of a running server's main thread. */
const VERIFY_BLOCK = 2_000;

const fileSchema = z.strictObject({
  path: z.string().regex(/^(?:(?:accounts|attachments|calendar|lanes\/\d{2})\.mdb|blobs\.txt)$/),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
type BackupFile = z.infer<typeof fileSchema>;

const descriptionSchema = z
  .strictObject({
    format: z.int().min(0),
    epoch: z.string().min(1),
    lanes: z.int().min(1).max(64),
    created_at: z.string(),
    /** Where the logs are archived: from when on the folder can be restored to any instant. */
    ended_at: z.string().optional(),
    files: z.array(fileSchema),
  })
  .refine(({ files }) => new Set(files.map(({ path }) => path)).size === files.length)
  .refine(({ files }) => files.some(({ path }) => path === ACCOUNTS_FILE))
  .refine(({ files, lanes }) =>
    files.every(({ path }) => !path.startsWith('lanes/') || Number(path.slice(6, 8)) < lanes),
  )
  .refine(({ files }) => {
    const [has, lists] = [ATTACHMENTS_FILE, BLOB_LIST].map((name) => files.some(({ path }) => path === name));
    return has === lists;
  });
type Description = z.infer<typeof descriptionSchema>;

/**
 * Copies a data folder to `out`, which must be absent or empty, and reads every copy through before it calls it one.
 * Works on the folder of a stopped server and, within the server's main thread, on that of a running one, which removes
 * no attachment meanwhile and shares how far its logs are durable, as `words`. Contents of attachments that the backup `earlier` has are taken from there.
 * @throws FolderError when `folder` is not a data folder or lacks one of its stores, `out` is not empty, `earlier` is no finished backup or a copy
 * cannot be read.
 */
export async function backupFolder(
  folder: string,
  out: string,
  earlier?: string,
  words?: DurableWords,
): Promise<BackupReport> {
  const { format, epoch, lanes } = readManifest(folder);
  if (earlier !== undefined) readDescription(earlier);
  const createdAt = formatInstant(Date.now());
  claim(out);
  try {
    assertStoresThere(folder);
    const files: BackupFile[] = [];
    let blobs = {};
    for (const path of filesOf(folder, lanes)) {
      files.push(await copyEnvironment(folder, out, path, words));
      if (path !== ATTACHMENTS_FILE) continue;
      blobs = await backUpBlobs(folder, out, earlier);
      files.push(await describeFile(out, BLOB_LIST));
    }
    const ended = readArchivePlace(folder) === undefined ? {} : { ended_at: formatInstant(Date.now()) };
    const description: Description = { format, epoch, lanes, created_at: createdAt, ...ended, files };
    await writeFile(join(out, UNFINISHED), `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600, flush: true });
    renameSync(join(out, UNFINISHED), join(out, DESCRIPTION));
    syncFolder(out);
    const bytes = totalBytes(files);
    return { out, files: files.length, bytes, lanes, format, epoch, created_at: createdAt, ...ended, ...blobs };
  } catch (error) {
    for (const name of readdirSync(out)) rmSync(join(out, name), { recursive: true });
    throw error;
  }
}

/**
 * Puts a backup in the place of a data folder, which must be absent or empty and whose lock the caller has. Every
 * checksum is verified before anything is written. The folder gets a new epoch, so that clients start afresh, and every credential
 * of the backup ends (`credential-endings.ts`), so that nobody gets in who has signed out or was revoked after it.
 * With `to`, what was archived behind it up to that instant is brought to it. `contents` is a data folder or a backup from which
 * attachments are taken that the backup does not have.
 * @throws FolderError for a backup that is unfinished, changed, incomplete or of a newer format, a folder in use, and an archive that
 * does not reach from the backup to the instant.
 */
export async function restoreFolder(
  from: string,
  folder: string,
  to?: ReplayTarget & { readonly contents?: string | undefined },
): Promise<BackupReport> {
  const backup = readDescription(from);
  const replays = to === undefined ? [] : await planReplays(from, backup, to);
  for (const file of backup.files) await verifyFile(from, file);
  await verifyBlobs(from);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  if (contentsOf(folder).length > 0)
    throw new FolderError(`${folder} is not empty: a backup is restored to a new folder.`);
  try {
    const files = backup.files.filter(({ path }) => path !== BLOB_LIST);
    for (const file of files) await copyFile(from, folder, file);
    for (const { path } of files) await forgetLog(join(folder, path));
    let batches = 0;
    for (const replay of replays) batches += await applyReplay(folder, replay, to?.at ?? 0);
    const attachments = await restoreBlobs(from, folder);
    const replay = to === undefined ? {} : { restored_to: formatInstant(to.at), changes: batches };
    if (to !== undefined) await dropUnnamedBlobs(from, folder);
    const later = to === undefined ? undefined : await takeMissingBlobs(folder, to.contents);
    const { format, lanes } = backup;
    const epoch = makeEpoch();
    const ended = await endAll(folder, {
      backup_created_at: backup.created_at,
      ...(to === undefined ? {} : { restored_to: formatInstant(to.at) }),
      epoch_before: backup.epoch,
      epoch,
    });
    await settleStores(folder, { lanes }, { anew: true });
    // Last, so that a restore that was interrupted is no data folder.
    writeManifest(folder, { format, epoch, lanes, created_at: formatInstant(Date.now()) });
    return {
      folder,
      files: files.length,
      bytes: totalBytes(files),
      ...(attachments === 0 ? {} : { attachments }),
      lanes,
      format,
      epoch,
      epoch_before: backup.epoch,
      backup_created_at: backup.created_at,
      ...replay,
      ...later,
      sessions_ended: ended.sessions,
      credentials_ended: ended.credentials,
    };
  } catch (error) {
    for (const name of contentsOf(folder)) rmSync(join(folder, name), { recursive: true });
    throw error;
  }
}

/** Looks all of the archive through that a restore needs, before anything is written. */
async function planReplays(from: string, backup: Description, to: ReplayTarget): Promise<Replay[]> {
  const { ended_at: ended } = backup;
  if (ended === undefined)
    throw new FolderError(`${from} was made while no log was archived: it can only be restored as it is.`);
  if (to.at < Date.parse(ended)) {
    throw new FolderError(
      `${formatInstant(to.at)} is before ${from} was finished, at ${ended}: restore to that instant or a later one, or from an earlier backup.`,
    );
  }
  const replays: Replay[] = [];
  const faults: string[] = [];
  for (const { path } of backup.files) {
    if (path === BLOB_LIST) continue;
    const replay = await findReplay(from, path, logFolderName(logNameOf(path)), to);
    try {
      for (const record of replayed(replay, to.at)) void record;
    } catch (error) {
      if (!(error instanceof FolderError)) throw error;
      faults.push(error.message);
    }
    replays.push(replay);
  }
  if (faults.length > 0) throw new FolderError(faults.toSorted().join('\n'));
  return replays;
}

/** The log before a file of the folder. */
function logNameOf(path: string): LogName {
  return LOGS[path] ?? Number(basename(path, '.mdb'));
}

/** When a backup was begun, in milliseconds since 1970, and of which installation. @throws FolderError when it is no finished one. */
export function backupOrigin(from: string): { readonly createdAt: number; readonly installation: string | undefined } {
  const { created_at: at } = readDescription(from);
  const mark = walkFile(join(from, ACCOUNTS_FILE), 'tables').get(MARK_KEY)?.toString('utf8');
  return { createdAt: Date.parse(at), installation: mark?.split(' ')[0] };
}

/** What is in a folder beside the lock that a caller took. */
function contentsOf(folder: string): string[] {
  return readdirSync(folder).filter((name) => !name.startsWith('lock'));
}

function totalBytes(files: readonly BackupFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The files of a data folder by their paths in it. A lane that no server has opened yet has none. */
function filesOf(folder: string, lanes: number): string[] {
  const paths = Array.from({ length: lanes }, (_, lane) => lanePath('', lane));
  const present = [...paths, ATTACHMENTS_FILE, CALENDAR_FILE].filter((path) => existsSync(join(folder, path)));
  return [...present, ACCOUNTS_FILE];
}

function claim(out: string): void {
  try {
    mkdirSync(out, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new FolderError(`${out} cannot be made: ${(error as Error).message}`);
  }
  if (readdirSync(out).length > 0) throw new FolderError(`${out} is not empty: a backup goes to a new folder.`);
  writeFileSync(join(out, UNFINISHED), '', { mode: 0o600, flag: 'wx' });
}

/** One snapshot of an environment, on disk and read through. */
async function copyEnvironment(
  folder: string,
  out: string,
  path: string,
  words: DurableWords | undefined,
): Promise<BackupFile> {
  const [source, copy] = [join(folder, path), join(out, path)];
  if (!existsSync(source)) throw new FolderError(`${source} is missing.`);
  mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
  // No table by name: opening one could race with a thread that opens it at the same time.
  const log = logOf(folder, logNameOf(path), 'read', words);
  const environment = new Environment(source, [], { mapBytes: mapBytesOf(source), readOnly: true, log });
  try {
    await environment.copyTo(copy);
  } finally {
    await environment.close();
  }
  chmodSync(copy, 0o600);
  if (path === ACCOUNTS_FILE) await leaveKeysOut(copy);
  const file = await open(copy, 'r+');
  await file.sync();
  await file.close();
  syncFolder(dirname(copy));
  await readThrough(copy, TABLES[path] ?? LANE_TABLES);
  return await describeFile(out, path);
}

/**
 * Takes the keys that sign in the server's name out of a copy of the accounts. The copy is copied once more, since the pages
 * that a removal frees keep what was in them.
 */
async function leaveKeysOut(copy: string): Promise<void> {
  const whole = `${copy}.whole`;
  renameSync(copy, whole);
  try {
    await removeSigningKeys(whole);
    const environment = new Environment(whole, [], { mapBytes: mapBytesOf(whole), readOnly: true });
    try {
      await environment.copyTo(copy);
    } finally {
      await environment.close();
    }
    chmodSync(copy, 0o600);
  } finally {
    for (const file of [whole, `${whole}-lock`]) rmSync(file, { force: true });
  }
}

async function describeFile(out: string, path: string): Promise<BackupFile> {
  return { path, bytes: (await stat(join(out, path))).size, sha256: await hashOf(join(out, path)) };
}

/** Reads every record of a copy; one that was made and never opened has no table at all. @throws FolderError when it holds fewer than it says. */
async function readThrough(path: string, names: readonly string[]): Promise<void> {
  const environment = new Environment(path, names, { mapBytes: mapBytesOf(path), readOnly: true });
  try {
    if (names.every((name) => environment.tables[name] === undefined)) return;
    for (const name of names) {
      const table = environment.tables[name];
      if (table === undefined) throw new FolderError(`${path} has no table ${name}.`);
      let count = 0;
      for (const { key: itemKey, value } of table.getRange()) {
        if (itemKey.length === 0 || value === undefined) throw new FolderError(`${path} cannot be read in ${name}.`);
        count += 1;
        if (count % VERIFY_BLOCK === 0) await new Promise(setImmediate);
      }
      const { entryCount } = table.getStats() as { entryCount: number };
      if (count !== entryCount) throw new FolderError(`${path} has ${count} of ${entryCount} records of ${name}.`);
    }
  } finally {
    await environment.close();
    rmSync(`${path}-lock`, { force: true });
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** @throws FolderError when there is no finished backup, or one of a newer format. */
function readDescription(from: string): Description {
  let format: number;
  let said: unknown;
  try {
    said = JSON.parse(readFileSync(join(from, DESCRIPTION), 'utf8'));
    ({ format } = z.object({ format: z.int().min(0) }).parse(said));
  } catch {
    throw new FolderError(`${from} has no readable ${DESCRIPTION}: it is not a finished backup of Parley.`);
  }
  // Looked at first: a newer description may have fields that this one does not know.
  if (format > FOLDER_FORMAT) {
    throw new FolderError(`${from} has format ${format}; this server knows up to ${FOLDER_FORMAT}. Use a newer one.`);
  }
  const parsed = descriptionSchema.safeParse(said);
  if (!parsed.success) throw new FolderError(`${from} has a ${DESCRIPTION} that does not describe a backup.`);
  return parsed.data;
}

async function verifyFile(from: string, file: BackupFile): Promise<void> {
  const path = join(from, file.path);
  if (!existsSync(path)) throw new FolderError(`${path} is missing from the backup.`);
  const { size } = await stat(path);
  if (size !== file.bytes)
    throw new FolderError(`${path} has ${size} bytes, not the ${file.bytes} that were backed up.`);
  if ((await hashOf(path)) !== file.sha256)
    throw new FolderError(`${path} is not what was backed up: its checksum differs.`);
}

/** Copies one file of a backup, and checks what was read once more on the way. */
async function copyFile(from: string, folder: string, file: BackupFile): Promise<void> {
  const target = join(folder, file.path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const written = await open(target, 'wx', 0o600);
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(join(from, file.path))) {
      hash.update(chunk as Buffer);
      await written.write(chunk as Buffer);
    }
    await written.sync();
  } finally {
    await written.close();
  }
  syncFolder(dirname(target));
  if (hash.digest('hex') !== file.sha256) throw new FolderError(`${file.path} changed while it was restored.`);
}

/** The log of a copy is that of the server it was made from: a restored folder begins its own. */
async function forgetLog(path: string): Promise<void> {
  const environment = new Environment(path, [], { mapBytes: mapBytesOf(path) });
  environment.forgetLog();
  await environment.close();
}

/**
 * Ends whatever opened something in a restored folder: no key of before verifies, no session and no credential is left, so that what
 * was revoked after the backup stays revoked. The audit trail says that it was carried on from a backup.
 */
async function endAll(folder: string, restored: Readonly<Record<string, string>>): Promise<Ended> {
  const calendarFile = join(folder, CALENDAR_FILE);
  const links = existsSync(calendarFile) ? await endCalendarCredentials(calendarFile) : 0;
  await removeSigningKeys(join(folder, ACCOUNTS_FILE));
  const accounts = await Accounts.open(folder);
  try {
    const now = Date.now();
    const ended = await endCredentials(accounts, now);
    const credentials = ended.credentials + links;
    const details = { ...restored, sessions_ended: ended.sessions, credentials_ended: credentials };
    const by = { actor: 'command', address: null, subject: null };
    await accounts.change((draft) => draft.audit(now, { event: 'backup.restored', ...by, details }));
    return { ...ended, credentials };
  } finally {
    await accounts.close();
  }
}
