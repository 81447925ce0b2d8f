/** Brings what a server that did not end in order left in its logs to the files behind them. */
import { existsSync } from 'node:fs';
import { logNames, logOf, type DurableWords, type LogName } from './durable-words.ts';
import { Environment, mapBytesOf } from './environment.ts';
import { folderPaths, lanePath } from './folder.ts';
import { SegmentLog } from './segment-log.ts';

/** The file that a log stands before. */
function fileOf(folder: string, log: LogName): string {
  return typeof log === 'number' ? lanePath(folder, log) : folderPaths(folder)[log];
}

/**
 * Applies the logs of a locked folder that nobody has open, so that tools read the files alone and threads may open them
 * in any order. A file that takes no more, on a full disk, keeps its log.
 * @throws LogFault for a log that is damaged, or one whose file is missing, or the other way round.
 */
export async function recoverLogs(folder: string, lanes: number, words?: DurableWords): Promise<void> {
  for (const name of logNames(lanes)) await recoverLog(folder, name, words);
}

/** The same for each log in turn; what is wrong with one is told and keeps none of the others. */
export async function recoverEach(folder: string, lanes: number, say: (sentence: string) => void): Promise<void> {
  for (const name of logNames(lanes)) {
    await recoverLog(folder, name).catch((error: unknown) => say((error as Error).message));
  }
}

async function recoverLog(folder: string, name: LogName, words?: DurableWords): Promise<void> {
  const path = fileOf(folder, name);
  const log = logOf(folder, name, 'write', words);
  if (!existsSync(path) && !SegmentLog.isIn(log.folder)) return;
  const mapBytes = existsSync(path) ? mapBytesOf(path) : 0;
  await new Environment(path, [], { mapBytes, log }).close();
}
