/** What people do with their own accounts: profile, sessions, notifications, and what a restart makes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnSession } from '#src/protocol/account/own-sessions.ts';
import type { OwnProfile } from '#src/protocol/account/profile.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { assertRefused } from '#test/messaging/conversing.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await shareRestartedServer();

async function own<T = Record<string, unknown>>(
  who: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply<T>> {
  return await request<T>(method, `${host.server.coordinator}${path}`, { token: who.session.token, body });
}

const change = async (who: Person, form: object) => await own<OwnProfile>(who, 'PATCH', '/v1/me', form);
const entryOf = async (reader: Person, user: string) =>
  (await own<DirectoryEntry>(reader, 'GET', `/v1/directory/${user}`)).body;

test('DIR-01 a person changes their profile, others read it and are told, and the trail has who did it', async () => {
  const { ann, bob } = await host.server.people('ann', 'bob');
  const socket = await connect(host.server, bob);
  const form = {
    display_name: '  Ann Ångström ',
    title: 'Fitter',
    phone: '+442071234567',
    time_zone: 'Europe/Stockholm',
    language: 'sv-se',
    status: { text: 'On site', emoji: '🔧' },
  };
  const changed = await change(ann, form);
  const expected = { ...form, display_name: 'Ann Ångström', language: 'sv-SE', user: 'ann', kind: 'person' };
  assert.equal(changed.status, 200, changed.text);
  const { rev, created_at: _, may_change: may, state: __, ...profile } = changed.body;
  assert.deepEqual(profile, expected);
  assert.deepEqual(may, ['display_name', 'title', 'phone', 'time_zone', 'language', 'status']);
  assert.deepEqual((await own(ann, 'GET', '/v1/me')).body, changed.body);
  const told = await socket.event('directory.changed');
  assert.deepEqual(told.data, { user: 'ann', rev });
  const { language: ___, ...shown } = expected;
  assert.deepEqual(await entryOf(bob, 'ann'), { ...shown, state: 'active', rev });
  // The same once more is no change; null takes a field away, and what is not named stays.
  assert.equal((await change(ann, form)).body.rev, rev);
  const less = (await change(ann, { title: null, status: null })).body;
  assert.deepEqual(
    [less.title, less.status, less.display_name, less.rev],
    [undefined, undefined, 'Ann Ångström', rev + 1],
  );
  await socket.close();
  const trail = await host.ask<{ items: { actor: string; details: object }[] }>(
    'owner',
    'GET',
    '/audit?event=user.changed',
  );
  assert.deepEqual(trail.body.items[0], {
    ...trail.body.items[0],
    actor: 'user:ann',
    details: { before: { title: 'Fitter' }, after: { title: null } },
  });
});

test('DIR-01 what nobody should read of a person is refused with its field', async () => {
  const cas = await host.server.person('cas');
  const before = (await own(cas, 'GET', '/v1/me')).body;
  const late = new Date(Date.now() + 367 * 86_400_000).toISOString();
  const cases: [form: object, field: string][] = [
    [{ display_name: '' }, 'display_name'],
    [{ display_name: 'x'.repeat(101) }, 'display_name'],
    [{ display_name: 'Ann\u202ennA' }, 'display_name'],
    [{ display_name: 'two\nlines' }, 'display_name'],
    [{ display_name: '\u200b\u200b' }, 'display_name'],
    [{ title: 'Chief\u0007' }, 'title'],
    [{ title: 'Chief\u2067' }, 'title'],
    [{ phone: '02071234567' }, 'phone'],
    [{ time_zone: 'Mars/Olympus' }, 'time_zone'],
    [{ time_zone: '+02:00' }, 'time_zone'],
    [{ time_zone: '' }, 'time_zone'],
    [{ language: 'no_NO' }, 'language'],
    [{ language: 'x' }, 'language'],
    [{ status: {} }, 'status.text'],
    [{ status: { text: 'x'.repeat(101) } }, 'status.text'],
    [{ status: { text: 'away\u202e' } }, 'status.text'],
    [{ status: { emoji: 'OK' } }, 'status.emoji'],
    [{ status: { emoji: '🔧🔧' } }, 'status.emoji'],
    [{ status: { text: 'x', expires_at: '2020-01-01T00:00:00Z' } }, 'status.expires_at'],
    [{ status: { text: 'x', expires_at: late } }, 'status.expires_at'],
    [{ status: { text: 'x', expires_at: 'tomorrow' } }, 'status.expires_at'],
  ];
  for (const [form, field] of cases) assertRefused(await change(cas, form), 400, 'field_invalid', field);
  assertRefused(await change(cas, { email: 'cas@example.org' }), 400, 'field_unknown', 'email');
  assertRefused(await change(cas, { role: 'owner' }), 400, 'field_unknown', 'role');
  assert.deepEqual((await own(cas, 'GET', '/v1/me')).body, before);
  const edge = { display_name: 'x'.repeat(100), status: { text: 'y'.repeat(100) }, time_zone: 'Etc/GMT+5' };
  assert.equal((await change(cas, edge)).status, 200);
  // The console holds to the same.
  const set = await host.ask('administrator', 'PATCH', '/users/cas', { display_name: 'Ann\u202ennA' });
  assertRefused(set, 400, 'field_invalid', 'display_name');
});

test('DIR-01 what the organisation keeps is not changed by the person', async () => {
  const dan = await host.server.person('dan');
  const kept = async (value: boolean | null) =>
    assert.equal((await host.ask('administrator', 'PUT', '/settings/profiles', { display_name: value })).status, 200);
  await kept(false);
  assertRefused(await change(dan, { title: 'Boss', display_name: 'Dan' }), 403, 'field_managed', 'display_name');
  const { body } = await own<OwnProfile>(dan, 'GET', '/v1/me');
  assert.deepEqual([body.title, body.may_change.includes('display_name')], [undefined, false]);
  await kept(null);
  assert.equal((await change(dan, { display_name: 'Dan' })).status, 200);
});

test('CRD-08 a person sees their sessions and ends one, or all others', async () => {
  const ida = await host.server.person('ida');
  const jon = await host.server.person('jon');
  const device = { name: 'Laptop', platform: 'linux' };
  const signIn = async () => {
    const body = { username: 'ida', password: ida.password, device };
    const { body: session } = await request<Person['session']>('POST', `${host.server.coordinator}/v1/auth/login`, {
      body,
    });
    return { ...ida, session };
  };
  const [laptop, phone] = [await signIn(), await signIn()];
  const { items } = (await own<{ items: OwnSession[] }>(laptop, 'GET', '/v1/me/sessions')).body;
  assert.equal(items.length, 3);
  const [current, ...none] = items.filter((each) => each.is_current);
  assert.deepEqual(none, []);
  assert.deepEqual(
    [current?.device_id, current?.name, current?.platform, current?.address, current?.last_used_at],
    [laptop.session.device_id, 'Laptop', 'linux', '127.0.0.1', current?.signed_in_at],
  );
  const idOf = (who: Person) => items.find((each) => each.device_id === who.session.device_id)?.id ?? '';
  const socket = await connect(host.server, phone);
  assertRefused(await own(jon, 'DELETE', `/v1/me/sessions/${idOf(phone)}`), 404, 'user_session_not_found');
  assertRefused(await own(ida, 'DELETE', '/v1/me/sessions/s_nothing'), 404, 'user_session_not_found');
  assert.equal((await own(laptop, 'DELETE', `/v1/me/sessions/${idOf(phone)}`)).status, 204);
  assert.deepEqual(await socket.closing(), { code: 4401, reason: 'revoked' });
  assertRefused(await own(phone, 'GET', '/v1/me'), 401, 'session_revoked');
  assertRefused(await own(laptop, 'DELETE', `/v1/me/sessions/${idOf(phone)}`), 404, 'user_session_not_found');
  const others = await own(laptop, 'DELETE', '/v1/me/sessions');
  assert.deepEqual([others.status, others.body], [200, { sessions_ended: 1 }]);
  assertRefused(await host.server.api(ida, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.equal((await host.server.api(laptop, 'GET', '/v1/inbox')).status, 200);
  assert.equal((await own(laptop, 'DELETE', `/v1/me/sessions/${idOf(laptop)}`)).status, 204);
  assertRefused(await own(laptop, 'GET', '/v1/me/sessions'), 401, 'session_revoked');
});

test('DIR-01 a status ends by itself, with its readers told, also while the server is away', async () => {
  const { eve, fay } = await host.server.people('eve', 'fay');
  const socket = await connect(host.server, fay);
  const soon = () => new Date(Date.now() + 1_500).toISOString();
  const set = await change(eve, { status: { text: 'Back in a second', expires_at: soon() } });
  assert.equal(set.status, 200, set.text);
  const revAt = async (at: number) => {
    const events = await until(() => {
      const found = socket.events.filter(({ data, type }) => type === 'directory.changed' && data['user'] === 'eve');
      return found.length > at ? found : undefined;
    }, 'the change to be told');
    return Number(events[at]?.data['rev']);
  };
  assert.equal(await revAt(0), set.body.rev);
  assert.equal((await entryOf(fay, 'eve')).status?.text, 'Back in a second');
  assert.ok((await revAt(1)) > set.body.rev);
  assert.equal((await entryOf(fay, 'eve')).status, undefined);
  const again = await change(eve, { status: { emoji: '🌴', expires_at: soon() } });
  const end = Date.parse(again.body.status?.expires_at ?? '');
  await host.restart('SIGKILL', async () => {
    await until(() => Date.now() > end, 'the status to be over');
  });
  // CRD-02: a renewal is the last use that is kept, and it is still known to the server that comes after.
  const renewal = { body: { refresh_token: eve.session.refresh_token } };
  const { status: renewed, body: session } = await request<Person['session']>(
    'POST',
    `${host.server.coordinator}/v1/auth/renew`,
    renewal,
  );
  assert.equal(renewed, 200);
  const listed = await own<{ items: OwnSession[] }>({ ...eve, session }, 'GET', '/v1/me/sessions');
  const [used] = listed.body.items;
  assert.ok((used?.last_used_at ?? '') > (used?.signed_in_at ?? ''), JSON.stringify(listed.body));
  const entry = await entryOf(fay, 'eve');
  assert.equal(entry.status, undefined);
  assert.ok(entry.rev > again.body.rev);
});

test('DIR-01 an erased person has no zone and no status any more', async () => {
  const { gus, hal } = await host.server.people('gus', 'hal');
  await change(gus, { time_zone: 'Asia/Tokyo', language: 'ja', status: { text: 'Gone fishing' } });
  const erased = await host.ask('owner', 'POST', '/users/gus/erase');
  assert.ok(erased.status < 300, erased.text);
  const { rev: _, ...left } = await entryOf(hal, 'gus');
  assert.deepEqual(left, { user: 'gus', kind: 'person', state: 'left' });
});
