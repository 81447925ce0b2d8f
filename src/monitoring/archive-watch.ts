/** Says in the log that the archive of the logs is not written, why, and that it is again; and that something was left out of it. */
import { getSystemErrorName } from 'node:util';
import { archiveStatus, type DurableWords } from '#storage/engine/folder-logs.ts';

/** How often it is looked at: a line comes soon behind a flush that failed. */
export const ARCHIVE_WATCH_MILLIS = 2_000;

interface WatchLog {
  error(msg: string, fields: Readonly<Record<string, string | number>>): void;
  warn(msg: string, fields: Readonly<Record<string, string | number>>): void;
}

/** Watches the archive in a folder, where there is one, until what it answers is called. */
export function watchArchive(words: DurableWords, folder: string | undefined, log: WatchLog): () => undefined {
  if (folder === undefined) return () => undefined;
  let [faultBefore, gapsBefore] = [0, 0];
  const timer = setInterval(() => {
    const { fault, gaps } = archiveStatus(words, Date.now());
    if (gaps > gapsBefore) {
      log.error('a part of what was committed is not in the archive of the logs: make a backup', { folder, gaps });
    }
    if (fault !== 0 && faultBefore === 0) {
      log.error('the archive of the logs cannot be written', { folder, reason: getSystemErrorName(fault) });
    }
    if (fault === 0 && faultBefore !== 0) log.warn('the archive of the logs is written again', { folder });
    [faultBefore, gapsBefore] = [fault, gaps];
  }, ARCHIVE_WATCH_MILLIS).unref();
  return () => {
    clearInterval(timer);
    return undefined;
  };
}
