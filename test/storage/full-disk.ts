/**
 * A lane on a disk that fills up, as a process of its own: whoever starts it limits the size of its files, which the
 * kernel refuses to exceed in the way in which a full disk does. A promise that nobody holds would end it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableWord } from '#storage/log/durable-word.ts';
import { numbered } from '#storage/engine/keys.ts';
import { Lane, openLane, type LaneWrite } from '#storage/engine/lane.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-full-'));
const log = { folder: join(folder, 'log'), durable: new DurableWord() };
const environment = openLane(join(folder, '00.mdb'), 1024 ** 3, { ...log, access: 'write' });
// What a thread has that follows the log.
const follower = openLane(join(folder, '00.mdb'), 1024 ** 3, { ...log, access: 'read' });
const lane = new Lane(0, environment, () => undefined);

async function store(seq: number, bytes: number): Promise<Error | undefined> {
  const writes: LaneWrite[] = [
    { table: 'messages', key: numbered(seq, 'c'), value: Buffer.alloc(bytes, 1) },
    { table: 'deleted', key: numbered(seq, 'c'), value: Buffer.of(1) },
  ];
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  lane.append(writes).gated.push({ done: () => resolve(undefined), failed: resolve });
  return await promise;
}

let stored = 0;
let failure: Error | undefined;
while (failure === undefined && stored < 1_000) {
  failure = await store(stored + 1, 50_000);
  if (failure === undefined) stored += 1;
}
process.stdout.write(`failed: ${failure?.message}\n`);
for (let more = 1; more <= 3; more += 1) await store(stored + more, 50_000);
const isWhole = environment.tables.messages.getCount() === stored && environment.tables.deleted.getCount() === stored;
process.stdout.write(`readable: ${isWhole && stored > 0}\n`);
// Room comes back: the newest goes, and its pages are free for the next ones.
lane.append([{ table: 'messages', key: numbered(stored, 'c'), value: null }]);
await lane.settle();
const again = await store(stored, 100);
process.stdout.write(`small: ${again === undefined ? 'stored' : again.message}\n`);
const lost = Array.from({ length: stored }, (_, i) => environment.tables.messages.get(numbered(i + 1, 'c'))).filter(
  (value) => value === undefined,
);
process.stdout.write(`lost writes: ${lost.length}\n`);
follower.refresh();
const [here, there] = [environment, follower].map(({ tables }) => [...tables.messages.getKeys()].map(String).join());
process.stdout.write(`followed: ${here === there}\n`);
await follower.close();
await environment.close();
rmSync(folder, { recursive: true });
