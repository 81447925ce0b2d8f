/** Published feeds: what a stranger reads who has the URL, for as long as it holds (CAL-02). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { checkFolder } from '#storage/check/check.ts';
import { FEEDS_PER_CALENDAR_MAX } from '#storage/calendars/calendar-feeds.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { callControl } from '#test/support/control.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { assertRefused, call, makeCalendar } from '../service/calling.ts';

const { server, console: asOwner, stop } = await startConsoleServer();
after(stop);
const { alice, bob } = await server.people('alice', 'bob');

async function publish(
  calendar: string,
  form: object = {},
  who: Person = alice,
): Promise<{ id: string; path: string }> {
  const reply = await ask(who, 'POST', `/v1/calendars/${calendar}/feeds`, form);
  assert.equal(reply.status, 201, reply.text);
  return reply.body as unknown as { id: string; path: string };
}

async function ask(who: Person | undefined, method: string, path: string, body?: object) {
  return await call(server, who, method, path, body);
}

async function read(path: string, headers: Readonly<Record<string, string>> = {}, on: TestServer = server) {
  const response = await fetch(`${on.calendar}${path}`, { headers });
  return { response, text: await response.text() };
}

async function codeOf(path: string): Promise<[number, unknown]> {
  const { response, text } = await read(path);
  return [response.status, (JSON.parse(text) as { code: string }).code];
}

async function filled(): Promise<string> {
  const { id } = (await ask(alice, 'POST', '/v1/calendars', { displayname: 'Club' })).body as { id: string };
  const event = (uid: string, lines: readonly string[]) => [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20261121T080000Z',
    'DTSTART:20261123T090000Z',
    ...lines,
    'END:VEVENT',
  ];
  const text = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0'],
    ...event('open', [
      'SUMMARY:Regatta',
      'ATTENDEE:mailto:guest@example.org',
      'X-NOTE:of a program',
      'X-PARLEY-ASKED-SEQUENCE:0',
    ]),
    ...event('alarmed', ['SUMMARY:Rudern', 'BEGIN:VALARM', 'ACTION:DISPLAY', 'TRIGGER:-PT5M', 'END:VALARM']),
    ...event('secret@example.org', [
      'SUMMARY:Doctor',
      'LOCATION:Clinic',
      'CLASS:CONFIDENTIAL',
      'DTEND:20261123T110000Z',
    ]),
    ...event('free', ['SUMMARY:Reminder', 'TRANSP:TRANSPARENT']),
    'END:VCALENDAR',
  ].join('\r\n');
  const response = await fetch(`${server.calendar}/v1/calendars/${id}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.session.token}`, 'content-type': 'text/calendar' },
    body: text,
  });
  assert.equal(response.status, 200, await response.text());
  return id;
}

test('CAL-02 a published feed shows what it is meant to, to whoever has its URL, and nothing once revoked', async () => {
  const calendar = await filled();
  const full = await publish(calendar, { note: 'for the club' });
  assert.match(full.path, /^\/feeds\/[0-9a-z]{22}[\w-]{43}\.ics$/);
  // No credential, no version: a calendar app knows neither.
  const { response, text } = await read(full.path);
  assert.equal(response.status, 200);
  assert.deepEqual(
    ['content-type', 'x-robots-tag', 'cache-control'].map((name) => response.headers.get(name)),
    ['text/calendar; charset=utf-8', 'noindex, nofollow, noarchive', 'private, no-cache'],
  );
  for (const shown of ['SUMMARY:Regatta', 'SUMMARY:Rudern', 'SUMMARY:Reminder', 'SUMMARY:Busy']) {
    assert.ok(text.includes(`${shown}\r\n`), shown);
  }
  for (const hidden of ['guest@', 'VALARM', 'Doctor', 'Clinic', 'secret@', 'X-PARLEY', 'X-NOTE'])
    assert.ok(!text.includes(hidden), hidden);
  assert.match(text, /REFRESH-INTERVAL;VALUE=DURATION:PT1H\r\n/);
  const busy = await publish(calendar, { detail: 'free_busy' });
  const times = (await read(busy.path)).text;
  assert.deepEqual(times.match(/^(?:SUMMARY|DTSTART|DTEND):.*$/gm), [
    ...['SUMMARY:Busy', 'DTSTART:20261123T090000Z'],
    ...['SUMMARY:Busy', 'DTSTART:20261123T090000Z'],
    ...['SUMMARY:Busy', 'DTSTART:20261123T090000Z', 'DTEND:20261123T110000Z'],
  ]);
  for (const hidden of ['X-NOTE', 'open', 'Regatta']) assert.ok(!times.includes(hidden), hidden);
  const path = `/v1/calendars/${calendar}/feeds`;
  const listed = (await ask(alice, 'GET', path)).body['items'] as Record<string, unknown>[];
  assert.deepEqual(
    listed.map(({ id, detail, note }) => [id, detail, note]),
    [
      [full.id, 'full', 'for the club'],
      [busy.id, 'free_busy', ''],
    ],
  );
  assert.ok(!JSON.stringify(listed).includes(full.path.slice(30, 60)), 'the token is shown once');
  assert.equal((await ask(alice, 'DELETE', `${path}/${full.id}`)).status, 204);
  assert.deepEqual(await codeOf(full.path), [404, 'feed_not_found']);
  assertRefused(await ask(alice, 'DELETE', `${path}/${full.id}`), 'feed_not_found');
  assert.equal((await read(busy.path)).response.status, 200);
  await ask(alice, 'DELETE', `/v1/calendars/${calendar}`);
  assert.deepEqual(await codeOf(busy.path), [404, 'feed_not_found']);
});

/** Has a calendar take a file of these events, as their programs wrote them. */
async function take(calendar: string, ...events: readonly (readonly string[])[]): Promise<void> {
  const bodies = events.flatMap((lines) => ['BEGIN:VEVENT', 'DTSTAMP:20261121T080000Z', ...lines, 'END:VEVENT']);
  const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', ...bodies, 'END:VCALENDAR', ''].join('\r\n');
  const response = await fetch(`${server.calendar}/v1/calendars/${calendar}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.session.token}`, 'content-type': 'text/calendar' },
    body: text,
  });
  assert.equal(response.status, 200, await response.text());
}

test('CAL-02 no line of any program leads a stranger from a feed to a person, a meeting or a file', async () => {
  const calendar = await makeCalendar(server, alice);
  const { body } = await ask(alice, 'POST', `/v1/calendars/${calendar.id}/entries`, {
    ...{ title: 'Call', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z', meeting: true },
  });
  const { meeting } = body as unknown as { meeting: { url: string } };
  const { url } = meeting;
  assert.match(url, /^http/);
  const leak = 'leak@example.org';
  const lines = [
    ...['DTSTART:20261123T090000Z', 'SUMMARY;ALTREP="https://files.test/leak":Shown', 'LOCATION:Room 3'],
    // A program that knows nothing of CONFERENCE keeps the URL alone.
    ...[`URL:${url}`, `X-GOOGLE-CONFERENCE:https://meet.test/leak`, `X-MS-OLK-SENDER;CN="Leak":mailto:${leak}`],
    ...['IMAGE;VALUE=URI:https://files.test/leak.png', 'LINK;LINKREL=SOURCE;VALUE=URI:https://files.test/leak'],
    ...[
      `STRUCTURED-DATA;VALUE=TEXT:leak`,
      `X-CALENDARSERVER-ATTENDEE-COMMENT;X-CALENDARSERVER-ATTENDEE-REF="${leak}":no`,
    ],
    ...[
      `COMMENT:Leak says no`,
      'STYLED-DESCRIPTION;VALUE=URI:https://files.test/leak.html',
      'SOURCE:https://x.test/leak',
    ],
    ...['BEGIN:PARTICIPANT', 'UID:leak', `CALENDAR-ADDRESS:mailto:${leak}`, 'END:PARTICIPANT'],
  ];
  await take(
    calendar.id,
    ['UID:one', ...lines],
    ['UID:two', 'DTSTART:20261123T110000Z', 'URL:https://club.test/regatta'],
  );
  const { text } = await read((await publish(calendar.id)).path);
  const unfolded = text.replaceAll('\r\n ', '');
  assert.doesNotMatch(unfolded, /leak/i);
  assert.ok(!unfolded.includes(url.slice(url.indexOf('/v1/'))), unfolded);
  // What it is about is shown as before.
  for (const line of ['SUMMARY:Shown', 'LOCATION:Room 3', 'SUMMARY:Call', 'URL:https://club.test/regatta'])
    assert.ok(unfolded.includes(`${line}\r\n`), `${line}\n${unfolded}`);
});

test('CAL-05 whoever reads a feed of busy times recognises no entry by it, and no two feeds by one another', async () => {
  const calendar = await makeCalendar(server, alice);
  await take(calendar.id, ['UID:known@example.org', 'DTSTART:20261123T090000Z', 'CLASS:CONFIDENTIAL']);
  const feeds = [
    await publish(calendar.id, { detail: 'free_busy' }),
    await publish(calendar.id, { detail: 'free_busy' }),
  ];
  const uids = await Promise.all(
    feeds.map(async ({ path }) => /^UID:(.*)\r$/m.exec((await read(path)).text.replaceAll('\r\n ', ''))?.[1]),
  );
  assert.notEqual(uids[0], undefined);
  assert.notEqual(uids[0], uids[1], 'the same entry in two feeds');
  // What a stranger has: the path of the feed, and what its parts are digests of.
  const { path } = feeds[0] as { path: string };
  const [, id = '', secret = ''] = /^\/feeds\/(.{22})(.{43})\.ics$/.exec(path) ?? [];
  const hashed = createHash('sha256').update(secret).digest('base64url');
  for (const salt of ['', path, id, `cal_${id}`, secret, hashed]) {
    const guess = createHash('sha256').update(`${salt}\0known@example.org`).digest('base64url');
    assert.notEqual(uids[0], guess, salt);
  }
  assert.notEqual(uids[0], createHash('sha256').update('known@example.org').digest('base64url'));
  // It is the same one at the next look.
  const [again] = /^UID:.*\r$/m.exec((await read(path)).text.replaceAll('\r\n ', '')) ?? [];
  assert.equal(again, `UID:${uids[0]}\r`);
});

test('CAL-02 a feed answers 304 while nothing changed, by etag or by time, and is compressed on demand', async () => {
  const calendar = await filled();
  const { path } = await publish(calendar);
  const first = await read(path, { 'accept-encoding': 'identity' });
  const etag = first.response.headers.get('etag') ?? '';
  assert.equal((await read(path, { 'if-none-match': etag })).response.status, 304);
  const asked = get(`${server.calendar}${path}`, { headers: { 'accept-encoding': 'gzip' } });
  const [zipped] = (await once(asked, 'response')) as [IncomingMessage];
  assert.deepEqual([zipped.headers['content-encoding'], zipped.headers.etag], ['gzip', etag]);
  assert.equal(gunzipSync(await buffer(zipped)).toString(), first.text);
  // Right after a change no time is stated: there may be another change within the same second.
  const settled = async () => {
    for (;;) {
      const { response } = await read(path, { 'if-none-match': etag });
      const stated = response.headers.get('last-modified');
      if (stated !== null) return stated;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const modified = await settled();
  assert.equal((await read(path, { 'if-modified-since': modified })).response.status, 304);
  assert.equal((await read(path, { 'if-modified-since': 'yesterday' })).response.status, 200);
  await ask(alice, 'POST', `/v1/calendars/${calendar}/entries`, { title: 'New', start_at: '2026-11-23T09:00:00Z' });
  assert.equal((await read(path, { 'if-modified-since': modified })).response.status, 200);
  const second = await read(path, { 'if-none-match': etag });
  assert.equal(second.response.status, 200);
  assert.ok(second.text.includes('SUMMARY:New'));
});

test('CAL-02 feeds are the owner’s to publish, so many of a calendar, and are read so often', async () => {
  const calendar = await filled();
  const path = `/v1/calendars/${calendar}/feeds`;
  await ask(alice, 'PUT', `/v1/calendars/${calendar}/shares/bob`, { access: 'write' });
  for (const method of ['GET', 'POST']) {
    assertRefused(await ask(bob, method, path, method === 'POST' ? {} : undefined), 'right_missing');
  }
  assertRefused(await ask(bob, 'DELETE', `${path}/feed_x`), 'right_missing');
  const feeds = [];
  for (let count = 0; count < FEEDS_PER_CALENDAR_MAX; count += 1) feeds.push(await publish(calendar));
  assertRefused(await ask(alice, 'POST', path, {}), 'feeds_full');
  assertRefused(await ask(alice, 'POST', path, { detail: 'everything' }), 'field_invalid', 'detail');
  const [one = { path: '' }, other = { path: '' }] = feeds;
  const { burst } = STATED_POLICIES.feed_read;
  let { response } = await read(one.path, { 'if-none-match': '*' });
  let passed = 0;
  for (; response.status === 304; passed += 1) ({ response } = await read(one.path, { 'if-none-match': '*' }));
  // One a second comes on top of what passes at once.
  assert.ok(passed >= burst && passed < 2 * burst, `${passed} reads passed`);
  assert.equal(response.status, 429);
  assert.match(response.headers.get('retry-after') ?? '', /^\d{1,2}$/);
  assert.equal((await read(other.path)).response.status, 200);
  const turned = other.path.replace(
    /(.)(.{8}\.ics)$/,
    (_, character: string, rest) => `${character === 'A' ? 'B' : 'A'}${rest}`,
  );
  for (const wrong of [turned, '/feeds/x.ics', other.path.replace('.ics', '')]) {
    assert.deepEqual(await codeOf(wrong), [404, 'feed_not_found'], wrong);
  }
  for (const method of ['HEAD', 'POST', 'PROPFIND']) {
    const refused = await fetch(`${server.calendar}${other.path}`, { method });
    assert.equal(refused.status, 404, method);
  }
});

test('CAL-02 publishing and revoking are audited without the token; who is blocked publishes nothing', async () => {
  const owner = await server.person('anna');
  const { id } = await makeCalendar(server, owner, {});
  const path = `/v1/calendars/${id}/feeds`;
  const made = (await call(server, owner, 'POST', path, {})).body as { id: string; path: string };
  const second = (await call(server, owner, 'POST', path, { detail: 'free_busy' })).body as {
    id: string;
    path: string;
  };
  await call(server, owner, 'DELETE', `${path}/${second.id}`);
  const trail = await asOwner<{ items: Record<string, unknown>[] }>('GET', '/calendar/audit');
  assert.deepEqual(
    trail.body.items.slice(0, 3).map(({ event, details }) => [event, (details as { feed?: string }).feed]),
    [
      ['calendar.feed_revoked', second.id],
      ['calendar.feed_published', second.id],
      ['calendar.feed_published', made.id],
    ],
  );
  assert.ok(!trail.text.includes(made.path.slice(29, 60)));
  assert.equal((await read(made.path)).response.status, 200);
  await callControl(server.folder, 'user.block', { username: 'anna' });
  assert.equal((await read(made.path)).response.status, 404);
});

// The last one: it ends the server of all.
test('CAL-02 feeds outlive kill -9, and are read by clients that are too old for everything else', async (t) => {
  const { folder } = server;
  const owner = await server.person('adam');
  const { id } = await makeCalendar(server, owner, {});
  const path = `/v1/calendars/${id}/feeds`;
  const kept = (await call(server, owner, 'POST', path, {})).body as { id: string; path: string };
  const revoked = (await call(server, owner, 'POST', path, {})).body as { id: string; path: string };
  await call(server, owner, 'DELETE', `${path}/${revoked.id}`);
  await server.end('SIGKILL');
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const again = await startServer({ folder, environment: { PARLEY_PROTOCOL_MIN: '1' } });
  t.after(async () => await again.end('SIGKILL'));
  assert.equal((await read(kept.path, {}, again)).response.status, 200);
  assert.equal((await read(revoked.path, {}, again)).response.status, 404);
  assertRefused(await call(again, owner, 'GET', path), 'client_too_old');
});
