/** Files of the data folder are their owner's alone, also where the folder around them is opened by mistake. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { shareServer } from '#test/support/shared-server.ts';

const { server } = await shareServer(['ivan']);

test('OPS-01 no file of the data folder may be read by anybody but its owner', () => {
  const open = readdirSync(server.folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, mode: statSync(join(server.folder, name)).mode & 0o777 }))
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ name, mode }) => `${name} ${mode.toString(8)}`);
  assert.deepEqual(open, []);
});
