/** What people do with their own accounts: profile, sessions, notifications, and what a restart makes of it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import sharp from 'sharp';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { OwnSession } from '#src/protocol/account/own-sessions.ts';
import type { OwnProfile } from '#src/protocol/account/profile.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { AVATARS_AT_ONCE_MAX } from '#src/server/account/avatar-routes.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { assertRefused } from '#test/messaging/conversing.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await shareRestartedServer({}, { shards: 2 });

async function own<T = Record<string, unknown>>(
  who: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply<T>> {
  return await request<T>(method, `${host.server.coordinator}${path}`, { token: who.session.token, body });
}

/** The SDK as a person who has signed in. */
async function signedIn({ password, username }: Person): Promise<ParleyClient> {
  const { coordinator, messaging } = host.server;
  return await ParleyClient.signIn({ coordinatorUrl: coordinator, messagingUrl: messaging, username, password });
}

/** The code that a picture of so many bytes is answered with before any of them was sent. */
async function announced({ session }: Person, bytes: number): Promise<string> {
  const headers = { authorization: `Bearer ${session.token}`, 'content-type': 'image/png', 'content-length': bytes };
  const sent = httpRequest(`${host.server.coordinator}/v1/me/avatar`, { method: 'PUT', headers });
  sent.flushHeaders();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const { code } = (await json(answer)) as { code: string };
  sent.destroy();
  return code;
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
  assert.deepEqual(may, ['display_name', 'title', 'phone', 'time_zone', 'language', 'status', 'avatar']);
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

test('SOC-04 a person’s picture is made small, told to who may see them, and read by its number', async () => {
  const { kim, lea, max } = await host.server.people('kim', 'lea', 'max');
  const socket = await connect(host.server, lea);
  const background = { r: 10, g: 200, b: 20 };
  const photograph = await sharp({ create: { width: 900, height: 300, channels: 3, background } })
    .withExif({ IFD0: { Copyright: 'taken at home' } })
    .jpeg()
    .toBuffer();
  const api = await signedIn(kim);
  const avatar = await api.account.putAvatar(new Blob([photograph]));
  const told = await socket.event('avatar');
  assert.deepEqual(told.data, { user: 'kim', rev: avatar });
  assert.equal((await entryOf(lea, 'kim')).avatar, avatar);
  const read = async (who: Person, rev: number | string, size: number | string, headers = {}) =>
    await fetch(`${host.server.coordinator}/v1/avatars/kim/${rev}?size=${size}`, {
      headers: { authorization: `Bearer ${who.session.token}`, ...headers },
    });
  for (const size of [64, 256]) {
    const answer = await read(lea, avatar, size);
    assert.equal(answer.headers.get('content-type'), 'image/webp');
    assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { exif, format, height, width } = await sharp(bytes).metadata();
    assert.deepEqual([format, width, height, exif], ['webp', size, size, undefined]);
    const again = await read(lea, avatar, size, { 'if-none-match': answer.headers.get('etag') ?? '' });
    assert.equal(again.status, 304);
  }
  assert.equal((await api.account.readAvatar('kim', avatar, 64)).type, 'image/webp');
  assert.equal((await read(lea, avatar, 65)).status, 400);
  assert.equal((await read(lea, avatar + 1, 64)).status, 404);
  assert.equal((await read(lea, '0x1', 64)).status, 404);
  const rule = { action: 'see', from: 'people', to: 'people', effect: 'deny' };
  const made = await host.ask<{ id: string }>('owner', 'POST', '/policies', rule);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  // Nor is a copy from before good any more.
  assert.equal((await read(max, avatar, 64, { 'if-none-match': `"${avatar}-64"` })).status, 404);
  assert.equal((await read(max, avatar, 64)).status, 404);
  assert.equal((await read(kim, avatar, 64)).status, 200);
  assert.equal((await host.ask('owner', 'DELETE', `/policies/${made.body.id}`)).status, 204);
  // Somebody else's picture is the administrators' to take away.
  assert.equal((await host.ask('viewer', 'DELETE', '/users/kim/avatar')).status, 403);
  assert.equal((await host.ask('administrator', 'DELETE', '/users/kim/avatar')).status, 204);
  assert.equal((await read(lea, avatar, 64)).status, 404);
  assert.equal((await entryOf(lea, 'kim')).avatar, undefined);
  await until(() => socket.events.filter(({ type }) => type === 'avatar').length === 2, 'the end of it to be told');
  await socket.close();
  api.close();
});

test('SOC-04 what is no picture is refused and changes nothing', async () => {
  const ned = await host.server.person('ned');
  const api = await signedIn(ned);
  const put = async (bytes: BlobPart) => await api.account.putAvatar(new Blob([bytes]));
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  for (const bytes of ['', 'no picture', drawing, Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')]) {
    await assert.rejects(put(bytes), { code: 'avatar_invalid' });
  }
  // One byte more than 8 MiB is refused by what it says of itself, before it is sent; as much as that is looked at.
  assert.equal(await announced(ned, 8 * 1024 * 1024 + 1), 'body_too_large');
  await assert.rejects(put(Buffer.alloc(8 * 1024 * 1024)), { code: 'avatar_invalid' });
  assert.equal((await entryOf(ned, 'ned')).avatar, undefined);
  await host.ask('administrator', 'PUT', '/settings/profiles', { avatar: false });
  await assert.rejects(put('x'), { code: 'field_managed' });
  await host.ask('administrator', 'PUT', '/settings/profiles', { avatar: null });
  api.close();
});

test('SOC-04 pictures that one person begins to send keep nobody else from sending one', async (context) => {
  const { oda, pia } = await host.server.people('oda', 'pia');
  const { hostname, port } = new URL(host.server.coordinator);
  const head = [
    'PUT /v1/me/avatar HTTP/1.1',
    'host: a',
    `authorization: Bearer ${oda.session.token}`,
    'content-type: image/png',
    'content-length: 1000',
    'expect: 100-continue',
  ];
  const begun = Array.from({ length: AVATARS_AT_ONCE_MAX }, () => {
    const socket = connectTo(Number(port), hostname).setEncoding('latin1');
    context.after(() => socket.destroy());
    const said: string[] = [];
    socket.on('data', (text: string) => said.push(text));
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    return () => said.join('');
  });
  const isAnswered = () => begun.every((said) => said() !== '');
  await until(() => (isAnswered() ? true : undefined), 'the server to say something to each');
  const picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const api = await signedIn(pia);
  assert.ok((await api.account.putAvatar(new Blob([picture]))) > 0);
  api.close();
  const busy = () => begun.filter((said) => said().includes('"code":"busy"')).length === AVATARS_AT_ONCE_MAX - 1;
  await until(() => (busy() ? true : undefined), 'all but one to be refused');
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
  // It was ended, and did not run out: whoever signs out or renews with it is told so.
  for (const way of ['renew', 'logout'])
    assertRefused(
      await own(phone, 'POST', `/v1/auth/${way}`, way === 'renew' ? {} : undefined),
      401,
      'session_revoked',
    );
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
  const soon = (millis = 3_000) => new Date(Date.now() + millis).toISOString();
  // Long enough to be read on a busy machine before it is over.
  const set = await change(eve, { status: { text: 'Back in a second', expires_at: soon(8_000) } });
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
