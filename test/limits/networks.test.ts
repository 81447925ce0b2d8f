import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf, networkOf } from '#src/limits/networks.ts';

const CASES: readonly (readonly [address: string, host: string, network: string])[] = [
  ['203.0.113.77', '203.0.113.77', '203.0.113.0'],
  ['::ffff:203.0.113.77', '203.0.113.77', '203.0.113.0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', '2001:db8:1::'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::', '2001:db8:1::'],
  ['::1', '::', '::'],
  ['', '', ''],
  ['unix:', 'unix:', 'unix:'],
];

for (const [address, host, network] of CASES) {
  test(`“${address}” is ${host} of ${network}`, () => {
    assert.deepEqual([hostOf(address), networkOf(address)], [host, network]);
  });
}
