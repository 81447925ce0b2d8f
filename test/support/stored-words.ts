/** What lies in the lanes of a data folder, read as bytes and beside the server: whether words are off the disk. */
import { Environment, mapBytesOf } from '#storage/engine/environment.ts';
import { logOf } from '#storage/engine/folder-logs.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { LANE_TABLES, type LaneEnvironment } from '#storage/engine/lane.ts';

/** As many as the servers of tests have. */
const LANES = 4;

/** Has each lane read, without changing it. */
export async function readLanes(folder: string, read: (tables: LaneEnvironment['tables']) => void): Promise<void> {
  for (let lane = 0; lane < LANES; lane += 1) {
    const path = lanePath(folder, lane);
    const log = logOf(folder, lane, 'read');
    const environment = new Environment(path, LANE_TABLES, { mapBytes: mapBytesOf(path), readOnly: true, log });
    read(environment.tables);
    await environment.close();
  }
}

/** Tables of the lanes that hold some of these words: `table: word`, once. */
export async function tablesWithWords(folder: string, words: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  await readLanes(folder, (tables) => {
    for (const table of LANE_TABLES) {
      for (const { key, value } of tables[table].getRange()) {
        const text = `${key.toString('latin1')}${value.toString('latin1')}`;
        for (const word of words) if (text.includes(word)) found.add(`${table}: ${word}`);
      }
    }
  });
  return [...found];
}
