/** An accounts file that fills is told of where an operator looks: at the running server, over a file that says it holds so much. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACCOUNTS_FILLED_SHARE } from '#src/server/alert-sources.ts';
import { ACCOUNTS_MAP_BYTES } from '#storage/accounts/accounts-reader.ts';
import { folderPaths } from '#storage/engine/folder.ts';
import { plantCallers } from '#test/console/callers.ts';
import { request, startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

const PAGE = 4_096;
/**
 * What LMDB keeps of a table, behind its name: a pad, flags and depth, then the counts of its pages as three whole numbers of eight
 * bytes, that of overflow pages last.
 */
const OVERFLOW_AT = 8 + 2 * 8;

/** Has the file say of its table of invitations that it holds so many pages more: nobody writes twelve gigabytes for a test. */
function swell(path: string, pages: number): void {
  const bytes = readFileSync(path);
  const name = Buffer.from('invitations');
  let found = 0;
  for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) {
    const record = at + name.length + (name.length % 2);
    // Its depth is small, and of flags a table of ours has none.
    if (bytes.readUInt16LE(record + 4) !== 0 || bytes.readUInt16LE(record + 6) > 4) continue;
    bytes.writeBigUInt64LE(BigInt(pages), record + OVERFLOW_AT);
    found += 1;
  }
  assert.ok(found > 0, 'the file has its table of invitations');
  writeFileSync(path, bytes);
}

test('CON-04 an accounts file of which four fifths are used raises an alert, which closes once it has room', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const callers = await plantCallers(folder);
  const path = folderPaths(folder).accounts;
  // The wrong count of pages would not pass `parley check`, so that no other way to start again is taken.
  let server = await startServer({ folder });
  t.after(async () => await server.end('SIGKILL'));
  const startOn = async (pages: number) => {
    await server.end('SIGTERM');
    swell(path, pages);
    server = await startServer({ folder });
  };
  const alerts = async (state: string) => {
    const url = `${server.coordinator}/admin/api/alerts?state=${state}`;
    const reply = await request<{ items: { kind: string; details: string }[] }>('GET', url, { headers: callers.owner });
    assert.equal(reply.status, 200, reply.text);
    return reply.body.items.filter(({ kind }) => kind === 'accounts_filling');
  };
  assert.deepEqual(await alerts('open'), []);
  await startOn(Math.ceil((ACCOUNTS_FILLED_SHARE * ACCOUNTS_MAP_BYTES) / PAGE));
  const [open] = await until(async () => {
    const found = await alerts('open');
    return found.length > 0 && found;
  }, 'the alert');
  assert.match(open?.details ?? '', /^\d+ of 17179869184 bytes used \(80\.0 %\)$/);
  await startOn(0);
  await until(async () => (await alerts('open')).length === 0, 'the alert to close');
  assert.equal((await alerts('closed')).length, 1);
});
