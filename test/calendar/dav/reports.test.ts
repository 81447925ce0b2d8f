/** Reports on calendars: queries with every kind of filter, multiget, data in parts, instances, free-busy. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FILTERS_MAX } from '#src/calendar/dav/filter.ts';
import { conditionsOf, DAV_NS, eventOf, rowsOf, startDav, type DavReply } from './dav-server.ts';

const dav = await startDav();
const path = '/dav/calendars/ann/reports/';
const DATA = '{urn:ietf:params:xml:ns:caldav}calendar-data';
const ZONED = 'DTSTART;TZID=Europe/Berlin:20261020T090000';

const TASK = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Test//EN',
  'BEGIN:VTODO',
  'UID:todo',
  'DTSTAMP:20260101T000000Z',
  'DUE:20261125T120000Z',
  'SUMMARY:Straße fegen',
  'END:VTODO',
  'END:VCALENDAR',
  '',
].join('\r\n');
const BERLIN =
  'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nEND:VCALENDAR\r\n';
const WEEKLY = eventOf('weekly', [
  ZONED,
  'DURATION:PT1H',
  'RRULE:FREQ=WEEKLY',
  'EXDATE;TZID=Europe/Berlin:20261110T090000',
]).replace(
  'END:VCALENDAR',
  'BEGIN:VEVENT\r\nUID:weekly\r\nDTSTAMP:20260101T000000Z\r\nRECURRENCE-ID:20261117T080000Z\r\nDTSTART:20261118T150000Z\r\nDURATION:PT2H\r\nSUMMARY:Moved\r\nEND:VEVENT\r\nEND:VCALENDAR',
);
const ALARM = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'DESCRIPTION:x', 'TRIGGER:-P1D', 'END:VALARM'];

const OBJECTS: Readonly<Record<string, string>> = {
  single: eventOf('single', ['CATEGORIES:Work,Home', 'ATTENDEE;ROLE=CHAIR;CN=Cy:mailto:cy@elsewhere.test', ...ALARM]),
  weekly: WEEKLY,
  day: eventOf('day', ['DTSTART;VALUE=DATE:20261224', 'SUMMARY:Christmas', 'TRANSP:TRANSPARENT']),
  tentative: eventOf('tentative', [
    'DTSTART:20261121T093000Z',
    'DTEND:20261121T110000Z',
    'STATUS:TENTATIVE',
    'SUMMARY:Maybe',
  ]),
  todo: TASK,
};

before(async () => {
  await dav.call('MKCALENDAR', path);
  for (const [name, body] of Object.entries(OBJECTS)) {
    const { status, text } = await dav.call('PUT', `${path}${name}.ics`, { body });
    assert.equal(status, 201, `${name}: ${text}`);
  }
});
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const report = async (body: string, headers: Record<string, string> = { depth: '1' }) =>
  await dav.call('REPORT', path, { body, headers });
const query = (filter: string, props = '<D:getetag/>') =>
  `<C:calendar-query ${DAV_NS}><D:prop>${props}</D:prop><C:filter><C:comp-filter name="VCALENDAR">${filter}</C:comp-filter></C:filter></C:calendar-query>`;
const namesOf = (reply: DavReply) => {
  assert.equal(reply.status, 207, reply.text);
  return rowsOf(reply)
    .map(({ href }) => href.slice(path.length, -'.ics'.length))
    .toSorted();
};
const event = (inner: string) => `<C:comp-filter name="VEVENT">${inner}</C:comp-filter>`;
const todo = (inner: string) => `<C:comp-filter name="VTODO">${inner}</C:comp-filter>`;
const range = (attributes: string) => `<C:time-range ${attributes}/>`;
const prop = (name: string, inner = '') => `<C:prop-filter name="${name}">${inner}</C:prop-filter>`;
const EVENTS = ['day', 'single', 'tentative', 'weekly'];

const QUERIES: readonly (readonly [say: string, filter: string, expected: readonly string[]])[] = [
  ['everything', '', [...EVENTS, 'todo'].toSorted()],
  ['events', event(''), EVENTS],
  ['to-dos', todo(''), ['todo']],
  ['journals', '<C:comp-filter name="VJOURNAL"/>', []],
  ['a day', event(range('start="20261121T000000Z" end="20261122T000000Z"')), ['single', 'tentative']],
  ['a start alone, as DAVx5 asks', event(range('start="20261122T000000Z"')), ['day', 'weekly']],
  ['an end alone', event(range('end="20261101T000000Z"')), ['weekly']],
  ['the time of an excluded instance', event(range('start="20261110T000000Z" end="20261111T000000Z"')), []],
  ['the time that an instance was moved from', event(range('start="20261117T000000Z" end="20261118T000000Z"')), []],
  ['the time that it was moved to', event(range('start="20261118T160000Z" end="20261118T163000Z"')), ['weekly']],
  ['an hour that is over when the range begins', event(range('start="20261121T110000Z" end="20261121T120000Z"')), []],
  ['the day of an all-day event', event(range('start="20261224T120000Z" end="20261224T130000Z"')), ['day']],
  ['a to-do by its due time', todo(range('start="20261125T000000Z" end="20261126T000000Z"')), ['todo']],
  ['a text in any case of letters', event(prop('SUMMARY', '<C:text-match>chRISTmas</C:text-match>')), ['day']],
  ['a text by its bytes', event(prop('SUMMARY', '<C:text-match collation="i;octet">chRISTmas</C:text-match>')), []],
  [
    'a text of Unicode',
    todo(prop('SUMMARY', '<C:text-match collation="i;unicode-casemap">STRASSE</C:text-match>')),
    ['todo'],
  ],
  [
    'what does not have a text',
    event(prop('SUMMARY', '<C:text-match negate-condition="yes">Event</C:text-match>')),
    ['day', 'tentative', 'weekly'],
  ],
  ['a property that is there', event(prop('CATEGORIES')), ['single']],
  ['a property that is not', event(prop('CATEGORIES', '<C:is-not-defined/>')), ['day', 'tentative', 'weekly']],
  ['to-dos that are not completed, as Apple asks', todo(prop('COMPLETED', '<C:is-not-defined/>')), ['todo']],
  [
    'a component that is not there',
    event('<C:comp-filter name="VALARM"><C:is-not-defined/></C:comp-filter>'),
    ['day', 'tentative', 'weekly'],
  ],
  ['an alarm', event('<C:comp-filter name="VALARM"/>'), ['single']],
  [
    'an alarm in a time',
    event(`<C:comp-filter name="VALARM">${range('start="20261120T080000Z" end="20261120T100000Z"')}</C:comp-filter>`),
    ['single'],
  ],
  [
    'an alarm in another time',
    event(`<C:comp-filter name="VALARM">${range('start="20261121T080000Z" end="20261121T100000Z"')}</C:comp-filter>`),
    [],
  ],
  [
    'a parameter',
    event(prop('ATTENDEE', '<C:param-filter name="ROLE"><C:text-match>chair</C:text-match></C:param-filter>')),
    ['single'],
  ],
  [
    'a parameter that is not there',
    event(prop('ATTENDEE', '<C:param-filter name="DELEGATED-TO"><C:is-not-defined/></C:param-filter>')),
    ['single'],
  ],
  [
    'a property in a time',
    event(prop('DTSTART', range('start="20261121T091500Z" end="20261122T000000Z"'))),
    ['tentative'],
  ],
  [
    'all of several filters',
    event(prop('SUMMARY') + prop('STATUS', '<C:text-match>TENTATIVE</C:text-match>')),
    ['tentative'],
  ],
];

for (const [say, filter, expected] of QUERIES) {
  test(`CAL-01 calendar-query finds ${say}`, async () => {
    assert.deepEqual(namesOf(await report(query(filter))), expected);
  });
}

const REFUSED: readonly (readonly [string, string, string])[] = [
  ['no range at all', query(event('<C:time-range/>')), 'valid-filter'],
  ['a range in local time', query(event(range('start="20261121T000000"'))), 'valid-filter'],
  [
    'a range that ends before it begins',
    query(event(range('start="20261122T000000Z" end="20261121T000000Z"'))),
    'valid-filter',
  ],
  ['a day that does not exist', query(event(range('start="20260230T000000Z"'))), 'valid-filter'],
  [
    'an unknown collation',
    query(event(prop('SUMMARY', '<C:text-match collation="i;klingon">x</C:text-match>'))),
    'supported-collation',
  ],
  ['an unknown filter', query(event('<X:near xmlns:X="urn:x"/>')), 'supported-filter'],
  [
    'another component outside',
    `<C:calendar-query ${DAV_NS}><C:filter><C:comp-filter name="VEVENT"/></C:filter></C:calendar-query>`,
    'valid-filter',
  ],
  [
    'a component where there is none of it',
    query('<C:comp-filter name="VTODO"><C:comp-filter name="VEVENT"/></C:comp-filter>'),
    'valid-filter',
  ],
  ['a range of a text', query(event(prop('SUMMARY', range('start="20261121T000000Z"')))), 'valid-filter'],
  [
    'a range of a zone',
    query(`<C:comp-filter name="VTIMEZONE">${range('start="20261121T000000Z"')}</C:comp-filter>`),
    'valid-filter',
  ],
  [
    'a range of a component that nobody knows',
    query(event(`<C:comp-filter name="X-COMP">${range('start="20261121T000000Z"')}</C:comp-filter>`)),
    'valid-filter',
  ],
  [
    'what is to be missing and to be something',
    query(event(prop('SUMMARY', '<C:is-not-defined/><C:text-match>x</C:text-match>'))),
    'valid-filter',
  ],
  [
    'a zone that nobody knows',
    query(event('')).replace('</C:calendar-query>', '<C:timezone-id>Mars/Olympus</C:timezone-id></C:calendar-query>'),
    'valid-timezone',
  ],
  [
    'a zone that is none',
    query(event('')).replace('</C:calendar-query>', '<C:timezone>BEGIN:VCALENDAR</C:timezone></C:calendar-query>'),
    'valid-calendar-data',
  ],
  [
    'a zone with an event beside it',
    query(event('')).replace(
      '</C:calendar-query>',
      `<C:timezone>${BERLIN.replace('END:VCALENDAR', 'BEGIN:VEVENT\r\nUID:x\r\nEND:VEVENT\r\nEND:VCALENDAR')}</C:timezone></C:calendar-query>`,
    ),
    'valid-calendar-data',
  ],
  ['no filter', `<C:calendar-query ${DAV_NS}><D:prop/></C:calendar-query>`, 'valid-filter'],
  ['too many filters', query(event(prop('SUMMARY').repeat(FILTERS_MAX))), 'valid-filter'],
  [
    'data of another type',
    query('', '<C:calendar-data content-type="application/calendar+json"/>'),
    'supported-calendar-data',
  ],
  ['free-busy without a range', `<C:free-busy-query ${DAV_NS}/>`, 'valid-filter'],
];

for (const [say, body, condition] of REFUSED) {
  test(`CAL-01 a report with ${say} is refused with ${condition}`, async () => {
    const reply = await report(body);
    assert.equal(reply.status, 403);
    assert.deepEqual(conditionsOf(reply), [`{urn:ietf:params:xml:ns:caldav}${condition}`]);
  });
}

test('CAL-01 whole days and floating times are compared, and written, in the zone that a query names', async () => {
  // Midnight in Berlin, where it is still the day before in the calendar's own zone.
  const asked = query(event(range('start="20261223T230000Z" end="20261223T233000Z"')));
  const within = (element: string) => asked.replace('</C:calendar-query>', `${element}</C:calendar-query>`);
  assert.deepEqual(namesOf(await report(asked)), []);
  assert.deepEqual(namesOf(await report(within(`<C:timezone>${BERLIN}</C:timezone>`))), ['day']);
  assert.deepEqual(namesOf(await report(within('<C:timezone-id>Europe/Berlin</C:timezone-id>'))), ['day']);
  const later = query(event(range('start="20261224T230000Z" end="20261224T233000Z"')));
  assert.deepEqual(namesOf(await report(later)), ['day']);
  const west = later.replace('</C:calendar-query>', '<C:timezone-id>Europe/Berlin</C:timezone-id></C:calendar-query>');
  assert.deepEqual(namesOf(await report(west)), []);
});

test('a report that is not known, or not of this resource, is refused by name', async () => {
  for (const [place, body] of [
    [path, `<D:version-tree ${DAV_NS}/>`],
    ['/dav/principals/ann/', `<C:free-busy-query ${DAV_NS}/>`],
    ['/dav/principals/ann/', query('')],
    ['/dav/principals/ann/', `<D:sync-collection ${DAV_NS}><D:sync-token/></D:sync-collection>`],
  ] as const) {
    const reply = await dav.call('REPORT', place, { body });
    assert.deepEqual([reply.status, conditionsOf(reply)], [403, ['{DAV:}supported-report']]);
  }
  assert.equal((await dav.call('REPORT', path)).status, 400);
});

test('CAL-01 multiget answers hrefs in any encoding and 404 rows for what is not there, and nothing else', async () => {
  await dav.call('PUT', `${path}sp%20ace%40.ics`, { body: eventOf('space') });
  const hrefs = [
    `${path}single.ics`,
    `${path}%73ingle.ics`,
    `${dav.url}${path}day.ics`,
    `${path}sp%20ace@.ics`,
    `${path}missing.ics`,
    '/dav/calendars/bob/default/a.ics',
    '/elsewhere',
    `${path}%ff.ics`,
  ];
  const body = `<C:calendar-multiget ${DAV_NS}><D:prop><D:getetag/><C:calendar-data/></D:prop>${hrefs.map((href) => `<D:href>${href}</D:href>`).join('')}</C:calendar-multiget>`;
  // vdirsyncer, calcurse and Evolution send no depth.
  const reply = await report(body, {});
  assert.deepEqual(
    rowsOf(reply).map(({ href, status, found }) => [href, status ?? found.size]),
    [
      // Named twice in two spellings, and answered once.
      [`${path}single.ics`, 2],
      [`${path}day.ics`, 2],
      [`${path}sp%20ace%40.ics`, 2],
      [`${path}missing.ics`, 'HTTP/1.1 404 Not Found'],
      ['/dav/calendars/bob/default/a.ics', 'HTTP/1.1 404 Not Found'],
      ['/elsewhere', 'HTTP/1.1 404 Not Found'],
      [`${path}%ff.ics`, 'HTTP/1.1 404 Not Found'],
    ],
  );
  assert.equal(rowsOf(reply)[0]?.found.get(DATA)?.text, OBJECTS['single']);
  const row = rowsOf(reply)[0];
  const read = await dav.call('GET', `${path}single.ics`);
  assert.equal(row?.found.get('{DAV:}getetag')?.text, read.headers['etag']);
  await dav.call('DELETE', `${path}sp%20ace%40.ics`);
});

const dataOf = (reply: DavReply, name: string) =>
  rowsOf(reply)
    .find(({ href }) => href === `${path}${name}.ics`)
    ?.found.get(DATA)?.text ?? '';

test('CAL-01 expand writes instances in UTC, with those that were moved and without those excluded', async () => {
  const window = 'start="20261019T000000Z" end="20261125T000000Z"';
  const reply = await report(query(event(range(window)), `<C:calendar-data><C:expand ${window}/></C:calendar-data>`));
  const text = dataOf(reply, 'weekly');
  const instances = text.split('BEGIN:VEVENT').slice(1);
  assert.deepEqual(
    instances.map((instance) => [/DTSTART:(\S+)/.exec(instance)?.[1], /RECURRENCE-ID:(\S+)/.exec(instance)?.[1]]),
    [
      ['20261020T070000Z', '20261020T070000Z'],
      ['20261027T080000Z', '20261027T080000Z'],
      ['20261103T080000Z', '20261103T080000Z'],
      ['20261118T150000Z', '20261117T080000Z'],
      ['20261124T080000Z', '20261124T080000Z'],
    ],
  );
  assert.match(instances[3] ?? '', /DTEND:20261118T170000Z[\s\S]*|SUMMARY:Moved/);
  assert.doesNotMatch(text, /RRULE|EXDATE|TZID|VTIMEZONE/);
  const days = await report(
    query(
      event(range('start="20261201T000000Z"')),
      '<C:calendar-data><C:expand start="20261201T000000Z" end="20270101T000000Z"/></C:calendar-data>',
    ),
  );
  assert.match(dataOf(days, 'day'), /DTSTART;VALUE=DATE:20261224\r\n/);
});

test('CAL-01 limit-recurrence-set keeps the series and the overrides of the time', async () => {
  const limited = async (window: string) =>
    dataOf(
      await report(query(event(''), `<C:calendar-data><C:limit-recurrence-set ${window}/></C:calendar-data>`)),
      'weekly',
    );
  assert.match(await limited('start="20261118T000000Z" end="20261119T000000Z"'), /RRULE[\s\S]*SUMMARY:Moved/);
  const without = await limited('start="20270101T000000Z" end="20270201T000000Z"');
  assert.match(without, /RRULE:FREQ=WEEKLY/);
  assert.doesNotMatch(without, /SUMMARY:Moved/);
});

test('CAL-01 calendar-data may be asked for in parts, and values may be left out', async () => {
  const parts =
    '<C:calendar-data><C:comp name="VCALENDAR"><C:prop name="VERSION"/><C:comp name="VEVENT"><C:prop name="UID"/><C:prop name="ATTENDEE" novalue="yes"/></C:comp></C:comp></C:calendar-data>';
  const reply = await report(query(event(prop('CATEGORIES')), parts));
  assert.equal(
    dataOf(reply, 'single'),
    'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:single\r\nATTENDEE;ROLE=CHAIR;CN=Cy:\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
  );
});

test('CAL-01 free-busy-query is 200 text/calendar with what is busy, merged, and nothing of what it is', async () => {
  const body = `<C:free-busy-query ${DAV_NS}><C:time-range start="20261117T000000Z" end="20261225T000000Z"/></C:free-busy-query>`;
  const reply = await report(body);
  assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'text/calendar; charset=utf-8']);
  assert.deepEqual(
    reply.text.split('\r\n').filter((line) => line.startsWith('FREEBUSY')),
    [
      'FREEBUSY;FBTYPE=BUSY:20261118T150000Z/20261118T170000Z',
      'FREEBUSY;FBTYPE=BUSY:20261121T090000Z/20261121T100000Z',
      'FREEBUSY;FBTYPE=BUSY-TENTATIVE:20261121T093000Z/20261121T110000Z',
      'FREEBUSY;FBTYPE=BUSY:20261124T080000Z/20261124T090000Z',
      'FREEBUSY;FBTYPE=BUSY:20261201T080000Z/20261201T090000Z',
      'FREEBUSY;FBTYPE=BUSY:20261208T080000Z/20261208T090000Z',
      'FREEBUSY;FBTYPE=BUSY:20261215T080000Z/20261215T090000Z',
      'FREEBUSY;FBTYPE=BUSY:20261222T080000Z/20261222T090000Z',
    ],
  );
  assert.doesNotMatch(reply.text, /SUMMARY/);
});

test('CAL-01 a year has the series that are in it, whether or not the index alone says so', async () => {
  const years = '/dav/calendars/ann/years/';
  await dav.call('MKCALENDAR', years);
  const series = (start: string, ...lines: string[]) => [`DTSTART:${start}`, 'DURATION:PT1H', ...lines];
  const all: Readonly<Record<string, readonly string[]>> = {
    endless: series('20200106T090000Z', 'RRULE:FREQ=WEEKLY'),
    'ended before': series('20200106T090000Z', 'RRULE:FREQ=WEEKLY;UNTIL=20241231T000000Z'),
    'ends within': series('20200106T090000Z', 'RRULE:FREQ=WEEKLY;UNTIL=20250701T000000Z'),
    'ends in the first days': series('20200106T090000Z', 'RRULE:FREQ=WEEKLY;UNTIL=20250103T000000Z'),
    'begins in the last days': series('20251230T090000Z', 'RRULE:FREQ=WEEKLY'),
    'begins behind': series('20260101T090000Z', 'RRULE:FREQ=WEEKLY'),
    'each leap day': series('20240229T090000Z', 'RRULE:FREQ=YEARLY'),
    'every third year': series('20210101T090000Z', 'RRULE:FREQ=YEARLY;INTERVAL=3'),
    'taken out': series(
      '20241201T090000Z',
      'RRULE:FREQ=MONTHLY;COUNT=3',
      'EXDATE:20250101T090000Z',
      'EXDATE:20250201T090000Z',
    ),
  };
  for (const [name, lines] of Object.entries(all)) {
    const { status, text } = await dav.call('PUT', `${years}${encodeURIComponent(name)}.ics`, {
      body: eventOf(name, lines),
    });
    assert.equal(status, 201, `${name}: ${text}`);
  }
  const body = query(event(range('start="20250101T000000Z" end="20260101T000000Z"')));
  const reply = await dav.call('REPORT', years, { body, headers: { depth: '1' } });
  const found = rowsOf(reply).map(({ href }) => decodeURIComponent(href.slice(years.length, -'.ics'.length)));
  assert.deepEqual(found.toSorted(), ['begins in the last days', 'endless', 'ends within']);
});

test('a large answer is compressed as it is written, and is the same', async () => {
  const plain = await report(query('', '<C:calendar-data/>'));
  const zipped = await report(query('', '<C:calendar-data/>'), { 'accept-encoding': 'deflate, gzip;q=0.8' });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(zipped.bytes).toString(), plain.text);
  const declined = await report(query('', '<C:calendar-data/>'), { 'accept-encoding': 'gzip;q=0' });
  assert.equal(declined.headers['content-encoding'], undefined);
});
