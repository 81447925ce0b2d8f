/** What an entry has beside time and words, over JSON as over CalDAV: reminders, files, due times, all of an exception. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ENTRY_ATTACHMENTS_MAX,
  REMINDER_OFFSET_SECONDS_MAX,
  REMINDERS_MAX,
} from '#src/protocol/calendars/calendars.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import {
  allEntries,
  appPassword,
  assertRefused,
  call,
  defaultCalendar,
  makeCalendar,
  makeEntry,
  putObject,
} from './calling.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob', 'carol']);
const { id: calendar, name } = await makeCalendar(server, alice, { tz: 'Europe/Berlin', kinds: ['event', 'todo'] });
const ENTRIES = `/v1/calendars/${calendar}/entries`;
const TALK = { title: 'Talk; one', start_at: '2027-03-01T09:00:00Z', end_at: '2027-03-01T10:00:00Z' };
const headers = await appPassword(server, alice);

const create = async (form: object) => await call<EntryView>(server, alice, 'POST', ENTRIES, form);
const change = async (id: string, form: object) =>
  await call<EntryView>(server, alice, 'PATCH', `${ENTRIES}/${id}`, form);

async function textOf({ uid }: EntryView): Promise<string> {
  const response = await fetch(`${server.calendar}/dav/calendars/alice/${name}/${uid}.ics`, { headers });
  return (await response.text()).replaceAll('\r\n ', '');
}

test('CAL-02 reminders are set, read and taken away, by either door', async () => {
  const reminders = [
    { action: 'display', offset_seconds: -900, related: 'start' },
    { action: 'email', offset_seconds: 0, related: 'end' },
    { action: 'audio', at: '2027-03-01T06:00:00.000Z' },
  ];
  const entry = await makeEntry(server, alice, calendar, {
    ...TALK,
    reminders: [{ offset_seconds: -900 }, ...reminders.slice(1)],
  });
  assert.deepEqual(entry.reminders, reminders);
  const text = await textOf(entry);
  assert.match(text, /BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\nDESCRIPTION:Talk\\; one\r\nEND:VALARM/);
  assert.match(
    text,
    /ACTION:EMAIL\r\nTRIGGER;RELATED=END:PT0S\r\n.*SUMMARY:.*\r\nATTENDEE:urn:uuid:[\w-]+\r\nEND:VALARM/s,
  );
  assert.match(text, /ACTION:AUDIO\r\nTRIGGER;VALUE=DATE-TIME:20270301T060000Z\r\nEND:VALARM/);
  assert.deepEqual((await change(entry.id, { title: 'Other' })).body.reminders, reminders, 'what is not named stays');
  const one = await change(entry.id, { reminders: [{ offset_seconds: -60, related: 'end' }] });
  assert.deepEqual(one.body.reminders, [{ action: 'display', offset_seconds: -60, related: 'end' }]);
  const moved = await change(entry.id, { start_at: '2027-03-02T09:00:00Z', reminders: [{ offset_seconds: -120 }] });
  assert.deepEqual([moved.body.start_at, moved.body.reminders[0]?.offset_seconds], ['2027-03-02T09:00:00.000Z', -120]);
  const none = await change(entry.id, { reminders: [] });
  assert.deepEqual(none.body.reminders, []);
  assert.doesNotMatch(await textOf(entry), /VALARM/);
  const most = Array.from({ length: REMINDERS_MAX }, () => ({ offset_seconds: -REMINDER_OFFSET_SECONDS_MAX }));
  assert.equal((await change(entry.id, { reminders: most })).body.reminders.length, REMINDERS_MAX);
  const wrong = [
    [...most, most[0]],
    [{ offset_seconds: REMINDER_OFFSET_SECONDS_MAX + 1 }],
    [{}],
    [{ at: '2027-03-01T06:00:00Z', offset_seconds: 1 }],
    [{ at: '2027-03-01T06:00:00Z', related: 'end' }],
    [{ offset_seconds: 0.5 }],
    [{ offset_seconds: 1, action: 'procedure' }],
  ];
  for (const value of wrong) {
    const reply = await change(entry.id, { reminders: value });
    assert.deepEqual([reply.status, reply.body['code' as never]], [400, 'field_invalid'], JSON.stringify(value));
  }
  // What a client of CalDAV wrote that JSON has no words for is not told, and stays until reminders are set.
  const lines = ['BEGIN:VALARM', 'ACTION:PROCEDURE', 'TRIGGER:-PT1M', 'ATTACH:ftp://x', 'END:VALARM'];
  const bare = (await textOf(none.body)).replace(/BEGIN:VALARM.*END:VALARM\r\n/s, '');
  const put = await putObject(
    server,
    headers,
    `/dav/calendars/alice/${name}/${entry.uid}.ics`,
    bare.replace('END:VEVENT', `${lines.join('\r\n')}\r\nEND:VEVENT`),
  );
  assert.equal(put.status, 204);
  assert.deepEqual((await change(entry.id, { title: 'Third' })).body.reminders, []);
  assert.match(await textOf(entry), /ACTION:PROCEDURE/);
});

test('CAL-02 files elsewhere are attached by reference, and bytes in an entry stay', async () => {
  const attachments = [
    {
      url: 'https://files.example.org/a%20b.pdf?x=1;y=2',
      name: 'Agenda, "new".pdf'.replaceAll('"', ''),
      media_type: 'application/pdf',
    },
    { url: 'https://files.example.org/c' },
  ];
  const entry = await makeEntry(server, alice, calendar, { ...TALK, attachments });
  assert.deepEqual(entry.attachments, attachments);
  const path = `/dav/calendars/alice/${name}/${entry.uid}.ics`;
  const elsewhere = ['ATTACH:javascript:alert(1)', 'ATTACH:file:///etc/passwd'];
  const inline = ['ATTACH;ENCODING=BASE64;VALUE=BINARY:QUJD', ...elsewhere, 'END:VEVENT'].join('\r\n');
  assert.equal(
    (await putObject(server, headers, path, (await textOf(entry)).replace('END:VEVENT', inline))).status,
    204,
  );
  // What the form would refuse is shown to no client that might follow it, and what is read can be written back.
  assert.deepEqual((await change(entry.id, { title: 'Other' })).body.attachments, attachments);
  const none = await change(entry.id, { attachments: [] });
  assert.deepEqual(none.body.attachments, []);
  for (const line of elsewhere) assert.ok((await textOf(entry)).includes(`${line}\r\n`), line);
  assert.match(await textOf(entry), /ATTACH;ENCODING=BASE64;VALUE=BINARY:QUJD\r\n/);
  const many = Array.from({ length: ENTRY_ATTACHMENTS_MAX }, (_, at) => ({ url: `https://x.example/${at}` }));
  assert.equal((await change(entry.id, { attachments: many })).body.attachments.length, ENTRY_ATTACHMENTS_MAX);
  const wrong = [
    [...many, { url: 'https://x.example/more' }],
    [{ url: 'file:///etc/passwd' }],
    [{ url: 'javascript:alert(1)' }],
    [{ url: 'https://x.example/\r\nX-EVIL:1' }],
    [{ url: 'https://x.example/', name: 'a"b' }],
    [{ url: 'https://x.example/', media_type: 'pdf' }],
  ];
  for (const value of wrong) {
    const reply = await change(entry.id, { attachments: value });
    assert.deepEqual([reply.status, reply.body['code' as never]], [400, 'field_invalid'], JSON.stringify(value));
  }
});

test('CAL-02 CAL-05 what a stranger writes beside a file is shown as nothing that cannot be written back, and to nobody else', async () => {
  const entry = await makeEntry(server, alice, calendar, { ...TALK, visibility: 'confidential' });
  const path = `/dav/calendars/alice/${name}/${entry.uid}.ics`;
  const lines = [
    // A line break, a quotation mark and a mark that turns letters round: FILENAME as RFC 6868 writes them.
    'ATTACH;FILENAME="a^nBcc: eve^n.pdf";FMTTYPE=text/html:https://secret.test/1',
    'ATTACH;FILENAME="a^\'b.pdf";FMTTYPE="text/html; charset=x":https://secret.test/2',
    'ATTACH;FILENAME="annex\u202Efdp.exe":https://secret.test/3',
    `ATTACH;FILENAME="${'n'.repeat(201)}";FMTTYPE="x":https://secret.test/4`,
    `ATTACH:https://secret.test/${'u'.repeat(2_000)}`,
    ...Array.from({ length: ENTRY_ATTACHMENTS_MAX }, (_, at) => `ATTACH:https://secret.test/more/${at}`),
  ];
  const text = (await textOf(entry)).replace('END:VEVENT', [...lines, 'END:VEVENT'].join('\r\n'));
  assert.equal((await putObject(server, headers, path, text)).status, 204);
  const shown = (await call<EntryView>(server, alice, 'GET', `${ENTRIES}/${entry.id}`)).body.attachments;
  assert.deepEqual(
    shown.slice(0, 5),
    [
      { url: 'https://secret.test/1', media_type: 'text/html' },
      { url: 'https://secret.test/2' },
      { url: 'https://secret.test/3' },
      { url: 'https://secret.test/4' },
      { url: 'https://secret.test/more/0' },
    ],
    JSON.stringify(shown),
  );
  assert.equal(shown.length, ENTRY_ATTACHMENTS_MAX);
  const written = await change(entry.id, { attachments: shown });
  assert.equal(written.status, 200, JSON.stringify(written.body));
  assert.deepEqual(written.body.attachments, shown);
  // Of who has the calendar shared, and of who had it, nobody is led to a file of a confidential entry.
  const shares = `/v1/calendars/${calendar}/shares/bob`;
  for (const access of ['write', 'read', 'free_busy', undefined] as const) {
    const shared =
      access === undefined
        ? await call(server, alice, 'DELETE', shares)
        : await call(server, alice, 'PUT', shares, { access });
    assert.ok(shared.status < 300, shared.text);
    const asked = [
      ['GET', `${ENTRIES}/${entry.id}`],
      ['GET', `/v1/calendars/${calendar}/changes?limit=200`],
      ['GET', '/v1/entries?q=secret.test'],
      ['PATCH', `${ENTRIES}/${entry.id}`, { attachments: [{ url: 'https://eve.test/' }] }],
    ] as const;
    const { token } = bob.session;
    const file = await fetch(`${server.calendar}/v1/calendars/${calendar}/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.doesNotMatch(await file.text(), /secret\.test/, `${access} export`);
    for (const [method, url, form] of asked) {
      const reply = await call(server, bob, method, url, form);
      assert.doesNotMatch(reply.text, /secret\.test/, `${access} ${method} ${url}`);
      if (method === 'PATCH') assert.ok(reply.status >= 400, `${access} ${reply.text}`);
    }
  }
  assert.deepEqual((await call<EntryView>(server, alice, 'GET', `${ENTRIES}/${entry.id}`)).body.attachments, shown);
});

test('CAL-02 a task is due without a start: at an instant, at a wall time, on a day', async () => {
  const made = async (form: object) => (await create({ kind: 'todo', title: 'Do', ...form })).body;
  const shown = ({ all_day, due_at, due_date, end_at, local_due, start_at, tz }: EntryView) => [
    due_at,
    local_due ?? due_date,
    tz,
    all_day,
    start_at ?? end_at,
  ];
  const instant = await made({ due_at: '2027-03-01T09:00:00Z', reminders: [{ offset_seconds: -60 }] });
  assert.deepEqual(shown(instant), ['2027-03-01T09:00:00.000Z', '2027-03-01T09:00:00', 'UTC', false, undefined]);
  assert.match(await textOf(instant), /DUE:20270301T090000Z\r\n.*TRIGGER;RELATED=END:-PT1M\r\n/s);
  const wall = await made({ local_due: '2027-03-01T09:00:00' });
  assert.deepEqual(shown(wall), ['2027-03-01T08:00:00.000Z', '2027-03-01T09:00:00', 'Europe/Berlin', false, undefined]);
  const day = await made({ due_date: '2027-03-01' });
  assert.deepEqual(shown(day), ['2027-02-28T23:00:00.000Z', '2027-03-01', undefined, true, undefined]);
  assert.doesNotMatch(await textOf(day), /DTSTART|DURATION/);
  const later = await change(day.id, { local_due: '2027-03-02T09:00:00', tz: 'America/New_York' });
  assert.deepEqual(shown(later.body), [
    '2027-03-02T14:00:00.000Z',
    '2027-03-02T09:00:00',
    'America/New_York',
    false,
    undefined,
  ]);
  const begun = await change(day.id, { start_at: '2027-03-01T08:00:00Z', end_at: '2027-03-01T09:00:00Z' });
  assert.deepEqual([begun.body.start_at, begun.body.due_at], ['2027-03-01T08:00:00.000Z', undefined]);
  assertRefused(await create({ title: 'x', due_at: '2027-03-01T09:00:00Z' }), 'field_invalid', 'local_start');
  assertRefused(await create({ ...TALK, due_date: '2027-03-01' }), 'field_invalid', 'local_start');
  const both = { kind: 'todo', title: 'x', due_at: '2027-03-01T09:00:00Z', rule: { frequency: 'daily' } };
  assertRefused(await create(both), 'field_invalid', 'rule');
  assertRefused(await create({ kind: 'todo', title: 'x', due_date: '2027-02-30' }), 'field_invalid', 'due_date');
  const event = await makeEntry(server, alice, calendar, TALK);
  assertRefused(await change(event.id, { due_at: '2027-03-01T09:00:00Z' }), 'field_invalid', 'due_at');
});

test('CAL-03 all of an occurrence is read and changed by itself: words, people, reminders, files', async () => {
  const rule = { frequency: 'weekly', count: 4 } as const;
  const entry = await makeEntry(server, alice, calendar, { ...TALK, rule, description: 'All', attendees: ['bob'] });
  const own = {
    description: 'One',
    attendees: ['bob', 'carol'],
    categories: ['x'],
    reminders: [{ offset_seconds: -60 }],
    attachments: [{ url: 'https://x.example/1' }],
  };
  const reply = await change(entry.id, { scope: 'this', recurrence_id: '20270308T100000', ...own });
  assert.equal(reply.status, 200, reply.text);
  const read = async (id: string) =>
    await call<EntryView>(server, alice, 'GET', `${ENTRIES}/${entry.id}?recurrence_id=${id}`);
  const { body: one } = await read('20270308T100000');
  assert.deepEqual(
    [
      one.recurrence_id,
      one.start_at,
      one.description,
      one.categories,
      one.reminders.length,
      one.attachments.length,
      one.rule,
    ],
    ['20270308T100000', '2027-03-08T09:00:00.000Z', 'One', ['x'], 1, 1, undefined],
  );
  assert.deepEqual(
    one.attendees.map(({ user }) => user),
    ['alice', 'bob', 'carol'],
  );
  // One that nobody changed is as its series.
  const { body: other } = await read('20270315T100000');
  assert.deepEqual(
    [other.start_at, other.description, other.reminders, other.attendees.length],
    ['2027-03-15T09:00:00.000Z', 'All', [], 2],
  );
  for (const id of ['20270309T100000', '20280308T100000']) assertRefused(await read(id), 'entry_not_found');
  assertRefused(await read('tomorrow'), 'query_invalid', 'recurrence_id');
});

test('CAL-03 who is invited has reminders of their own, and changes nothing of the organiser’s', async () => {
  const entry = await makeEntry(server, alice, calendar, { ...TALK, attendees: ['bob'] });
  const { id } = await defaultCalendar(server, bob);
  const find = async (who: Person, of: string) =>
    (await allEntries(server, who, of)).find(({ uid }) => uid === entry.uid);
  const copy = await until(async () => await find(bob, id), 'the invitation');
  const path = `/v1/calendars/${id}/entries/${copy.id}`;
  const own = { reminders: [{ offset_seconds: -300 }], transparency: 'transparent' };
  const set = await call<EntryView>(server, bob, 'PATCH', path, own);
  assert.deepEqual([set.status, set.body.reminders.length], [200, 1], set.text);
  assertRefused(await call(server, bob, 'PATCH', path, { ...own, title: 'x' }), 'organizer_forbidden');
  assertRefused(await call(server, bob, 'PATCH', path, { categories: ['x'] }), 'organizer_forbidden');
  assertRefused(await call(server, bob, 'PATCH', path, {}), 'organizer_forbidden');
  // The next word of the organiser leaves them.
  await change(entry.id, { location: 'Pier' });
  const next = await until(
    async () => ((await find(bob, id))?.location === 'Pier' ? await find(bob, id) : false),
    'the place',
  );
  assert.deepEqual([next.reminders.length, next.transparency], [1, 'transparent']);
  assert.deepEqual((await find(alice, calendar))?.reminders, []);
});
