/** Who may say what: organising, answering, free and busy time, app passwords and their audit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { APP_PASSWORDS_MAX } from '#src/protocol/sessions/app-passwords.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { callControl } from '#test/support/control.ts';
import {
  assertRefused,
  basic,
  call,
  defaultCalendar,
  eventText,
  makeCalendar,
  makeEntry,
  putObject,
} from './calling.ts';

const { server, alice, bob, carol } = await shareServer(['alice', 'bob', 'carol'], { shards: 2 });
const [ALICE, BOB, CAROL] = ['alice', 'bob', 'carol'].map(uuidAddress) as [string, string, string];
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

async function api(who: Person, method: string, path: string, body?: unknown): Promise<Reply> {
  return await request(method, `${server.coordinator}${path}`, { body, token: who.session.token });
}

async function appPassword(who: Person): Promise<Record<string, string>> {
  const reply = await api(who, 'POST', '/v1/app-passwords', { name: 'Telephone' });
  assert.equal(reply.status, 201, reply.text);
  return basic(who.username, reply.body['password'] as string);
}

async function answersIn(who: Person, uid: string): Promise<Record<string, string>> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  const entry = reply.body.items.find((one) => one.uid === uid) as EntryView;
  return Object.fromEntries(entry.attendees.map(({ user, address, answer }) => [user ?? address, answer]));
}

test('CAL-03 who creates an entry with people organises it, as nobody else', async () => {
  const { id } = await defaultCalendar(server, alice);
  const made = await makeEntry(server, alice, id, {
    ...TALK,
    attendees: ['bob', 'mailto:Eve@Example.org', 'bob', 'alice'],
  });
  assert.deepEqual(made.organizer, { user: 'alice', address: ALICE, name: 'alice' });
  assert.deepEqual(
    made.attendees.map(({ user, address, answer }) => [user, address, answer]),
    [
      ['alice', ALICE, 'accepted'],
      ['bob', BOB, 'needs_action'],
      [undefined, 'mailto:eve@example.org', 'needs_action'],
    ],
  );
  assertRefused(
    await call(server, alice, 'PUT', `/v1/invitations/${id}/${'A'.repeat(43)}/answer`, { answer: 'accepted' }),
    'invitation_not_found',
  );
});

test('CAL-03 a program cannot organise as somebody else in this installation, nor take an entry over', async () => {
  const headers = await appPassword(alice);
  const path = '/dav/calendars/alice/default/forged.ics';
  const people = [`ORGANIZER:${BOB}`, `ATTENDEE;PARTSTAT=ACCEPTED:${ALICE}`, `ATTENDEE:${BOB}`];
  const forged = eventText('forged', people).replaceAll(':2026', ':2096');
  assert.equal((await putObject(server, headers, path, forged)).status, 403);
  const own = eventText('forged', [`ORGANIZER:${ALICE}`, `ATTENDEE;PARTSTAT=ACCEPTED:${BOB}`]);
  const put = await putObject(server, headers, path, own);
  // The answer of somebody else was put back, so the bytes are not the client's: no etag.
  assert.deepEqual([put.status, put.headers.get('etag')], [201, null]);
  assert.deepEqual(await answersIn(alice, 'forged'), { bob: 'needs_action' });
  assert.equal((await putObject(server, headers, path, forged)).status, 403);
  // An outside organiser's invitation is taken as it came.
  const outside = eventText('outside', ['ORGANIZER:mailto:boss@example.org', `ATTENDEE;PARTSTAT=ACCEPTED:${ALICE}`]);
  const taken = await putObject(server, headers, '/dav/calendars/alice/default/outside.ics', outside);
  assert.equal(taken.status, 201);
  assert.notEqual(taken.headers.get('etag'), null);
});

test('CAL-04 what a colleague organised is taken along as it is, and nobody hears of it', async () => {
  const hers = await appPassword(alice);
  const theirs = await appPassword(carol);
  const put = async (uid: string, text: string) =>
    await putObject(server, hers, `/dav/calendars/alice/default/${uid}.ics`, text);
  const people = (parameters = '') => [
    `ORGANIZER${parameters}:${CAROL}`,
    `ATTENDEE;PARTSTAT=NEEDS-ACTION:${ALICE}`,
    `ATTENDEE;PARTSTAT=DECLINED:${BOB}`,
  ];
  const later = (text: string) => text.replaceAll(':2026', ':2096');
  const kept = {
    history: eventText('history', people()).replaceAll(':2026', ':2016'),
    none: later(eventText('none', people(';SCHEDULE-AGENT=NONE'))),
    client: later(eventText('client', people(';SCHEDULE-AGENT=CLIENT'))),
  };
  for (const [uid, text] of Object.entries(kept)) {
    const first = await put(uid, text);
    assert.equal(first.status, 201, uid);
    // As it came, the answers of others among it.
    assert.notEqual(first.headers.get('etag'), null, uid);
    const stored = await fetch(`${server.calendar}/dav/calendars/alice/default/${uid}.ics`, { headers: hers });
    assert.equal(await stored.text(), text);
    // Answered, changed and moved it is no more anybody's business.
    const changed = text.replace('PARTSTAT=NEEDS-ACTION', 'PARTSTAT=ACCEPTED').replace('Talk', 'Mine');
    assert.equal((await put(uid, changed)).status, 204, uid);
  }
  const asked = later(eventText('asked-by-nobody', people()));
  assert.equal((await put('asked-by-nobody', asked)).status, 403, 'an invitation that its organiser did not send');
  const file = {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.session.token}`, 'content-type': 'text/calendar' },
  };
  const { id } = await makeCalendar(server, alice);
  const imported = await fetch(`${server.calendar}/v1/calendars/${id}/import`, { ...file, body: asked });
  assert.deepEqual([((await imported.json()) as { imported: number }).imported], [1]);
  // In another person's calendar it would say that they keep it.
  const { id: shared } = await defaultCalendar(server, carol);
  await call(server, carol, 'PUT', `/v1/calendars/${shared}/shares/alice`, { access: 'write' });
  const inTheirs = await putObject(
    server,
    hers,
    `/dav/calendars/alice/${shared}/x.ics`,
    kept.history.replaceAll(CAROL, BOB),
  );
  assert.equal(inTheirs.status, 403);
  await call(server, carol, 'DELETE', `/v1/calendars/${shared}/shares/alice`);

  // Whom it names is told by the text alone: the server vouches for nobody in it, and asks for no answer.
  const entry = (
    await call<EntryView>(server, alice, 'GET', `/v1/calendars/${id}/entries/${entryIdOf('asked-by-nobody')}`)
  ).body;
  assert.deepEqual([entry.organizer?.user, entry.organizer?.address], [undefined, CAROL]);
  const waiting = await call<{ items: { entry: EntryView }[] }>(server, alice, 'GET', '/v1/invitations');
  assert.deepEqual(
    waiting.body.items.filter(({ entry: { uid } }) => uid in kept || uid === 'asked-by-nobody'),
    [],
  );
  const headers = { ...hers, 'schedule-reply': 'T' };
  const removed = await fetch(`${server.calendar}/dav/calendars/alice/default/client.ics`, {
    method: 'DELETE',
    headers,
  });
  assert.equal(removed.status, 204);

  // Once its organiser invites her by it, it is an invitation like any other.
  const real = later(
    eventText(
      'none',
      people().map((line) => line.replace(';PARTSTAT=DECLINED', '')),
    ),
  ).replace('Talk', 'Real');
  assert.equal((await putObject(server, theirs, '/dav/calendars/carol/default/none.ics', real)).status, 201);
  const { id: own } = await defaultCalendar(server, alice);
  const invited = await until(async () => {
    const got = await call<EntryView>(server, alice, 'GET', `/v1/calendars/${own}/entries/${entryIdOf('none')}`);
    return got.body.title === 'Real' && got.body;
  }, 'the invitation');
  assert.equal(invited.organizer?.user, 'carol');
  assert.equal(
    (await call(server, alice, 'PUT', `/v1/invitations/${own}/${invited.id}/answer`, { answer: 'accepted' })).status,
    200,
  );
  await until(async () => (await answersIn(carol, 'none'))['alice'] === 'accepted', 'the answer');
  assert.deepEqual(await answersIn(carol, 'none'), { alice: 'accepted', bob: 'needs_action' });
  for (const uid of ['history', 'client']) {
    assert.equal(
      (await fetch(`${server.calendar}/dav/calendars/carol/default/${uid}.ics`, { headers: theirs })).status,
      404,
    );
  }
});

test('CAL-03 invitations wait to be answered, in the own name only, and answering is told by the entry', async () => {
  const { id } = await defaultCalendar(server, carol);
  const headers = await appPassword(carol);
  const people = [`ATTENDEE;CN="a;PARTSTAT=ACCEPTED;b":${CAROL}`, 'ATTENDEE;PARTSTAT=DECLINED:mailto:zoe@example.org'];
  const text = eventText('asked', ['ORGANIZER:mailto:boss@example.org', ...people]);
  assert.equal((await putObject(server, headers, '/dav/calendars/carol/default/asked.ics', text)).status, 201);
  const list = await call<{ items: { calendar_id: string; entry: EntryView }[] }>(
    server,
    carol,
    'GET',
    '/v1/invitations',
  );
  assert.deepEqual(
    list.body.items.map(({ entry }) => entry.uid),
    ['asked'],
  );
  const entry = list.body.items[0]?.entry.id;
  const path = `/v1/invitations/${id}/${entry}/answer`;
  assertRefused(await call(server, bob, 'PUT', path, { answer: 'accepted' }), 'invitation_not_found');
  assertRefused(await call(server, carol, 'PUT', path, { answer: 'maybe' }), 'field_invalid', 'answer');
  assertRefused(
    await call(server, carol, 'PUT', path, { answer: 'accepted', recurrence_id: '20270101' }),
    'invitation_not_found',
  );
  assert.equal((await call(server, carol, 'PUT', path, { answer: 'tentative' })).status, 200);
  assert.deepEqual(await answersIn(carol, 'asked'), { carol: 'tentative', 'mailto:zoe@example.org': 'declined' });
  assert.deepEqual((await call(server, carol, 'GET', '/v1/invitations')).body['items'], []);
  const spectator = eventText('watched', ['ORGANIZER:mailto:boss@example.org', 'ATTENDEE:mailto:zoe@example.org']);
  assert.equal((await putObject(server, headers, '/dav/calendars/carol/default/watched.ics', spectator)).status, 201);
  const watched = `/v1/invitations/${id}/${entryIdOf('watched')}/answer`;
  assertRefused(await call(server, carol, 'PUT', watched, { answer: 'accepted' }), 'answer_forbidden');
  // The entry is its organiser's: JSON changes nothing else of it.
  assertRefused(
    await call(server, carol, 'PATCH', `/v1/calendars/${id}/entries/${entry}`, { title: 'Mine' }),
    'organizer_forbidden',
  );
  assertRefused(await call(server, carol, 'GET', '/v1/invitations?after=junk'), 'cursor_invalid', 'after');
});

test('GOV-01 the path of a principal is an address of that person, however it is written', async () => {
  const headers = await appPassword(carol);
  const paths = ['/dav/principals/bob/', 'https://elsewhere.example/dav/principals/bob', '/DAV/principals/%62ob/'];
  for (const [at, organizer] of paths.entries()) {
    const people = [`ORGANIZER:${organizer}`, `ATTENDEE:${CAROL}`];
    const text = eventText(`claimed-${at}`, people).replaceAll(':2026', ':2096');
    const reply = await putObject(server, headers, `/dav/calendars/carol/default/claimed-${at}.ics`, text);
    assert.equal(reply.status, 403, organizer);
  }
  const own = eventText('by-path', ['ORGANIZER:/dav/principals/carol/', `ATTENDEE:${BOB}`]);
  assert.equal((await putObject(server, headers, '/dav/calendars/carol/default/by-path.ics', own)).status, 201);
});

test('free and busy time tells when and nothing else, within what the asker may see', async () => {
  const { id } = await makeCalendar(server, bob, { displayname: 'Busy' });
  const at = (hour: string) => `2026-12-01T${hour}:00:00Z`;
  const from = (start: string, end: string, more: object = {}) =>
    makeEntry(server, bob, id, { title: 'Secret', start_at: at(start), end_at: at(end), ...more });
  await from('09', '10');
  await from('10', '11', { rule: { frequency: 'daily', count: 2 } });
  await from('13', '14', { transparency: 'transparent' });
  await from('15', '16', { status: 'tentative' });
  await from('17', '18', { status: 'cancelled' });
  const hidden = await makeCalendar(server, bob, { transparency: 'transparent' });
  await makeEntry(server, bob, hidden.id, { title: 'x', start_at: at('20'), end_at: at('21') });
  const asked = { users: ['bob', 'nobody', 'bob'], from: at('00'), to: '2026-12-02T00:00:00Z' };
  const reply = await call(server, alice, 'POST', '/v1/free-busy', asked);
  assert.deepEqual(reply.body['items'], [
    {
      user: 'bob',
      known: true,
      is_cut: false,
      busy: [
        {
          start_at: '2026-12-01T09:00:00.000Z',
          end_at: '2026-12-01T11:00:00.000Z',
          tentative: false,
          unavailable: false,
        },
        {
          start_at: '2026-12-01T15:00:00.000Z',
          end_at: '2026-12-01T16:00:00.000Z',
          tentative: true,
          unavailable: false,
        },
      ],
    },
    { user: 'nobody', known: false, is_cut: false, busy: [] },
  ]);
  const users = Array.from({ length: 51 }, (_, number) => `user${number}`);
  assertRefused(await call(server, alice, 'POST', '/v1/free-busy', { ...asked, users }), 'field_invalid', 'users');
  assertRefused(
    await call(server, alice, 'POST', '/v1/free-busy', { ...asked, to: '2027-02-02T00:00:01Z' }),
    'field_invalid',
    'to',
  );
});

test('app passwords open the calendar until they are revoked, are shown once and bounded', async () => {
  const made = await api(bob, 'POST', '/v1/app-passwords', { name: 'Laptop' });
  const password = made.body['password'] as string;
  assert.match(password, /^[0-9a-z]{6}(?:-[0-9a-z]{6}){3}$/);
  const open = async (user: string, secret: string) => {
    const headers = { ...basic(user, secret), depth: '0' };
    const response = await fetch(`${server.calendar}/dav/`, { method: 'PROPFIND', headers });
    await response.text();
    return response;
  };
  assert.equal((await open('bob', password)).status, 207);
  assert.equal((await open('Bob', password.toUpperCase().replaceAll('-', ' '))).status, 207);
  const refusals = [];
  for (const [user, secret] of [
    ['alice', password],
    ['bob', bob.password],
    ['nobody', password],
    ['bob', ''],
  ] as const) {
    const response = await open(user, secret);
    refusals.push([response.status, response.headers.get('www-authenticate')]);
  }
  const challenge = 'Basic realm="Parley calendar", charset="UTF-8"';
  assert.deepEqual(
    refusals,
    Array.from({ length: 4 }, () => [401, challenge]),
  );
  // The password is for programs: it is no session.
  assertRefused(await request('GET', `${server.calendar}/v1/calendars`, { token: password }), 'token_invalid');
  // Its use is noted beside the answer.
  const list = await until(async () => {
    const reply = await api(bob, 'GET', '/v1/app-passwords');
    return reply.text.includes('last_used_at') && reply;
  }, 'the use of the password to be noted');
  assert.equal(JSON.stringify(list.body).includes(password), false);
  const [{ id, name, last_used_at: used }] = list.body['items'] as [Record<string, string>];
  assert.deepEqual([id, name, typeof used], [made.body['id'], 'Laptop', 'string']);
  assertRefused(await api(alice, 'DELETE', `/v1/app-passwords/${id}`), 'app_password_not_found');
  assert.equal((await api(bob, 'DELETE', `/v1/app-passwords/${id}`)).status, 204);
  assert.equal((await open('bob', password)).status, 401);
  for (let count = 0; count < APP_PASSWORDS_MAX; count += 1) await api(bob, 'POST', '/v1/app-passwords', { name: 'x' });
  assertRefused(await api(bob, 'POST', '/v1/app-passwords', { name: 'x' }), 'app_passwords_full');
});

test('guessing is throttled for the name at the address, and nobody else is locked out', async () => {
  const right = await appPassword(alice);
  const open = async (headers: Record<string, string>) => {
    const response = await fetch(`${server.calendar}/dav/`, {
      method: 'PROPFIND',
      headers: { ...headers, depth: '0' },
    });
    await response.text();
    return response;
  };
  const statuses: number[] = [];
  // On a slow machine one comes back every six seconds.
  while (statuses.at(-1) !== 429 && statuses.length < 20) {
    statuses.push((await open(basic('guessed', `no-${statuses.length}`))).status);
  }
  const judged = statuses.slice(0, -1);
  assert.ok(judged.length >= 10, statuses.join(' '));
  assert.deepEqual(new Set(judged), new Set([401]));
  assert.equal(statuses.at(-1), 429);
  assert.equal((await open(right)).status, 207);
});

test('a person who is blocked comes in no more, by no password', async () => {
  const dora = await server.person('dora');
  const headers = { ...(await appPassword(dora)), depth: '0' };
  const open = async () => (await fetch(`${server.calendar}/dav/`, { method: 'PROPFIND', headers })).status;
  assert.equal(await open(), 207);
  await callControl(server.folder, 'user.block', { username: 'dora' });
  assert.equal(await open(), 401);
  assertRefused(await call(server, dora, 'GET', '/v1/calendars'), 'session_revoked');
});
