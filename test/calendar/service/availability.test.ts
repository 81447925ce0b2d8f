/** Working hours by both doors, shown as unavailable and as nothing else, and times that suit several people (RFC 7953). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import {
  AVAILABILITY_BYTES_MAX,
  AVAILABILITY_PARTS_MAX,
  AVAILABLE_TIMES_MAX,
} from '#src/calendar/availability/availability.ts';
import { FIND_TIME_SLOTS_MAX, WORKING_HOURS_MAX } from '#src/protocol/calendars/availability.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { appPassword, assertRefused, call, defaultCalendar, makeCalendar, makeEntry } from './calling.ts';

const { server, alice, bob, carol, dave } = await shareServer(['alice', 'bob', 'carol', 'dave']);
/** Monday to Friday, in a zone that is an hour ahead of UTC in November. */
const DAYS = ['mo', 'tu', 'we', 'th', 'fr'];
const WEEK = { tz: 'Europe/Berlin', hours: DAYS.map((day) => ({ day, from: '09:00', to: '17:00' })) };
/** Monday, 2 November 2026. */
const at = (hour: number, day = 2) => new Date(Date.UTC(2026, 10, day, hour)).toISOString();

async function setHours(who: Person, form: object = WEEK): Promise<void> {
  const set = await call(server, who, 'PUT', '/v1/working-hours', form);
  assert.deepEqual([set.status, set.body], [200, { state: 'hours', ...form }], set.text);
}

interface Busy {
  readonly start_at: string;
  readonly end_at: string;
  readonly tentative: boolean;
  readonly unavailable: boolean;
}

async function busyOf(asker: Person, user: string, from: string, to: string): Promise<readonly Busy[]> {
  const form = { users: [user], from, to };
  const asked = await call<{ items: { busy: Busy[]; is_cut: boolean }[] }>(
    server,
    asker,
    'POST',
    '/v1/free-busy',
    form,
  );
  assert.equal(asked.body.items[0]?.is_cut, false, asked.text);
  return asked.body.items[0]?.busy ?? [];
}

const unavailable = (start: string, end: string): Busy => ({
  ...{ start_at: start, end_at: end, tentative: false, unavailable: true },
});

async function inbox(who: Person, method: string, body: string) {
  const headers = { ...(await appPassword(server, who)), depth: '0', 'content-type': 'application/xml' };
  const reply = await fetch(`${server.calendar}/dav/inbox/${who.username}/`, { method, headers, body });
  return { status: reply.status, text: await reply.text() };
}

const readIt = async (who: Person) =>
  await inbox(
    who,
    'PROPFIND',
    '<D:propfind xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-availability/></D:prop></D:propfind>',
  );
const patch = async (who: Person, text: string, property = 'calendar-availability') =>
  await inbox(
    who,
    'PROPPATCH',
    '<D:propertyupdate xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">' +
      `<D:set><D:prop><C:${property}>${text}</C:${property}></D:prop></D:set></D:propertyupdate>`,
  );
const calendarOf = (...lines: string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const block = (lines: readonly string[], available: readonly string[]) =>
  [
    ...['BEGIN:VAVAILABILITY', 'UID:a', ...lines],
    ...(available.length === 0 ? [] : ['BEGIN:AVAILABLE', 'UID:b', ...available, 'END:AVAILABLE']),
    'END:VAVAILABILITY',
  ].join('\r\n');

test('CAL-05 outside of their working hours people are unavailable, by every door that tells free and busy times', async () => {
  await setHours(alice);
  const { id } = await defaultCalendar(server, alice);
  await makeEntry(server, alice, id, { title: 'Secret', start_at: at(10), end_at: at(11), visibility: 'private' });
  const taken = { start_at: at(10), end_at: at(11), tentative: false, unavailable: false };
  const expected = [unavailable(at(0), at(8)), taken, unavailable(at(16), at(24))];
  assert.deepEqual(await busyOf(bob, 'alice', at(0), at(24)), expected);
  // A weekend is one time, and the clock of their zone counts: in October Berlin is two hours ahead.
  assert.deepEqual(await busyOf(bob, 'alice', at(0, 7), at(0, 9)), [unavailable(at(0, 7), at(0, 9))]);
  const october = (hour: number) => new Date(Date.UTC(2026, 9, 19, hour)).toISOString();
  assert.deepEqual(await busyOf(bob, 'alice', october(7), october(15)), []);
  const headers = { ...(await appPassword(server, bob)), 'content-type': 'text/calendar' };
  const stamp = (instant: string) => instant.replaceAll(/[-:]|\.000/g, '');
  const body = calendarOf(
    ...['METHOD:REQUEST', 'BEGIN:VFREEBUSY', 'UID:q', 'DTSTAMP:20261101T080000Z', `DTSTART:${stamp(at(0))}`],
    ...[
      `DTEND:${stamp(at(24))}`,
      `ORGANIZER:${uuidAddress('bob')}`,
      `ATTENDEE:${uuidAddress('alice')}`,
      'END:VFREEBUSY',
    ],
  );
  const asked = await fetch(`${server.calendar}/dav/outbox/bob/`, { method: 'POST', headers, body });
  assert.match(await asked.text(), new RegExp(`FBTYPE=BUSY-UNAVAILABLE:${stamp(at(0))}/${stamp(at(8))}`));
  // On their own home, with what is in another calendar of theirs.
  const other = await makeCalendar(server, alice);
  await makeEntry(server, alice, other.id, { title: 'Other', start_at: at(12), end_at: at(13) });
  const range = `<C:time-range start="${stamp(at(0))}" end="${stamp(at(24))}"/>`;
  const own = await fetch(`${server.calendar}/dav/calendars/alice/`, {
    method: 'REPORT',
    headers: { ...(await appPassword(server, alice)), 'content-type': 'application/xml' },
    body: `<C:free-busy-query xmlns:C="urn:ietf:params:xml:ns:caldav">${range}</C:free-busy-query>`,
  });
  const times = (await own.text()).replaceAll('\r\n ', '');
  for (const [kind, from, to] of [
    ['BUSY-UNAVAILABLE', 0, 8],
    ['BUSY', 10, 11],
    ['BUSY', 12, 13],
  ] as const)
    assert.match(times, new RegExp(`${kind}:(?:[^\\r]*,)?${stamp(at(from))}/${stamp(at(to))}`));
  assert.equal((await call(server, alice, 'DELETE', `/v1/calendars/${other.id}`)).status, 204);
  assert.equal((await call(server, alice, 'DELETE', '/v1/working-hours')).status, 204);
  assert.deepEqual((await call(server, alice, 'GET', '/v1/working-hours')).body, { state: 'none' });
  assert.deepEqual(await busyOf(bob, 'alice', at(0), at(24)), [taken]);
});

test('CAL-05 what a calendar program sets on the inbox is the same availability, and only its owner has it', async () => {
  const text = calendarOf(
    block(
      [],
      [
        'DTSTART;TZID=Europe/Berlin:20140106T090000',
        'DTEND;TZID=Europe/Berlin:20140106T120000',
        'RRULE:FREQ=WEEKLY;BYDAY=MO,TU',
      ],
    ),
  );
  assert.equal((await patch(carol, text)).status, 207);
  assert.match((await readIt(carol)).text, /RRULE:FREQ=WEEKLY;BYDAY=MO,TU/);
  const hours = ['mo', 'tu'].map((day) => ({ day, from: '09:00', to: '12:00' }));
  const read = await call(server, carol, 'GET', '/v1/working-hours');
  assert.deepEqual(read.body, { state: 'hours', tz: 'Europe/Berlin', hours });
  assert.deepEqual(await busyOf(bob, 'carol', at(8), at(12)), [unavailable(at(11), at(12))]);
  // What JSON sets, the calendar program reads.
  await setHours(carol);
  assert.match((await readIt(carol)).text, /DTSTART;TZID=Europe\/Berlin:19700109T090000/);
  const headers = { ...(await appPassword(server, bob)), depth: '0' };
  assert.equal((await fetch(`${server.calendar}/dav/inbox/carol/`, { method: 'PROPFIND', headers })).status, 404);
  const options = await fetch(`${server.calendar}/dav/inbox/carol/`, { method: 'OPTIONS' });
  assert.match(options.headers.get('dav') ?? '', /calendar-availability/);
});

test('CAL-05 a block of a higher priority counts alone as long as it lasts, and says how its time is taken', async () => {
  const always = block([], ['DTSTART:20260101T080000Z', 'DTEND:20260101T180000Z', 'RRULE:FREQ=DAILY']);
  const travel = block(
    ['PRIORITY:1', 'BUSYTYPE:BUSY-TENTATIVE', 'DTSTART:20261103T000000Z', 'DTEND:20261104T000000Z'],
    ['DTSTART:20261103T200000Z', 'DTEND:20261103T220000Z'],
  );
  assert.equal((await patch(dave, calendarOf(travel, always))).status, 207);
  assert.deepEqual((await call(server, dave, 'GET', '/v1/working-hours')).body, { state: 'other' });
  const maybe = (start: string, end: string) => ({ ...unavailable(start, end), tentative: true, unavailable: false });
  assert.deepEqual(await busyOf(bob, 'dave', at(8, 2), at(8, 4)), [
    unavailable(at(18, 2), at(0, 3)),
    maybe(at(0, 3), at(20, 3)),
    maybe(at(22, 3), at(0, 4)),
    unavailable(at(0, 4), at(8, 4)),
  ]);
});

test('CAL-05 what is no availability is refused, and leaves the one that is there', async () => {
  await setHours(bob);
  const one = ['DTSTART:20260101T080000Z', 'DTEND:20260101T180000Z'];
  const many = Array.from({ length: AVAILABILITY_PARTS_MAX }, () =>
    ['BEGIN:AVAILABLE', ...one, 'END:AVAILABLE'].join('\r\n'),
  );
  const wrong = [
    ...['nothing', calendarOf('BEGIN:VEVENT', 'UID:x', ...one, 'END:VEVENT'), calendarOf(block([], ['SUMMARY:x']))],
    calendarOf(block([], [...one, 'RRULE:FREQ=SECONDLY'])),
    calendarOf(block([], [...one, 'RRULE:FREQ=SOMETIMES'])),
    calendarOf(block(['PRIORITY:10'], one)),
    calendarOf(block(['DTEND:20261104T000000Z'], one)),
    calendarOf('BEGIN:VAVAILABILITY', ...many, 'END:VAVAILABILITY'),
    calendarOf(block([`X-LONG:${'x'.repeat(AVAILABILITY_BYTES_MAX)}`], one)),
  ];
  for (const text of wrong) assert.match((await patch(bob, text)).text, /HTTP\/1\.1 409/);
  assert.match((await patch(bob, 'x', 'calendar-description')).text, /HTTP\/1\.1 403/);
  const most = calendarOf('BEGIN:VAVAILABILITY', ...many.slice(1), 'END:VAVAILABILITY');
  assert.deepEqual((await call(server, bob, 'GET', '/v1/working-hours')).body, { state: 'hours', ...WEEK });
  assert.match((await patch(bob, most)).text, /HTTP\/1\.1 200/);
  // More times than are looked at: what lies behind them is not said to be free.
  const often = `RRULE:FREQ=DAILY;BYHOUR=${Array.from({ length: 24 }, (_, hour) => hour).join(',')}`;
  const minutes = ['DTSTART:20260101T000000Z', 'DTEND:20260101T003000Z', often];
  assert.match((await patch(bob, calendarOf(block([], minutes)))).text, /HTTP\/1\.1 200/);
  const cut = async (days: number) => {
    const form = { users: ['bob'], from: at(0), to: at(0, 2 + days) };
    const asked = await call<{ items: { is_cut: boolean }[] }>(server, carol, 'POST', '/v1/free-busy', form);
    return asked.body.items[0]?.is_cut;
  };
  const wholeDays = Math.floor(AVAILABLE_TIMES_MAX / 24);
  assert.deepEqual([await cut(wholeDays), await cut(wholeDays + 1)], [false, true]);
  const [monday] = WEEK.hours;
  const rows = Array.from({ length: WORKING_HOURS_MAX + 1 }, () => monday);
  for (const form of [
    { ...WEEK, hours: [] },
    { ...WEEK, hours: rows },
    { ...WEEK, hours: [{ ...monday, to: '09:00' }] },
    { ...WEEK, hours: [{ ...monday, to: '25:00' }] },
    { ...WEEK, tz: 'Europe/Nowhere' },
    { hours: WEEK.hours },
  ]) {
    const refused = await call(server, bob, 'PUT', '/v1/working-hours', form);
    assert.deepEqual([refused.status, refused.body['code']], [400, 'field_invalid'], refused.text);
  }
  await setHours(bob, { ...WEEK, hours: rows.slice(1) });
  await setHours(bob, { ...WEEK, hours: [{ day: 'su', from: '00:00', to: '24:00' }] });
  assert.equal((await call(server, bob, 'DELETE', '/v1/working-hours')).status, 204);
});

interface Found {
  readonly items: { start_at: string; end_at: string; doubtful: string[]; busy: string[]; rooms: string[] }[];
  readonly unknown: string[];
}

async function find(who: Person, form: object) {
  const reply = await call<Found & Record<string, unknown>>(server, who, 'POST', '/v1/find-time', {
    ...{ from: at(0), to: at(24), duration_minutes: 60, ...form },
  });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

test('CAL-05 times are found at which everybody is free, those first that suit more people better', async () => {
  await setHours(carol);
  await setHours(dave, { ...WEEK, hours: [{ day: 'mo', from: '11:00', to: '15:00' }] });
  const { id } = await defaultCalendar(server, carol);
  await makeEntry(server, carol, id, { title: 'Talk', start_at: at(10), end_at: at(12) });
  const { id: bobs } = await defaultCalendar(server, bob);
  await makeEntry(server, bob, bobs, { title: 'Talk', start_at: at(12), end_at: at(13) });
  // Carol is there from 8 to 16 and taken from 10 to 12, Dave from 10 to 14.
  const both = await find(alice, { people: ['carol', 'dave'], optional: ['bob', 'carol'], limit: 6 });
  assert.deepEqual(
    both.items.map(({ start_at: start, ...how }) => [start, how.doubtful, how.busy]),
    [
      // Free for all, then without Bob, who is optional; half past twelve is within his hour.
      [at(13), [], []],
      [at(12), [], ['bob']],
      [new Date(Date.parse(at(12)) + 15 * 60_000).toISOString(), [], ['bob']],
      [new Date(Date.parse(at(12)) + 30 * 60_000).toISOString(), [], ['bob']],
      [new Date(Date.parse(at(12)) + 45 * 60_000).toISOString(), [], ['bob']],
      // Outside of the hours of one of them.
      [at(8), ['dave'], []],
    ],
  );
  assert.deepEqual(both.unknown, []);
  // Nobody learns who is there, and who is not there stands in nobody's way.
  const strange = await find(alice, { people: ['carol', 'nobody'], rooms: ['resource.nothing'], limit: 1 });
  assert.deepEqual([strange.items, strange.unknown], [[], ['nobody', 'resource.nothing']]);
  assert.deepEqual((await find(alice, { people: ['nobody'], limit: 1 })).items.length, 1);
  assert.equal(
    (await find(alice, { people: ['carol'], limit: FIND_TIME_SLOTS_MAX })).items.length,
    FIND_TIME_SLOTS_MAX,
  );
  assert.deepEqual((await find(alice, { people: ['carol'], from: at(10), to: at(12) })).items, []);
});

test('a question for a time has its bounds', async () => {
  const form = { people: ['carol'], from: at(0), to: at(24), duration_minutes: 60 };
  const people = Array.from({ length: 51 }, (_, index) => `person${index}`);
  for (const [field, wrong] of [
    ['people', { people: [] }],
    ['people', { people }],
    ['rooms', { rooms: people.slice(0, 21) }],
    ['duration_minutes', { duration_minutes: 4 }],
    ['duration_minutes', { duration_minutes: 1_441 }],
    ['limit', { limit: FIND_TIME_SLOTS_MAX + 1 }],
    ['to', { to: at(0) }],
    ['to', { to: at(1, 65) }],
  ] as const) {
    assertRefused(await call(server, alice, 'POST', '/v1/find-time', { ...form, ...wrong }), 'field_invalid', field);
  }
  const whole = await find(alice, { people: people.slice(0, 50), to: at(0, 64), duration_minutes: 1_440 });
  assert.equal(whole.items.length, 10);
});
