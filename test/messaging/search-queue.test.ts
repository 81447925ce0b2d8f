/** Searches of one shard: one at a time, one of a person, and no more waiting than may. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cancellation } from '#actors/runtime/cancellation.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { SearchQueue, SEARCHES_WAITING_MAX } from '#src/messaging/search/search-queue.ts';

const refusedWith = (code: ErrorCode) => (error: unknown) => error instanceof Refusal && error.code === code;

/** A queue with one search at work that ends when it is told to. */
function busyQueue() {
  const queue = new SearchQueue();
  const held = Promise.withResolvers<void>();
  const order: string[] = [];
  const run = (user: string, cancellation = new Cancellation()) =>
    queue.run(user, cancellation, async () => {
      order.push(user);
      if (user === 'first') await held.promise;
    });
  return { run, order, begun: run('first'), letGo: held.resolve };
}

test('searches wait for one another, in their order', async () => {
  const { run, order, begun, letGo } = busyQueue();
  const others = [run('second'), run('third')];
  await nextTurn();
  assert.deepEqual(order, ['first']);
  letGo();
  await Promise.all([begun, ...others]);
  assert.deepEqual(order, ['first', 'second', 'third']);
});

test('a second search of the same person is refused until the first has ended', async () => {
  const { run, begun, letGo } = busyQueue();
  await assert.rejects(run('first'), refusedWith('rate_limited'));
  letGo();
  await begun;
  await run('first');
});

test('one more than may wait is refused with busy, and those who wait are not', async () => {
  const { run, order, begun, letGo } = busyQueue();
  const waiting = Array.from({ length: SEARCHES_WAITING_MAX }, (_, i) => run(`waits${i}`));
  await assert.rejects(run('late'), (error: Refusal) => error.code === 'busy' && error.retryAfter === 1);
  letGo();
  await Promise.all([begun, ...waiting]);
  assert.equal(order.length, SEARCHES_WAITING_MAX + 1);
  await run('late');
});

test('whoever hangs up while waiting leaves the queue', async () => {
  const { run, order, begun, letGo } = busyQueue();
  const cancellation = new Cancellation();
  const gone = assert.rejects(run('second', cancellation), refusedWith('unavailable'));
  const third = run('third');
  cancellation.cancel();
  await gone;
  letGo();
  await Promise.all([begun, third]);
  assert.deepEqual(order, ['first', 'third']);
});

test('a search that fails lets the next one begin', async () => {
  const queue = new SearchQueue();
  const failing = queue.run('first', new Cancellation(), async () => {
    throw new Error('a bug');
  });
  const next = queue.run('second', new Cancellation(), async () => 'done');
  await assert.rejects(failing, /a bug/);
  assert.equal(await next, 'done');
});
