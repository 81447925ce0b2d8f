import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';

test('private addresses are allowed by true alone', () => {
  assert.equal(readConfig({}).allowPrivateTargets, false);
  assert.equal(readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: 'true' }).allowPrivateTargets, true);
  assert.equal(readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: 'false' }).allowPrivateTargets, false);
  for (const value of ['yes', '1', 'TRUE', '']) {
    assert.throws(() => readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: value }), ConfigError, value);
  }
});
