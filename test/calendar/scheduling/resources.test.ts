/** Rooms and resources: invited as people are, answering by their rules, booked once at a time, and by nobody who may not. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import { BOOKED_OCCURRENCES_MAX, BOOKING_REASONS } from '#src/calendar/scheduling/bookings.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import {
  BOOKING_ADVANCE_DAYS_MAX,
  BOOKING_GROUPS_MAX,
  BOOKING_MINUTES_MAX,
  FREE_RESOURCES_LOOKED_AT_MAX,
  type ManagedResource,
} from '#src/protocol/directory/resources.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { request, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import {
  appPassword,
  assertRefused,
  call,
  defaultCalendar,
  eventText,
  makeEntry,
  putObject,
} from '../service/calling.ts';

const { console, server, stop } = await startConsoleServer();
after(stop);
const { alice, bob, carol, dave } = await server.people('alice', 'bob', 'carol', 'dave');

const DAY_MILLIS = 86_400_000;
/** The same through all of the file, also where a day ends meanwhile. */
const TODAY = Math.floor(Date.now() / DAY_MILLIS);
/** An hour of a day behind today. */
const at = (day: number, hour: number) => new Date((TODAY + day) * DAY_MILLIS + hour * 3_600_000).toISOString();
const span = (day: number, hour: number, hours = 1) => ({ start_at: at(day, hour), end_at: at(day, hour + hours) });
const utc = (instant: string) => instant.replaceAll(/[-:]|\.000/g, '');

/** An event of one hour of a day behind today: what is over is stored whoever organised it, as the past of a migration is. */
const eventOn = (uid: string, lines: readonly string[], day: number, hour: number) =>
  eventText(uid, lines)
    .replace('20261123T090000Z', utc(at(day, hour)))
    .replace('20261123T100000Z', utc(at(day, hour + 1)));

async function makeRoom(form: object = {}): Promise<ManagedResource> {
  const made = await console<ManagedResource & Record<string, unknown>>('POST', '/resources', {
    ...{ kind: 'room', name: 'Heron' },
    ...form,
  });
  assert.equal(made.status, 201, made.text);
  return made.body;
}

async function book(who: Person, room: string, form: object): Promise<EntryView> {
  const { id } = await defaultCalendar(server, who);
  return await makeEntry(server, who, id, { title: 'Talk', ...form, attendees: [room] });
}

async function read(who: Person, entry: Pick<EntryView, 'calendar_id' | 'id'>): Promise<EntryView> {
  const path = `/v1/calendars/${entry.calendar_id}/entries/${entry.id}`;
  return (await call<EntryView & Record<string, unknown>>(server, who, 'GET', path)).body;
}

/** What the room answered, once it has: the answer, and the reason that stands beside it. */
async function answerOf(who: Person, entry: Pick<EntryView, 'calendar_id' | 'id'>, room: string) {
  return await until(async () => {
    const said = (await read(who, entry)).attendees.find((one) => one.user === room);
    return said !== undefined && said.answer !== 'needs_action' && [said.answer, said.comment];
  }, `the answer of ${room}`);
}

async function answered(who: Person, room: string, form: object) {
  return await answerOf(who, await book(who, room, form), room);
}

const declined = (reason: keyof typeof BOOKING_REASONS) => ['declined', BOOKING_REASONS[reason]];
const ACCEPTED = ['accepted', undefined];

async function change(who: Person, { calendar_id: calendar, id }: EntryView, form: object): Promise<void> {
  const path = `/v1/calendars/${calendar}/entries/${id}`;
  const changed = await call(server, who, 'PATCH', path, { scope: 'all', ...form });
  assert.equal(changed.status, 200, changed.text);
}

async function remove(who: Person, { calendar_id: calendar, id }: EntryView): Promise<void> {
  const gone = await call(server, who, 'DELETE', `/v1/calendars/${calendar}/entries/${id}?scope=all`);
  assert.equal(gone.status, 204, gone.text);
}

async function busyOf(who: Person, room: string, from: string, to: string) {
  const asked = await call<{ items: { known: boolean; busy: object[] }[] }>(server, who, 'POST', '/v1/free-busy', {
    ...{ users: [room], from, to },
  });
  return asked.body.items[0];
}

async function listed(who: Person, query = ''): Promise<string[]> {
  const reply = await call<{ items: { user: string }[] }>(server, who, 'GET', `/v1/resources${query}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items.map(({ user }) => user);
}

async function makeGroup(name: string, members: readonly string[]): Promise<string> {
  const made = await console<{ id: string }>('POST', '/groups', { name, members });
  assert.equal(made.status, 201, made.text);
  return made.body.id;
}

test('CAL-04 a room accepts what is free, declines what is taken with the reason, and is free again once that is over', async () => {
  const { user: room } = await makeRoom();
  const first = await book(alice, room, span(3, 9, 2));
  assert.deepEqual(await answerOf(alice, first, room), ACCEPTED);
  assert.deepEqual(await answered(bob, room, span(3, 10)), declined('taken'));
  // What begins where the other ends is beside it.
  assert.deepEqual(await answered(bob, room, span(3, 11)), ACCEPTED);
  assert.deepEqual(await busyOf(bob, room, at(3, 0), at(3, 24)), {
    ...{ user: room, known: true, is_cut: false },
    busy: [{ start_at: at(3, 9), end_at: at(3, 12), tentative: false, unavailable: false }],
  });
  // New words are no new booking; another time is.
  await change(alice, first, { title: 'Long talk' });
  await change(alice, first, span(3, 10));
  assert.deepEqual(await answerOf(alice, first, room), ACCEPTED);
  await until(async () => (await answered(bob, room, span(3, 9)))[0] === 'accepted', 'the hour that was given back');
  await remove(alice, first);
  await until(async () => (await answered(carol, room, span(3, 10)))[0] === 'accepted', 'the hour of what was removed');
});

test('CAL-04 of bookings of one room at once exactly one is accepted, whichever door they come by', async () => {
  const { user: room } = await makeRoom();
  const people = [alice, bob, carol, dave];
  const passwords = await Promise.all(people.map(async (who) => await appPassword(server, who)));
  const byJson = people.map(async (who) => (await answered(who, room, span(4, 9, 3)))[0]);
  const byDav = people.map(async (who, index) => {
    const uid = `at-once-${who.username}`;
    const lines = [`ORGANIZER:${uuidAddress(who.username)}`, `ATTENDEE;CUTYPE=ROOM:${uuidAddress(room)}`];
    const text = eventText(uid, lines)
      .replace('20261123T090000Z', utc(at(4, 10)))
      .replace('20261123T100000Z', utc(at(4, 13)));
    const path = `/dav/calendars/${who.username}/default/${uid}.ics`;
    assert.equal((await putObject(server, passwords[index] ?? {}, path, text)).status, 201);
    return await until(async () => {
      const got = await fetch(`${server.calendar}${path}`, { headers: passwords[index] ?? {} });
      return /PARTSTAT=(ACCEPTED|DECLINED)/.exec(await got.text())?.[1]?.toLowerCase() ?? false;
    }, `the answer to ${uid}`);
  });
  const answers = await Promise.all([...byJson, ...byDav]);
  const accepted = answers.filter((answer) => answer === 'accepted');
  assert.deepEqual([accepted.length, answers.length], [1, 8]);
});

test('CAL-04 a room holds bookings to its rules, each with its reason', async () => {
  const { user: room } = await makeRoom({ duration_minutes_max: 60, advance_days_max: 30, recurring: false });
  assert.deepEqual(await answered(alice, room, span(2, 9)), ACCEPTED);
  assert.deepEqual(
    await answered(alice, room, {
      start_at: at(2, 12),
      end_at: new Date(Date.parse(at(2, 13)) + 60_000).toISOString(),
    }),
    declined('too_long'),
  );
  assert.deepEqual(await answered(alice, room, span(29, 9)), ACCEPTED);
  assert.deepEqual(await answered(alice, room, span(32, 9)), declined('too_far'));
  const daily = { rule: { frequency: 'daily', count: 2 } };
  assert.deepEqual(await answered(alice, room, { ...span(5, 9), ...daily }), declined('recurring'));
  assert.deepEqual(await answered(alice, room, span(-3, 9)), declined('over'));
  // Rules that are changed hold for what is booked from then on.
  const wider = { duration_minutes_max: null, advance_days_max: 731, recurring: true, booking_groups: null };
  assert.equal((await console('PATCH', `/resources/${room}`, wider)).status, 200);
  assert.deepEqual(await answered(alice, room, span(32, 9, 4)), ACCEPTED);
  assert.deepEqual(await answered(alice, room, { ...span(5, 9), ...daily }), ACCEPTED);
});

test('CAL-04 a series is booked whole, one date that is moved onto a taken hour is declined by itself', async () => {
  const { user: room } = await makeRoom();
  assert.deepEqual(await answered(bob, room, span(12, 15)), ACCEPTED);
  const taken = { ...span(5, 15), rule: { frequency: 'weekly', count: 4 } };
  assert.deepEqual(await answered(alice, room, taken), declined('taken'));
  const series = await book(alice, room, { ...span(5, 9), tz: 'UTC', rule: { frequency: 'weekly', count: 4 } });
  assert.deepEqual(await answerOf(alice, series, room), ACCEPTED);
  const date = utc(at(12, 9));
  await change(alice, series, { scope: 'this', recurrence_id: date, ...span(12, 15) });
  const path = `/v1/calendars/${series.calendar_id}/entries/${series.id}?recurrence_id=${date}`;
  await until(async () => {
    const one = await call<EntryView & Record<string, unknown>>(server, alice, 'GET', path);
    return one.body.attendees.find(({ user }) => user === room)?.answer === 'declined';
  }, 'the answer to the date');
  assert.deepEqual(await answerOf(alice, series, room), ACCEPTED);
  assert.deepEqual(await answered(carol, room, span(19, 9)), declined('taken'));
  // The date is at its old hour no more.
  assert.deepEqual(await answered(carol, room, span(12, 9)), ACCEPTED);
});

test('CAL-04 a series of more occurrences than one booking may have, or without end, books nothing', async () => {
  const { user: room } = await makeRoom({ advance_days_max: 731 });
  const minutes = { start_at: at(2, 0), end_at: new Date(Date.parse(at(2, 0)) + 60_000).toISOString() };
  const often = (count: number) => ({ ...minutes, rule: { frequency: 'hourly', count } });
  assert.deepEqual(await answered(alice, room, often(10_000)), declined('too_many'));
  assert.deepEqual(await answered(alice, room, often(BOOKED_OCCURRENCES_MAX + 1)), declined('too_many'));
  assert.deepEqual(await busyOf(alice, room, at(2, 0), at(3, 0)), {
    ...{ user: room, known: true, busy: [], is_cut: false },
  });
  assert.deepEqual(await answered(alice, room, often(BOOKED_OCCURRENCES_MAX)), ACCEPTED);
  assert.deepEqual(await answered(bob, room, { ...span(1, 9), rule: { frequency: 'yearly' } }), declined('too_far'));
});

test('GST-06 who may not book a room does not see it, ask for it, invite it or find it, by any door', async () => {
  const group = await makeGroup('Those who book', ['alice']);
  const { user: room } = await makeRoom({ name: 'Kingfisher', booking_groups: [group] });
  assert.deepEqual((await listed(alice)).includes(room), true);
  const mine = await book(alice, room, span(6, 9));
  assert.deepEqual(await answerOf(alice, mine, room), ACCEPTED);
  const headers = await appPassword(server, bob);
  const outsideOf = async (who: Person) => {
    assert.deepEqual((await listed(who)).includes(room), false);
    assert.deepEqual(await busyOf(who, room, at(6, 0), at(7, 0)), {
      user: room,
      known: false,
      busy: [],
      is_cut: false,
    });
    const { id } = await defaultCalendar(server, who);
    const form = { title: 'Talk', ...span(6, 12), attendees: [room] };
    assertRefused(
      await call(server, who, 'POST', `/v1/calendars/${id}/entries`, form),
      'participant_unknown',
      'attendees',
    );
  };
  await outsideOf(bob);
  const principal = await fetch(`${server.calendar}/dav/principals/${room}/`, { method: 'PROPFIND', headers });
  assert.equal(principal.status, 404);
  const lines = [`ORGANIZER:${uuidAddress('bob')}`, `ATTENDEE;CUTYPE=ROOM;PARTSTAT=ACCEPTED:${uuidAddress(room)}`];
  const text = eventOn('stranger', lines, 6, 12);
  assert.equal((await putObject(server, headers, '/dav/calendars/bob/default/stranger.ics', text)).status, 201);
  const stored = await (await fetch(`${server.calendar}/dav/calendars/bob/default/stranger.ics`, { headers })).text();
  // Nobody there, as far as they can tell; and nobody answers for a room.
  assert.match(stored.replaceAll('\r\n ', ''), /SCHEDULE-STATUS=3\.7/);
  assert.doesNotMatch(stored.replaceAll('\r\n ', ''), /ACCEPTED/);
  assert.equal((await busyOf(alice, room, at(6, 11), at(6, 14)))?.busy.length, 0);
  // Whoever leaves the group changes nothing of what they booked, and sees the room no more.
  assert.equal((await console('PATCH', `/groups/${group}`, { add: ['carol'], remove: ['alice'] })).status, 200);
  await outsideOf(alice);
  await change(alice, mine, span(6, 15));
  assert.equal((await busyOf(carol, room, at(6, 14), at(6, 17)))?.busy.length, 0);
  assert.deepEqual((await listed(carol)).includes(room), true);
  // A group that is gone lets nobody in.
  assert.equal((await console('DELETE', `/groups/${group}`)).status, 204);
  await outsideOf(carol);
});

test('GST-06 a guest books no room unless a group of theirs is named', async () => {
  const { user: open } = await makeRoom({ name: 'For members' });
  const invited = await console<{ url: string }>('POST', '/enroll', {
    ...{ kind: 'guest', phone: '+79161234567' },
    guest_until: new Date(Math.floor(Date.now() / 1000) * 1000 + DAY_MILLIS).toISOString().replace('.000', ''),
  });
  const password = 'password of vera';
  assert.equal((await request('POST', invited.body.url, { body: { username: 'vera', password } })).status, 201);
  const vera = { username: 'vera', password, session: await server.signIn('vera', password) };
  const group = await makeGroup('Guests who book', ['vera']);
  const { user: named } = await makeRoom({ name: 'For guests', booking_groups: [group] });
  assert.deepEqual(await listed(vera), [named]);
  assert.equal(((await busyOf(vera, open, at(6, 0), at(7, 0))) as { known: boolean }).known, false);
  const { id } = await defaultCalendar(server, vera);
  const refused = { title: 'Talk', ...span(8, 9), attendees: [open] };
  assertRefused(
    await call(server, vera, 'POST', `/v1/calendars/${id}/entries`, refused),
    'participant_unknown',
    'attendees',
  );
  assert.deepEqual(await answered(vera, named, span(8, 9)), ACCEPTED);
});

test('GOV-01 a room organises nothing, answers by nobody else, and has no name that a person may take', async () => {
  const { user: room } = await makeRoom({ email: 'Heron@Example.org' });
  const headers = await appPassword(server, alice);
  for (const [index, address] of [
    uuidAddress(room),
    'mailto:heron@example.org',
    `/dav/principals/${room}/`,
  ].entries()) {
    const lines = [`ORGANIZER:${address}`, `ATTENDEE:${uuidAddress('alice')}`];
    const text = eventOn(`organised-${index}`, lines, 9, 14);
    const path = `/dav/calendars/alice/default/organised-${index}.ics`;
    assert.equal((await putObject(server, headers, path, text)).status, 403);
  }
  // Its own answer is put back to what it said: nothing yet, and then what it says itself.
  assert.deepEqual(await answered(bob, room, span(9, 9)), ACCEPTED);
  const forged = [`ORGANIZER:${uuidAddress('alice')}`, `ATTENDEE;PARTSTAT=ACCEPTED:mailto:heron@example.org`];
  const text = eventOn('forged', forged, 9, 9);
  const path = '/dav/calendars/alice/default/forged.ics';
  assert.equal((await putObject(server, headers, path, text)).status, 201);
  const stored = await until(async () => {
    const got = (await (await fetch(`${server.calendar}${path}`, { headers })).text()).replaceAll('\r\n ', '');
    return /PARTSTAT=DECLINED/.test(got) && got;
  }, 'the room’s own answer');
  const again = stored.replace('PARTSTAT=DECLINED', 'PARTSTAT=ACCEPTED');
  assert.equal((await putObject(server, headers, path, again)).status, 204);
  const put = await (await fetch(`${server.calendar}${path}`, { headers })).text();
  assert.match(put.replaceAll('\r\n ', ''), /PARTSTAT=DECLINED/);
  // Nobody shares with a room, signs in as one, or is called one.
  const { id } = await defaultCalendar(server, alice);
  assertRefused(
    await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/${room}`, { access: 'read' }),
    'person_forbidden',
  );
  const named = { username: room, password: 'a long password of nobody' };
  assertRefused(await console('POST', '/users', named), 'field_invalid', 'username');
  const taken = await console('POST', '/resources', { kind: 'room', name: 'Egret', email: 'heron@example.org' });
  assertRefused(taken, 'field_invalid', 'email');
  // An address of a person is no room's, and one of a room stays the room's.
  assert.equal((await console('PATCH', '/users/dave', { email: 'dave@example.org' })).status, 200);
  const persons = await console('POST', '/resources', { kind: 'room', name: 'Egret', email: 'dave@example.org' });
  assertRefused(persons, 'field_invalid', 'email');
  assert.equal((await console('PATCH', '/users/carol', { email: 'heron@example.org' })).status, 200);
  const kept = await book(bob, 'mailto:heron@example.org', span(9, 12));
  assert.deepEqual(await answerOf(bob, kept, room), ACCEPTED);
});

test('VND-09 a vendor reads and changes no room, and neither does a person without the console', async () => {
  const { user: room } = await makeRoom();
  const vendor = await console<{ token: string }>('POST', '/vendor-tokens', {
    ...{ name: 'support', purpose: 'to be refused', term_days: 365 },
  });
  assert.equal(vendor.status, 201, vendor.text);
  const paths = ['/resources', `/resources/${room}`];
  for (const path of paths) {
    const asked = await request('GET', `${server.coordinator}/admin/api${path}`, {
      headers: { authorization: `Bearer ${vendor.body.token}` },
    });
    assert.equal(asked.status, 403, asked.text);
    assert.notEqual(
      (await request('GET', `${server.coordinator}/admin/api${path}`, { token: alice.session.token })).status,
      200,
    );
  }
});

test('CAL-05 DAV clients find a room by its name and its type, and ask when it is free', async () => {
  const { user: room } = await makeRoom({ name: 'Osprey', place: 'Third floor', email: 'osprey@example.org' });
  assert.deepEqual(await answered(alice, room, span(10, 9)), ACCEPTED);
  const headers = { ...(await appPassword(server, bob)), 'content-type': 'application/xml' };
  const search = async (property: string, text: string) => {
    const body =
      '<D:principal-property-search xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" test="allof">' +
      `<D:property-search><D:prop><${property}/></D:prop><D:match>${text}</D:match></D:property-search>` +
      '<D:prop><D:displayname/><C:calendar-user-type/><C:calendar-user-address-set/></D:prop>' +
      '</D:principal-property-search>';
    const found = await fetch(`${server.calendar}/dav/principals/`, { method: 'REPORT', headers, body });
    return await found.text();
  };
  for (const found of [await search('D:displayname', 'ospr'), await search('C:calendar-user-type', 'ROOM')]) {
    assert.match(found, /Osprey[^]*<C:calendar-user-type>ROOM<\/C:calendar-user-type>[^]*mailto:osprey@example\.org/);
    assert.match(found, new RegExp(uuidAddress(room)));
  }
  assert.doesNotMatch(await search('C:calendar-user-type', 'ROOM'), /alice/);
  const question = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', 'METHOD:REQUEST', 'BEGIN:VFREEBUSY', 'UID:q'],
    ...['DTSTAMP:20261121T080000Z', `DTSTART:${utc(at(10, 0))}`, `DTEND:${utc(at(11, 0))}`],
    ...[`ORGANIZER:${uuidAddress('bob')}`, 'ATTENDEE:mailto:osprey@example.org', 'END:VFREEBUSY', 'END:VCALENDAR', ''],
  ].join('\r\n');
  const asked = await fetch(`${server.calendar}/dav/outbox/bob/`, {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'text/calendar' }, body: question },
  });
  assert.match(await asked.text(), new RegExp(`FREEBUSY;FBTYPE=BUSY:${utc(at(10, 9))}/${utc(at(10, 10))}`));
});

test('resources are found by kind, room for people, words and free time, page by page', async () => {
  const small = await makeRoom({ name: 'Wren', capacity: 4, place: 'Attic' });
  const large = await makeRoom({ name: 'Pelican', capacity: 40, place: 'Attic' });
  const beamer = await makeRoom({ kind: 'resource', name: 'Beamer', place: 'Attic' });
  assert.deepEqual(await listed(alice, '?q=attic'), [small.user, large.user, beamer.user]);
  assert.deepEqual(await listed(alice, '?q=attic&kind=resource'), [beamer.user]);
  assert.deepEqual(await listed(alice, '?q=ATTIC&capacity=5'), [large.user]);
  assert.deepEqual(await answered(alice, small.user, span(11, 9)), ACCEPTED);
  const free = (from: number, to: number) => `?q=attic&from=${at(11, from)}&to=${at(11, to)}`;
  assert.deepEqual(await listed(alice, free(9, 10)), [large.user, beamer.user]);
  assert.deepEqual(await listed(alice, free(10, 11)), [small.user, large.user, beamer.user]);
  const page = await call<{ items: { user: string }[]; next: string }>(
    server,
    alice,
    'GET',
    '/v1/resources?q=attic&limit=2',
  );
  assert.deepEqual([page.body.items.length, page.body.next], [2, large.user]);
  assert.deepEqual(await listed(alice, `?q=attic&after=${page.body.next}`), [beamer.user]);
  const wrong = { capacity: '?capacity=0', kind: '?kind=person', to: `?from=${at(1, 0)}`, limit: '?limit=201' };
  for (const [field, query] of Object.entries(wrong)) {
    assertRefused(await call(server, alice, 'GET', `/v1/resources${query}`), 'query_invalid', field);
  }
  const long = `?from=${at(1, 0)}&to=${at(64, 0)}`;
  assertRefused(await call(server, alice, 'GET', `/v1/resources${long}`), 'field_invalid', 'to');
  // Of those that are looked at for free time a page has so many at most, and goes on behind them.
  for (let made = 0; made <= FREE_RESOURCES_LOOKED_AT_MAX; made += 1) await makeRoom({ name: `Cell ${made}` });
  const cells = `?q=cell&from=${at(11, 9)}&to=${at(11, 10)}`;
  const first = await call<{ items: object[]; next: string }>(server, alice, 'GET', `/v1/resources${cells}`);
  assert.equal(first.body.items.length, FREE_RESOURCES_LOOKED_AT_MAX);
  assert.equal((await listed(alice, `${cells}&after=${first.body.next}`)).length, 1);
});

test('CAL-05 a time is found at which one of several rooms is free, of those that the caller may book', async () => {
  const [first, second] = [await makeRoom({ name: 'Finch' }), await makeRoom({ name: 'Siskin' })];
  const hidden = await makeRoom({ name: 'Owl', booking_groups: [await makeGroup('Owls', ['dave'])] });
  assert.deepEqual(await answered(alice, first.user, span(20, 9, 2)), ACCEPTED);
  assert.deepEqual(await answered(alice, second.user, span(20, 9)), ACCEPTED);
  const form = { people: ['carol'], from: at(20, 9), to: at(20, 11), duration_minutes: 60, limit: 1 };
  const rooms = [first.user, second.user, hidden.user];
  const found = await call(server, bob, 'POST', '/v1/find-time', { ...form, rooms });
  assert.deepEqual(found.body, {
    items: [{ start_at: at(20, 10), end_at: at(20, 11), doubtful: [], busy: [], rooms: [second.user] }],
    ...{ unknown: [hidden.user], next: null },
  });
  const none = await call(server, bob, 'POST', '/v1/find-time', { ...form, rooms: [first.user, hidden.user] });
  assert.deepEqual(none.body['items'], []);
});

test('a resource that is no such thing is refused, one step beyond each bound', async () => {
  const group = await makeGroup('Some', ['alice']);
  const unknown = `grp_${'0'.repeat(22)}`;
  for (const [field, wrong] of [
    ['kind', { kind: 'person' }],
    ['name', { name: ' ' }],
    ['capacity', { capacity: 0 }],
    ['time_zone', { time_zone: 'Europe/Nowhere' }],
    ['duration_minutes_max', { duration_minutes_max: BOOKING_MINUTES_MAX + 1 }],
    ['advance_days_max', { advance_days_max: BOOKING_ADVANCE_DAYS_MAX + 1 }],
    ['booking_groups', { booking_groups: Array.from({ length: BOOKING_GROUPS_MAX + 1 }, () => group) }],
    ['booking_groups.1', { booking_groups: [group, unknown] }],
  ] as const) {
    assertRefused(
      await console('POST', '/resources', { kind: 'room', name: 'Heron', ...wrong }),
      'field_invalid',
      field,
    );
  }
  const named = { kind: 'room', name: 'Heron', user: 'resource.mine' };
  assertRefused(await console('POST', '/resources', named), 'field_unknown', 'user');
  const widest = { duration_minutes_max: BOOKING_MINUTES_MAX, advance_days_max: BOOKING_ADVANCE_DAYS_MAX };
  const groups = { booking_groups: Array.from({ length: BOOKING_GROUPS_MAX }, () => group) };
  const { user: room } = await makeRoom({ ...widest, ...groups });
  assertRefused(await console('PATCH', `/resources/${room}`, { kind: 'resource' }), 'field_unknown', 'kind');
  assertRefused(
    await console('PATCH', `/resources/${room}`, { booking_groups: [unknown] }),
    'field_invalid',
    'booking_groups.0',
  );
  assert.equal((await console('GET', `/resources/${room}`)).body['rev'], 1);
});

test('CAL-04 a room that is removed takes its calendar along, answers nobody, and never comes back', async () => {
  const { user: room } = await makeRoom({ email: 'gone@example.org' });
  assert.deepEqual(await answered(alice, room, span(13, 9)), ACCEPTED);
  assert.equal((await console('DELETE', `/resources/${room}`)).status, 204);
  assertRefused(await console('GET', `/resources/${room}`), 'resource_not_found');
  assertRefused(await console('DELETE', `/resources/${room}`), 'resource_not_found');
  assertRefused(await console('PATCH', `/resources/${room}`, { name: 'x' }), 'resource_not_found');
  const { id } = await defaultCalendar(server, alice);
  const form = { title: 'Talk', ...span(13, 12), attendees: [room] };
  assertRefused(
    await call(server, alice, 'POST', `/v1/calendars/${id}/entries`, form),
    'participant_unknown',
    'attendees',
  );
  assert.equal(((await busyOf(alice, room, at(13, 0), at(14, 0))) as { known: boolean }).known, false);
  // Its address is another one's from then on.
  await makeRoom({ email: 'gone@example.org' });
});
