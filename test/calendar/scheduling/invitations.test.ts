/** Invitations between people of an installation: both doors, what each of them has in the end, and what they are told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import type { CalendarView, EntryView } from '#src/protocol/calendars/calendars.ts';
import { request, type Person } from '#test/support/server.ts';
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

const { server, alice, bob, carol } = await shareServer(['alice', 'bob', 'carol']);
const [ALICE, BOB] = ['alice', 'bob'].map(uuidAddress) as [string, string];
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };

async function entriesOf(who: Person): Promise<EntryView[]> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  return reply.body.items;
}

/** The entry of that UID in somebody's calendar, once it is as it should be. */
async function entryWhen(who: Person, uid: string, isRight: (entry: EntryView) => boolean): Promise<EntryView> {
  return await until(
    async () => (await entriesOf(who)).find((one) => one.uid === uid && isRight(one)) ?? false,
    `${uid} of ${who.username}`,
  );
}

const answerOf = (entry: EntryView, user: string) => entry.attendees.find((one) => one.user === user)?.answer;

async function invite(attendees: string[], form: object = {}): Promise<{ id: string; entry: EntryView }> {
  const { id } = await defaultCalendar(server, alice);
  return { id, entry: await makeEntry(server, alice, id, { ...TALK, ...form, attendees }) };
}

async function appPassword(who: Person): Promise<Record<string, string>> {
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, {
    body: { name: 'x' },
    token: who.session.token,
  });
  return basic(who.username, made.body['password'] as string);
}

async function dav(
  headers: Record<string, string>,
  method: string,
  path: string,
  more: Record<string, string> = {},
  body?: string,
) {
  const response = await fetch(`${server.calendar}${path}`, {
    method,
    headers: { ...headers, ...more },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('CAL-02 CAL-03 who is invited has it, answers in the own name, and the organiser sees it', async () => {
  const { id, entry } = await invite(['bob', 'carol']);
  const got = await entryWhen(bob, entry.uid, () => true);
  assert.deepEqual([got.title, got.organizer?.user, answerOf(got, 'bob')], ['Talk', 'alice', 'needs_action']);
  const list = await call<{ items: { calendar_id: string; entry: EntryView }[] }>(
    server,
    bob,
    'GET',
    '/v1/invitations',
  );
  const [waiting] = list.body.items.filter((one) => one.entry.uid === entry.uid);
  const path = `/v1/invitations/${waiting?.calendar_id}/${waiting?.entry.id}/answer`;
  assert.equal((await call(server, bob, 'PUT', path, { answer: 'accepted' })).status, 200);
  const told = await entryWhen(alice, entry.uid, (one) => answerOf(one, 'bob') === 'accepted');
  assert.equal(answerOf(told, 'carol'), 'needs_action');
  // Moved: to be answered anew.
  const moved = { scope: 'all', start_at: '2026-11-23T12:00:00Z', end_at: '2026-11-23T13:00:00Z' };
  const change = await call(server, alice, 'PATCH', `/v1/calendars/${id}/entries/${entry.id}`, moved);
  assert.equal(change.status, 200, change.text);
  const again = await entryWhen(bob, entry.uid, (one) => one.start_at === '2026-11-23T12:00:00.000Z');
  assert.equal(answerOf(again, 'bob'), 'needs_action');
  // Removed by its attendee: declined.
  const { id: bobs } = await defaultCalendar(server, bob);
  assert.equal((await call(server, bob, 'DELETE', `/v1/calendars/${bobs}/entries/${again.id}?scope=all`)).status, 204);
  await entryWhen(alice, entry.uid, (one) => answerOf(one, 'bob') === 'declined');
  // Taken back by its organiser: seen as cancelled, and nothing to answer.
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${entry.id}?scope=all`)).status, 204);
  await entryWhen(carol, entry.uid, ({ status }) => status === 'cancelled');
  const left = await call<{ items: { entry: EntryView }[] }>(server, carol, 'GET', '/v1/invitations');
  assert.deepEqual(
    left.body.items.filter((one) => one.entry.uid === entry.uid),
    [],
  );
  assert.equal(
    (await entriesOf(bob)).find((one) => one.uid === entry.uid),
    undefined,
  );
});

test('CAL-02 one occurrence of a series is answered by itself', async () => {
  const { entry } = await invite(['bob'], { rule: { frequency: 'weekly', count: 3 }, tz: 'Europe/Berlin' });
  const got = await entryWhen(bob, entry.uid, () => true);
  const { id } = await defaultCalendar(server, bob);
  const path = `/v1/calendars/${id}/entries/${got.id}?scope=this&recurrence_id=20261130T100000`;
  const reply = await call(server, bob, 'DELETE', path);
  assert.equal(reply.status, 204, reply.text);
  const headers = await appPassword(alice);
  const text = await until(async () => {
    const stored = await dav(headers, 'GET', `/dav/calendars/alice/default/${entry.uid}.ics`);
    return stored.text.includes('PARTSTAT=DECLINED') && stored.text.replace(/\r\n /g, '');
  }, 'the answer to one occurrence');
  assert.match(text, /RECURRENCE-ID;TZID=Europe\/Berlin:20261130T100000\r\n/);
  assert.equal(text.match(/PARTSTAT=DECLINED/g)?.length, 1);
});

test('CAL-02 programs: the server tells, says so in the object, and keeps the schedule tag for answers', async () => {
  const [hers, his] = [await appPassword(alice), await appPassword(bob)];
  const people = [`ORGANIZER:${ALICE}`, `ATTENDEE;PARTSTAT=ACCEPTED:${ALICE}`, `ATTENDEE:${BOB}`];
  const outside = 'ATTENDEE:mailto:eve@example.org';
  const path = '/dav/calendars/alice/default/dav.ics';
  const put = await putObject(server, hers, path, eventText('dav', [...people, outside]));
  assert.deepEqual([put.status, put.headers.get('etag')], [201, null]);
  const stored = await dav(hers, 'GET', path);
  assert.match(stored.text, new RegExp(`SCHEDULE-STATUS=1.2:${BOB}`));
  assert.match(stored.text, /SCHEDULE-STATUS=3.7:mailto:eve@example.org/);
  const { id } = await entryWhen(bob, 'dav', () => true);
  const copy = `/dav/calendars/bob/default/${id}.ics`;
  const before = await dav(his, 'GET', copy);
  assert.equal(before.status, 200);
  assert.ok(!before.text.includes('SCHEDULE-'));
  const mine = before.text.replace(/\r\n /g, '').replace('END:VEVENT', 'TRANSP:TRANSPARENT\r\nEND:VEVENT');
  const accepted = mine.replace(new RegExp(`ATTENDEE[^\\r]*:${BOB}`), `ATTENDEE;PARTSTAT=ACCEPTED:${BOB}`);
  const tag = before.headers.get('schedule-tag') as string;
  const answered = await dav(
    his,
    'PUT',
    copy,
    { 'content-type': 'text/calendar', 'if-schedule-tag-match': tag },
    accepted,
  );
  assert.deepEqual(
    [answered.status, answered.headers.get('schedule-tag'), answered.headers.get('etag')],
    [204, tag, null],
  );
  await entryWhen(alice, 'dav', (one) => answerOf(one, 'bob') === 'accepted');
  const after = await dav(hers, 'GET', path);
  assert.equal(after.headers.get('schedule-tag'), stored.headers.get('schedule-tag'));
  assert.notEqual(after.headers.get('etag'), stored.headers.get('etag'));
  // Only the words change: the answer and what is Bob's own stay, and his tag is another one.
  const renamed = after.text.replace('SUMMARY:Talk', 'SUMMARY:Another talk');
  const own = after.headers.get('schedule-tag') as string;
  const retold = await dav(
    hers,
    'PUT',
    path,
    { 'content-type': 'text/calendar', 'if-schedule-tag-match': own },
    renamed,
  );
  assert.equal(retold.status, 204);
  const heard = await entryWhen(bob, 'dav', ({ title }) => title === 'Another talk');
  assert.deepEqual([answerOf(heard, 'bob'), heard.transparency], ['accepted', 'transparent']);
  assert.notEqual((await dav(his, 'GET', copy)).headers.get('schedule-tag'), tag);
  assert.equal((await dav(his, 'DELETE', copy, { 'if-schedule-tag-match': tag })).status, 412);
  // Removed without a word.
  assert.equal((await dav(his, 'DELETE', copy, { 'schedule-reply': 'F' })).status, 204);
  const { entry } = await invite(['bob']);
  await entryWhen(bob, entry.uid, () => true);
  assert.equal(answerOf(await entryWhen(alice, 'dav', () => true), 'bob'), 'accepted');
});

test('CAL-04 a stale writing of the organiser keeps what was answered to one occurrence, in every copy', async () => {
  const [hers, his] = [await appPassword(alice), await appPassword(bob)];
  const people = [`ORGANIZER:${ALICE}`, `ATTENDEE;PARTSTAT=ACCEPTED:${ALICE}`, `ATTENDEE:${BOB}`];
  const series = [...people, `ATTENDEE:${uuidAddress('carol')}`, 'RRULE:FREQ=WEEKLY;COUNT=4'];
  const path = '/dav/calendars/alice/default/stale.ics';
  assert.equal((await putObject(server, hers, path, eventText('stale', series))).status, 201);
  // What her program knows from now on, until it asks again.
  const known = await dav(hers, 'GET', path);
  const tag = known.headers.get('schedule-tag') as string;
  const { id } = await entryWhen(bob, 'stale', () => true);
  await entryWhen(carol, 'stale', () => true);
  const copy = `/dav/calendars/bob/default/${id}.ics`;
  const unfolded = (text: string) => text.replaceAll(/\r\n[ \t]/g, '');
  const answered = (text: string, partstat: string) =>
    text.replace(new RegExp(`ATTENDEE[^\\r]*:${BOB}`), `ATTENDEE;PARTSTAT=${partstat}:${BOB}`);
  const mine = answered(unfolded((await dav(his, 'GET', copy)).text), 'ACCEPTED');
  const [event = ''] = /BEGIN:VEVENT[^]*END:VEVENT\r\n/.exec(mine) ?? [];
  const single = answered(event, 'DECLINED')
    .replace(/RRULE[^\r]*\r\n/, 'RECURRENCE-ID:20261130T090000Z\r\n')
    .replace(/DTSTART[^\r]*/, 'DTSTART:20261130T090000Z')
    .replace(/DTEND[^\r]*/, 'DTEND:20261130T100000Z');
  const both = mine.replace('END:VCALENDAR', `${single}END:VCALENDAR`);
  const type = { 'content-type': 'text/calendar' };
  assert.equal((await dav(his, 'PUT', copy, type, both)).status, 204);
  /** `RECURRENCE-ID or all: Bob's answer, title` of each component. */
  const states = (text: string) =>
    unfolded(text)
      .split('BEGIN:VEVENT')
      .slice(1)
      .map((part) => {
        const [, instance = 'all'] = /RECURRENCE-ID[^:]*:(\S+)/.exec(part) ?? [];
        const [line = ''] = new RegExp(`ATTENDEE[^\\r]*:${BOB}`).exec(part) ?? [];
        return `${instance}: ${/PARTSTAT=([A-Z-]+)/.exec(line)?.[1] ?? 'NEEDS-ACTION'}, ${/SUMMARY:(.*)/.exec(part)?.[1]?.trim()}`;
      });
  const statesWhen = async (who: Record<string, string>, at: string, wanted: readonly string[]) =>
    await until(
      async () => JSON.stringify(states((await dav(who, 'GET', at)).text)) === JSON.stringify(wanted),
      `${at} ${wanted.join('; ')}`,
    );
  await statesWhen(hers, path, ['all: ACCEPTED, Talk', '20261130T090000Z: DECLINED, Talk']);

  const write = async (text: string, match: string) =>
    await dav(hers, 'PUT', path, { ...type, 'if-schedule-tag-match': match }, text);
  const renamed = known.text.replace('SUMMARY:Talk', 'SUMMARY:Lecture');
  assert.equal((await write(renamed, tag)).status, 204);
  const merged = ['all: ACCEPTED, Lecture', '20261130T090000Z: DECLINED, Lecture'];
  assert.deepEqual(states((await dav(hers, 'GET', path)).text), merged);
  await statesWhen(his, copy, merged);
  const carols = `/dav/calendars/carol/default/${(await entryWhen(carol, 'stale', ({ title }) => title === 'Lecture')).id}.ics`;
  await statesWhen(await appPassword(carol), carols, merged);

  // What she takes out is out, and what takes place at another time is answered anew.
  const second = (await dav(hers, 'GET', path)).headers.get('schedule-tag') as string;
  const without = renamed.replace('RRULE', 'EXDATE:20261130T090000Z\r\nRRULE');
  assert.equal((await write(without, second)).status, 204);
  await statesWhen(his, copy, ['all: ACCEPTED, Lecture']);
  const third = (await dav(hers, 'GET', path)).headers.get('schedule-tag') as string;
  const moved = renamed.replaceAll('20261123T', '20261124T');
  assert.equal((await write(moved, third)).status, 204);
  await statesWhen(his, copy, ['all: NEEDS-ACTION, Lecture']);
  assert.deepEqual(states((await dav(hers, 'GET', path)).text), ['all: NEEDS-ACTION, Lecture']);
});

test('CAL-03 a UID that somebody knows opens nothing, and nobody answers for another', async () => {
  const his = await appPassword(bob);
  assert.equal((await putObject(server, his, '/dav/calendars/bob/default/own.ics', eventText('own'))).status, 201);
  const hers = await appPassword(alice);
  const people = [`ORGANIZER:${ALICE}`, `ATTENDEE:${ALICE}`, `ATTENDEE:${BOB}`];
  const path = '/dav/calendars/alice/default/own.ics';
  assert.equal((await putObject(server, hers, path, eventText('own', [...people, 'LOCATION:Mine']))).status, 201);
  await until(
    async () => (await dav(hers, 'GET', path)).text.includes('SCHEDULE-STATUS=5.1'),
    'the refusal to be noted',
  );
  const kept = (await entriesOf(bob)).find((one) => one.uid === 'own');
  assert.deepEqual([kept?.location, kept?.organizer], [undefined, undefined]);
  // Carol may write in Bob's calendar, and does not answer for him by it.
  const { entry } = await invite(['bob']);
  const got = await entryWhen(bob, entry.uid, () => true);
  const { id } = await defaultCalendar(server, bob);
  const shared = await call(server, bob, 'PUT', `/v1/calendars/${id}/shares/carol`, { access: 'write' });
  assert.equal(shared.status < 300, true, shared.text);
  assert.equal((await call(server, carol, 'DELETE', `/v1/calendars/${id}/entries/${got.id}?scope=all`)).status, 204);
  const second = await invite(['bob']);
  await entryWhen(bob, second.entry.uid, () => true);
  assert.equal(answerOf(await entryWhen(alice, entry.uid, () => true), 'bob'), 'needs_action');
  assertRefused(
    await call(server, carol, 'PUT', `/v1/invitations/${id}/${second.entry.id}/answer`, { answer: 'accepted' }),
    'invitation_not_found',
  );
});

test('an entry in two calendars of a person is not over when one of them lets go of it', async () => {
  const { id, entry } = await invite(['bob']);
  await entryWhen(bob, entry.uid, () => true);
  const other = await makeCalendar(server, alice);
  const hers = await appPassword(alice);
  const { text } = await dav(hers, 'GET', `/dav/calendars/alice/default/${entry.uid}.ics`);
  const { name } = other as unknown as { name: string };
  assert.equal((await putObject(server, hers, `/dav/calendars/alice/${name}/copy.ics`, text)).status, 201);
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${entry.id}?scope=all`)).status, 204);
  const next = await invite(['bob']);
  await entryWhen(bob, next.entry.uid, () => true);
  assert.notEqual((await entryWhen(bob, entry.uid, () => true)).status, 'cancelled');
});

test('CAL-04 a task comes to a list of tasks, which is made where there is none, or to the calendar that takes them', async () => {
  const { id } = await makeCalendar(server, alice, { kinds: ['todo'] });
  const carols = await defaultCalendar(server, carol);
  const patched = await call(server, carol, 'PATCH', `/v1/calendars/${carols.id}`, { kinds: ['event', 'todo'] });
  assert.deepEqual([patched.status, patched.body['kinds']], [200, ['event', 'todo']]);
  const form = { ...TALK, title: 'Write the minutes', kind: 'todo', attendees: ['bob', 'carol'] };
  const task = await makeEntry(server, alice, id, form);
  const listOf = async (who: Person) => {
    const { items } = (await call<{ items: CalendarView[] }>(server, who, 'GET', '/v1/calendars')).body;
    return items.find(({ kinds, owner }) => owner === who.username && kinds.includes('todo'));
  };
  const list = await until(async () => await listOf(bob), 'a list of tasks');
  assert.deepEqual([list.displayname, list.name, list.kinds, list.is_default], ['Tasks', 'tasks', ['todo'], false]);
  const entryIn = async (who: Person, calendar: string) =>
    await until(async () => {
      const got = await call<EntryView>(server, who, 'GET', `/v1/calendars/${calendar}/entries/${task.id}`);
      return got.status === 200 && got.body;
    }, `the task of ${who.username}`);
  assert.equal((await entryIn(bob, list.id)).kind, 'todo');
  assert.equal((await entryIn(carol, carols.id)).title, 'Write the minutes');
  const path = `/v1/invitations/${list.id}/${task.id}/answer`;
  assert.equal((await call(server, bob, 'PUT', path, { answer: 'accepted' })).status, 200);
  await until(async () => answerOf(await entryIn(alice, id), 'bob') === 'accepted', 'the answer');
  const { text } = await dav(
    await appPassword(alice),
    'GET',
    `/dav/calendars/alice/${(await listOf(alice))?.name}/${task.uid}.ics`,
  );
  assert.doesNotMatch(text.replaceAll(/\r\n /g, ''), /SCHEDULE-STATUS=5/);
  // A second one comes to the same list, and a kind of which there is something stays.
  const next = await makeEntry(server, alice, id, { ...form, title: 'Read them' });
  await until(
    async () => (await call(server, bob, 'GET', `/v1/calendars/${list.id}/entries/${next.id}`)).status === 200,
    'it',
  );
  assertRefused(
    await call(server, carol, 'PATCH', `/v1/calendars/${carols.id}`, { kinds: ['event'] }),
    'entry_kind_refused',
  );
  const empty = await makeCalendar(server, carol, { kinds: ['event', 'todo'] });
  assert.equal((await call(server, carol, 'PATCH', `/v1/calendars/${empty.id}`, { kinds: ['todo'] })).status, 200);
  assertRefused(
    await call(server, carol, 'PATCH', `/v1/calendars/${empty.id}`, { kinds: [] }),
    'field_invalid',
    'kinds',
  );
});

test('CAL-03 who is invited changes their answer and what is their own, and not the time, the title or the place', async () => {
  const rule = { frequency: 'weekly', count: 4 } as const;
  const { entry } = await invite(['bob'], { rule, location: 'Pier' });
  const copy = await entryWhen(bob, entry.uid, () => true);
  const home = '/dav/calendars/bob/default/';
  const headers = { ...(await appPassword(bob)), 'content-type': 'text/calendar' };
  const hrefs = (await dav(headers, 'PROPFIND', home, { depth: '1' })).text.match(/<D:href>[^<]+\.ics/g) ?? [];
  const texts = hrefs.map((href) => href.slice('<D:href>'.length));
  let path = '';
  for (const href of texts) if ((await dav(headers, 'GET', href)).text.includes(entry.uid)) path = href;
  const { text } = await dav(headers, 'GET', path);
  const changed = (...edits: [RegExp | string, string][]) =>
    edits.reduce((body, [from, to]) => body.replace(from, to), text);
  const second = (lines: string) =>
    changed([
      'END:VEVENT\r\n',
      `END:VEVENT\r\nBEGIN:VEVENT\r\nUID:${entry.uid}\r\nRECURRENCE-ID:20261130T090000Z\r\n${lines}` +
        `ORGANIZER:${ALICE}\r\nATTENDEE;PARTSTAT=DECLINED:${BOB}\r\nEND:VEVENT\r\n`,
    ]);
  const times = (hour: string) => `DTSTART:20261130T${hour}0000Z\r\nDTEND:20261130T${Number(hour) + 1}0000Z\r\n`;
  const refused = [
    changed([/DTSTART(.*)T090000/, 'DTSTART$1T100000']),
    changed([/DURATION:PT1H|DURATION:PT3600S/, 'DURATION:PT2H']),
    changed(['SUMMARY:Talk', 'SUMMARY:Mine']),
    changed(['LOCATION:Pier', 'LOCATION:Home']),
    changed([/RRULE:.*/, 'RRULE:FREQ=DAILY;COUNT=4']),
    second(`${times('11')}SUMMARY:Talk\r\nLOCATION:Pier\r\n`),
    second(`${times('09')}SUMMARY:Other\r\nLOCATION:Pier\r\n`),
  ];
  for (const body of refused) {
    assert.notEqual(body, text);
    const reply = await dav(headers, 'PUT', path, {}, body);
    assert.equal(reply.status, 403, body);
    assert.match(reply.text, /<C:allowed-attendee-scheduling-object-change\/>/);
  }
  assert.equal((await dav(headers, 'GET', path)).text, text, 'nothing is lost by it');
  // A file is no way around it.
  const form = {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${bob.session.token}` },
    body: refused[2] as string,
  };
  const file = await fetch(`${server.calendar}/v1/calendars/${copy.calendar_id}/import`, form);
  const report = (await file.json()) as { failed: number; faults: { code: string }[] };
  assert.deepEqual([report.failed, report.faults[0]?.code], [1, 'invitation_change_forbidden']);

  const own =
    'TRANSP:TRANSPARENT\r\nX-OWN:1\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nDESCRIPTION:x\r\nEND:VALARM\r\n';
  const taken = second(`${times('09')}SUMMARY:Talk\r\nLOCATION:Pier\r\n`)
    .replace('END:VEVENT\r\n', `${own}END:VEVENT\r\n`)
    .replace(/TRANSP:OPAQUE\r\n/, '')
    .replace(/RRULE.*\r\n/, (line) => `${line}EXDATE:20261207T090000Z\r\n`);
  const reply = await dav(headers, 'PUT', path, {}, taken);
  assert.equal(reply.status, 204, reply.text);
  const organizers = await entryWhen(alice, entry.uid, ({ changed: ids }) => ids.length === 2);
  assert.deepEqual(organizers.changed, ['20261130T090000Z', '20261207T090000Z']);
});
