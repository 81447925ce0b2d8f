/** The collections of scheduling: where clients find them, and questions about free and busy time. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OUTBOX_ATTENDEES_MAX, QUESTION_BYTES_MAX } from '#src/calendar/dav/outbox.ts';
import { eventOf, startDav, type DavTestServer } from './dav-server.ts';

let dav: DavTestServer;
before(async () => {
  dav = await startDav();
});
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const OUTBOX = '/dav/outbox/ann/';

function question(
  attendees: readonly string[],
  { organizer = 'mailto:ann@example.org', end = '20261122T000000Z' } = {},
): string {
  const lines = ['BEGIN:VFREEBUSY', 'UID:q1', 'DTSTAMP:20261121T000000Z', 'DTSTART:20261121T000000Z', `DTEND:${end}`];
  const people = [`ORGANIZER:${organizer}`, ...attendees.map((attendee) => `ATTENDEE:${attendee}`)];
  const all = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'METHOD:REQUEST',
    ...lines,
    ...people,
    'END:VFREEBUSY',
    'END:VCALENDAR',
    '',
  ];
  return all.join('\r\n');
}

async function ask(body: string, user = 'ann', path = OUTBOX) {
  return await dav.call('POST', path, { user, body, headers: { 'content-type': 'text/calendar' } });
}

test('CAL-02 the inbox and the outbox are found on the own principal, and are nobody else’s', async () => {
  const body =
    '<propfind xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><prop><C:schedule-inbox-URL/><C:schedule-outbox-URL/></prop></propfind>';
  const own = await dav.call('PROPFIND', '/dav/principals/ann/', { body, headers: { depth: '0' } });
  assert.match(own.text, /<C:schedule-inbox-URL><D:href>\/dav\/inbox\/ann\/<\/D:href>/);
  assert.match(own.text, /<C:schedule-outbox-URL><D:href>\/dav\/outbox\/ann\/<\/D:href>/);
  const other = await dav.call('PROPFIND', '/dav/principals/bob/', { body, headers: { depth: '0' } });
  assert.doesNotMatch(other.text, /outbox\//);
  await dav.call('PROPFIND', '/dav/calendars/ann/', { headers: { depth: '1' } });
  const asked =
    '<propfind xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><prop><resourcetype/><C:schedule-default-calendar-URL/><current-user-privilege-set/></prop></propfind>';
  const inbox = await dav.call('PROPFIND', '/dav/inbox/ann', { body: asked, headers: { depth: '1' } });
  assert.match(inbox.text, /<C:schedule-inbox\/>/);
  assert.match(inbox.text, /<C:schedule-deliver\/>/);
  assert.match(inbox.text, /\/dav\/calendars\/ann\/default\//);
  const outbox = await dav.call('PROPFIND', OUTBOX, { headers: { depth: '0' } });
  assert.match(outbox.text, /<C:schedule-outbox\/>/);
  assert.equal((await dav.call('PROPFIND', '/dav/inbox/bob/', { headers: { depth: '0' } })).status, 404);
  assert.equal((await dav.call('PUT', '/dav/inbox/ann/x.ics', { body: eventOf('x') })).status, 403);
  for (const path of ['/dav/inbox/ann/', '/dav/inbox/ann/x.ics', '/dav/inbox/', '/dav/elsewhere/ann/'])
    assert.ok([403, 404].includes((await dav.call('DELETE', path)).status), path);
});

test('CAL-02 a question about free and busy time is answered for each attendee, and says nothing of who is hidden', async () => {
  await dav.call('PROPFIND', '/dav/calendars/bob/', { user: 'bob', headers: { depth: '1' } });
  const path = '/dav/calendars/bob/work/';
  assert.equal((await dav.call('MKCALENDAR', path, { user: 'bob' })).status, 201);
  assert.equal((await dav.call('PUT', `${path}busy.ics`, { user: 'bob', body: eventOf('busy') })).status, 201);
  const reply = await ask(question(['mailto:bob@example.org', 'mailto:hidden@example.org', 'mailto:no@example.org']));
  assert.equal(reply.status, 200);
  const rows = reply.text.split('<C:response>').slice(1);
  assert.match(
    rows[0] ?? '',
    /mailto:bob@example.org.*2\.0;Success.*FREEBUSY;FBTYPE=BUSY:20261121T090000Z\/20261121T100000Z/s,
  );
  assert.match(rows[0] ?? '', /METHOD:REPLY/);
  assert.equal((rows[0] ?? '').includes('Event busy'), false);
  const [hidden, absent] = rows.slice(1).map((row) =>
    row
      .replace(/<C:recipient>.*<\/C:recipient>/, '')
      .replace('</C:schedule-response>', '')
      .trim(),
  );
  assert.equal(hidden, absent);
  assert.match(hidden ?? '', /3\.7;Invalid calendar user/);
});

test('what is no question, or is asked as somebody else, is refused', async () => {
  const refused = async (body: string, status: number, element: RegExp) => {
    const reply = await ask(body);
    assert.equal(reply.status, status, reply.text);
    assert.match(reply.text, element);
  };
  await refused(
    question(['mailto:bob@example.org'], { organizer: 'mailto:bob@example.org' }),
    403,
    /organizer-allowed/,
  );
  await refused(question([]), 403, /valid-scheduling-message/);
  await refused(question(['mailto:bob@example.org'], { end: '20280101T000000Z' }), 403, /valid-scheduling-message/);
  await refused(question(['mailto:bob@example.org'], { end: 'junk' }), 403, /valid-scheduling-message/);
  const many = Array.from({ length: OUTBOX_ATTENDEES_MAX + 1 }, (_, at) => `mailto:p${at}@example.org`);
  await refused(question(many), 403, /valid-scheduling-message/);
  assert.equal((await ask(question(many.slice(1)))).status, 200);
  const one = question(['mailto:bob@example.org']);
  const long = one.replace(
    'END:VFREEBUSY',
    `COMMENT:${'x'.repeat(QUESTION_BYTES_MAX - one.length - 10)}\r\nEND:VFREEBUSY`,
  );
  assert.equal(Buffer.byteLength(long), QUESTION_BYTES_MAX);
  assert.equal((await ask(long)).status, 200);
  await refused(`${long} `, 403, /max-resource-size/);
  await refused(eventOf('x'), 403, /valid-scheduling-message/);
  await refused('junk', 403, /valid-calendar-data/);
  assert.equal((await ask(question(['mailto:bob@example.org']), 'bob')).status, 404);
  assert.equal((await ask(question(['mailto:bob@example.org']), 'ann', '/dav/calendars/ann/')).status, 405);
});

test('CAL-03 SEQUENCE of what somebody is invited to never falls, whatever the organiser’s program writes', async () => {
  const path = '/dav/calendars/ann/default/sequence.ics';
  const people = [
    'ORGANIZER:mailto:ann@example.org',
    'ATTENDEE:mailto:ann@example.org',
    'ATTENDEE:mailto:guest@elsewhere.test',
  ];
  const write = async (...more: readonly string[]) => {
    const body = eventOf('sequence', [...people, ...more]);
    const reply = await dav.call('PUT', path, { body });
    assert.ok(reply.status < 300, reply.text);
    return /^SEQUENCE:(.*)\r$/m.exec((await dav.call('GET', path)).text)?.[1];
  };
  assert.equal(await write('SEQUENCE:3'), '3');
  assert.equal(await write('SEQUENCE:1', 'SUMMARY:Another'), '3');
  assert.equal(await write('SUMMARY:And another'), '3');
  assert.equal(await write('SEQUENCE:3', 'DTSTART:20270105T090000Z', 'DURATION:PT1H'), '4');
  assert.equal(await write('SEQUENCE:9', 'DTSTART:20270105T090000Z', 'DURATION:PT1H'), '9');
});
