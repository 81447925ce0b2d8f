/** A thread that writes a lane as fast as it can until it is told to stop; posts how many records are on disk. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { numbered } from '#storage/engine/keys.ts';
import { Lane, openLane } from '#storage/engine/lane.ts';

const port = parentPort as MessagePort;
const environment = openLane(workerData as string, 1024 ** 3);
const lane = new Lane(0, environment, () => undefined);
const writing = { isOver: false };
port.once('message', () => (writing.isOver = true));

for (let count = 0; !writing.isOver;) {
  for (let i = 0; i < 100; i += 1) {
    count += 1;
    lane.append([{ table: 'deleted', key: numbered(count, 'c_1'), value: Buffer.of(1) }]);
  }
  await lane.settle();
  port.postMessage(count);
}
await environment.close();
