/** Objects over CalDAV: conditions, preconditions with their elements, bytes that come back as they were put. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { OBJECT_BYTES_MAX } from '#storage/calendars/calendar-records.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav } from './dav-server.ts';

const dav = await startDav();
const work = '/dav/calendars/ann/work/';
const TYPE = { 'content-type': 'text/calendar; charset=utf-8' };
const put = async (path: string, body: string | Buffer, headers: Record<string, string> = {}, user = 'ann') =>
  await dav.call('PUT', path, { body, headers: { ...TYPE, ...headers }, user });

before(async () => {
  assert.equal((await dav.call('MKCALENDAR', work)).status, 201);
});
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

test('CAL-01 the bytes that were put come back with the etag that was given for them', async () => {
  // Bare LF, odd folds, unknown properties, a truncated zone: whatever a client writes that is valid.
  const text = eventOf('exact', [
    'X-ODD;X-P="a:b;c,d":\\,kept ',
    'DESCRIPTION:Grüße 🎉 an alle',
    ' gefaltet',
    'DTSTART;TZID=Europe/Berlin:20261121T090000',
    'ATTACH;VALUE=URI:https://example.org/a?b=c',
  ]).replaceAll('\r\n', '\n');
  const created = await put(`${work}exact.ics`, text, { 'if-none-match': '*' });
  assert.equal(created.status, 201);
  assert.match(String(created.headers['etag']), /^"[\w-]{20,}"$/);
  const read = await dav.call('GET', `${work}exact.ics`);
  assert.equal(read.text, text);
  assert.equal(read.headers['etag'], created.headers['etag']);
  assert.equal(read.headers['content-type'], 'text/calendar; charset=utf-8');
  const head = await dav.call('HEAD', `${work}exact.ics`);
  assert.deepEqual(
    [head.status, head.text, head.headers['content-length']],
    [200, '', String(Buffer.byteLength(text))],
  );
  const again = await dav.call('GET', `${work}exact.ics`, {
    headers: { 'if-none-match': String(read.headers['etag']) },
  });
  assert.deepEqual([again.status, again.text], [304, '']);
  // Compressing would be another representation under the same etag.
  const zipped = await dav.call('GET', `${work}exact.ics`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(zipped.headers['content-encoding'], undefined);
});

test('CAL-01 conditions hold for create, update and delete, and without any the last writer wins', async () => {
  const path = `${work}conditions.ics`;
  assert.equal((await put(path, eventOf('conditions'), { 'if-match': '"x"' })).status, 412);
  const created = await put(path, eventOf('conditions'), { 'if-none-match': '*' });
  const first = String(created.headers['etag']);
  assert.equal((await put(path, eventOf('conditions', ['SUMMARY:2']), { 'if-none-match': '*' })).status, 412);
  const updated = await put(path, eventOf('conditions', ['SUMMARY:2']), { 'if-match': first });
  assert.equal(updated.status, 204);
  assert.notEqual(updated.headers['etag'], first);
  assert.equal((await put(path, eventOf('conditions', ['SUMMARY:3']), { 'if-match': first })).status, 412);
  assert.equal((await put(path, eventOf('conditions', ['SUMMARY:4']))).status, 204);
  assert.equal((await dav.call('DELETE', path, { headers: { 'if-match': first } })).status, 412);
  assert.equal((await dav.call('GET', path, { headers: { 'if-match': first } })).status, 412);
  assert.equal((await dav.call('DELETE', path, { headers: { 'if-match': '*' } })).status, 204);
  assert.equal((await dav.call('DELETE', path)).status, 404);
  assert.equal((await dav.call('GET', path)).status, 404);
});

test('CAL-01 a PUT may be compressed, and be answered with what was stored', async () => {
  const text = eventOf('zipped');
  const headers = { 'content-encoding': 'gzip', prefer: 'return=representation' };
  const reply = await put(`${work}zipped.ics`, gzipSync(text), headers);
  assert.deepEqual([reply.status, reply.text], [201, text]);
  const bomb = await put(`${work}bomb.ics`, gzipSync(Buffer.alloc(20_000_000, 32)), headers);
  assert.equal(bomb.status, 413);
});

const C = (local: string) => `{urn:ietf:params:xml:ns:caldav}${local}`;
const component = (name: string, uid: string, lines: readonly string[] = []) =>
  `BEGIN:${name}\r\nUID:${uid}\r\nDTSTAMP:20260101T000000Z\r\n${lines.map((line) => `${line}\r\n`).join('')}END:${name}\r\n`;
const calendarOf = (...inner: string[]) =>
  `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\n${inner.join('')}END:VCALENDAR\r\n`;

const REFUSED: readonly (readonly [string, string | Buffer, string])[] = [
  ['valid-calendar-data', 'This is no calendar.', 'no iCalendar at all'],
  ['valid-calendar-data', '', 'nothing'],
  ['valid-calendar-data', calendarOf(component('VEVENT', 'a', ['DTSTART:yesterday'])), 'a start that is no time'],
  ['valid-calendar-data', calendarOf('BEGIN:VEVENT\r\nUID:a\r\n'), 'a component that does not end'],
  [
    'valid-calendar-object-resource',
    calendarOf(
      component('VEVENT', 'a', ['DTSTART:20261121T090000Z']),
      component('VEVENT', 'b', ['DTSTART:20261121T090000Z']),
    ),
    'two UIDs',
  ],
  [
    'valid-calendar-object-resource',
    calendarOf(component('VEVENT', 'a', ['DTSTART:20261121T090000Z']), component('VTODO', 'a')),
    'two kinds',
  ],
  [
    'valid-calendar-object-resource',
    calendarOf('METHOD:REQUEST\r\n', component('VEVENT', 'a', ['DTSTART:20261121T090000Z'])),
    'a METHOD',
  ],
  ['max-resource-size', eventOf('big', [`DESCRIPTION:${'x'.repeat(OBJECT_BYTES_MAX)}`]), 'one byte too many, and more'],
];

for (const [condition, body, say] of REFUSED) {
  test(`CAL-01 PUT of ${say} is refused with ${condition}`, async () => {
    const reply = await put(`${work}refused.ics`, body);
    assert.equal(reply.status, 403);
    assert.deepEqual(conditionsOf(reply), [C(condition)]);
    assert.equal((await dav.call('GET', `${work}refused.ics`)).status, 404);
  });
}

test('CAL-01 an object of another media type or of a kind that the calendar does not take is refused', async () => {
  const typed = await put(`${work}vcard.ics`, 'BEGIN:VCARD', { 'content-type': 'text/vcard' });
  assert.deepEqual([typed.status, conditionsOf(typed)], [403, [C('supported-calendar-data')]]);
  const body = `<C:mkcalendar ${DAV_NS}><D:set><D:prop><C:supported-calendar-component-set><C:comp name="VTODO"/></C:supported-calendar-component-set></D:prop></D:set></C:mkcalendar>`;
  assert.equal((await dav.call('MKCALENDAR', '/dav/calendars/ann/tasks/', { body })).status, 201);
  const event = await put('/dav/calendars/ann/tasks/e.ics', eventOf('e'));
  assert.deepEqual([event.status, conditionsOf(event)], [403, [C('supported-calendar-component')]]);
  assert.equal((await put('/dav/calendars/ann/tasks/t.ics', calendarOf(component('VTODO', 't')))).status, 201);
});

test('CAL-01 a UID is there once in a calendar, the conflict names the other object, and another calendar may have it', async () => {
  await put(`${work}one%20%40.ics`, eventOf('same'));
  const conflict = await put(`${work}two.ics`, eventOf('same'));
  assert.equal(conflict.status, 403);
  assert.deepEqual(conditionsOf(conflict), [C('no-uid-conflict')]);
  assert.equal(conflict.xml.children[0]?.children[0]?.text, `${work}one%20%40.ics`);
  await dav.call('MKCALENDAR', '/dav/calendars/bob/work/', { user: 'bob' });
  assert.equal((await put('/dav/calendars/bob/work/x.ics', eventOf('same'), {}, 'bob')).status, 201);
});

test('a place without a calendar is 409, a collection is no place for an object', async () => {
  assert.equal((await put('/dav/calendars/ann/missing/a.ics', eventOf('a'))).status, 409);
  assert.equal((await put('/dav/calendars/bob/work/a.ics', eventOf('a'))).status, 409);
  assert.equal((await put(work, eventOf('a'))).status, 405);
  assert.equal((await put(`${work}a.ics/b.ics`, eventOf('a'))).status, 409);
  assert.equal((await put(`${work}${'n'.repeat(256)}.ics`, eventOf('a'))).status, 409);
});

test('CAL-01 a rule that names the calendar it counts in anyway is taken, and busy time beside an event is not', async () => {
  const gregorian = eventOf('rscale', ['RRULE:RSCALE=GREGORIAN;FREQ=YEARLY;COUNT=2;SKIP=OMIT']);
  assert.equal((await put(`${work}rscale.ics`, gregorian)).status, 201);
  const busy = ['BEGIN:VFREEBUSY', 'UID:two', 'DTSTAMP:20260101T000000Z', 'END:VFREEBUSY', 'END:VCALENDAR'].join(
    '\r\n',
  );
  const both = await put(`${work}two.ics`, eventOf('two').replace('END:VCALENDAR', busy));
  assert.deepEqual([both.status, conditionsOf(both)], [403, [C('valid-calendar-object-resource')]]);
});

test('CAL-01 what nobody has to believe is put back, and the client is told by a missing etag', async () => {
  const text = eventOf('meeting', [
    'ORGANIZER:mailto:ann@example.org',
    'ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@example.org',
  ]);
  const reply = await put(`${work}meeting.ics`, text);
  assert.deepEqual([reply.status, reply.headers['etag']], [201, undefined]);
  assert.match((await dav.call('GET', `${work}meeting.ics`)).text, /PARTSTAT=NEEDS-ACTION/);
  const foreign = await put(
    `${work}foreign.ics`,
    eventOf('foreign', ['ORGANIZER:mailto:bob@example.org', 'DTSTART:20961121T090000Z']),
  );
  assert.equal(foreign.status, 403);
  assert.deepEqual(conditionsOf(foreign), [C('allowed-organizer-scheduling-object-change')]);
});

test('CAL-01 MOVE keeps the bytes and their etag, within a calendar and between two', async () => {
  await dav.call('MKCALENDAR', '/dav/calendars/ann/home/');
  const created = await put(`${work}m.ics`, eventOf('m'));
  const move = async (from: string, to: string, headers: Record<string, string> = {}) =>
    await dav.call('MOVE', from, { headers: { destination: to, ...headers } });
  assert.equal((await move(`${work}m.ics`, `${dav.url}${work}m2.ics`)).status, 201);
  assert.equal((await move(`${work}m2.ics`, '/dav/calendars/ann/home/m.ics')).status, 201);
  const moved = await dav.call('GET', '/dav/calendars/ann/home/m.ics');
  assert.deepEqual([moved.headers['etag'], moved.text], [created.headers['etag'], eventOf('m')]);
  assert.equal((await dav.call('GET', `${work}m2.ics`)).status, 404);
  await put(`${work}there.ics`, eventOf('there'));
  assert.equal((await move('/dav/calendars/ann/home/m.ics', `${work}there.ics`, { overwrite: 'F' })).status, 412);
  assert.equal((await move('/dav/calendars/ann/home/m.ics', '/dav/calendars/bob/work/m.ics')).status, 409);
  assert.equal((await move('/dav/calendars/ann/home/m.ics', '/dav/calendars/ann/home/m.ics')).status, 403);
  assert.equal((await dav.call('MOVE', '/dav/calendars/ann/home/m.ics')).status, 400);
  assert.equal((await move('/dav/calendars/ann/home/none.ics', `${work}n.ics`)).status, 404);
});

test('CAL-01 no stored object can break its calendar', async () => {
  const path = '/dav/calendars/ann/odd/';
  await dav.call('MKCALENDAR', path);
  const odd: readonly (readonly [string, string])[] = [
    // Every instance excluded.
    ['excluded', eventOf('excluded', ['RRULE:FREQ=DAILY;COUNT=1', 'EXDATE:20261121T090000Z'])],
    ['far', eventOf('far', ['DTSTART:19650101T000000Z', 'RRULE:FREQ=DAILY'])],
    ['count', eventOf('count', ['RRULE:FREQ=DAILY;COUNT=1000000000'])],
    ['never', eventOf('never', ['RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'])],
    ['windows', eventOf('windows', ['DTSTART;TZID=W. Europe Standard Time:20261121T090000'])],
    ['unknown', eventOf('unknown', ['DTSTART;TZID=Nowhere/Land:20261121T090000'])],
    ['instance', eventOf('instance', ['RECURRENCE-ID:20261121T090000Z'])],
    ['both', eventOf('both', ['RECURRENCE-ID:20261121T090000Z', 'RRULE:FREQ=DAILY;COUNT=3'])],
    ['day', eventOf('day', ['DTSTART;VALUE=DATE:20261121', 'RRULE:FREQ=DAILY', 'EXDATE:20261122T000000Z'])],
    ['control', eventOf('control', ['DESCRIPTION:a\u0001b\u000bc'])],
    ['zero', eventOf('zero', ['RRULE:FREQ=DAILY;INTERVAL=0'])],
    ['seconds', eventOf('seconds', ['RRULE:FREQ=SECONDLY'])],
  ];
  let stored = 0;
  for (const [name, text] of odd) {
    const { status } = await put(`${path}${name}.ics`, text);
    assert.ok([201, 403].includes(status), `${name}: ${status}`);
    if (status === 201) stored += 1;
  }
  assert.ok(stored >= 8, `${stored} were stored`);
  const listing = await dav.call('PROPFIND', path, { headers: { depth: '1' } });
  assert.equal(rowsOf(listing).length, stored + 1);
  const query = `<C:calendar-query ${DAV_NS}><D:prop><D:getetag/><C:calendar-data><C:expand start="20261101T000000Z" end="20261201T000000Z"/></C:calendar-data></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="20261101T000000Z" end="20261201T000000Z"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`;
  assert.equal((await dav.call('REPORT', path, { body: query })).status, 207);
  const sync = `<D:sync-collection ${DAV_NS}><D:sync-token/><D:prop><D:getetag/><C:calendar-data/></D:prop></D:sync-collection>`;
  assert.equal(rowsOf(await dav.call('REPORT', path, { body: sync })).length, stored);
  const free = `<C:free-busy-query ${DAV_NS}><C:time-range start="20261101T000000Z" end="20261201T000000Z"/></C:free-busy-query>`;
  assert.equal((await dav.call('REPORT', path, { body: free })).status, 200);
});
