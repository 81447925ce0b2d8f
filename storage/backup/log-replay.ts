/**
 * Restores to a point in time: what the archives of the logs have behind a backup, up to an instant.
 *
 *     backup: each file with the id of its log and the position that is in it
 *     archive: ARCHIVE/INSTALLATION/LOG/*.arc, from there on ─► every batch up to the instant, in order
 *
 * All files are cut at the same instant. What refers to something was acknowledged behind it, so that it is never later. Every record up
 * to the instant, and one behind it, has to be there before anything is written: the one behind it says that nothing is missing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatInstant } from '#src/base/time.ts';
import { Environment, mapBytesOf, MARK_KEY } from '../engine/environment.ts';
import { FolderError } from '../engine/folder.ts';
import { walkFile } from '../engine/page-walk.ts';
import { ArchiveFileReader, type ArchivedRecord, readArchiveFileName, readArchiveHead } from '../log/archive-file.ts';
import { decodeBatch } from '../log/commit-log.ts';
import { ownFiles } from '../log/log-archive.ts';
import type { Write } from '../log/table.ts';

/** Bytes of batches in one commit of a restore. */
const COMMIT_BYTES = 4 * 1024 * 1024;

/** A point in time, and where the logs are archived. */
export interface ReplayTarget {
  readonly archive: string;
  /** Milliseconds since 1970: what was durable by then is there. */
  readonly at: number;
}

/** The file of a backup behind a log, and what of its archive is to be brought to it. */
export interface Replay {
  /** The file's path within the backup and the data folder. */
  readonly path: string;
  readonly log: string;
  readonly files: readonly string[];
  readonly id: Buffer;
  readonly after: number;
  readonly installation: string;
}

/** What of an archive belongs behind one file of a backup. @throws FolderError when it is not there. */
export async function findReplay(from: string, path: string, log: string, { archive }: ReplayTarget): Promise<Replay> {
  const file = join(from, path);
  const environment = new Environment(file, [], { mapBytes: mapBytesOf(file), readOnly: true });
  const place = environment.logPlace;
  await environment.close();
  const installation = walkFile(file, 'tables').get(MARK_KEY)?.toString('utf8').split(' ')[0];
  if (place === undefined || installation === undefined)
    throw new FolderError(`${file} does not say which log it had: this backup can only be restored as it is.`);
  if (!existsSync(archive)) throw new FolderError(`There is no archive ${archive}.`);
  const folder = join(archive, installation, log);
  if (!existsSync(join(archive, installation))) {
    const others = readdirSync(archive).length > 0;
    throw new FolderError(
      others
        ? `${archive} is the archive of another installation, or of this one before or after a restore: the backup is of ${installation}.`
        : `${archive} is empty: nothing was archived there.`,
    );
  }
  const files = ownFiles(folder, place.id).map((name) => join(folder, name));
  return { path, log, files, id: place.id, after: place.applied, installation };
}

/**
 * The batches behind a backup up to an instant. Without `at`, all that there are; answers the time of the last record then.
 * @throws FolderError for an archive that does not have all of them, with what it lacks.
 */
export function* replayed(replay: Replay, at: number): Generator<ArchivedRecord, void> {
  const { after, files, log } = replay;
  const first = files.findLastIndex((file) => fromOf(file) <= after);
  if (first === -1) {
    const begins = files[0] === undefined ? '' : ` It begins at ${formatInstant(timeOf(files[0]))}, behind the backup.`;
    throw new FolderError(`The archive of ${log} does not have what came behind the backup.${begins}`);
  }
  let last = { position: fromOf(files[first] as string), at: timeOf(files[first] as string) };
  for (const [n, file] of files.entries()) {
    if (n < first) continue;
    if (fromOf(file) !== last.position) throw gapBehind(log, last.at, timeOf(file));
    const next = files[n + 1];
    // What a later file has once more is taken from there: the end of this one was not sure when that was begun.
    const upTo = next === undefined ? Infinity : fromOf(next);
    for (const record of recordsOf(replay, file, upTo)) {
      if (record.at > at) return;
      if (record.after !== last.position) throw gapBehind(log, last.at, record.at);
      last = record;
      if (record.position > after) yield record;
    }
  }
  throw new FolderError(
    `The archive of ${log} reaches to ${formatInstant(last.at - 1)}: restore to that instant or one before it.`,
  );
}

/** The records of a file up to a position. @throws FolderError for one that is damaged before it. */
function* recordsOf({ id, installation, log }: Replay, file: string, upTo: number): Generator<ArchivedRecord, void> {
  const bytes = readFileSync(file);
  const head = readArchiveHead(bytes);
  // A file that was being made has nothing yet.
  if (head === undefined && bytes.every((byte) => byte === 0)) return;
  if (head === undefined) throw new FolderError(`${file} is damaged at its beginning. ${ADVICE}`);
  if (head.installation !== installation || head.log !== log)
    throw new FolderError(
      `${file} is of ${head.log} of the installation ${head.installation}: it was put there from elsewhere.`,
    );
  const reader = new ArchiveFileReader(bytes, id);
  let position = head.from;
  while (position < upTo) {
    const record = reader.next();
    if (record === undefined) break;
    if (record.position > upTo) return;
    ({ position } = record);
    yield record;
  }
  if (position < upTo && reader.ending() === 'damaged')
    throw new FolderError(`${file} is damaged at byte ${reader.offset}. ${ADVICE}`);
}

const ADVICE = 'Put it back as it was if there is a copy, restore to an instant before it, or restore a later backup.';

function gapBehind(log: string, from: number, to: number): FolderError {
  return new FolderError(
    `The archive lacks what ${log} took between ${formatInstant(from)} and ${formatInstant(to)}: restore to an instant before that, ` +
      'or from a backup that was made later.',
  );
}

function fromOf(file: string): number {
  return readArchiveFileName(nameOf(file))?.from ?? 0;
}

function timeOf(file: string): number {
  return readArchiveFileName(nameOf(file))?.at ?? 0;
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1);
}

/** Brings what an archive has to the file of a backup that lies in a data folder; answers how many batches that were. */
export async function applyReplay(folder: string, replay: Replay, at: number): Promise<number> {
  const path = join(folder, replay.path);
  const environment = new Environment<string>(path, [], { mapBytes: mapBytesOf(path) });
  let [batches, bytes] = [0, 0];
  let writes: Write[] = [];
  try {
    for (const { batch } of replayed(replay, at)) {
      if (batch === undefined) continue;
      batches += 1;
      bytes += batch.length;
      for (const write of decodeBatch(batch)) writes.push(write);
      if (bytes < COMMIT_BYTES) continue;
      await environment.commit(writes);
      [writes, bytes] = [[], 0];
    }
    await environment.commit(writes);
  } finally {
    await environment.close();
  }
  return batches;
}
