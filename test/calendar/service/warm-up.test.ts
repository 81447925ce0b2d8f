/** Warming up gives way to requests, and ends when the server does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warmUp, WARM_UP_ROUNDS } from '#src/calendar/objects/warm-up.ts';

test('warming up goes through all its series while others have their turn, and ends when it is told', async () => {
  let slicer = 0;
  const others = setInterval(() => (slicer += 1), 1);
  assert.equal(await warmUp(new AbortController().signal), WARM_UP_ROUNDS);
  assert.ok(slicer > 0, 'nobody else had a turn');
  const ending = new AbortController();
  const ended = warmUp(ending.signal);
  setImmediate(() => ending.abort());
  assert.ok((await ended) < WARM_UP_ROUNDS);
  clearInterval(others);
  assert.equal(await warmUp(AbortSignal.abort()), 0);
});
