/** What of the calendar is in the audit trail, and the SDK's way to the service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ImportProgress } from '#src/protocol/calendars/calendar-files.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { request } from '#test/support/server.ts';
import { call, makeCalendar, makeEntry } from './calling.ts';

test('calendar actions and app passwords are audited, single entries are not; a secret never is', async (t) => {
  const { server, console, stop } = await startConsoleServer();
  t.after(stop);
  const { alice } = await server.people('alice', 'bob');
  const { id } = await makeCalendar(server, alice, { displayname: 'Secret plans' });
  await makeEntry(server, alice, id, { title: 'x', start_at: '2026-11-23T09:00:00Z' });
  await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'read' });
  await call(server, alice, 'DELETE', `/v1/calendars/${id}`);
  const token = alice.session.token;
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, { token, body: { name: 'Laptop' } });
  await request('DELETE', `${server.coordinator}/v1/app-passwords/${String(made.body['id'])}`, { token });
  const trail = await console<{ items: Record<string, unknown>[] }>('GET', '/calendar/audit');
  const own = trail.body.items.filter(
    ({ event, about }) => String(event).startsWith('dav.') || about === `calendar:${id}`,
  );
  assert.deepEqual(
    own.map(({ event, actor, address, details }) => [event, actor, address, Object.keys(details as object)]),
    [
      ['dav.app_password_revoked', 'user:alice', '127.0.0.1', ['name']],
      ['dav.app_password_made', 'user:alice', '127.0.0.1', ['name']],
      ['calendar.removed', 'user:alice', '127.0.0.1', ['name', 'entries']],
      ['calendar.shared', 'user:alice', '127.0.0.1', ['user', 'before', 'after']],
      ['calendar.created', 'user:alice', '127.0.0.1', ['name']],
    ],
  );
  assert.equal(trail.text.includes(String(made.body['password'])), false);
  assert.equal(trail.text.includes('Secret plans'), false);
});

test('the SDK calls the calendar by the names of its routes and reads changes to their end', async (t) => {
  const { server, stop } = await startConsoleServer();
  t.after(stop);
  const { username, password } = await server.person('alice');
  const urls = { coordinatorUrl: server.coordinator, messagingUrl: server.messaging, calendarUrl: server.calendar };
  const client = await ParleyClient.signIn({ ...urls, username, password });
  t.after(() => client.close());
  const { calendar: api } = client;
  assert.ok(api !== undefined);
  const { items } = await api.call('listCalendars', { params: {} });
  const calendar = items[0]?.id ?? '';
  const body = { title: 'x', start_at: '2026-11-23T09:00:00Z' };
  for (let count = 0; count < 60; count += 1) await api.call('createEntry', { params: { calendar }, body });
  const pages = await readAll(api.changes(calendar));
  assert.deepEqual(
    pages.map((page) => [page.items.length, page.more]),
    [
      [50, true],
      [10, false],
    ],
  );
  const after = pages.at(-1)?.next ?? '';
  assert.deepEqual(
    (await readAll(api.changes(calendar, after))).map((page) => page.items),
    [[]],
  );
  const file = await (await api.exportFile(calendar)).text();
  assert.equal(file.match(/BEGIN:VEVENT/g)?.length, 60);
  const { id: copy } = await api.call('createCalendar', { params: {}, body: { displayname: 'Copy' } });
  assert.equal((await api.importFile(copy, file)).imported, 60);
  await assert.rejects(api.importFile(copy, 'no calendar'), { code: 'body_not_calendar' });
  const steps: ImportProgress[] = [];
  assert.equal((await api.importFile(copy, file, (step) => steps.push(step))).skipped, 60);
  assert.deepEqual(
    [steps[0], steps.at(-1)],
    [
      { done: 0, of: 60 },
      { done: 60, of: 60 },
    ],
  );
  await assert.rejects(
    api.importFile(copy, 'no calendar', () => {}),
    { code: 'body_not_calendar' },
  );
  const feed = await api.call('publishFeed', { params: { calendar: copy }, body: {} });
  const published = await fetch(`${server.calendar}${feed.path}`);
  assert.equal((await published.text()).match(/BEGIN:VEVENT/g)?.length, 60);
  await assert.rejects(api.call('readCalendar', { params: { calendar: 'cal_x' } }), { code: 'calendar_not_found' });
});

async function readAll<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}
