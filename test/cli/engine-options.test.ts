/** How many helper threads the engine gets; that a start says so is in test/deploy/production-install.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineOptions } from '#src/cli/engine-options.ts';

test('the engine has one helper thread for four cores, one at least and four at most', () => {
  const helpers = [1, 2, 7, 8, 15, 16, 64].map((cores) => engineOptions(cores));
  assert.deepEqual(
    helpers,
    [1, 1, 1, 2, 3, 4, 4].map((count) => [`--v8-pool-size=${count}`]),
  );
});

test('an operator who says how many has as many', () => {
  assert.deepEqual(engineOptions(8, '--max-old-space-size=4096 --v8-pool-size=6'), []);
  assert.deepEqual(engineOptions(8, '--v8_pool_size=6'), []);
  assert.deepEqual(engineOptions(8, '--max-old-space-size=4096'), ['--v8-pool-size=2']);
});
