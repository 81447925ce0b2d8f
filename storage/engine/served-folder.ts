/** The data folder of a server that starts: nothing maps a store before it was read page by page. */
import { formatInstant } from '#src/base/time.ts';
import { settleArchivePlace } from './archive-place.ts';
import { makeDurableWords, type DurableWords } from './folder-logs.ts';
import { FOLDER_FORMAT, FolderError, openFolder, type FolderLock, type Manifest } from './folder.ts';
import { recoverLogs } from './log-recovery.ts';
import { migrateFolder } from './migrations.ts';
import { faultSentence, findStoreFaults, settleStores } from './stores.ts';

/** Where it is said what the start found. */
interface StartLog {
  error(msg: string, fields?: { readonly lane: number | undefined; readonly sentence: string }): void;
  info(msg: string, fields?: { readonly folder: string }): void;
}

export interface OpenFolder {
  readonly manifest: Manifest;
  /** Lanes that cannot be read: their conversations are answered `storage_damaged`. */
  readonly setAside: readonly number[];
  /** How far each log is durable, for all threads. */
  readonly words: DurableWords;
}

/**
 * Opens the folder for a server, or makes it; `lock` is the caller's. Presence, marks, lengths, first pages and free lists
 * are compared at every start. Where whoever had the folder before died with it, every page is read: it may have died of one.
 * @throws FolderError for a store that is missing, cut off or somebody else's, or damaged and no lane.
 */
export async function openServed(
  folder: string,
  lock: Pick<FolderLock, 'wasLeft'>,
  {
    archive,
    lanes,
    log,
    now,
  }: {
    readonly lanes: number;
    readonly log: StartLog;
    readonly now: number;
    /** Where the logs are archived from now on; null: no more, undefined: as before. */
    readonly archive?: string | null;
  },
): Promise<OpenFolder> {
  const found = openFolder(folder, lanes, formatInstant(now));
  if (lock.wasLeft) log.info('the process before this one died: every page of its stores is read', { folder });
  const faults = findStoreFaults(folder, found, lock.wasLeft ? 'all' : 'tables');
  const fatal = faults.filter(({ lane, part }) => lane === undefined || part === 'head');
  if (fatal.length > 0) throw new FolderError(faultSentence(fatal));
  for (const { lane, sentence } of faults) log.error('a lane cannot be read and is set aside', { lane, sentence });
  const words = makeDurableWords(found.lanes);
  const setAside = faults.flatMap(({ lane }) => lane ?? []);
  if (setAside.length > 0) {
    // A migration may leave no lane out; and what is hurt is not marked as whole.
    if (found.format < FOLDER_FORMAT) throw new FolderError(faultSentence(faults));
    await recoverLogs(folder, found.lanes, words, setAside);
    if (archive !== undefined) settleArchivePlace(folder, archive ?? undefined);
    return { manifest: found, setAside, words };
  }
  await recoverLogs(folder, found.lanes, words);
  const manifest = await migrateFolder(folder, found);
  await settleStores(folder, manifest);
  if (archive !== undefined) settleArchivePlace(folder, archive ?? undefined);
  return { manifest, setAside, words };
}
