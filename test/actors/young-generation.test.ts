/** The memory for new objects that threads begin with. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { setYoungGeneration } from '#actors/runtime/young-generation.ts';

/** What a thread that begins now has for new objects, in bytes. */
async function youngBytes(): Promise<number> {
  const worker = new Worker(
    `const { getHeapSpaceStatistics } = require('node:v8');
    const { parentPort } = require('node:worker_threads');
    parentPort.postMessage(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);`,
    { eval: true },
  );
  const [bytes] = (await once(worker, 'message')) as [number];
  await worker.terminate();
  return bytes;
}

test('threads begin with the young generation that is set', async () => {
  for (const mebibytes of [8, 16]) {
    setYoungGeneration(mebibytes);
    assert.equal(await youngBytes(), mebibytes * 2 ** 20);
  }
});
