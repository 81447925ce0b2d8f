/** Waits between attempts: they grow, differ, and have a longest one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMillis } from '#src/delivery/backoff.ts';

const DAY_MILLIS = 86_400_000;

test('waits grow by their factor, and none is longer than the most', (t) => {
  t.mock.method(Math, 'random', () => 0.5);
  const doubling = { firstMillis: 2_000, mostMillis: 600_000 };
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((attempts) => backoffMillis(attempts, doubling)),
    [1_795, 2_187, 4_072, 8_092, 16_168],
  );
  const steep = { firstMillis: 2_000, mostMillis: DAY_MILLIS, factor: 5 };
  assert.deepEqual(
    [1, 2, 3, 4].map((attempts) => backoffMillis(attempts, steep)),
    [2_838, 12_898, 63_839, 319_276],
  );
  assert.deepEqual(
    [12, 60, 100_000].map((attempts) => backoffMillis(attempts, doubling)),
    [600_000, 600_000, 600_000],
  );
});

test('what failed together does not come back together', () => {
  const waits = Array.from({ length: 100 }, () => backoffMillis(3, { firstMillis: 60_000, mostMillis: DAY_MILLIS }));
  assert.ok(new Set(waits).size > 50);
  assert.ok(waits.every((wait) => wait >= 0 && wait <= 60_000 * 2 ** 3));
});
