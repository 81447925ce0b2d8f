/** What the calendar acknowledged is there after the process was killed, and a reader goes on from where it was. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, call, defaultCalendar } from './calling.ts';

interface Changes {
  readonly items: EntryView[];
  readonly next: string;
  readonly more: boolean;
}

test('CAL-01 after kill -9 every acknowledged entry is there, and a delta from before is exact', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  let server = await startServer({ folder });
  t.after(async () => await server.end('SIGKILL'));
  const alice = await server.person('alice');
  const { id } = await defaultCalendar(server, alice);
  const path = `/v1/calendars/${id}`;
  const acknowledged: string[] = [];
  const add = async (title: string) => {
    const form = { title, start_at: '2026-11-23T09:00:00Z' };
    const reply = await call<EntryView>(server, alice, 'POST', `${path}/entries`, form);
    if (reply.status === 201) acknowledged.push(title);
  };
  for (let number = 0; number < 10; number += 1) await add(`before ${number}`);
  const before = (await call<Changes>(server, alice, 'GET', `${path}/changes?limit=200`)).body;
  assert.equal(before.items.length, 10);
  // Eight writers until the process is gone under them.
  const killed = { is: false };
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let number = 0; !killed.is; number += 1)
      await add(`writer ${writer} ${number}`).catch(() => (killed.is = true));
  });
  await until(() => acknowledged.length >= 60, 'sixty acknowledged writes');
  await server.end('SIGKILL');
  killed.is = true;
  await Promise.all(writers);
  assert.deepEqual((await checkFolder(folder)).problems, []);
  server = await startServer({ folder });
  const titles = new Set(before.items.map(({ title }) => title));
  let after = before.next;
  for (let more = true; more;) {
    const reply = await call<Changes>(server, alice, 'GET', `${path}/changes?limit=7&after=${after}`);
    assert.equal(reply.status, 200, reply.text);
    for (const { title } of reply.body.items) titles.add(title);
    ({ next: after, more } = reply.body);
  }
  for (const title of acknowledged) assert.ok(titles.has(title), `${title} was acknowledged`);
  const whole = await call<Changes>(server, alice, 'GET', `${path}/changes?limit=200`);
  assert.deepEqual([...titles].toSorted(), whole.body.items.map(({ title }) => title).toSorted());
  assertRefused(await call(server, alice, 'GET', `${path}/changes?after=${'x'.repeat(201)}`), 'query_invalid', 'after');
});
