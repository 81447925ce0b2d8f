import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';

test('private addresses are allowed by true, or for the hosts that are named', () => {
  assert.equal(readConfig({}).allowPrivateTargets, false);
  assert.equal(readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: 'true' }).allowPrivateTargets, true);
  assert.equal(readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: 'false' }).allowPrivateTargets, false);
  const hosts = 'mail.internal, 10.0.0.5,::1';
  assert.equal(readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: hosts }).allowPrivateTargets, hosts);
  for (const value of ['yes', '1', 'TRUE', 'on', '', 'mail.internal,', 'a host', 'http://mail', 'a,true']) {
    assert.throws(() => readConfig({ PARLEY_ALLOW_PRIVATE_TARGETS: value }), ConfigError, value);
  }
});
