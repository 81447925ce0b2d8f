import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from '#src/limits/fair-queue.ts';

/** A queue of one at a time whose work ends when it is told to; `order` says what began. */
function manualQueue(waitingMax = 8) {
  const queue = new FairQueue({ atOnce: 1, waitingMax });
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const add = async (key: string, name: string, goesFirst = false): Promise<string> =>
    await queue.run(
      key,
      async () => {
        order.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return name;
      },
      goesFirst,
    );
  const finish = async (all: readonly Promise<unknown>[]) => {
    const done = Promise.allSettled(all);
    while (queue.size > 0) {
      ends.shift()?.();
      await new Promise(setImmediate);
    }
    return await done;
  };
  return { add, finish, order, queue };
}

test('those who wait are served in turn by key, and what goes first before all of them', async () => {
  const { add, finish, order } = manualQueue();
  const all = [add('x', 'x1'), add('x', 'x2'), add('x', 'x3'), add('y', 'y1'), add('z', 'z1'), add('k', 'k1', true)];
  await finish(all);
  assert.deepEqual(order, ['x1', 'k1', 'x2', 'y1', 'z1', 'x3']);
});

test('one beyond the queue takes the last place of the longest list, and is busy where that is its own', async () => {
  const { add, finish, order } = manualQueue(3);
  const flood = ['f0', 'f1', 'f2', 'f3'].map((name) => add('flood', name));
  const own = add('flood', 'f4');
  await assert.rejects(own, { code: 'busy' });
  const other = add('ann', 'a1');
  await assert.rejects(flood[3] as Promise<string>, { code: 'busy' });
  // What goes first has places of its own.
  const first = add('flood', 'known', true);
  await finish([...flood, other, first]);
  assert.deepEqual(order, ['f0', 'known', 'f1', 'a1', 'f2']);
});

test('work that fails lets the next begin', async () => {
  const queue = new FairQueue({ atOnce: 1, waitingMax: 1 });
  const failing = queue.run('x', async () => {
    await new Promise(setImmediate);
    throw new Error('as it may');
  });
  const next = queue.run('x', async () => 'done');
  await assert.rejects(failing, /as it may/);
  assert.equal(await next, 'done');
  assert.equal(queue.size, 0);
});
