/** Supervision as values: how many failures are too many, and when old ones stop counting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTOR_POLICY, decide, SHARD_POLICY } from '#actors/runtime/supervision.ts';

const policy = { restartsMax: 3, withinMillis: 1_000 };

test('as many failures as the policy allows restart, and one more escalates', () => {
  const third = decide([100, 200], 300, policy);
  assert.deepEqual(third, { action: 'restart', failures: [100, 200, 300] });
  assert.deepEqual(decide(third.failures, 400, policy), { action: 'escalate', failures: [100, 200, 300, 400] });
});

test('a failure stops counting when the time is over, and not a moment before', () => {
  assert.equal(decide([0, 500, 600], 999, policy).action, 'escalate');
  assert.deepEqual(decide([0, 500, 600], 1_000, policy), { action: 'restart', failures: [500, 600, 1_000] });
});

test('actors may fail five times in five seconds, shards five times in a minute', () => {
  assert.deepEqual(ACTOR_POLICY, { restartsMax: 5, withinMillis: 5_000 });
  assert.deepEqual(SHARD_POLICY, { restartsMax: 5, withinMillis: 60_000 });
});
