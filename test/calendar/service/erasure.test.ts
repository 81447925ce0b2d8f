/** What is left of an erased person in the calendar file, over the running server, a kill in the middle included. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CALENDAR_TABLES, openCalendars } from '#storage/calendars/calendar-records.ts';
import { checkFolder } from '#storage/check/check.ts';
import { plantCallers } from '#test/console/callers.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { alarm, event, importEvents, inSeconds } from '../reminders/importing.ts';
import { basic, call, defaultCalendar, makeCalendar, makeEntry } from './calling.ts';

/** Tables with a record whose key or value has one of these words in it. */
async function tablesWith(folder: string, words: readonly string[]): Promise<string[]> {
  const environment = openCalendars(folder);
  try {
    return CALENDAR_TABLES.filter((table) =>
      [...environment.tables[table].getRange()].some(({ key, value }) =>
        words.some((word) => key.includes(word) || value.includes(word)),
      ),
    );
  } finally {
    await environment.close();
  }
}

/** Gives carol a calendar with everything there is; answers its id and the headers of her app password. */
async function furnish(server: TestServer, carol: Person, bobs: string) {
  const { id } = await makeCalendar(server, carol);
  const at = inSeconds(86_400);
  for (let number = 0; number < 4; number += 1) {
    const uids = Array.from({ length: 50 }, (_, entry) => `pilchard-${number}-${entry}`);
    await importEvents(server, carol, id, ...uids.map((uid) => event(uid, at, alarm(at))));
  }
  assert.equal((await call(server, carol, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'read' })).status, 200);
  const feed = await call(server, carol, 'POST', `/v1/calendars/${id}/feeds`, { detail: 'full' });
  const { token } = carol.session;
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, { token, body: { name: 'Laptop' } });
  const headers = basic('carol', String(made.body['password']));
  const note = '<x:note xmlns:x="urn:x">mine</x:note>';
  const body = `<propertyupdate xmlns="DAV:"><set><prop>${note}</prop></set></propertyupdate>`;
  for (const path of ['/dav/calendars/carol/', `/dav/calendars/carol/${bobs}/`]) {
    const patched = await fetch(`${server.calendar}${path}`, { method: 'PROPPATCH', headers, body });
    assert.match(await patched.text(), /HTTP\/1.1 200/, path);
  }
  return { id, headers, feed: String(feed.body['path']) };
}

test('an erased person has no calendar, share, feed, app password or reminder left, also after a kill', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const callers = await plantCallers(folder);
  let server = await startServer({ folder });
  t.after(async () => await server.end('SIGKILL'));
  const { bob, carol } = await server.people('bob', 'carol');
  const bobs = (await makeCalendar(server, bob)).id;
  await makeEntry(server, bob, bobs, { title: 'herring', start_at: '2026-11-23T09:00:00Z' });
  assert.equal((await call(server, bob, 'PUT', `/v1/calendars/${bobs}/shares/carol`, { access: 'write' })).status, 200);
  const carols = (await defaultCalendar(server, carol)).id;
  const { id, headers, feed } = await furnish(server, carol, bobs);
  assert.equal((await fetch(`${server.calendar}${feed}`)).status, 200);
  await until(async () => (await tablesWith(folder, [id])).includes('alarms'), 'alarms to be worked out');
  const ask = async (method: string, path: string) =>
    await request(method, `${server.coordinator}/admin/api${path}`, { headers: callers['owner'] });
  const begun = await ask('POST', '/users/carol/erase');
  assert.equal(begun.status, 202, begun.text);
  await server.end('SIGKILL');
  server = await startServer({ folder });
  await until(
    async () => (await ask('GET', `/erasures/${String(begun.body['id'])}`)).body['state'] === 'done',
    'the erasure to be done',
  );
  await until(
    async () => (await tablesWith(folder, ['carol', 'pilchard', id, carols])).length === 0,
    'the last record of carol to go',
  );
  assert.equal((await fetch(`${server.calendar}${feed}`)).status, 404);
  assert.equal((await fetch(`${server.calendar}/dav/`, { method: 'OPTIONS', headers })).status, 200);
  assert.equal((await fetch(`${server.calendar}/dav/`, { method: 'PROPFIND', headers })).status, 401);
  bob.session = await server.signIn('bob', bob.password);
  const kept = await call<{ items: { title: string }[] }>(server, bob, 'GET', `/v1/calendars/${bobs}/changes?limit=9`);
  assert.deepEqual(
    kept.body.items.map(({ title }) => title),
    ['herring'],
  );
  assert.deepEqual((await call(server, bob, 'GET', `/v1/calendars/${bobs}/shares`)).body['items'], []);
  await server.stop();
  assert.deepEqual((await checkFolder(folder)).problems, []);
});
