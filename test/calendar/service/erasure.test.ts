/** What is left of an erased person in the calendar file, over the running server, a kill in the middle included. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CALENDAR_TABLES, openCalendars } from '#storage/calendars/calendar-records.ts';
import { backupFolder } from '#storage/backup/backup.ts';
import { checkFolder } from '#storage/check/check.ts';
import { verifyFolder } from '#src/cli/audit-commands.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { plantCallers } from '#test/console/callers.ts';
import { say, start } from '#test/messaging/conversing.ts';
import { filesWith } from '#test/support/personal-words.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { alarm, event, importEvents, inSeconds } from '../reminders/importing.ts';
import { basic, call, defaultCalendar, makeCalendar, makeEntry } from './calling.ts';

/** What pilar is called; the first two before her marriage, by nobody but the audit trail. */
const WORDS = [
  'Ágnes Wysocka',
  'agnes.wysocka@example.org',
  'Ágnes Różewicz',
  'agnes.rozewicz@example.org',
  '36301234567',
];

const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
const callers = await plantCallers(folder);
let server = await startServer({ folder, shards: 2 });
after(async () => {
  await server.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Tables with a record whose key or value has one of these words in it. */
async function tablesWith(words: readonly string[]): Promise<string[]> {
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
async function furnish(carol: Person, bobs: string) {
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

test('an erased person has no calendar, share, feed, app password or reminder left, also after a kill', async () => {
  const { bob, carol } = await server.people('bob', 'carol');
  const bobs = (await makeCalendar(server, bob)).id;
  await makeEntry(server, bob, bobs, { title: 'herring', start_at: '2026-11-23T09:00:00Z' });
  assert.equal((await call(server, bob, 'PUT', `/v1/calendars/${bobs}/shares/carol`, { access: 'write' })).status, 200);
  const carols = (await defaultCalendar(server, carol)).id;
  const { id, headers, feed } = await furnish(carol, bobs);
  assert.equal((await fetch(`${server.calendar}${feed}`)).status, 200);
  await until(async () => (await tablesWith([id])).includes('alarms'), 'alarms to be worked out');
  const ask = async (method: string, path: string) =>
    await request(method, `${server.coordinator}/admin/api${path}`, { headers: callers['owner'] });
  const begun = await ask('POST', '/users/carol/erase');
  assert.equal(begun.status, 202, begun.text);
  await server.end('SIGKILL');
  server = await startServer({ folder, shards: 2 });
  await until(
    async () => (await ask('GET', `/erasures/${String(begun.body['id'])}`)).body['state'] === 'done',
    'the erasure to be done',
  );
  await until(
    async () => (await tablesWith(['carol', 'pilchard', id, carols])).length === 0,
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
});

test('nothing in the folder calls an erased person by a name, an address or a number, and the trail is proven all the same', async () => {
  const { ben, pilar } = await server.people('ben', 'pilar');
  const ask = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
    await request<T>(method, `${server.coordinator}/admin/api${path}`, { headers: callers['owner'], body });
  const [oldName, oldMail, name, email, digits] = WORDS;
  for (const form of [
    { display_name: oldName, email: oldMail },
    { display_name: name, email, phone: `+${digits}`, title: 'Plumber' },
  ]) {
    assert.equal((await ask('PATCH', '/users/pilar', form)).status, 200);
  }
  const group = await ask('POST', '/groups', { name: 'Staff', members: ['ben', 'pilar'] });
  // Entries that name her: ben's, with earlier states, one that is removed, and hers in ben's calendar.
  const { id: calendar } = await makeCalendar(server, ben);
  const times = { start_at: '2027-11-23T09:00:00Z', end_at: '2027-11-23T10:00:00Z' };
  const make = async (title: string) =>
    await makeEntry(server, ben, calendar, { title, ...times, attendees: ['pilar'] });
  const [entry, gone] = [await make('herring'), await make('sprat')];
  const path = `/v1/calendars/${calendar}/entries/`;
  const change = async (title: string) =>
    assert.equal((await call(server, ben, 'PATCH', `${path}${entry.id}`, { title })).status, 200);
  await change('tench');
  await call(server, ben, 'DELETE', `${path}${gone.id}`);
  const own = (await makeCalendar(server, pilar)).id;
  await makeEntry(server, pilar, own, { title: 'carp', ...times, attendees: ['ben'] });
  const invited = async () =>
    (await call<{ items: { entry: EntryView }[] }>(server, ben, 'GET', '/v1/invitations')).body.items.at(0)?.entry;
  const copy = await until(invited, 'the invitation of pilar');
  const read = async () => (await call<EntryView>(server, ben, 'GET', `${path}${entry.id}`)).body;
  const before = await read();
  const calledIn = (one: EntryView) => one.attendees.find(({ user }) => user === 'pilar')?.name;
  assert.equal(calledIn(before), name);
  // What she calls things herself: where she keeps a room, what she is about, what she says and has not sent.
  const { id: room } = await start(server, ben, 'room', ['pilar']);
  // What others call a room: after her, in its title and its topic, where it is found, and for a meeting.
  const named = {
    title: `Farewell of ${name}`,
    topic: `@Pilar, ${email} or +${digits}`,
    purpose: `${oldName} and @pilar.b`,
  };
  const renamed = await server.api(ben, 'PATCH', `/v1/conversations/${room}`, { ...named, visibility: 'organisation' });
  assert.equal(renamed.status, 200, renamed.text);
  const apart = await start(server, ben, 'room', [], `Cake for @pilar`);
  const meeting = await request<{ id: string }>('POST', `${server.coordinator}/v1/meetings`, {
    token: ben.session.token,
    body: { title: `With ${name}` },
  });
  assert.equal(meeting.status, 201, meeting.text);
  const put = async (rest: string, body: object) =>
    assert.equal((await server.api(pilar, 'PUT', `/v1/conversations/${room}/${rest}`, body)).status, 200);
  await put('placement', { favourite: true, category: `Of ${name}` });
  await put('draft', { body: email });
  await say(server, pilar, room, `${name} was here`);
  const status = { text: `Ask ${name}`, expires_at: new Date(Date.now() + 86_400_000).toISOString() };
  const profile = await request('PATCH', `${server.coordinator}/v1/me`, {
    token: pilar.session.token,
    body: { status },
  });
  assert.equal(profile.status, 200, profile.text);
  // What is looked for afterwards is found as it lies.
  const found = filesWith(folder, WORDS).map((line) => line.slice(line.indexOf(': ') + 2));
  assert.deepEqual([...new Set(found)].toSorted(), WORDS.toSorted());
  const socket = await connect(server, ben);

  const begun = await ask('POST', '/users/pilar/erase');
  assert.equal(begun.status, 202, begun.text);
  const told = await socket.event(
    ({ data, type }) => type === 'group' && data['group_id'] === group.body['id'],
    'the group',
  );
  assert.equal(told.data['rev'], 2);
  await socket.event(
    ({ data, type }) => type === 'calendar.changed' && data['calendar_id'] === calendar,
    'the change of the calendar',
  );
  await until(
    async () => (await ask('GET', `/erasures/${String(begun.body['id'])}`)).body['state'] === 'done',
    'the erasure to be done',
  );
  const shown = await server.api(ben, 'GET', `/v1/conversations/${room}`);
  assert.deepEqual(
    [shown.body['title'], shown.body['topic'], shown.body['purpose']],
    ['Farewell of [erased]', '@[erased], [erased] or [erased]', '[erased] and @pilar.b'],
  );
  assert.equal((await server.api(ben, 'GET', `/v1/conversations/${apart.id}`)).body['title'], 'Cake for @[erased]');
  const rooms = await server.api<{ items: { title: string }[] }>(ben, 'GET', '/v1/rooms?q=erased');
  assert.deepEqual(
    rooms.body.items.map(({ title }) => title),
    ['Farewell of [erased]'],
  );
  const kept = await request('GET', `${server.coordinator}/v1/meetings/${meeting.body.id}`, {
    token: ben.session.token,
  });
  assert.equal(kept.body['title'], 'With [erased]');
  const later = await read();
  assert.notEqual(later.etag, before.etag);
  assert.equal(calledIn(later), 'pilar');
  for (const id of [calendar, copy.calendar_id]) {
    const text = await fetch(`${server.calendar}/v1/calendars/${id}/export`, {
      headers: { authorization: `Bearer ${ben.session.token}` },
    });
    assert.match(
      (await text.text()).replaceAll(/\r\n[ \t]/g, ''),
      /(ATTENDEE|ORGANIZER)[^\r]*CN=\[erased\][^\r]*:urn:uuid:/,
    );
  }
  assert.deepEqual((await ask('GET', `/groups/${String(group.body['id'])}`)).body['members'], ['ben']);
  const trail = await ask<{ items: { event: string; details: unknown }[] }>('GET', '/audit?event=user.changed');
  assert.match(JSON.stringify(trail.body.items[0]?.details), /"display_name":"\[erased\]".*"title":"\[erased\]"/);
  await socket.close();
  await server.stop();

  assert.deepEqual((await checkFolder(folder)).problems, []);
  const { isWhole, lines } = await verifyFolder(folder);
  assert.ok(
    isWhole && lines.some((line) => /^erased: details of [1-9]\d*, told by later entries$/.test(line)),
    lines.join(),
  );
  // A backup is written without what the database has freed, so whatever is in it is stored.
  const out = join(folder, 'backup');
  await backupFolder(folder, out);
  assert.deepEqual(filesWith(out, WORDS), []);
  assert.deepEqual(filesWith(out, ['tench']), ['calendar.mdb: tench']);
  server = await startServer({ folder });
});
