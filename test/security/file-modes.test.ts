/** Files of the data folder are their owner's alone, also where the folder around them is opened by mistake. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { attach, begin, upload } from '#test/messaging/attaching.ts';
import { start } from '#test/messaging/conversing.ts';
import { shareServer } from '#test/support/shared-server.ts';

const { ivan, server } = await shareServer(['ivan']);

test('OPS-01 no file of the data folder may be read by anybody but its owner, whatever it keeps', async () => {
  const { id } = await start(server, ivan, 'room', []);
  const attachment = await upload(server, ivan, Buffer.alloc(100_000, 'between us'));
  assert.equal((await attach(server, ivan, id, attachment)).status, 201);
  await begin(server, ivan, Buffer.alloc(2_000_000).length);
  const entry = { title: 'Talk', start_at: '2027-01-11T09:00:00Z', end_at: '2027-01-11T10:00:00Z' };
  await makeEntry(server, ivan, (await defaultCalendar(server, ivan)).id, entry);
  const open = readdirSync(server.folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, mode: statSync(join(server.folder, name)).mode & 0o777 }))
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ name, mode }) => `${name} ${mode.toString(8)}`);
  assert.deepEqual(open, []);
});
