/** How long to wait before another attempt. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMillis, RETRY_AFTER_SECONDS_MAX } from '#src/client/connection/backoff.ts';

test('waits are 1, 2, 4, 8, 16 seconds and stay there', () => {
  const waits = [1, 2, 3, 4, 5, 6, 60].map((failures) => backoffMillis(failures, () => 0.5));
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
});

test('jitter is a factor from 0.5 up to, and not including, 1.5', () => {
  assert.equal(
    backoffMillis(5, () => 0),
    8_000,
  );
  const most = backoffMillis(5, () => 1 - Number.EPSILON);
  assert.ok(most < 24_000 && most > 23_999, String(most));
});

test('a Retry-After comes first and the jittered wait on top, up to a bound', () => {
  assert.equal(
    backoffMillis(1, () => 0.5, 7),
    8_000,
  );
  assert.equal(
    backoffMillis(1, () => 0.5, RETRY_AFTER_SECONDS_MAX),
    301_000,
  );
  assert.equal(
    backoffMillis(1, () => 0.5, RETRY_AFTER_SECONDS_MAX + 1),
    301_000,
  );
});
