/** `parley check --compare`: the folders of two hosts of a cluster, held against each other row by row. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { programOf } from '#test/support/program.ts';
import { startServer } from '#test/support/server.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

function parley(args: readonly string[], input = '') {
  const { status, stderr, stdout } = spawnSync(process.execPath, [...PARLEY, ...args], { encoding: 'utf8', input });
  return { status, said: stdout + stderr };
}

function joinCluster(folder: string, cluster: string): void {
  const place = { name: 'parley', urls: ['nats://127.0.0.1:4222'], cluster, replicas: 1, term: 0 };
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify(place));
}

test('CLU-01 two folders with the same are alike, a person more in one is a difference, and other clusters are refused', async () => {
  const root = mkdtempSync(join(tmpdir(), 'parley-compare-'));
  const [one, other] = [join(root, 'one'), join(root, 'other')];
  const server = await startServer({ shards: 2, folder: one });
  await server.people('ann');
  await server.end('SIGTERM');
  cpSync(one, other, { recursive: true, filter: (path) => !path.endsWith('control.sock') });
  const compare = () => parley(['check', '--data', one, '--compare', other]);
  const alone = compare();
  assert.match(alone.said, /is of no cluster/);
  assert.notEqual(alone.status, 0);
  for (const folder of [one, other]) joinCluster(folder, '00000000000000aa');
  const same = compare();
  assert.equal(same.status, 0, same.said);
  assert.match(same.said, /^[1-9]\d* rows are the same in both folders\.\nNo problems found\.$/m);
  joinCluster(other, '00000000000000bb');
  assert.match(compare().said, /are of different clusters/);
  const grown = join(root, 'grown');
  cpSync(other, grown, { recursive: true, filter: (path) => !path.endsWith('cluster.json') });
  const added = parley(['user', 'add', 'ben', '--data', grown], 'a password of ben\n');
  assert.equal(added.status, 0, added.said);
  for (const folder of [one, grown]) joinCluster(folder, '00000000000000aa');
  const differs = parley(['check', '--data', one, '--compare', grown]);
  assert.equal(differs.status, 1, differs.said);
  // Rows that one has alone, at the end of a table and within, and rows that both have and not alike.
  for (const table of ['audit', 'documents', 'meta', 'people'])
    assert.match(
      differs.said,
      new RegExp(`^[12] rows of ${table} in accounts differ, of which the first have the keys `, 'm'),
    );
});
