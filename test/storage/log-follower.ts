/** A thread that writes an environment with a log and says so after each commit, for a reader on another thread. */
import { parentPort, workerData } from 'node:worker_threads';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import { logOf } from '#storage/engine/folder-logs.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { numbered, numberValue } from '#storage/engine/keys.ts';
import { openLane } from '#storage/engine/lane.ts';

const { commits, folder, words } = workerData as { commits: number; folder: string; words: DurableWords };
const environment = openLane(lanePath(folder, 0), 1024 ** 3, logOf(folder, 0, 'write', words));
for (let number = 1; number <= commits; number += 1) {
  await environment.commit([
    { table: 'deleted', key: numbered(number, 'c'), value: numberValue(number) },
    { table: 'meta', key: Buffer.from('latest'), value: numberValue(number) },
    ...(number > 5 ? [{ table: 'deleted' as const, key: numbered(number - 5, 'c'), value: null }] : []),
  ]);
  parentPort?.postMessage(number);
}
await environment.close();
