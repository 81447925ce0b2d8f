/** Work that is woken: one run at a time, and none of the wake-ups is lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoalescingJob } from '#src/calendar/coalescing-job.ts';
import { until } from '#test/support/waiting.ts';

test('whoever asks while it runs gets another run, once, and never two at a time', async () => {
  const gates: (() => void)[] = [];
  let atOnce = 0;
  const work = new CoalescingJob(async () => {
    atOnce += 1;
    assert.equal(atOnce, 1);
    await new Promise<void>((resolve) => gates.push(resolve));
    atOnce -= 1;
    return undefined;
  });
  work.wake();
  for (let n = 0; n < 3; n += 1) work.wake();
  gates[0]?.();
  await until(() => gates.length === 2, 'the second run');
  gates[1]?.();
  await work.stop();
  assert.equal(gates.length, 2);
});

test('a wake-up is not lost, whatever moment of the run it comes in', async () => {
  for (let microtasks = 0; microtasks < 10; microtasks += 1) {
    let runs = 0;
    const work = new CoalescingJob(() => {
      runs += 1;
      return Promise.resolve(undefined);
    });
    work.wake();
    for (let n = 0; n < microtasks; n += 1) await Promise.resolve();
    work.wake();
    await until(() => runs === 2, `a second run, woken after ${microtasks} microtasks`);
    await work.stop();
  }
});

test('it looks by itself after the time that its run answered, and not once it is stopped', async () => {
  let runs = 0;
  const work = new CoalescingJob(() => {
    runs += 1;
    return Promise.resolve(1);
  });
  work.wake();
  await until(() => runs >= 3, 'runs by itself');
  await work.stop();
  const last = runs;
  work.wake();
  await new Promise(setImmediate);
  assert.deepEqual([runs, work.isStopped], [last, true]);
});
