/** Calendars over JSON: whose they are, who shares them, what is told of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALENDARS_PER_PERSON_MAX } from '#storage/calendars/calendar-records.ts';
import type { CalendarView } from '#src/protocol/calendars/calendars.ts';
import { request } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { appPassword, assertRefused, call, defaultCalendar, makeCalendar, makeEntry } from './calling.ts';

const { server, alice, bob, carol, dora } = await shareServer(['alice', 'bob', 'carol', 'dora'], { shards: 2 });
const EVENT = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

test('SVC-01 the calendar is a service of its own: it takes the session token and states the protocol', async () => {
  const reply = await call(server, alice, 'GET', '/v1/calendars');
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get('x-service-protocol'), '1');
  assert.equal(reply.headers.get('x-service-protocol-min'), '0');
  assertRefused(await call(server, undefined, 'GET', '/v1/calendars'), 'token_missing');
  const wrong = await request('GET', `${server.calendar}/v1/calendars`, { token: 'x.y.z' });
  assertRefused(wrong, 'token_invalid');
  assertRefused(await call(server, alice, 'GET', '/v1/nothing'), 'path_not_found');
  assertRefused(await call(server, alice, 'PUT', '/v1/calendars', {}), 'method_not_found');
});

test('SVC-05 everybody has a calendar from the first call on, once, however many calls come at once', async () => {
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => call<{ items: CalendarView[] }>(server, dora, 'GET', '/v1/calendars')),
  );
  for (const { body } of replies) {
    assert.deepEqual(
      body.items.map(({ name, access, is_default: isDefault, owner }) => [name, access, isDefault, owner]),
      [['default', 'owner', true, 'dora']],
    );
  }
});

test('CAL-02 a calendar that nobody stated a zone of is in that of its owner’s profile, and so is what takes whole days', async () => {
  const live = async (zone: string | null) => {
    const form = { token: carol.session.token, body: { time_zone: zone } };
    assert.equal((await request('PATCH', `${server.coordinator}/v1/me`, form)).status, 200);
  };
  const busy = async () => {
    const body = { users: ['carol'], from: '2026-11-22T00:00:00Z', to: '2026-11-25T00:00:00Z' };
    const reply = await call<{ items: { busy: { start_at: string }[] }[] }>(
      server,
      alice,
      'POST',
      '/v1/free-busy',
      body,
    );
    return reply.body.items[0]?.busy.map((one) => one.start_at);
  };
  const zoneOf = async (id: string) => (await call<CalendarView>(server, carol, 'GET', `/v1/calendars/${id}`)).body.tz;
  await live('Asia/Tokyo');
  const { id, tz } = await defaultCalendar(server, carol);
  assert.equal(tz, 'Asia/Tokyo');
  await makeEntry(server, carol, id, { title: 'Away', date: '2026-11-23' });
  assert.deepEqual(await busy(), ['2026-11-22T15:00:00.000Z']);
  const [own, stated] = [await makeCalendar(server, carol), await makeCalendar(server, carol, { tz: 'Europe/Paris' })];
  const headers = await appPassword(server, carol);
  const made = await fetch(`${server.calendar}/dav/calendars/carol/made/`, { method: 'MKCALENDAR', headers });
  assert.equal(made.status, 201);
  // Whoever moves takes their days along, also where somebody else asks first.
  await live('America/New_York');
  assert.deepEqual(await busy(), ['2026-11-23T05:00:00.000Z']);
  const { items } = (await call<{ items: CalendarView[] }>(server, carol, 'GET', '/v1/calendars')).body;
  assert.equal(items.find(({ name }) => name === 'made')?.tz, 'America/New_York');
  assert.deepEqual(await Promise.all([id, own.id, stated.id].map(zoneOf)), [
    ...['America/New_York', 'America/New_York', 'Europe/Paris'],
  ]);
  const set = await call(server, carol, 'PATCH', `/v1/calendars/${own.id}`, { tz: 'UTC' });
  assert.equal(set.status, 200, set.text);
  await live('Asia/Tokyo');
  await defaultCalendar(server, carol);
  assert.deepEqual(await Promise.all([id, own.id].map(zoneOf)), ['Asia/Tokyo', 'UTC']);
  await live(null);
  assert.equal((await defaultCalendar(server, carol)).tz, 'Asia/Tokyo', 'who says nothing stays where they were');
});

test('SVC-05 a calendar is created, changed and deleted by its owner', async () => {
  const made = await makeCalendar(server, alice, { displayname: ' Sport ', color: '#ff8800', tz: 'Europe/Berlin' });
  assert.deepEqual(
    [made.displayname, made.color, made.tz, made.kinds],
    ['Sport', '#ff8800', 'Europe/Berlin', ['event']],
  );
  const path = `/v1/calendars/${made.id}`;
  const changed = await call<CalendarView>(server, alice, 'PATCH', path, { transparency: 'transparent', tz: 'UTC' });
  assert.deepEqual(
    [changed.body.transparency, changed.body.tz, changed.body.displayname],
    ['transparent', 'UTC', 'Sport'],
  );
  assert.equal(changed.body.sync_seq, made.sync_seq + 1);
  assertRefused(await call(server, alice, 'PATCH', path, { tz: 'Mars/Base' }), 'field_invalid', 'tz');
  assertRefused(await call(server, alice, 'PATCH', path, { owner: 'bob' }), 'field_unknown', 'owner');
  assertRefused(
    await call(server, alice, 'POST', '/v1/calendars', { displayname: '' }),
    'field_invalid',
    'displayname',
  );
  assertRefused(await call(server, bob, 'GET', path), 'calendar_not_found');
  assertRefused(await call(server, bob, 'DELETE', path), 'calendar_not_found');
  assert.equal((await call(server, alice, 'DELETE', path)).status, 204);
  assertRefused(await call(server, alice, 'GET', path), 'calendar_not_found');
  assertRefused(await call(server, alice, 'GET', '/v1/calendars/not-an-id'), 'calendar_not_found');
});

test('a shared calendar gives what its owner said and no more', async () => {
  const { id } = await makeCalendar(server, alice, { displayname: 'Team' });
  const { id: entry } = await makeEntry(server, alice, id, { ...EVENT, location: 'Room 5' });
  const path = `/v1/calendars/${id}`;
  const entries = `${path}/entries`;
  const window = `${entries}?from=2026-11-23T00:00:00Z&to=2026-11-24T00:00:00Z`;
  const put = (access: string) => call(server, alice, 'PUT', `${path}/shares/bob`, { access });
  assert.deepEqual((await put('free_busy')).body, { user: 'bob', access: 'free_busy' });
  const seen = await call<{ items: Record<string, unknown>[] }>(server, bob, 'GET', window);
  const busyId = seen.body.items[0]?.['entry_id'] as string;
  assert.notEqual(busyId, entry, 'what is known of an entry elsewhere');
  assert.deepEqual(seen.body.items, [
    {
      entry_id: busyId,
      all_day: false,
      start_at: '2026-11-23T09:00:00.000Z',
      end_at: '2026-11-23T10:00:00.000Z',
      local_start: '2026-11-23T09:00:00',
      tz: 'UTC',
      title: '',
      transparency: 'opaque',
    },
  ]);
  assertRefused(await call(server, bob, 'GET', `${entries}/${entry}`), 'right_missing');
  assertRefused(await call(server, bob, 'GET', `${path}/changes`), 'right_missing');
  await put('read');
  assert.equal((await call(server, bob, 'GET', `${entries}/${entry}`)).body['location'], 'Room 5');
  assertRefused(await call(server, bob, 'POST', entries, EVENT), 'right_missing');
  assertRefused(await call(server, bob, 'DELETE', `${entries}/${entry}`), 'right_missing');
  await put('write');
  await makeEntry(server, bob, id, EVENT);
  assertRefused(await call(server, bob, 'PATCH', path, { displayname: 'Mine' }), 'right_missing');
  assertRefused(await call(server, bob, 'GET', `${path}/shares`), 'right_missing');
  assertRefused(await call(server, bob, 'PUT', `${path}/shares/carol`, { access: 'read' }), 'right_missing');
  assertRefused(await call(server, bob, 'DELETE', path), 'right_missing');
  assertRefused(await call(server, carol, 'GET', path), 'calendar_not_found');
  assertRefused(await call(server, alice, 'PUT', `${path}/shares/nobody`, { access: 'read' }), 'person_forbidden');
  assertRefused(await call(server, alice, 'PUT', `${path}/shares/alice`, { access: 'read' }), 'person_forbidden');
  assert.deepEqual((await call(server, alice, 'GET', `${path}/shares`)).body['items'], [
    { user: 'bob', access: 'write' },
  ]);
  // Whom it is shared with may leave it.
  assert.equal((await call(server, bob, 'DELETE', `${path}/shares/bob`)).status, 204);
  assertRefused(await call(server, bob, 'GET', path), 'calendar_not_found');
});

test('SOC-04 calendar.changed reaches everybody who sees the calendar, once for many changes, with the newest sync_seq', async () => {
  const { id } = await makeCalendar(server, alice, { displayname: 'Told' });
  await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'free_busy' });
  const sockets = await Promise.all([alice, bob, carol].map((who) => connect(server, who)));
  const [hers, his, other] = sockets;
  assert.ok(hers !== undefined && his !== undefined && other !== undefined);
  await Promise.all(Array.from({ length: 20 }, () => makeEntry(server, alice, id, EVENT)));
  const { sync_seq: seq } = (await call<CalendarView>(server, alice, 'GET', `/v1/calendars/${id}`)).body;
  const isNewest = ({ type, data }: { type: string; data: Record<string, unknown> }) =>
    type === 'calendar.changed' && data['calendar_id'] === id && data['sync_seq'] === seq;
  for (const socket of [hers, his]) {
    const event = await socket.event(isNewest, 'calendar.changed');
    assert.deepEqual(event.data, { calendar_id: id, sync_seq: seq });
    assert.ok(socket.events.filter(({ type }) => type === 'calendar.changed').length < 20);
  }
  // Whoever is shut out hears of it as the last thing.
  await call(server, alice, 'DELETE', `/v1/calendars/${id}/shares/bob`);
  await his.event(({ data }) => data['calendar_id'] === id && data['sync_seq'] === seq + 1, 'the last change');
  assert.deepEqual(
    other.events.filter(({ type, data }) => type === 'calendar.changed' && data['calendar_id'] === id),
    [],
  );
  for (const socket of sockets) socket.raw.close();
});

test('one calendar more than a person may have is refused', async () => {
  const { items } = (await call<{ items: CalendarView[] }>(server, carol, 'GET', '/v1/calendars')).body;
  for (let at = items.length; at < CALENDARS_PER_PERSON_MAX; at += 1) await makeCalendar(server, carol);
  assertRefused(await call(server, carol, 'POST', '/v1/calendars', { displayname: 'x' }), 'calendars_full');
  assert.equal((await defaultCalendar(server, carol)).name, 'default');
});
