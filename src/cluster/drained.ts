/** Whether this host was told to leave the lead to others: kept in the data folder, since maintenance outlasts a process. */
import { existsSync, rmSync } from 'node:fs';
import { folderPaths, replaceJson } from '#storage/engine/folder.ts';

export function isDrained(folder: string): boolean {
  return existsSync(folderPaths(folder).drained);
}

/** Says that the host is drained from now on, or is not any more; durable when it returns. */
export function setDrained(folder: string, drained: boolean): void {
  const path = folderPaths(folder).drained;
  if (drained) replaceJson(folder, path, { since: new Date().toISOString() });
  else rmSync(path, { force: true });
}
