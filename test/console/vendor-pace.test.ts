import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { REST_MILLIS_MAX, REST_TIMES, VendorPace, WAITING_MAX } from '#src/console/vendor-pace.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** A pace whose rests end when the test says so. */
function manualPace(): { pace: VendorPace; rests: number[]; endRest: () => void } {
  const rests: number[] = [];
  const ends: (() => void)[] = [];
  const pace = new VendorPace(async (millis) => {
    rests.push(millis);
    await new Promise<void>((resolve) => ends.push(resolve));
  });
  return { pace, rests, endRest: () => ends.shift()?.() };
}

test('one answer is made at a time, and the next one after a rest in proportion', async () => {
  const { pace, rests, endRest } = manualPace();
  const begun: string[] = [];
  const first = Promise.withResolvers<string>();
  const one = pace.run(() => (begun.push('one'), first.promise));
  const two = pace.run(async () => (begun.push('two'), 'second'));
  await nextTurn();
  assert.deepEqual(begun, ['one']);
  first.resolve('first');
  assert.equal(await one, 'first');
  await nextTurn();
  assert.deepEqual(begun, ['one']);
  assert.equal(rests.length, 1);
  assert.ok((rests[0] ?? 0) > 0 && (rests[0] ?? 0) <= REST_MILLIS_MAX);
  endRest();
  assert.equal(await two, 'second');
  assert.deepEqual(begun, ['one', 'two']);
});

test('an answer that took long is not rested for longer than the most', async () => {
  const { pace, rests } = manualPace();
  await pace.run(async () => {
    // Counted from here: between the call and its turn other threads may run.
    const began = performance.now();
    while (performance.now() - began < REST_MILLIS_MAX / REST_TIMES + 1) await nextTurn();
  });
  await nextTurn();
  assert.deepEqual(rests, [REST_MILLIS_MAX]);
});

test('a failure ends its turn as an answer does', async () => {
  const { pace, endRest } = manualPace();
  await assert.rejects(
    pace.run(() => Promise.reject(new Error('broken'))),
    /broken/,
  );
  await nextTurn();
  endRest();
  assert.equal(await pace.run(async () => 'on'), 'on');
});

test('as many as may wait do, and one more is refused', async () => {
  const { pace, endRest } = manualPace();
  const first = Promise.withResolvers<void>();
  const running = pace.run(() => first.promise);
  await nextTurn();
  const waiting = Array.from({ length: WAITING_MAX }, () => pace.run(async () => 'served'));
  await assert.rejects(
    pace.run(async () => 'too many'),
    (error) => error instanceof Refusal && error.code === 'busy',
  );
  first.resolve();
  await running;
  for (const one of waiting) {
    await nextTurn();
    endRest();
    assert.equal(await one, 'served');
  }
});
