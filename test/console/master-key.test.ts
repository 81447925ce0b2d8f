/** The master key at the start of the server: taken from the configuration, refused when it is wrong, kept from threads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { request, startServer } from '#test/support/server.ts';
import { plantCallers } from './callers.ts';

test('the configured master key unlocks; without it, or with another one, the server serves and is locked', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const { owner } = await plantCallers(folder);
  const key = randomBytes(32).toString('hex');
  const other = randomBytes(32).toString('hex');
  for (const [masterKey, state] of [
    [key, 'unlocked'],
    [undefined, 'locked'],
    [other, 'locked'],
    [key, 'unlocked'],
  ] as const) {
    const server = await startServer({ folder, environment: { PARLEY_MASTER_KEY: masterKey } });
    try {
      const { body } = await request('GET', `${server.coordinator}/admin/api/encryption`, { headers: owner });
      assert.equal(body['state'], state);
      const refused = server.output.filter((line) => line.includes('master_key_wrong'));
      assert.equal(refused.length, masterKey === other ? 1 : 0);
      assert.deepEqual(
        server.output.filter((line) => line.includes(key) || line.includes(other)),
        [],
      );
    } finally {
      await server.stop();
    }
  }
});

test('shards are given neither the key nor an environment that has it', () => {
  const read = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
  const main = read('main.ts');
  // A process that begins again has what it was started with, and takes the key out of it again.
  assert.match(read('server/shard-supervision.ts'), /config: \{ \.\.\.config, masterKey: undefined\b/);
  const removed = main.indexOf("delete process.env['PARLEY_MASTER_KEY']");
  assert.ok(removed > 0 && removed < main.indexOf('await serve(base, closers, leadership)'));
});
