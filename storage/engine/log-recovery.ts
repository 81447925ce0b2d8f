/** Brings what a server that did not end in order left in its logs to the files behind them. */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { LogFault } from '../log/commit-log.ts';
import { logNames, logOf, storePath, type DurableWords, type LogName } from './folder-logs.ts';
import { Environment, mapBytesOf, type LogOptions } from './environment.ts';
import { SegmentLog } from '../log/segment-log.ts';

/**
 * Applies the logs of a locked folder that nobody has open, so that tools read the files alone and threads may open them
 * in any order. A file that takes no more, on a full disk, keeps its log.
 * Lanes that are set aside are left as they are.
 * @throws LogFault for a log that is damaged, or one whose file is missing, or the other way round.
 */
export async function recoverLogs(
  folder: string,
  lanes: number,
  words?: DurableWords,
  setAside: readonly number[] = [],
): Promise<void> {
  for (const name of logNames(lanes)) {
    if (typeof name !== 'number' || !setAside.includes(name)) await recoverLog(folder, name, words);
  }
}

/** The same for each log in turn; what is wrong with one is told and keeps none of the others. */
export async function recoverEach(folder: string, lanes: number, say: (sentence: string) => void): Promise<void> {
  for (const name of logNames(lanes)) {
    await recoverLog(folder, name).catch((error: unknown) => say((error as Error).message));
  }
}

/**
 * Sets damaged logs of a locked folder aside, so that its server starts without what only they have; what is whole before
 * the damage is applied first. Says what it did with each.
 * @throws LogFault for a log whose file is missing: there is nothing to go on with.
 */
export async function dropDamagedLogs(folder: string, lanes: number, say: (sentence: string) => void): Promise<void> {
  for (const name of logNames(lanes)) {
    try {
      await recoverLog(folder, name);
    } catch (error) {
      const path = join(folder, storePath(name));
      if (!(error instanceof LogFault) || !existsSync(path)) throw error;
      const count = await applyWhole(path, logOf(folder, name, 'read'));
      const { folder: log } = logOf(folder, name, 'read');
      const aside = `${log}.damaged-${Date.now()}`;
      if (existsSync(log)) renameSync(log, aside);
      say(
        `${error.message.split('. ', 1)[0]}. ${count} changes before that were kept, those behind it are lost; the log is ${aside} now.`,
      );
    }
  }
}

/** Brings to a file what its log has before the damage, and makes it one without a log. How many changes that were. */
async function applyWhole(path: string, log: LogOptions): Promise<number> {
  const following = new Environment(path, [], { mapBytes: mapBytesOf(path), log });
  const writes = following.pending();
  await following.close();
  const environment = new Environment<string>(path, [], { mapBytes: mapBytesOf(path) });
  try {
    await environment.commit(writes);
    environment.forgetLog();
  } finally {
    await environment.close();
  }
  return writes.length;
}

async function recoverLog(folder: string, name: LogName, words?: DurableWords): Promise<void> {
  const path = join(folder, storePath(name));
  const log = logOf(folder, name, 'write', words);
  if (!existsSync(path) && !SegmentLog.isIn(log.folder)) return;
  const mapBytes = existsSync(path) ? mapBytesOf(path) : 0;
  await new Environment(path, [], { mapBytes, log }).close();
}
