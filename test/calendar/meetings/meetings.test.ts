/** Entries with meetings of the coordinator: made for them, following them, ending with them, and bound by nobody's word (MTG-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { MEETINGS_PER_HOST_MAX, type MeetingView } from '#src/protocol/meetings/meetings.ts';
import { request, type Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, basic, call, defaultCalendar, makeCalendar, makeEntry, putObject } from '../service/calling.ts';

const { server, alice, bob, carol, dora, erik } = await shareServer(['alice', 'bob', 'carol', 'dora', 'erik'], {
  shards: 2,
});
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

async function ask<T = MeetingView>(who: Person, method: string, path: string, body?: unknown) {
  return await request<T>(method, `${server.coordinator}/v1/meetings${path}`, { body, token: who.session.token });
}

async function read(who: Person, id: string): Promise<MeetingView> {
  const reply = await ask(who, 'GET', `/${id}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

async function reaches(who: Person, id: string, is: (meeting: MeetingView) => boolean, what: string) {
  return await until(async () => {
    const meeting = await read(who, id);
    return is(meeting) && meeting;
  }, what);
}

const join = async (who: Person, url: string) => await request('POST', url, { token: who.session.token });

async function change(who: Person, { calendar_id: calendar, id }: EntryView, form: object): Promise<EntryView> {
  const reply = await call<EntryView>(server, who, 'PATCH', `/v1/calendars/${calendar}/entries/${id}`, form);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

async function textOf(who: Person, { calendar_id: calendar }: EntryView): Promise<string> {
  const response = await fetch(`${server.calendar}/v1/calendars/${calendar}/export`, {
    headers: { authorization: `Bearer ${who.session.token}` },
  });
  return (await response.text()).replaceAll(/\r\n[ \t]/g, '');
}

async function appPassword(who: Person): Promise<Record<string, string>> {
  const { token } = who.session;
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, { token, body: { name: 'Laptop' } });
  return basic(who.username, String(made.body['password']));
}

test('MTG-01 an entry has a meeting of its organiser: its times, its link, and people of the installation walk in', async () => {
  const { id: calendar } = await makeCalendar(server, alice);
  const entry = await makeEntry(server, alice, calendar, { ...TALK, meeting: true, attendees: ['bob'] });
  const { id = '', url = '' } = entry.meeting ?? {};
  const { host, ends_at: ends, lobby, participants, starts_at: starts, state, title } = await read(alice, id);
  assert.deepEqual(
    { host, ends, lobby, participants, starts, state, title },
    {
      ...{ host: 'alice', lobby: 'people', participants: ['alice'], state: 'open', title: 'Talk' },
      ...{ starts: '2026-11-23T09:00:00.000Z', ends: '2026-11-23T10:00:00.000Z' },
    },
  );
  const text = await textOf(alice, entry);
  assert.ok(text.includes(`CONFERENCE;VALUE=URI;FEATURE=AUDIO,VIDEO:${url}\r\n`), text);
  assert.ok(text.includes(`\r\nURL:${url}\r\n`), text);
  // Whoever follows the link in their calendar program gets a page.
  const page = await fetch(url, { headers: { accept: 'text/html' } });
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  // The invitation brings it along, and the meeting's own rules let its readers in.
  const copy = await until(async () => {
    const { body } = await call<{ items: { entry: EntryView }[] }>(server, bob, 'GET', '/v1/invitations');
    return body.items.find((one) => one.entry.uid === entry.uid)?.entry;
  }, 'the invitation');
  assert.deepEqual(copy.meeting, entry.meeting);
  const joined = await join(bob, url);
  assert.deepEqual([joined.status, joined.body['status']], [200, 'admitted']);
  assert.deepEqual((await read(alice, id)).participants, ['alice', 'bob']);
  // An attendee's copy ends nothing.
  await call(server, bob, 'DELETE', `/v1/calendars/${copy.calendar_id}/entries/${copy.id}`);
  await until(async () => {
    const { body } = await call<EntryView>(server, alice, 'GET', `/v1/calendars/${calendar}/entries/${entry.id}`);
    return body.attendees.find(({ user }) => user === 'bob')?.answer === 'declined';
  }, 'the answer that came of it');
  // Whoever hosts it by now, the meeting goes on following its entry.
  assert.equal((await ask(alice, 'POST', `/${id}/host`, { user: 'bob' })).body.host, 'bob');
  const later = await change(alice, entry, { start_at: '2026-11-24T09:00:00Z', title: 'Later' });
  assert.deepEqual(later.meeting, entry.meeting);
  const moved = await reaches(alice, id, (one) => one.title === 'Later', 'the other time');
  assert.deepEqual(
    [moved.starts_at, moved.ends_at, moved.state],
    ['2026-11-24T09:00:00.000Z', '2026-11-24T10:00:00.000Z', 'open'],
  );
  await call(server, alice, 'DELETE', `/v1/calendars/${calendar}/entries/${entry.id}`);
  await reaches(alice, id, (one) => one.state === 'cancelled', 'the end of the meeting');
  assertRefused(await join(carol, url), 'meeting_over');
});

test('a series has one meeting, which goes on as long as either part of it after a split', async () => {
  const { id: calendar } = await makeCalendar(server, alice);
  const rule = { frequency: 'daily' } as const;
  const series = await makeEntry(server, alice, calendar, { ...TALK, rule, meeting: { lobby: 'everyone_waits' } });
  const id = series.meeting?.id ?? '';
  const { ends_at: ends, lobby, starts_at: starts } = await read(alice, id);
  assert.deepEqual([starts, ends, lobby], ['2026-11-23T09:00:00.000Z', undefined, 'everyone_waits']);
  const waiting = await join(bob, series.meeting?.url ?? '');
  assert.deepEqual([waiting.status, waiting.body['status']], [200, 'waiting']);
  const recurrence = `recurrence_id=${encodeURIComponent('20261125T090000Z')}`;
  await call(server, alice, 'DELETE', `/v1/calendars/${calendar}/entries/${series.id}?scope=this&${recurrence}`);
  const split = await change(alice, series, {
    ...{ scope: 'this_and_following', recurrence_id: '20261130T090000Z', title: 'Second half' },
  });
  assert.notEqual(split.id, series.id);
  assert.equal(split.meeting?.id, id);
  const first = await reaches(alice, id, (one) => one.ends_at !== undefined, 'the end of the first half');
  // No occurrence ends later than that: the rule ends a second before the one that was split off begins.
  assert.equal(first.ends_at, '2026-11-30T09:59:59.000Z');
  await call(server, alice, 'DELETE', `/v1/calendars/${calendar}/entries/${series.id}`);
  const half = await reaches(alice, id, (one) => one.title === 'Second half', 'the second half');
  assert.deepEqual([half.state, half.ends_at], ['open', undefined]);
  await call(server, alice, 'DELETE', `/v1/calendars/${calendar}`);
  await reaches(alice, id, (one) => one.state === 'cancelled', 'the end with the calendar');
});

test('a CONFERENCE that a client writes is data: it binds no meeting, and taking it away ends none', async () => {
  const own = await defaultCalendar(server, carol);
  const entry = await makeEntry(server, carol, own.id, { ...TALK, meeting: true });
  const { id = '', url = '' } = entry.meeting ?? {};
  // Somebody copies the link into an entry of their own, at another time, and deletes that again.
  const bobs = await defaultCalendar(server, bob);
  const headers = await appPassword(bob);
  const copied = (await textOf(carol, entry))
    .replace(/UID:[^\r]*/, 'UID:copied')
    .replace(/DTSTART[^\r]*/, 'DTSTART:20270101T090000Z');
  const path = `/dav/calendars/bob/${bobs.name}/copied.ics`;
  assert.equal((await putObject(server, headers, path, copied)).status, 201);
  const { body } = await call<{ items: EntryView[] }>(server, bob, 'GET', `/v1/calendars/${bobs.id}/changes`);
  const copy = body.items.find(({ uid }) => uid === 'copied') as EntryView;
  assert.deepEqual(copy.meeting, { id, url });
  await call(server, bob, 'PATCH', `/v1/calendars/${bobs.id}/entries/${copy.id}`, { title: 'Mine now' });
  const ended = await call(server, bob, 'PATCH', `/v1/calendars/${bobs.id}/entries/${copy.id}`, { meeting: false });
  assert.deepEqual([ended.status, ended.body['meeting']], [200, undefined]);
  assert.equal((await call(server, bob, 'DELETE', `/v1/calendars/${bobs.id}/entries/${copy.id}`)).status, 204);
  // Another entry of theirs asks for a meeting and gets one of their own, whatever its CONFERENCE said.
  assert.equal((await putObject(server, headers, path, copied)).status, 201);
  const other = await change(bob, copy, { meeting: true });
  assert.notEqual(other.meeting?.id, id);
  assert.equal((await read(bob, other.meeting?.id ?? '')).host, 'bob');
  // Whose it is writes it by a client that drops what it does not know: the entry loses the link, not its meeting.
  const mine = await appPassword(carol);
  const bare = (await textOf(carol, entry))
    .replaceAll(/(?:CONFERENCE|URL)[^\r]*\r\n/g, '')
    .replace('SUMMARY:Talk', 'SUMMARY:Bare');
  assert.equal((await putObject(server, mine, `/dav/calendars/carol/${own.name}/${entry.uid}.ics`, bare)).status, 204);
  const meeting = await reaches(carol, id, (one) => one.title === 'Bare', 'the title of the entry');
  assert.deepEqual([meeting.state, meeting.starts_at], ['open', '2026-11-23T09:00:00.000Z']);
  const read2 = await call<EntryView>(server, carol, 'GET', `/v1/calendars/${own.id}/entries/${entry.id}`);
  assert.equal(read2.body.meeting, undefined);
  const back = await change(carol, entry, { meeting: true });
  assert.deepEqual(back.meeting, { id, url }, 'the one that it has');
  // A link of ours under somebody else's host is shown under our own.
  const evil = bare.replace(
    'SUMMARY:Bare',
    `CONFERENCE;VALUE=URI:${url.replace(server.coordinator, 'https://evil.example')}\r\nSUMMARY:Bare`,
  );
  assert.equal((await putObject(server, mine, `/dav/calendars/carol/${own.name}/${entry.uid}.ics`, evil)).status, 204);
  const shown = await call<EntryView>(server, carol, 'GET', `/v1/calendars/${own.id}/entries/${entry.id}`);
  assert.deepEqual(shown.body.meeting, { id, url });
});

test('a meeting ends by a word, by cancelling the entry, and goes along when the entry moves to another calendar', async () => {
  const own = await defaultCalendar(server, dora);
  const other = await makeCalendar(server, dora);
  const one = await makeEntry(server, dora, own.id, { ...TALK, meeting: true });
  const two = await makeEntry(server, dora, own.id, { ...TALK, meeting: true });
  const three = await makeEntry(server, dora, own.id, TALK);
  const without = await change(dora, one, { meeting: false });
  assert.equal(without.meeting, undefined);
  assert.doesNotMatch((await textOf(dora, one)).split(one.uid)[1]?.split('END:VEVENT')[0] ?? '', /CONFERENCE|URL:/);
  await reaches(dora, one.meeting?.id ?? '', ({ state }) => state === 'cancelled', 'the end');
  const headers = await appPassword(dora);
  const home = `${server.calendar}/dav/calendars/dora`;
  const moved = await fetch(`${home}/${own.name}/${two.uid}.ics`, {
    method: 'MOVE',
    headers: { ...headers, destination: `${home}/${other.name}/${two.uid}.ics` },
  });
  assert.equal(moved.status, 201, await moved.text());
  const there = { ...two, calendar_id: other.id };
  await change(dora, there, { title: 'Moved' });
  const id = two.meeting?.id ?? '';
  await reaches(dora, id, ({ title }) => title === 'Moved', 'the title');
  await change(dora, there, { status: 'cancelled' });
  await reaches(dora, id, ({ state }) => state === 'cancelled', 'the end by cancellation');
  assert.ok((await change(dora, three, { meeting: true })).meeting !== undefined, 'an entry gets one later, too');
});

test('what cannot have a meeting is refused by its code, and nothing is left over', async () => {
  const { id: calendar } = await makeCalendar(server, erik, { kinds: ['event', 'todo'] });
  const path = `/v1/calendars/${calendar}/entries`;
  const refused = async (form: object, code: 'field_invalid', field: string) =>
    assertRefused(await call(server, erik, 'POST', path, form), code, field);
  await refused({ ...TALK, kind: 'todo', end_at: undefined, meeting: true }, 'field_invalid', 'meeting');
  await refused({ ...TALK, status: 'cancelled', meeting: true }, 'field_invalid', 'meeting');
  await refused({ ...TALK, meeting: false }, 'field_invalid', 'meeting');
  await refused({ ...TALK, meeting: { host: 'alice' } }, 'field_invalid', 'meeting');
  const entry = await makeEntry(server, erik, calendar, { ...TALK, rule: { frequency: 'daily' } });
  const scoped = { scope: 'this', recurrence_id: '20261124T090000', meeting: true };
  assertRefused(await call(server, erik, 'PATCH', `${path}/${entry.id}`, scoped), 'field_invalid', 'meeting');
  const stale = { meeting: true, etag: 'other' };
  assertRefused(await call(server, erik, 'PATCH', `${path}/${entry.id}`, stale), 'entry_changed');
  const full = await makeCalendar(server, erik, { kinds: ['todo'] });
  assertRefused(
    await call(server, erik, 'POST', `/v1/calendars/${full.id}/entries`, { ...TALK, meeting: true }),
    'entry_kind_refused',
  );
  const open = (await ask<{ items: MeetingView[] }>(erik, 'GET', '')).body.items.filter(
    ({ state }) => state === 'open',
  );
  assert.deepEqual(open, []);
  // As many as one may host, and one more.
  for (let made = 0; made < MEETINGS_PER_HOST_MAX; made += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, () => ask(erik, 'POST', '', { title: 'x' })));
    assert.ok(replies.every(({ status }) => status === 201));
  }
  const before = (await call<{ sync_seq: number }>(server, erik, 'GET', `/v1/calendars/${calendar}`)).body.sync_seq;
  assertRefused(await call(server, erik, 'POST', path, { ...TALK, meeting: true }), 'meetings_full');
  assertRefused(await call(server, erik, 'PATCH', `${path}/${entry.id}`, { meeting: true }), 'meetings_full');
  const now = await call<{ sync_seq: number }>(server, erik, 'GET', `/v1/calendars/${calendar}`);
  assert.equal(now.body.sync_seq, before);
});

test('a published feed shows no link of a meeting', async () => {
  const { id: calendar } = await makeCalendar(server, alice);
  const entry = await makeEntry(server, alice, calendar, { ...TALK, meeting: true });
  const feed = await call<{ path: string }>(server, alice, 'POST', `/v1/calendars/${calendar}/feeds`, {});
  const text = await (await fetch(`${server.calendar}${feed.body.path}`)).text();
  assert.match(text, /SUMMARY:Talk/);
  assert.equal(text.replaceAll(/\r\n[ \t]/g, '').includes(String(entry.meeting?.id)), false);
});
