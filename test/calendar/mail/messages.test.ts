/** What messages from outside make of a calendar: in their order, once, and of single occurrences too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, defaultCalendar, makeEntry } from '../service/calling.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import {
  attendee,
  calendarMail,
  entryOf,
  EVE,
  exported,
  invitation,
  message,
  organizer,
  outcomeOf,
  shareMailServer,
} from './mailing.ts';

const { server, bob, carol } = await shareMailServer();

let last = 0;
const newUid = () => `message-${(last += 1)}@outside.test`;
const send = async (method: string, uid: string, ...components: (readonly string[])[]) =>
  await outcomeOf(server, calendarMail(message(method, uid, ...components)));
const bobs = async (uid: string) => {
  const entry = await entryOf(server, bob, uid);
  return entry?.attendees.find(({ user }) => user === 'bob')?.answer;
};

/** The stored components of a UID: `recurrence id|summary|status|bob's answer`. */
async function stored(uid: string): Promise<string[]> {
  const events = (await exported(server, bob)).split('BEGIN:VEVENT').slice(1);
  return events
    .filter((text) => text.includes(`UID:${uid}\r\n`))
    .map((text) => {
      const value = (name: string) => new RegExp(`^${name}[;:](.*)$`, 'm').exec(text)?.[1]?.trim() ?? '-';
      const said = /^ATTENDEE.*PARTSTAT=([A-Z-]+).*bob@example\.org/m.exec(text)?.[1];
      return [value('RECURRENCE-ID'), value('SUMMARY'), value('STATUS'), said].join('|');
    })
    .toSorted();
}

async function answer(uid: string, said: string, recurrenceId?: string): Promise<void> {
  const { id } = await defaultCalendar(server, bob);
  const entry = await entryOf(server, bob, uid);
  const body = { answer: said, ...(recurrenceId === undefined ? {} : { recurrence_id: recurrenceId }) };
  const reply = await call(server, bob, 'PUT', `/v1/invitations/${id}/${entry?.id}/answer`, body);
  assert.equal(reply.status, 200, reply.text);
}

test('CAL-02 an invitation from outside waits for an answer, and its reader is told', async (t) => {
  const socket = await connect(server, bob);
  t.after(() => socket.close());
  const uid = newUid();
  const { id } = await defaultCalendar(server, bob);
  assert.equal(await send('REQUEST', uid, invitation()), 'applied');
  const event = await socket.event('calendar.changed');
  assert.equal(event.data['calendar_id'], id);
  const waiting = await call<{ items: { entry: { uid: string; title: string } }[] }>(
    server,
    bob,
    'GET',
    '/v1/invitations',
  );
  assert.deepEqual(
    waiting.body.items.filter(({ entry }) => entry.uid === uid).map(({ entry }) => entry.title),
    ['Tea'],
  );
  await answer(uid, 'accepted');
  assert.equal(await bobs(uid), 'accepted');
});

test('messages count in the order in which they were written, and once', async () => {
  const uid = newUid();
  const first = invitation({ sequence: 1, minute: 1 });
  const words = (line: string) => (line.startsWith('SUMMARY') ? 'SUMMARY:Coffee' : line);
  assert.equal(await send('REQUEST', uid, first), 'applied');
  const etag = async () => (await entryOf(server, bob, uid))?.etag;
  const before = await etag();
  assert.equal(await send('REQUEST', uid, first), 'unchanged');
  assert.equal(await etag(), before);
  assert.equal(await send('REQUEST', uid, invitation({ sequence: 0, minute: 9 }).map(words)), 'stale');
  assert.equal(await send('REQUEST', uid, invitation({ sequence: 1, minute: 0 }).map(words)), 'stale');
  assert.equal(await send('CANCEL', uid, invitation({ sequence: 0, minute: 9 })), 'stale');
  assert.equal(await etag(), before);
  await answer(uid, 'accepted');
  // New words leave the answer, a new time asks anew.
  assert.equal(await send('REQUEST', uid, invitation({ sequence: 1, minute: 2 }).map(words)), 'applied');
  assert.deepEqual(await stored(uid), ['-|Coffee|-|ACCEPTED']);
  const moved = invitation({ sequence: 2, minute: 3 }).map((line) => line.replace('T100000Z', 'T110000Z'));
  assert.equal(await send('REQUEST', uid, moved), 'applied');
  assert.equal(await bobs(uid), 'needs_action');
  const cancel = invitation({ sequence: 3, minute: 4 });
  assert.equal(await send('CANCEL', uid, cancel), 'applied');
  assert.deepEqual(await stored(uid), ['-|Tea|CANCELLED|NEEDS-ACTION']);
  assert.equal(await send('CANCEL', uid, cancel), 'unchanged');
  // What was on its way before it was taken back stays taken back.
  assert.equal(await send('REQUEST', uid, invitation({ sequence: 3, minute: 3 })), 'stale');
  assert.equal(await send('REQUEST', uid, invitation({ sequence: 4, minute: 5 })), 'applied');
  assert.deepEqual(await stored(uid), ['-|Tea|-|NEEDS-ACTION']);
});

test('what its reader removed does not come back by the same mail, and does by a newer one', async () => {
  const uid = newUid();
  const { id } = await defaultCalendar(server, bob);
  await send('REQUEST', uid, invitation({ minute: 1 }));
  const entry = await entryOf(server, bob, uid);
  assert.equal((await call(server, bob, 'DELETE', `/v1/calendars/${id}/entries/${entry?.id}`)).status, 204);
  assert.equal(await send('REQUEST', uid, invitation({ minute: 1 })), 'unchanged');
  assert.equal(await send('REQUEST', uid, invitation({ minute: 0 })), 'stale');
  assert.equal(await send('CANCEL', uid, invitation({ sequence: 1 })), 'event_unknown');
  assert.equal(await entryOf(server, bob, uid), undefined);
  assert.equal(await send('REQUEST', uid, invitation({ minute: 2 })), 'applied');
  assert.equal(await bobs(uid), 'needs_action');
});

test('a cancellation or an answer to nothing makes nothing', async () => {
  const uid = newUid();
  assert.equal(await send('CANCEL', uid, invitation()), 'event_unknown');
  assert.equal(
    await send('REPLY', uid, ['DTSTAMP:20261121T080000Z', 'DTSTART:20270123T090000Z', attendee(EVE)]),
    'event_unknown',
  );
  assert.equal(await entryOf(server, bob, uid), undefined);
});

const START = 'DTSTART;TZID=Europe/Berlin:20270104T090000';
const PEOPLE = [organizer(), attendee('bob@example.org')];
const series = (minute: number, more: readonly string[] = []) => [
  ...[`DTSTAMP:20261121T08${String(minute).padStart(2, '0')}00Z`, START, 'DTEND;TZID=Europe/Berlin:20270104T100000'],
  ...['RRULE:FREQ=WEEKLY;COUNT=5', 'SUMMARY:Series', 'SEQUENCE:1', ...PEOPLE, ...more],
];

/** Ways to name the second occurrence: in its zone, in UTC, in another zone, without a zone, as a day. */
const NAMES: Readonly<Record<string, string>> = {
  'its zone': 'RECURRENCE-ID;TZID=Europe/Berlin:20270111T090000',
  UTC: 'RECURRENCE-ID:20270111T080000Z',
  'another zone': 'RECURRENCE-ID;TZID=America/New_York:20270111T030000',
  'a Windows zone': 'RECURRENCE-ID;TZID="W. Europe Standard Time":20270111T090000',
  'no zone': 'RECURRENCE-ID:20270111T090000',
};

for (const [zone, id] of Object.entries(NAMES)) {
  const single = (minute: number, words: string, hour = '09') => [
    ...[`DTSTAMP:20261121T08${String(minute).padStart(2, '0')}00Z`, id, `SUMMARY:${words}`, 'SEQUENCE:1', ...PEOPLE],
    ...[`DTSTART;TZID=Europe/Berlin:20270111T${hour}0000`, `DTEND;TZID=Europe/Berlin:20270111T${hour}3000`],
  ];
  const OWN = 'TZID=Europe/Berlin:20270111T090000';

  test(`one occurrence of a series is changed and taken back by itself: named in ${zone}`, async () => {
    const uid = newUid();
    assert.equal(await send('REQUEST', uid, series(0)), 'applied');
    await answer(uid, 'accepted');
    assert.equal(await send('REQUEST', uid, single(1, 'Other', '11')), 'applied');
    assert.deepEqual(await stored(uid), ['-|Series|-|ACCEPTED', `${OWN}|Other|-|NEEDS-ACTION`]);
    assert.equal(await send('REQUEST', uid, single(1, 'Other', '11')), 'unchanged');
    assert.equal(await send('REQUEST', uid, single(0, 'Old', '12')), 'stale');
    // New words of the series leave its exception.
    assert.equal(await send('REQUEST', uid, series(2, ['LOCATION:There'])), 'applied');
    assert.deepEqual(await stored(uid), ['-|Series|-|ACCEPTED', `${OWN}|Other|-|NEEDS-ACTION`]);
    assert.equal(await send('CANCEL', uid, single(3, 'Other')), 'applied');
    assert.deepEqual(await stored(uid), ['-|Series|-|ACCEPTED', `${OWN}|Other|CANCELLED|NEEDS-ACTION`]);
    assert.equal(await send('CANCEL', uid, single(3, 'Other')), 'unchanged');
  });

  test(`an occurrence that the series alone has is left out, and may come back: named in ${zone}`, async () => {
    const uid = newUid();
    await send('REQUEST', uid, series(0));
    assert.equal(await send('CANCEL', uid, single(1, 'Series')), 'applied');
    const text = await exported(server, bob);
    assert.match(text.slice(text.indexOf(`UID:${uid}`)), /^EXDATE/m);
    assert.equal(await send('CANCEL', uid, single(1, 'Series')), 'unchanged');
    assert.equal(await send('REQUEST', uid, single(2, 'Back', '10')), 'applied');
    assert.deepEqual(await stored(uid), ['-|Series|-|NEEDS-ACTION', `${OWN}|Back|-|NEEDS-ACTION`]);
    const back = await exported(server, bob);
    assert.doesNotMatch(back.slice(back.indexOf(`UID:${uid}`)), /^EXDATE/m);
    // Whose word a left-out date is stands in the series alone.
    const occurrence = back
      .split('BEGIN:VEVENT')
      .find((event) => event.includes(uid) && event.includes('RECURRENCE-ID'));
    assert.doesNotMatch(occurrence ?? 'none', /X-PARLEY-LEFT-OUT|^none$/);
  });

  test(`one occurrence is answered by somebody outside: named in ${zone}`, async () => {
    const { id: calendar } = await defaultCalendar(server, bob);
    const form = {
      title: 'Own',
      local_start: '2027-01-04T09:00:00',
      tz: 'Europe/Berlin',
      local_end: '2027-01-04T10:00:00',
    };
    const made = await makeEntry(server, bob, calendar, {
      ...form,
      rule: { frequency: 'weekly', count: 5 },
      attendees: [`mailto:${EVE}`],
    });
    const reply = (minute: number, said: string) => [
      ...[`DTSTAMP:20261121T08${String(minute).padStart(2, '0')}00Z`, id, 'SEQUENCE:9', organizer('bob@example.org')],
      ...['DTSTART;TZID=Europe/Berlin:20270111T090000', attendee(EVE, said)],
    ];
    const eves = async () => {
      const text = (await exported(server, bob))
        .split('BEGIN:VEVENT')
        .filter((it) => it.includes(`UID:${made.uid}\r\n`));
      const said = text.map((it) => /^ATTENDEE.*PARTSTAT=([A-Z-]+).*eve@outside/m.exec(it)?.[1] ?? '');
      return said.toSorted();
    };
    assert.equal(await send('REPLY', made.uid, reply(1, 'DECLINED')), 'applied');
    assert.deepEqual(await eves(), ['DECLINED', 'NEEDS-ACTION']);
    assert.equal(await send('REPLY', made.uid, reply(1, 'DECLINED')), 'stale');
    assert.equal(await send('REPLY', made.uid, reply(0, 'ACCEPTED')), 'stale');
    assert.equal(await send('REPLY', made.uid, reply(2, 'TENTATIVE')), 'applied');
    assert.deepEqual(await eves(), ['NEEDS-ACTION', 'TENTATIVE']);
  });
}

test('CAL-03 nobody outside says for the server whose word a left-out date is', async () => {
  const uid = newUid();
  // Both ways to count, in seconds and in milliseconds: the date that Bob leaves out himself.
  const key = Date.UTC(2027, 0, 11, 8);
  const forged = [`X-PARLEY-LEFT-OUT:t${key / 1000},t${key}`, 'X-PARLEY-ASKED-SEQUENCE:0'];
  assert.equal(await send('REQUEST', uid, series(0, forged)), 'applied');
  const copy = async () => (await exported(server, bob)).split('BEGIN:VEVENT').find((text) => text.includes(uid)) ?? '';
  assert.doesNotMatch(await copy(), /X-PARLEY/);
  await answer(uid, 'accepted');
  const { id } = await defaultCalendar(server, bob);
  const entry = await entryOf(server, bob, uid);
  const path = `/v1/calendars/${id}/entries/${entry?.id}?scope=this&recurrence_id=20270111T090000`;
  assert.equal((await call(server, bob, 'DELETE', path)).status, 204);
  assert.match(await copy(), /^EXDATE/m);
  assert.equal(await send('REQUEST', uid, series(1, ['LOCATION:There', ...forged])), 'applied');
  assert.match(await copy(), /^LOCATION:There/m);
  assert.match(await copy(), /^EXDATE/m);
});

test('a series at other times has none of the exceptions of before', async () => {
  const uid = newUid();
  const single = [
    ...['DTSTAMP:20261121T080100Z', NAMES['UTC'] as string, 'SUMMARY:Other', 'SEQUENCE:1', ...PEOPLE],
    'DTSTART;TZID=Europe/Berlin:20270111T110000',
  ];
  await send('REQUEST', uid, series(0));
  await send('REQUEST', uid, single);
  const moved = series(2).map((line) => line.replace('T090000', 'T080000').replace('SEQUENCE:1', 'SEQUENCE:2'));
  assert.equal(await send('REQUEST', uid, moved), 'applied');
  assert.deepEqual(await stored(uid), ['-|Series|-|NEEDS-ACTION']);
});

test('an invitation to one occurrence alone, then to another one, then to the series', async () => {
  const uid = newUid();
  const single = (day: string, minute: number) => [
    ...[
      `DTSTAMP:20261121T080${minute}00Z`,
      `RECURRENCE-ID;TZID=Europe/Berlin:202701${day}T090000`,
      'SEQUENCE:1',
      ...PEOPLE,
    ],
    ...[`DTSTART;TZID=Europe/Berlin:202701${day}T090000`, 'SUMMARY:One'],
  ];
  assert.equal(await send('REQUEST', uid, single('11', 0)), 'applied');
  assert.equal(await send('REQUEST', uid, single('18', 1)), 'applied');
  const both = [
    'TZID=Europe/Berlin:20270111T090000|One|-|NEEDS-ACTION',
    'TZID=Europe/Berlin:20270118T090000|One|-|NEEDS-ACTION',
  ];
  assert.deepEqual(await stored(uid), both);
  assert.equal(await send('REQUEST', uid, series(2)), 'applied');
  assert.deepEqual(await stored(uid), ['-|Series|-|NEEDS-ACTION', ...both]);
});

test('answers count in the order in which they were given', async () => {
  const { id } = await defaultCalendar(server, bob);
  const form = { title: 'Own', start_at: '2027-02-01T09:00:00Z', end_at: '2027-02-01T10:00:00Z' };
  const { uid } = await makeEntry(server, bob, id, { ...form, attendees: [`mailto:${EVE}`] });
  const eves = async () =>
    (await entryOf(server, bob, uid))?.attendees.find(({ address }) => address === `mailto:${EVE}`)?.answer;
  const reply = (minute: number, said: string, sequence = 0) => [
    ...[`DTSTAMP:20261121T080${minute}00Z`, 'DTSTART:20270201T090000Z', `SEQUENCE:${sequence}`],
    ...[organizer('bob@example.org'), attendee(EVE, said), 'COMMENT:see you'],
  ];
  assert.equal(await send('REPLY', uid, reply(1, 'ACCEPTED')), 'applied');
  assert.equal(await eves(), 'accepted');
  // The same words later are later words.
  assert.equal(await send('REPLY', uid, reply(3, 'ACCEPTED')), 'applied');
  assert.equal(await send('REPLY', uid, reply(2, 'DECLINED')), 'stale');
  assert.equal(await eves(), 'accepted');
  assert.equal(await send('REPLY', uid, reply(4, 'DECLINED')), 'applied');
  assert.equal(await eves(), 'declined');
  // To what it was before the organiser moved it, it is no answer.
  const entry = await entryOf(server, bob, uid);
  const moved = { start_at: '2027-02-02T09:00:00Z', end_at: '2027-02-02T10:00:00Z' };
  assert.equal((await call(server, bob, 'PATCH', `/v1/calendars/${id}/entries/${entry?.id}`, moved)).status, 200);
  assert.equal(await eves(), 'needs_action');
  assert.equal(await send('REPLY', uid, reply(5, 'ACCEPTED')), 'stale');
  assert.equal(await send('REPLY', uid, reply(6, 'ACCEPTED', 1)), 'applied');
  assert.equal(await eves(), 'accepted');
});

test('CAL-03 an answer to a series is for an occurrence that was only renamed, however often it is given', async () => {
  const { id } = await defaultCalendar(server, bob);
  const made = await makeEntry(server, bob, id, {
    ...{ title: 'Own', start_at: '2027-03-01T09:00:00Z', end_at: '2027-03-01T10:00:00Z', attendees: [`mailto:${EVE}`] },
    rule: { frequency: 'weekly', count: 5 },
  });
  const renamed = { scope: 'this', recurrence_id: '20270308T090000Z', title: 'Special' };
  const changed = await call(server, bob, 'PATCH', `/v1/calendars/${id}/entries/${made.id}`, renamed);
  assert.equal(changed.status, 200, changed.text);
  const eves = async () => {
    const events = (await exported(server, bob)).replaceAll('\r\n ', '').split('BEGIN:VEVENT');
    const own = events.filter((text) => text.includes(`UID:${made.uid}\r\n`));
    return own.map((text) => /^ATTENDEE.*PARTSTAT=([A-Z-]+).*eve/im.exec(text)?.[1]);
  };
  const reply = (minute: number, said: string) => [
    ...[`DTSTAMP:20261121T080${minute}00Z`, 'DTSTART:20270301T090000Z', 'SEQUENCE:9'],
    ...[organizer('bob@example.org'), attendee(EVE, said)],
  ];
  for (const [minute, said] of [
    [1, 'DECLINED'],
    [2, 'DECLINED'],
    [3, 'TENTATIVE'],
    [4, 'ACCEPTED'],
  ] as const) {
    assert.equal(await send('REPLY', made.uid, reply(minute, said)), 'applied');
    assert.deepEqual(await eves(), [said, said], `after answer ${minute}`);
  }
});

test('CAL-03 a date that is left out raises SEQUENCE, and what was answered before still counts; what is moved does not', async () => {
  const { id } = await defaultCalendar(server, bob);
  const made = await makeEntry(server, bob, id, {
    ...{ title: 'Own', start_at: '2027-03-01T09:00:00Z', end_at: '2027-03-01T10:00:00Z', attendees: [`mailto:${EVE}`] },
    rule: { frequency: 'weekly', count: 5 },
  });
  const path = `/v1/calendars/${id}/entries/${made.id}`;
  const sequenceOf = async () => {
    const text = (await exported(server, bob)).split('BEGIN:VEVENT').find((it) => it.includes(`UID:${made.uid}\r\n`));
    return /^SEQUENCE:(\d+)/m.exec(text ?? '')?.[1];
  };
  const eves = async () =>
    (await entryOf(server, bob, made.uid))?.attendees.find(({ user }) => user === undefined)?.answer;
  const reply = (minute: number, said: string, sequence: number) => [
    ...[`DTSTAMP:20261121T080${minute}00Z`, 'DTSTART:20270301T090000Z', `SEQUENCE:${sequence}`],
    ...[organizer('bob@example.org'), attendee(EVE, said)],
  ];
  assert.equal(await sequenceOf(), '0');
  const left = await call(server, bob, 'DELETE', `${path}?scope=this&recurrence_id=20270308T090000Z`);
  assert.equal(left.status, 204, left.text);
  assert.equal(await sequenceOf(), '1');
  const cancelled = await call(server, bob, 'PATCH', path, { status: 'cancelled' });
  assert.equal(cancelled.status, 200, cancelled.text);
  assert.equal(await sequenceOf(), '2');
  assert.equal((await call(server, bob, 'PATCH', path, { status: 'confirmed' })).status, 200);
  // On its way since before all of that.
  assert.equal(await send('REPLY', made.uid, reply(1, 'ACCEPTED', 0)), 'applied');
  assert.equal(await eves(), 'accepted');
  const moved = { start_at: '2027-03-02T09:00:00Z', end_at: '2027-03-02T10:00:00Z' };
  assert.equal((await call(server, bob, 'PATCH', path, moved)).status, 200);
  assert.equal(await eves(), 'needs_action');
  for (const sequence of [0, 3]) assert.equal(await send('REPLY', made.uid, reply(2, 'DECLINED', sequence)), 'stale');
  assert.equal(await send('REPLY', made.uid, reply(3, 'DECLINED', 4)), 'applied');
});

test('an answer by mail is shown to the others of the installation', async () => {
  const { id } = await defaultCalendar(server, bob);
  const form = { title: 'Own', start_at: '2027-02-01T09:00:00Z', end_at: '2027-02-01T10:00:00Z' };
  const { uid } = await makeEntry(server, bob, id, { ...form, attendees: [`mailto:${EVE}`, 'carol'] });
  await until(async () => await entryOf(server, carol, uid), 'the invitation');
  const reply = ['DTSTAMP:20261121T080100Z', 'DTSTART:20270201T090000Z', organizer('bob@example.org')];
  assert.equal(await send('REPLY', uid, [...reply, attendee(EVE, 'TENTATIVE')]), 'applied');
  const isShown = async () =>
    (await entryOf(server, carol, uid))?.attendees.some(
      (one) => one.address === `mailto:${EVE}` && one.answer === 'tentative',
    );
  await until(isShown, 'the answer at Carol’s', 40_000);
});

test('a cancellation that names others only is not the reader’s', async () => {
  const uid = newUid();
  await send('REQUEST', uid, invitation());
  const others = invitation({ sequence: 1, minute: 1 }).map((line) => line.replace('bob@', 'dave@'));
  assert.equal(await send('CANCEL', uid, others), 'not_invited');
  const all = invitation({ sequence: 1, minute: 1 }).filter((line) => !line.startsWith('ATTENDEE'));
  assert.equal(await send('CANCEL', uid, all), 'applied');
});

test('an occurrence with other words at its own time keeps the answer to the series', async () => {
  const uid = newUid();
  const single = (minute: number, words: string) => [
    ...[`DTSTAMP:20261121T080${minute}00Z`, NAMES['UTC'] as string, `SUMMARY:${words}`, 'SEQUENCE:1', ...PEOPLE],
    ...['DTSTART;TZID=Europe/Berlin:20270111T090000', 'DTEND;TZID=Europe/Berlin:20270111T100000'],
  ];
  await send('REQUEST', uid, series(0));
  await answer(uid, 'accepted');
  assert.equal(await send('REQUEST', uid, single(1, 'Words')), 'applied');
  const id = 'TZID=Europe/Berlin:20270111T090000';
  assert.deepEqual(await stored(uid), ['-|Series|-|ACCEPTED', `${id}|Words|-|ACCEPTED`]);
  // The series leaves it out: then its exception is none any more.
  const without = series(2, ['EXDATE;TZID=Europe/Berlin:20270111T090000']);
  assert.equal(await send('REQUEST', uid, without), 'applied');
  assert.deepEqual(await stored(uid), ['-|Series|-|ACCEPTED']);
});

test('a series at another time takes the exceptions that come with it, as they were', async () => {
  const uid = newUid();
  const single = [
    ...['DTSTAMP:20261121T080000Z', 'RECURRENCE-ID:20270111T080000Z', 'SUMMARY:Other', 'SEQUENCE:1', ...PEOPLE],
    ...['DTSTART:20270111T120000Z', 'DTEND:20270111T130000Z'],
  ];
  assert.equal(await send('REQUEST', uid, series(0), single), 'applied');
  const longer = series(2).map((line) => line.replace('COUNT=5', 'COUNT=6'));
  assert.equal(await send('REQUEST', uid, longer, single), 'applied');
  const id = 'TZID=Europe/Berlin:20270111T090000';
  const [whole, other] = await stored(uid);
  assert.equal(whole, '-|Series|-|NEEDS-ACTION');
  assert.ok(
    ['20270111T080000Z', id].some((one) => other === `${one}|Other|-|NEEDS-ACTION`),
    other,
  );
});

test('a zone that the series alone defines stays defined when one occurrence changes', async () => {
  const uid = newUid();
  const zone = [
    ...['BEGIN:VTIMEZONE', 'TZID:Ours', 'BEGIN:STANDARD', 'DTSTART:19700101T000000'],
    ...['TZOFFSETFROM:+0300', 'TZOFFSETTO:+0300', 'END:STANDARD', 'END:VTIMEZONE'],
  ];
  const whole = message(
    'REQUEST',
    uid,
    series(0).map((line) => line.replace('Europe/Berlin', 'Ours')),
  ).replace('BEGIN:VEVENT', `${zone.join('\r\n')}\r\nBEGIN:VEVENT`);
  assert.equal(await outcomeOf(server, calendarMail(whole)), 'applied');
  const single = ['DTSTAMP:20261121T080100Z', 'RECURRENCE-ID:20270111T060000Z', 'DTSTART:20270111T070000Z', ...PEOPLE];
  assert.equal(await send('REQUEST', uid, [...single, 'SEQUENCE:1', 'SUMMARY:Other']), 'applied');
  assert.equal((await entryOf(server, bob, uid))?.start_at, '2027-01-04T06:00:00.000Z');
  assert.equal((await stored(uid)).length, 2);
});

test('CAL-04 a RANGE is not taken of a series that is there either, for no message', async () => {
  const uid = newUid();
  assert.equal(await send('REQUEST', uid, series(0)), 'applied');
  const before = await stored(uid);
  const id = 'RECURRENCE-ID;RANGE=THISANDFUTURE:20270111T080000Z';
  for (const method of ['REQUEST', 'CANCEL', 'DECLINECOUNTER'])
    assert.equal(await send(method, uid, invitation({ sequence: 2, minute: 5, more: [id] })), 'range_refused', method);
  assert.deepEqual(await stored(uid), before);
});
