/** What each client sends, as it was seen on the wire: one conversation of each, request by request. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DAV_NS, eventOf, rowsOf, startDav, tokenOf, type DavCall } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const expectStatus = async (status: number, method: string, path: string, call: DavCall = {}) => {
  const reply = await dav.call(method, path, call);
  assert.equal(reply.status, status, `${method} ${path}: ${reply.text}`);
  return reply;
};
const xml = { 'content-type': 'application/xml; charset="utf-8"' };
const depth = (value: string) => ({ ...xml, depth: value });
const ICS = { 'content-type': 'text/calendar; charset=utf-8' };

test('CAL-01 vdirsyncer: MKCOL without the slash, one listing for each calendar, multiget without a depth', async () => {
  const find = (name: string) =>
    `<?xml version="1.0" encoding="utf-8" ?><d:propfind xmlns:d="DAV:"><d:prop>${name}</d:prop></d:propfind>`;
  await expectStatus(207, 'PROPFIND', '/dav/', { body: find('<d:current-user-principal/>'), headers: depth('0') });
  await expectStatus(207, 'PROPFIND', '/dav/principals/ann/', {
    body: find('<c:calendar-home-set xmlns:c="urn:ietf:params:xml:ns:caldav"/>'),
    headers: depth('0'),
  });
  await expectStatus(201, 'MKCOL', '/dav/calendars/ann/vdir', {
    body: '<?xml version="1.0" encoding="utf-8" ?><mkcol xmlns="DAV:"><set><prop><resourcetype><collection/><C:calendar xmlns:C="urn:ietf:params:xml:ns:caldav"/></resourcetype></prop></set></mkcol>',
    headers: xml,
  });
  const created = await expectStatus(201, 'PUT', '/dav/calendars/ann/vdir/a.ics', {
    body: eventOf('a'),
    headers: { ...ICS, 'if-none-match': '*' },
  });
  const listing = await expectStatus(207, 'PROPFIND', '/dav/calendars/ann/vdir/', {
    body: find('<d:resourcetype/><d:getcontenttype/><d:getetag/>'),
    headers: depth('1'),
  });
  const [, member] = rowsOf(listing);
  assert.equal(member?.found.get('{DAV:}getcontenttype')?.text, 'text/calendar; charset=utf-8; component=vevent');
  assert.equal(member?.found.get('{DAV:}getetag')?.text, created.headers['etag']);
  await expectStatus(207, 'REPORT', '/dav/calendars/ann/vdir/', {
    body: `<?xml version="1.0" encoding="utf-8" ?><C:calendar-multiget xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><prop><getetag/><C:calendar-data/></prop><href>${member?.href}</href></C:calendar-multiget>`,
    headers: xml,
  });
  await expectStatus(412, 'DELETE', '/dav/calendars/ann/vdir/a.ics', { headers: { 'if-match': '"old"' } });
  await expectStatus(204, 'DELETE', '/dav/calendars/ann/vdir/a.ics', {
    headers: { 'if-match': String(created.headers['etag']) },
  });
});

test('CAL-01 calcurse: a query for etags of everything, and a multiget', async () => {
  await expectStatus(201, 'MKCALENDAR', '/dav/calendars/ann/calcurse/');
  await expectStatus(201, 'PUT', '/dav/calendars/ann/calcurse/a.ics', {
    body: eventOf('a'),
    headers: { 'content-type': 'text/calendar' },
  });
  const reply = await expectStatus(207, 'REPORT', '/dav/calendars/ann/calcurse/', {
    body: '<?xml version="1.0" encoding="utf-8" ?><C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag /></D:prop><C:filter><C:comp-filter name="VCALENDAR"></C:comp-filter></C:filter></C:calendar-query>',
    headers: { depth: '1', 'content-type': 'Content-Type: application/xml; charset="utf-8"' },
  });
  assert.equal(rowsOf(reply).length, 1);
});

test('CAL-01 Thunderbird: bare OPTIONS, one question about the calendar, sync without data, its own PUT is there at once', async () => {
  await expectStatus(308, 'PROPFIND', '/.well-known/caldav', { user: null, headers: depth('0') });
  const options = await expectStatus(200, 'OPTIONS', '/dav/calendars/ann/', { user: null });
  assert.equal(String(options.headers['dav']).split(/,\s*/)[0], '1');
  await expectStatus(401, 'PROPFIND', '/dav/calendars/ann/thunder/', { user: null });
  await expectStatus(201, 'MKCALENDAR', '/dav/calendars/ann/thunder/');
  const body = `<D:propfind ${DAV_NS}><D:prop><D:resourcetype/><D:owner/><D:current-user-principal/><D:current-user-privilege-set/><D:supported-report-set/><C:supported-calendar-component-set/><CS:getctag/></D:prop></D:propfind>`;
  const [row] = rowsOf(
    await expectStatus(207, 'PROPFIND', '/dav/calendars/ann/thunder/', { body, headers: depth('0') }),
  );
  assert.deepEqual(row?.missing, []);
  const zoned = eventOf('tb', ['DTSTART;TZID=Europe/Berlin:20261121T090000']).replace(
    'BEGIN:VEVENT',
    'BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:18930401T000000\r\nTZOFFSETFROM:+005328\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT',
  );
  await expectStatus(201, 'PUT', '/dav/calendars/ann/thunder/tb.ics', {
    body: zoned,
    headers: { ...ICS, 'if-none-match': '*' },
  });
  const sync = await expectStatus(207, 'REPORT', '/dav/calendars/ann/thunder/', {
    body: `<sync-collection xmlns="DAV:"><sync-token/><sync-level>1</sync-level><prop><getcontenttype/><getetag/></prop></sync-collection>`,
    headers: depth('1'),
  });
  assert.match(rowsOf(sync)[0]?.found.get('{DAV:}getcontenttype')?.text ?? '', /^text\/calendar/);
});

test('CAL-01 Evolution: bare OPTIONS twice, ctag polls, range query, unconditional update and removal', async () => {
  await expectStatus(200, 'OPTIONS', '/dav/calendars/ann/evo/', { user: null });
  await expectStatus(201, 'MKCALENDAR', '/dav/calendars/ann/evo/');
  await expectStatus(201, 'PUT', '/dav/calendars/ann/evo/a.ics', {
    body: eventOf('a'),
    headers: { ...ICS, 'if-none-match': '*', prefer: 'return=minimal' },
  });
  const ctag = async () => {
    const body = `<D:propfind ${DAV_NS}><D:prop><CS:getctag/></D:prop></D:propfind>`;
    const reply = await expectStatus(207, 'PROPFIND', '/dav/calendars/ann/evo/', { body, headers: depth('0') });
    return rowsOf(reply)[0]?.found.get('{http://calendarserver.org/ns/}getctag')?.text;
  };
  const before = await ctag();
  assert.equal(await ctag(), before);
  await expectStatus(204, 'PUT', '/dav/calendars/ann/evo/a.ics', { body: eventOf('a', ['SUMMARY:b']), headers: ICS });
  assert.notEqual(await ctag(), before);
  await expectStatus(204, 'DELETE', '/dav/calendars/ann/evo/a.ics');
});

test('CAL-01 DAVx5: properties of sync, start-only range, multiget in batches with an etag in every row', async () => {
  await expectStatus(201, 'MKCALENDAR', '/dav/calendars/ann/davx5/');
  for (const uid of ['a', 'b', 'c'])
    await expectStatus(201, 'PUT', `/dav/calendars/ann/davx5/${uid}.ics`, { body: eventOf(uid), headers: ICS });
  const body = `<propfind xmlns="DAV:" xmlns:CS="http://calendarserver.org/ns/"><prop><supported-report-set/><CS:getctag/><sync-token/></prop></propfind>`;
  const [row] = rowsOf(await expectStatus(207, 'PROPFIND', '/dav/calendars/ann/davx5/', { body, headers: depth('0') }));
  assert.deepEqual(row?.missing, []);
  const query = `<CAL:calendar-query xmlns="DAV:" xmlns:CAL="urn:ietf:params:xml:ns:caldav"><prop><getetag/></prop><CAL:filter><CAL:comp-filter name="VCALENDAR"><CAL:comp-filter name="VEVENT"><CAL:time-range start="20260823T000000Z"/></CAL:comp-filter></CAL:comp-filter></CAL:filter></CAL:calendar-query>`;
  const found = rowsOf(
    await expectStatus(207, 'REPORT', '/dav/calendars/ann/davx5/', { body: query, headers: depth('1') }),
  );
  const hrefs = found.map(({ href }) => `<href>${href}</href>`).join('');
  const multiget = `<CAL:calendar-multiget xmlns="DAV:" xmlns:CAL="urn:ietf:params:xml:ns:caldav"><prop><getcontenttype/><getetag/><schedule-tag xmlns="urn:ietf:params:xml:ns:caldav"/><CAL:calendar-data version="2.0" content-type="text/calendar"/></prop>${hrefs}</CAL:calendar-multiget>`;
  const rows = rowsOf(
    await expectStatus(207, 'REPORT', '/dav/calendars/ann/davx5/', { body: multiget, headers: depth('1') }),
  );
  assert.deepEqual(
    rows.map(({ found: { size } }) => size),
    [4, 4, 4],
  );
});

test('CAL-01 Apple: from the redirect to a new event without one 404 on the way', async () => {
  await expectStatus(308, 'PROPFIND', '/.well-known/caldav', { user: null });
  const first = `<A:propfind xmlns:A="DAV:"><A:prop><A:current-user-principal/><A:principal-URL/><A:resourcetype/></A:prop></A:propfind>`;
  for (const path of ['/dav/', '/', '/principals/']) {
    await expectStatus(207, 'PROPFIND', path, { body: first, headers: { ...depth('0'), brief: 't' } });
  }
  const principal = `<A:propfind xmlns:A="DAV:"><A:prop><B:calendar-home-set xmlns:B="urn:ietf:params:xml:ns:caldav"/><B:calendar-user-address-set xmlns:B="urn:ietf:params:xml:ns:caldav"/><A:current-user-principal/><A:displayname/><C:dropbox-home-URL xmlns:C="http://calendarserver.org/ns/"/><C:email-address-set xmlns:C="http://calendarserver.org/ns/"/><C:notification-URL xmlns:C="http://calendarserver.org/ns/"/><A:principal-collection-set/><A:principal-URL/><A:resource-id/><B:schedule-inbox-URL xmlns:B="urn:ietf:params:xml:ns:caldav"/><B:schedule-outbox-URL xmlns:B="urn:ietf:params:xml:ns:caldav"/><A:supported-report-set/></A:prop></A:propfind>`;
  const [row] = rowsOf(
    await expectStatus(207, 'PROPFIND', '/dav/principals/ann/', {
      body: principal,
      headers: { ...depth('0'), brief: 't' },
    }),
  );
  assert.deepEqual(row?.missing, []);
  assert.equal(row?.found.has('{urn:ietf:params:xml:ns:caldav}calendar-home-set'), true);
  await expectStatus(201, 'MKCALENDAR', '/dav/calendars/ann/0A1B/', {
    body: `<B:mkcalendar xmlns:B="urn:ietf:params:xml:ns:caldav"><A:set xmlns:A="DAV:"><A:prop><B:supported-calendar-component-set><B:comp name="VTODO"/></B:supported-calendar-component-set><A:displayname>Reminders</A:displayname><D:calendar-color xmlns:D="http://apple.com/ns/ical/" symbolic-color="custom">#FF2968</D:calendar-color></A:prop></A:set></B:mkcalendar>`,
    headers: xml,
  });
  const patched = await expectStatus(207, 'PROPPATCH', '/dav/calendars/ann/0A1B/', {
    body: `<A:propertyupdate xmlns:A="DAV:"><A:set><A:prop><D:calendar-order xmlns:D="http://apple.com/ns/ical/">4</D:calendar-order><B:default-alarm-vevent-date xmlns:B="urn:ietf:params:xml:ns:caldav">BEGIN:VALARM&#13;
END:VALARM</B:default-alarm-vevent-date></A:prop></A:set></A:propertyupdate>`,
    headers: xml,
  });
  assert.match(patched.text, /HTTP\/1.1 200/);
  const home = `<A:propfind xmlns:A="DAV:"><A:prop><A:add-member/><C:allowed-sharing-modes xmlns:C="http://calendarserver.org/ns/"/><D:calendar-color xmlns:D="http://apple.com/ns/ical/"/><B:default-alarm-vevent-date xmlns:B="urn:ietf:params:xml:ns:caldav"/><C:getctag xmlns:C="http://calendarserver.org/ns/"/><A:quota-available-bytes/><A:sync-token/></A:prop></A:propfind>`;
  const rows = rowsOf(await expectStatus(207, 'PROPFIND', '/dav/calendars/ann/', { body: home, headers: depth('1') }));
  const reminders = rows.find(({ href }) => href === '/dav/calendars/ann/0A1B/');
  assert.equal(
    reminders?.found.get('{urn:ietf:params:xml:ns:caldav}default-alarm-vevent-date')?.text,
    'BEGIN:VALARM\r\nEND:VALARM',
  );
  const sync = await expectStatus(207, 'REPORT', '/dav/calendars/ann/0A1B/', {
    body: '<A:sync-collection xmlns:A="DAV:"><A:sync-token/><A:sync-level>1</A:sync-level><A:prop><A:getetag/><A:getcontenttype/></A:prop></A:sync-collection>',
  });
  assert.match(tokenOf(sync), /^urn:/);
});
