/** Calendars that follow feeds elsewhere: what is taken in, what counts as a change, and who may see and do what. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { SubscriptionView } from '#src/protocol/calendars/calendar-subscriptions.ts';
import type { CalendarView } from '#src/protocol/calendars/calendars.ts';
import { folderPaths } from '#storage/engine/folder.ts';
import { request } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import {
  assertRefused,
  basic,
  call,
  defaultCalendar,
  eventText,
  makeCalendar,
  makeEntry,
  putObject,
} from '../service/calling.ts';
import { contents, FeedServer, feedOf, follow, refresh, settled, vevent } from './feed-server.ts';

const feeds = await FeedServer.open();
after(async () => await feeds.close());
const environment = { ...feeds.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true', PARLEY_LOG_LEVEL: 'debug' };
const { server, ...people } = await shareServer(
  ['alice', 'bob', 'carol', 'dora', 'erik', 'fred', 'gina', 'hans', 'ines', 'jens'],
  { environment },
);

test('CAL-02 a calendar follows a feed: taken in, shown with its state, and asked for conditionally', async () => {
  const { alice } = people;
  const url = feeds.serve('/basic.ics', (response, { headers }) => {
    const isKnown = headers['if-none-match'] === '"1"';
    if (isKnown) response.writeHead(304).end();
    else {
      const head = { etag: '"1"', 'last-modified': 'Sat, 21 Nov 2026 08:00:00 GMT' };
      response.writeHead(200, head).end(feedOf([vevent('a', 'One'), vevent('b', 'Two')], ['X-PUBLISHED-TTL:PT2H']));
    }
  });
  const webcal = url.replace('https:', 'webcal:');
  const made = await makeCalendar(server, alice, { displayname: 'Club', color: '#ff8800', source: { url: webcal } });
  assert.deepEqual(
    [made.access, made.subscribed, made.transparency, made.color, JSON.stringify(made).includes('localhost')],
    ['owner', true, 'transparent', '#ff8800', false],
  );
  const {
    attempted_at: at,
    next_attempt_at: next,
    succeeded_at: succeeded,
    ...state
  } = await settled(server, alice, made.id);
  assert.deepEqual(state, {
    calendar_id: made.id,
    url,
    refresh_seconds: null,
    interval_seconds: 7_200,
    state: 'fresh',
    refreshing: false,
    outcome: 'changed',
    line: null,
    failures: 0,
    failed: 0,
    faults: [],
  });
  assert.equal(at, succeeded);
  const wait = Date.parse(next ?? '') - Date.parse(at ?? '');
  assert.ok(wait >= 7_200_000 && wait <= 7_920_000, `${wait}`);
  const first = await contents(server, alice, made.id);
  assert.deepEqual(first.titles, ['One', 'Two']);
  assert.equal((await refresh(server, alice, made.id)).outcome, 'not_modified');
  const [, second] = feeds.askedFor('/basic.ics');
  assert.equal(second?.headers['if-modified-since'], 'Sat, 21 Nov 2026 08:00:00 GMT');
  assert.match(second?.headers['user-agent'] ?? '', /^Parley\//);
  assert.deepEqual(await contents(server, alice, made.id), first);
  const changed = await call<SubscriptionView>(server, alice, 'PATCH', `/v1/calendars/${made.id}/subscription`, {
    refresh_seconds: 900,
  });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual([changed.body.refresh_seconds, changed.body.interval_seconds], [900, 900]);
  const soon = Date.parse(changed.body.next_attempt_at ?? '') - Date.parse(changed.body.succeeded_at ?? '');
  assert.equal(soon, 900_000);
});

test('CAL-03 what says the same keeps its etag, and sync_seq stands still: stamps, other UIDs and other headers do not count', async () => {
  const { bob } = people;
  const serve = (...events: string[]) => feeds.serve('/noise.ics', feedOf(events));
  const url = serve(vevent('a', 'Talk'), vevent('', 'No UID'), vevent('c', 'Flight'));
  const { id } = await follow(server, bob, url);
  const before = await contents(server, bob, id);
  assert.deepEqual(before.titles, ['Flight', 'No UID', 'Talk']);
  const noise = ['CREATED:20200101T000000Z', 'LAST-MODIFIED:20261121T090000Z'];
  const later = '20261121T093000Z';
  // Stamps anew, the order turned round, and a UID that is made at each request.
  serve(
    vevent('made-anew-17', 'Flight', [], later),
    vevent('', 'No UID', [], later),
    vevent('a', 'Talk', noise, later),
  );
  const state = await refresh(server, bob, id);
  assert.equal(state.outcome, 'unchanged');
  assert.deepEqual(await contents(server, bob, id), before);
  serve(vevent('a', 'Talk', ['LOCATION:Hall 2'], later), vevent('', 'No UID', [], later), vevent('c', 'Flight'));
  assert.equal((await refresh(server, bob, id)).outcome, 'changed');
  const then = await contents(server, bob, id);
  assert.equal(then.seq, before.seq + 1);
  assert.deepEqual(
    Object.keys(then.entries).filter((title) => then.entries[title] !== before.entries[title]),
    ['Talk'],
  );
  // The same bytes under another ETag.
  feeds.serve('/noise.ics', (response) =>
    response.writeHead(200, { etag: `"${Math.random()}"` }).end(feedOf([vevent('a', 'Talk', ['LOCATION:Hall 2'])])),
  );
  assert.equal((await refresh(server, bob, id)).outcome, 'changed');
  const last = await contents(server, bob, id);
  assert.deepEqual(last.titles, ['Talk']);
  assert.equal((await refresh(server, bob, id)).outcome, 'unchanged');
  assert.deepEqual(await contents(server, bob, id), last);
});

test('one broken entry keeps no other out, is reported, and what was known of it before stays', async () => {
  const { carol } = people;
  const url = feeds.serve('/garbage.ics', feedOf([vevent('a', 'One'), vevent('b', 'Two')]));
  const { id } = await follow(server, carol, url);
  const broken = vevent('b', 'Two').replace('DTSTART:20261123T090000Z', 'DTSTART:yesterday');
  const twice = [vevent('d', 'Double'), vevent('d', 'Trouble')];
  const todo = 'BEGIN:VTODO\r\nUID:t\r\nDTSTAMP:20261121T080000Z\r\nSUMMARY:Do\r\nEND:VTODO\r\n';
  feeds.serve('/garbage.ics', feedOf([vevent('a', 'First'), broken, vevent('c', 'Three'), ...twice, todo]));
  const state = await refresh(server, carol, id);
  assert.deepEqual([state.state, state.outcome, state.failed], ['fresh', 'changed', 3]);
  assert.deepEqual(
    state.faults.map(({ code, uid }) => [uid, code]),
    [
      ['b', 'entry_invalid'],
      ['d', 'entry_invalid'],
      ['t', 'entry_kind_refused'],
    ],
  );
  assert.ok(state.faults.every(({ error, line }) => error !== '' && (line ?? 0) > 4));
  assert.deepEqual((await contents(server, carol, id)).titles, ['First', 'Three', 'Two']);
});

test('alarms are left out, nobody is invited or answered, and a series keeps its exceptions', async () => {
  const { dora, erik } = people;
  const persons = ['ORGANIZER:mailto:dora@example.org', 'ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:erik@example.org'];
  const alarm = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'TRIGGER:-PT5M', 'DESCRIPTION:Buy!', 'END:VALARM'];
  const own = await defaultCalendar(server, dora);
  const series = vevent('s', 'Series', ['RRULE:FREQ=DAILY;COUNT=3', ...persons, ...alarm]);
  const other = vevent('s', 'Moved', ['RECURRENCE-ID:20261124T090000Z']).replace(
    'DTSTART:20261123',
    'DTSTART:20261125',
  );
  const { id } = await follow(
    server,
    dora,
    feeds.serve('/alarm.ics', feedOf([series, other.replace('DTEND:20261123', 'DTEND:20261125')])),
  );
  const file = await fetch(`${server.calendar}/v1/calendars/${id}/export`, {
    headers: { authorization: `Bearer ${dora.session.token}` },
  });
  const stored = await file.text();
  assert.deepEqual(
    [/VALARM|Buy/.test(stored), stored.includes('RRULE:FREQ=DAILY;COUNT=3'), stored.includes('SUMMARY:Moved')],
    [false, true, true],
  );
  const invitations = await call<{ items: unknown[] }>(server, erik, 'GET', '/v1/invitations');
  assert.deepEqual(invitations.body.items, []);
  const entry = (await call<{ items: { id: string }[] }>(server, dora, 'GET', `/v1/calendars/${id}/changes`)).body
    .items[0];
  const answer = await call(server, dora, 'PUT', `/v1/invitations/${id}/${entry?.id}/answer`, { answer: 'accepted' });
  assertRefused(answer, 'invitation_not_found');
  // What the feed says of who organises is no reason to let the same be said in a calendar of one's own.
  const ofErik = await defaultCalendar(server, erik);
  const meeting = { title: 'Real', start_at: '2026-11-23T09:00:00Z', attendees: ['carol'] };
  const { organizer } = await makeEntry(server, erik, ofErik.id, meeting);
  const claim = [`ORGANIZER:${organizer?.address}`, `ATTENDEE;PARTSTAT=ACCEPTED:mailto:someone@elsewhere.example`];
  feeds.serve('/alarm.ics', feedOf([vevent('claimed', 'Claim', claim)]));
  assert.deepEqual([(await refresh(server, dora, id)).outcome, organizer?.user], ['changed', 'erik']);
  const headers = basic('dora', await appPassword('dora'));
  const path = `/dav/calendars/dora/${own.name}`;
  const claimed = eventText('claimed', claim).replaceAll(':2026', ':2096');
  assert.equal((await putObject(server, headers, `${path}/c.ics`, claimed)).status, 403);
  // The same UID may lie there all the same.
  assert.equal((await putObject(server, headers, `${path}/c.ics`, eventText('claimed'))).status, 201);
});

test('an invitation goes to a calendar of one’s own, whatever a feed has under its UID', async () => {
  const { alice, erik } = people;
  const own = await defaultCalendar(server, erik);
  const meeting = await makeEntry(server, erik, own.id, { title: 'Real', start_at: '2026-11-23T09:00:00Z' });
  const { id } = await follow(server, alice, feeds.serve('/uid.ics', feedOf([vevent(meeting.uid, 'Claimed')])));
  const path = `/v1/calendars/${own.id}/entries/${meeting.id}`;
  assert.equal((await call(server, erik, 'PATCH', path, { attendees: ['alice'] })).status, 200);
  const invitation = await until(async () => {
    const reply = await call<{ items: { calendar_id: string; entry: { uid: string; title: string } }[] }>(
      server,
      alice,
      'GET',
      '/v1/invitations',
    );
    return reply.body.items.find(({ entry }) => entry.uid === meeting.uid);
  }, 'the invitation');
  assert.deepEqual(
    [invitation.calendar_id, invitation.entry.title],
    [(await defaultCalendar(server, alice)).id, 'Real'],
  );
  assert.deepEqual((await contents(server, alice, id)).titles, ['Claimed']);
});

async function appPassword(user: keyof typeof people): Promise<string> {
  const { token } = people[user].session;
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, { token, body: { name: 'Laptop' } });
  return String(made.body['password']);
}

test('a followed calendar is read only at every door, for its owner and for whom it is shared with', async () => {
  const { fred, gina } = people;
  const url = feeds.serve('/read-only.ics', feedOf([vevent('a', 'One')]));
  const { id } = await follow(server, fred, url);
  const path = `/v1/calendars/${id}`;
  const entry =
    (await call<{ items: { id: string }[] }>(server, fred, 'GET', `${path}/changes`)).body.items[0]?.id ?? '';
  assert.equal((await call(server, fred, 'PUT', `${path}/shares/gina`, { access: 'write' })).status, 200);
  for (const who of [fred, gina]) {
    const form = { title: 'Mine', start_at: '2026-11-23T09:00:00Z' };
    assertRefused(await call(server, who, 'POST', `${path}/entries`, form), 'calendar_read_only');
    assertRefused(await call(server, who, 'PATCH', `${path}/entries/${entry}`, { title: 'x' }), 'calendar_read_only');
    assertRefused(await call(server, who, 'DELETE', `${path}/entries/${entry}`), 'calendar_read_only');
    const imported = await fetch(`${server.calendar}${path}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${who.session.token}`, 'content-type': 'text/calendar' },
      body: eventText('x'),
    });
    assert.deepEqual(
      [imported.status, ((await imported.json()) as { code: string }).code],
      [403, 'calendar_read_only'],
    );
  }
  const { name } = (await call<CalendarView>(server, fred, 'GET', path)).body;
  for (const [user, segment] of [
    ['fred', name],
    ['gina', id],
  ] as const) {
    const headers = basic(user, await appPassword(user));
    const home = `${server.calendar}/dav/calendars/${user}/`;
    const body = '<propfind xmlns="DAV:"><prop><current-user-privilege-set/></prop></propfind>';
    const found = await fetch(`${home}${segment}/`, { method: 'PROPFIND', headers: { ...headers, depth: '0' }, body });
    const privileges = await found.text();
    assert.equal(found.status, 207);
    assert.match(privileges, /<D:read\/>/);
    assert.doesNotMatch(privileges, /<D:(?:write|write-content|write-properties|all|bind|unbind)\/>/);
    const listed = await fetch(home, { method: 'PROPFIND', headers: { ...headers, depth: '1' }, body });
    assert.ok((await listed.text()).includes(`/${segment}/`), 'it is in the home set');
    const refused = async (method: string, file: string, more: Record<string, string> = {}, text?: string) => {
      const options = { method, headers: { ...headers, ...more }, ...(text === undefined ? {} : { body: text }) };
      const response = await fetch(`${home}${segment}/${file}`, options);
      return [response.status, (await response.text()).includes('<D:need-privileges>')];
    };
    const calendarText = { 'content-type': 'text/calendar' };
    assert.deepEqual(await refused('PUT', 'new.ics', calendarText, eventText('new')), [403, true]);
    assert.deepEqual(await refused('PUT', `${entry}.ics`, calendarText, eventText('a')), [403, true]);
    assert.deepEqual(await refused('DELETE', `${entry}.ics`), [403, true]);
    assert.deepEqual(await refused('MOVE', `${entry}.ics`, { destination: `${home}default/x.ics` }), [403, true]);
    const get = await fetch(`${home}${segment}/${entry}.ics`, { headers });
    assert.equal(get.status, 200);
    assert.match(await get.text(), /SUMMARY:One/);
  }
  // Its name and colour are its owner's, and so is its end.
  assert.equal((await call(server, fred, 'PATCH', path, { displayname: 'Club' })).status, 200);
  assert.equal((await call(server, fred, 'DELETE', path)).status, 204);
  assertRefused(await call(server, fred, 'GET', `${path}/subscription`), 'calendar_not_found');
});

test('the address is for the owner alone: not for sharees, not in logs, not on disk in the clear', async () => {
  const { gina, hans } = people;
  const secret = 'private-0123456789abcdef';
  const url = feeds.serve(`/${secret}.ics?key=${secret}`, feedOf([vevent('a', 'One')]));
  const { id } = await follow(server, hans, url);
  await call(server, hans, 'PUT', `/v1/calendars/${id}/shares/gina`, { access: 'read' });
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['POST', '/refresh'],
  ] as const) {
    const body = method === 'PATCH' ? { refresh_seconds: 900 } : undefined;
    const reply = await call(server, gina, method, `/v1/calendars/${id}/subscription${path}`, body);
    assertRefused(reply, 'right_missing');
  }
  const listed = await call<{ items: CalendarView[] }>(server, gina, 'GET', '/v1/calendars');
  assert.equal(listed.body.items.find((one) => one.id === id)?.subscribed, true);
  assert.equal(listed.text.includes(secret), false);
  feeds.serve(`/${secret}.ics?key=${secret}`, (response) => response.writeHead(500).end());
  assert.equal((await refresh(server, hans, id)).outcome, 'server_error');
  assert.equal(server.output.join('\n').includes(secret), false);
  const paths = folderPaths(server.folder);
  for (const file of [paths.calendar, paths.accounts]) assert.equal(readFileSync(file).includes(secret), false, file);
  assertRefused(
    await call(server, hans, 'GET', `/v1/calendars/${(await defaultCalendar(server, hans)).id}/subscription`),
    'calendar_subscription_not_found',
  );
});

test('a failing feed keeps its last good copy, is asked for later and later, and is fresh once it is back', async () => {
  const { ines } = people;
  const good = feedOf([vevent('a', 'One')]);
  const { id } = await follow(server, ines, feeds.serve('/failing.ics', good), {});
  const before = await contents(server, ines, id);
  feeds.serve('/failing.ics', (response) => response.writeHead(503, { 'retry-after': '7200' }).end('sorry'));
  const first = await refresh(server, ines, id);
  assert.deepEqual([first.state, first.outcome, first.failures], ['failing', 'server_error', 1]);
  const wait = Date.parse(first.next_attempt_at ?? '') - Date.parse(first.attempted_at ?? '');
  assert.ok(wait >= 7_200_000 && wait <= 7_920_000, `as the server asked: ${wait}`);
  feeds.serve('/failing.ics', (response) => response.writeHead(404).end());
  const second = await refresh(server, ines, id);
  assert.deepEqual([second.outcome, second.failures], ['not_found', 2]);
  assert.deepEqual(await contents(server, ines, id), before);
  feeds.serve('/failing.ics', good);
  const back = await refresh(server, ines, id);
  assert.deepEqual([back.state, back.outcome, back.failures], ['fresh', 'unchanged', 0]);
  assert.deepEqual(await contents(server, ines, id), before);
});

test('another address is fetched at once, and what both feeds say stays as it is', async () => {
  const { jens } = people;
  const { id } = await follow(server, jens, feeds.serve('/old.ics', feedOf([vevent('a', 'One'), vevent('b', 'Two')])));
  const before = await contents(server, jens, id);
  const url = feeds.serve('/new.ics', feedOf([vevent('a', 'One'), vevent('c', 'Three')]));
  const changed = await call<SubscriptionView>(server, jens, 'PATCH', `/v1/calendars/${id}/subscription`, { url });
  assert.deepEqual([changed.status, changed.body.url, changed.body.refreshing], [200, url, true]);
  assert.equal((await settled(server, jens, id)).outcome, 'changed');
  const then = await contents(server, jens, id);
  assert.deepEqual(then.titles, ['One', 'Three']);
  assert.equal(then.entries['One'], before.entries['One']);
});
