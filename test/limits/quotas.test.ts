/**
 * Quotas over the running server: what one person, and all people together, may use; refused one step beyond, given back
 * with what is deleted, right after a kill, and shown to whom it concerns. The folder is checked at each end of the server.
 */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { QUOTA_NAMES, QUOTAS, type QuotaField, type QuotaUse } from '#src/protocol/quotas.ts';
import { QUOTA_FIELDS } from '#src/settings/quota-settings.ts';
import { call, defaultCalendar, makeCalendar, makeEntry, basic } from '#test/calendar/service/calling.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { append, begin, tus } from '#test/messaging/attaching.ts';
import { assertUsedUp, post, say, start } from '#test/messaging/conversing.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';

const scene = await shareRestartedServer({}, { shards: 2 });
const { ask } = scene;
let { server } = scene;
const { alice, bob, carol, dave } = await server.people('alice', 'bob', 'carol', 'dave');

async function again(signal?: NodeJS.Signals): Promise<void> {
  server = await scene.restart(signal);
}

const NOTHING_SET = Object.fromEntries(QUOTA_FIELDS.map((field) => [field, null]));

/** What is left out is as it is by default. */
async function set(quotas: Partial<Record<QuotaField, number>>): Promise<void> {
  const reply = await ask('administrator', 'PUT', '/settings/quotas', { ...NOTHING_SET, ...quotas });
  assert.equal(reply.status, 200, reply.text);
}

beforeEach(async () => await set({}));

async function usesOf(who: Person): Promise<Record<string, QuotaUse>> {
  const reply = await request<{ items: QuotaUse[] }>('GET', `${server.coordinator}/v1/me/quotas`, {
    token: who.session.token,
  });
  assert.equal(reply.status, 200, reply.text);
  return Object.fromEntries(reply.body.items.map((use) => [use.quota, use]));
}

const usedBy = async (who: Person, quota: QuotaField): Promise<number> =>
  (await usesOf(who))[quota]?.used ?? Number.NaN;

const text = (body: string) => ({ kind: 'text', body });

test('quotas are settings: administrators change them within their bounds, and viewers read them', async () => {
  const put = async (body: object) => await ask('administrator', 'PUT', '/settings/quotas', body);
  assert.equal((await ask('viewer', 'PUT', '/settings/quotas', { messages: 1 })).body['code'], 'right_missing');
  for (const wrong of [0, -1, 1.5, '5', QUOTAS.messages.most + 1]) {
    const refused = await put({ messages: wrong });
    assert.deepEqual([refused.status, refused.body['code'], refused.body['field']], [400, 'field_invalid', 'messages']);
  }
  assert.equal((await put({ devices: 101 })).body['field'], 'devices');
  assert.equal((await put({ installation_devices: 1 })).body['code'], 'field_unknown');
  await set({ messages: 7, installation_rooms: 1_000 });
  assert.equal((await usesOf(alice))['messages']?.limit, 7);
  const all = await ask<{ items: QuotaUse[] }>('viewer', 'GET', '/quotas');
  const names = QUOTA_NAMES.filter((name) => QUOTAS[name].ofAll).map((name) => `installation_${name}`);
  assert.deepEqual(
    all.body.items.map(({ quota, limit }) => [quota, limit]),
    names.map((name) => [name, name === 'installation_rooms' ? 1_000 : null]),
  );
  assert.equal((await ask('viewer', 'GET', '/users/nobody/quotas')).body['code'], 'person_not_found');
});

test('QUO-01 messages of a day are counted over all conversations, refused beyond the quota, and a repeat is none', async () => {
  const rooms = [];
  for (let n = 0; n < 6; n += 1) rooms.push((await start(server, alice, 'room', ['bob'])).id);
  const [first = '', second = ''] = rooms;
  await set({ messages: 5 });
  const socket = await connect(server, alice);
  const sent = await say(server, alice, first, 'one', 'repeat-me');
  for (const room of rooms.slice(1, 5)) await say(server, alice, room, 'more');
  assertUsedUp(await post(server, alice, second, text('six')), 'messages', 5);
  assert.equal((await say(server, alice, first, 'anything', 'repeat-me')).seq, sent.seq);
  // The same of a form that is looked at before it is posted, and of one that names nothing.
  assertUsedUp(await post(server, alice, first, { kind: 'contact', body: { name: 'Zed' } }), 'messages', 5);
  await say(server, bob, first, 'others go on');
  const warned = await socket.event('quota.warning');
  assert.deepEqual(warned.data, { quota: 'messages', used: 4, limit: 5 });
  // Nothing is given back of what was written, and a deletion is no way around.
  assert.equal((await server.api(alice, 'DELETE', `/v1/conversations/${first}/messages/${sent.seq}`)).status, 200);
  assertUsedUp(await post(server, alice, second, text('six')), 'messages', 5);
  await again('SIGKILL');
  assertUsedUp(await post(server, alice, second, text('six')), 'messages', 5);
  const { messages, message_bytes: bytes } = await usesOf(alice);
  assert.deepEqual([messages?.used, messages?.near], [5, true]);
  const shown = await ask<{ items: QuotaUse[] }>('viewer', 'GET', '/users/alice/quotas');
  assert.equal(shown.body.items.find(({ quota }) => quota === 'messages')?.used, 5);
  await set({ messages: 6 });
  await say(server, alice, second, 'six');
  assertUsedUp(await post(server, alice, second, text('seven')), 'messages', 6);
  // Once a day: the socket was told once, and a second one hears of nothing more.
  const later = await connect(server, alice);
  await set({ message_bytes: (bytes?.used ?? 0) + 2_000 });
  await say(server, alice, second, 'x'.repeat(1_500));
  assertUsedUp(await post(server, alice, second, text('x'.repeat(500))), 'message_bytes', (bytes?.used ?? 0) + 2_000);
  const next = await later.event('quota.warning');
  assert.equal((next.data as { quota: string }).quota, 'message_bytes');
  await later.close();
});

test('QUO-01 all people together may post so much', async () => {
  const { id } = await start(server, carol, 'room', ['dave']);
  const used = await allUsed('installation_messages');
  await set({ installation_messages: used + 2 });
  await say(server, carol, id, 'one');
  await say(server, dave, id, 'two');
  assertUsedUp(await post(server, carol, id, text('three')), 'installation_messages', used + 2);
  assertUsedUp(await post(server, dave, id, text('three')), 'installation_messages', used + 2);
  const { body } = await ask<{ items: QuotaUse[] }>('viewer', 'GET', '/quotas');
  const use = body.items.find(({ quota }) => quota === 'installation_messages');
  assert.deepEqual([use?.used, use?.near], [used + 2, true]);
});

async function allUsed(quota: QuotaField): Promise<number> {
  const { body } = await ask<{ items: QuotaUse[] }>('viewer', 'GET', '/quotas');
  return body.items.find((use) => use.quota === quota)?.used ?? Number.NaN;
}

test('QUO-01 rooms count to whoever made them until they are deleted, those of meetings too', async () => {
  const before = await usedBy(carol, 'rooms');
  await set({ rooms: before + 2 });
  const meet = async (who: Person) =>
    await request('POST', `${server.coordinator}/v1/meetings`, {
      token: who.session.token,
      body: { title: 'Standup', lobby: 'open', participants: [] },
    });
  const room = await start(server, carol, 'room', ['dave']);
  assert.equal((await meet(carol)).status, 201);
  const create = async () => await server.api(carol, 'POST', '/v1/conversations', { kind: 'room', participants: [] });
  assertUsedUp(await create(), 'rooms', before + 2);
  assertUsedUp(await meet(carol), 'rooms', before + 2);
  // Chats of two are no rooms, and a room that somebody was only added to is not theirs.
  await start(server, carol, 'direct', ['dave']);
  assert.equal(await usedBy(dave, 'rooms'), 0);
  assertUsedUp(await create(), 'rooms', before + 2);
  assert.equal((await server.api(carol, 'DELETE', `/v1/conversations/${room.id}`)).status, 204);
  assert.equal((await create()).status, 201);
  assertUsedUp(await create(), 'rooms', before + 2);
});

test('QUO-01 meetings of a day are counted, cancelled or not', async () => {
  const before = await usedBy(dave, 'meetings');
  await set({ meetings: before + 1 });
  const meet = async () =>
    await request<{ id: string }>('POST', `${server.coordinator}/v1/meetings`, {
      token: dave.session.token,
      body: { title: 'Standup', lobby: 'open', participants: [] },
    });
  const { id } = (await meet()).body;
  const cancelled = `${server.coordinator}/v1/meetings/${id}/cancel`;
  assert.equal((await request('POST', cancelled, { token: dave.session.token })).status, 200);
  const rooms = await usedBy(dave, 'rooms');
  assertUsedUp(await meet(), 'meetings', before + 1);
  assert.equal(await usedBy(dave, 'rooms'), rooms, 'no room was left of it');
});

test('QUO-01 sign-ins of a day are counted whatever the device, and a wrong password says nothing of it', async () => {
  const before = await usedBy(bob, 'sign_ins');
  await set({ sign_ins: before + 1 });
  await server.signIn('bob', bob.password, bob.session.device_id);
  const sign = async (password: string) =>
    await request('POST', `${server.coordinator}/v1/auth/login`, {
      body: { username: 'bob', password, device_id: bob.session.device_id },
    });
  assertUsedUp(await sign(bob.password), 'sign_ins', before + 1);
  assert.equal((await sign('not the password')).body['code'], 'login_failed');
  await set({});
  bob.session = await server.signIn('bob', bob.password, bob.session.device_id);
});

test('QUO-01 of devices beyond their quota the one that has not signed in for longest goes', async () => {
  const phone = await server.person('erin');
  await set({ devices: 2 });
  const laptop = { ...phone, session: await server.signIn('erin', phone.password) };
  const tablet = { ...phone, session: await server.signIn('erin', phone.password) };
  assert.equal(await usedBy(tablet, 'devices'), 2);
  assert.equal((await server.api(laptop, 'GET', '/v1/inbox')).status, 200);
  assert.equal((await server.api(phone, 'GET', '/v1/inbox')).body['code'], 'session_revoked');
});

test('QUO-01 bytes uploaded are counted by the window, and an upload that comes to nothing is given back', async () => {
  await set({ attachment_bytes: 20_000 });
  const create = async (bytes: number): Promise<Reply> =>
    await tus(server, dave, 'POST', '/v1/attachments', {
      'upload-length': String(bytes),
      'upload-metadata': 'filename eA==',
    });
  const first = await begin(server, dave, 12_000);
  assertUsedUp(await create(8_001), 'attachment_bytes', 20_000);
  const second = await begin(server, dave, 8_000);
  assertUsedUp(await create(1), 'attachment_bytes', 20_000);
  assert.equal((await tus(server, dave, 'DELETE', second)).status, 204);
  assert.equal(await usedBy(dave, 'attachment_bytes'), 12_000);
  assert.equal((await append(server, dave, first, 0, new Uint8Array(12_000))).status, 204);
  await set({ installation_attachment_bytes: (await allUsed('installation_attachment_bytes')) + 4_096 });
  await begin(server, carol, 4_096);
  const { body } = await create(1);
  assert.deepEqual([body['code'], body['field']], ['quota_exceeded', 'installation_attachment_bytes']);
});

test('QUO-01 calendars, entries and their bytes count to the owner, and come back with what is deleted', async () => {
  const home = await defaultCalendar(server, alice);
  const form = (title: string) => ({ title, start_at: '2026-12-01T09:00:00Z' });
  const entry = await makeEntry(server, alice, home.id, form('One'));
  const entries = await usedBy(alice, 'calendar_entries');
  const bytes = await usedBy(alice, 'calendar_bytes');
  assert.deepEqual([entries, bytes > 100], [1, true]);
  const add = async (title: string) =>
    await call(server, alice, 'POST', `/v1/calendars/${home.id}/entries`, form(title));
  await set({ calendar_entries: 2 });
  assert.equal((await add('Two')).status, 201);
  assertUsedUp(await add('Three'), 'calendar_entries', 2);
  const remove = `/v1/calendars/${home.id}/entries/${entry.id}?scope=all`;
  assert.equal((await call(server, alice, 'DELETE', remove)).status, 204);
  assert.equal((await add('Three')).status, 201);
  const known = [await usesOf(alice), await usesOf(carol)];
  assert.notEqual(known[1]?.['rooms']?.used, 0);
  await again('SIGKILL');
  assert.deepEqual([await usesOf(alice), await usesOf(carol)], known);
  assertUsedUp(await add('Four'), 'calendar_entries', 2);
  // An entry that is there may change, but not grow beyond the bytes.
  const used = await usedBy(alice, 'calendar_bytes');
  await set({ calendar_bytes: used + 100 });
  assertUsedUp(await add('Four'), 'calendar_bytes', used + 100);
  await set({ calendars: 2 });
  const work = await makeCalendar(server, alice);
  assertUsedUp(await call(server, alice, 'POST', '/v1/calendars', { displayname: 'More' }), 'calendars', 2);
  await makeEntry(server, alice, work.id, form('At work'));
  assert.equal(await usedBy(alice, 'calendar_entries'), 3);
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${work.id}`)).status, 204);
  assert.deepEqual([await usedBy(alice, 'calendar_entries'), await usedBy(alice, 'calendar_bytes')], [2, used]);
  assert.equal((await call(server, alice, 'POST', '/v1/calendars', { displayname: 'More' })).status, 201);
});

test('QUO-01 RFC 4331 CalDAV says what is used and left, to its owner alone, and 507 beyond it', async () => {
  const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    token: carol.session.token,
    body: { name: 'Laptop' },
  });
  const headers = { ...basic('carol', made.body.password), 'content-type': 'application/xml' };
  const dav = async (method: string, path: string, body: string, more: Record<string, string> = {}) => {
    const reply = await fetch(`${server.calendar}${path}`, { method, headers: { ...headers, ...more }, body });
    return { status: reply.status, text: await reply.text() };
  };
  const home = '/dav/calendars/carol/';
  await makeCalendar(server, carol);
  const question = '<propfind xmlns="DAV:"><prop><quota-used-bytes/><quota-available-bytes/></prop></propfind>';
  const quota = async (path: string) => {
    const { text: xml } = await dav('PROPFIND', path, question, { depth: '0' });
    const read = (name: string) => Number(new RegExp(`quota-${name}-bytes>(\\d+)<`).exec(xml)?.[1] ?? Number.NaN);
    return [read('used'), read('available')];
  };
  const path = (await dav('PROPFIND', home, question, { depth: '1' })).text
    .match(/\/dav\/calendars\/carol\/[^<]+?\//g)
    ?.at(-1);
  assert.ok(path);
  const [used = 0] = await quota(home);
  await set({ calendar_bytes: used + 1_000 });
  assert.deepEqual(await quota(home), [used, 1_000]);
  assert.deepEqual(await quota(path), [used, 1_000]);
  const event = (uid: string, length: number) =>
    `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:${uid}\r\nDTSTAMP:20261122T090000Z\r\n` +
    `DTSTART:20261201T090000Z\r\nX-FILL:${'x'.repeat(length)}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;
  const put = async (uid: string, length: number) =>
    await dav('PUT', `${path}${uid}.ics`, event(uid, length), { 'content-type': 'text/calendar' });
  assert.equal((await put('small', 300)).status, 201);
  const [now = 0, left = 0] = await quota(home);
  assert.deepEqual([now + left, now > used], [used + 1_000, true]);
  const refused = await put('large', 900);
  assert.equal(refused.status, 507);
  assert.match(refused.text, /quota-not-exceeded/);
  // What is there may be written anew, and shrink, however little is left.
  await set({ calendar_bytes: 1 });
  assert.equal((await put('small', 100)).status, 204);
  assert.deepEqual((await quota(home))[1], 0);
  assert.equal((await put('small', 101)).status, 507);
  const allprop = await dav('PROPFIND', home, '<propfind xmlns="DAV:"><allprop/></propfind>', { depth: '0' });
  assert.doesNotMatch(allprop.text, /quota-/);
});
