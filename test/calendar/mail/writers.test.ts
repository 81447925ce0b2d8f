/** Calendar mails as the servers and programs of the world write them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../service/calling.ts';
import {
  attendee,
  entryOf,
  EVE,
  exported,
  invitation,
  mailOf,
  message,
  organizer,
  outcomeOf,
  shareMailServer,
} from './mailing.ts';

const { server, bob } = await shareMailServer();

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
const quotedPrintable = (text: string) =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[=\u0080-\u00ff]/g, (it) => `=${it.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
    .replaceAll(/([^\r\n]{70})(?=[^\r\n])/g, (it) => (/=[0-9A-F]?$/.test(it) ? it : `${it}=\r\n`));

const part = (boundary: string, fields: readonly string[], body: string) =>
  [`--${boundary}`, ...fields, '', body].join('\r\n');

const summaryOf = async (uid: string) => (await entryOf(server, bob, uid))?.title;

/** What Gmail sends: mixed of alternative (text, HTML, calendar) and the same file as an attachment. */
function gmail(uid: string): string {
  const lines = [
    ...['DTSTART:20270123T090000Z', 'DTEND:20270123T100000Z', 'DTSTAMP:20261121T080000Z'],
    `ORGANIZER;CN=Eve Ö:mailto:${EVE}`,
    'ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=\r\n TRUE;CN=bob@example.org;X-NUM-GUESTS=0:mailto:bob@example.org',
    'X-MICROSOFT-CDO-OWNERAPPTID:-1234567',
    ...['CREATED:20261121T075900Z', 'DESCRIPTION:', 'LAST-MODIFIED:20261121T080000Z', 'LOCATION:', 'SEQUENCE:0'],
    ...['STATUS:CONFIRMED', 'SUMMARY:Tee bei Müller ☕', 'TRANSP:OPAQUE'],
  ];
  const text = message('REQUEST', uid, lines);
  const alternative = [
    part(
      '000000000000aa',
      ['Content-Type: text/plain; charset="UTF-8"; format=flowed; delsp=yes', 'Content-Transfer-Encoding: base64'],
      base64('You are invited'),
    ),
    part(
      '000000000000aa',
      ['Content-Type: text/html; charset="UTF-8"', 'Content-Transfer-Encoding: quoted-printable'],
      '<p>You are invited</p>',
    ),
    part(
      '000000000000aa',
      ['Content-Type: text/calendar; charset="UTF-8"; method=REQUEST', 'Content-Transfer-Encoding: base64'],
      base64(text),
    ),
    '--000000000000aa--',
  ].join('\r\n');
  const body = [
    part('000000000000bb', ['Content-Type: multipart/alternative; boundary="000000000000aa"'], alternative),
    part(
      '000000000000bb',
      [
        'Content-Type: application/ics; name="invite.ics"',
        'Content-Disposition: attachment; filename="invite.ics"',
        'Content-Transfer-Encoding: base64',
      ],
      base64(text),
    ),
    '--000000000000bb--',
    '',
  ].join('\r\n');
  return mailOf({ content: ['Content-Type: multipart/mixed; boundary="000000000000bb"'], body });
}

test('a mail of Gmail', async () => {
  const uid = '7kukuqrfedlm2f9t@google.com';
  assert.equal(await outcomeOf(server, gmail(uid)), 'applied');
  assert.equal(await summaryOf(uid), 'Tee bei Müller ☕');
});

const EXCHANGE_ZONE = [
  ...['BEGIN:VTIMEZONE', 'TZID:W. Europe Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16010101T030000', 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010101T020000', 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200'],
  ...['RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3', 'END:DAYLIGHT', 'END:VTIMEZONE'],
];

test('a mail of Exchange: Windows zone with and without its definition, alternative alone, an alarm', async () => {
  for (const [at, zone] of [EXCHANGE_ZONE, []].entries()) {
    const uid = `040000008200E00074C5B7101A82E008${at}`;
    const event = [
      ...['BEGIN:VEVENT', `ORGANIZER;CN=Eve:mailto:${EVE}`],
      'ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Bob:mailto:bob@example.org',
      ...['DESCRIPTION;LANGUAGE=de-DE:\\n', `UID:${uid}`, 'SUMMARY;LANGUAGE=de-DE:Besprechung'],
      ...['DTSTART;TZID=W. Europe Standard Time:20270623T090000', 'DTEND;TZID=W. Europe Standard Time:20270623T100000'],
      ...['CLASS:PUBLIC', 'PRIORITY:5', 'DTSTAMP:20261121T080000Z', 'TRANSP:OPAQUE', 'STATUS:CONFIRMED', 'SEQUENCE:0'],
      ...[
        'X-MICROSOFT-CDO-APPT-SEQUENCE:0',
        'X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE',
        'X-MICROSOFT-DISALLOW-COUNTER:FALSE',
      ],
      ...[
        'BEGIN:VALARM',
        'DESCRIPTION:REMINDER',
        'TRIGGER;RELATED=START:-PT15M',
        'ACTION:DISPLAY',
        'END:VALARM',
        'END:VEVENT',
      ],
    ];
    const head = ['BEGIN:VCALENDAR', 'METHOD:REQUEST', 'PRODID:Microsoft Exchange Server 2010', 'VERSION:2.0'];
    const text = [...head, ...zone, ...event, 'END:VCALENDAR', ''].join('\r\n');
    const body = [
      part(
        '_000_X_',
        ['Content-Type: text/plain; charset="iso-8859-1"', 'Content-Transfer-Encoding: quoted-printable'],
        'Hallo =FC',
      ),
      part(
        '_000_X_',
        ['Content-Type: text/calendar; charset="utf-8"; method=REQUEST', 'Content-Transfer-Encoding: base64'],
        base64(text),
      ),
      '--_000_X_--',
    ].join('\r\n');
    const content = [
      'Content-Language: de-DE',
      'X-MS-Has-Attach:',
      'Content-Type: multipart/alternative;\r\n\tboundary="_000_X_"',
    ];
    assert.equal(await outcomeOf(server, mailOf({ content, body })), 'applied');
    const entry = await entryOf(server, bob, uid);
    assert.deepEqual([entry?.start_at, entry?.tz], ['2027-06-23T07:00:00.000Z', 'Europe/Berlin']);
  }
  // The organiser's alarm is not the reader's.
  assert.doesNotMatch(await exported(server, bob), /REMINDER/);
});

test('a mail of Apple: METHOD in the calendar alone, quoted-printable, folded within a letter', async () => {
  const uid = '9A6C3C4E-0000-4B7A-8E0B-1C2D3E4F5A6B';
  const text = message('REQUEST', uid, [...invitation(), 'LOCATION:Größe']).replace(
    'SUMMARY:Tea',
    'SUMMARY:Café =\r\n  Straße',
  );
  const content = [
    'Content-Type: text/calendar;\r\n charset=UTF-8;\r\n name="iCal-20261121.ics"',
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Disposition: inline',
  ];
  assert.equal(await outcomeOf(server, mailOf({ content, body: quotedPrintable(text) })), 'applied');
  const entry = await entryOf(server, bob, uid);
  assert.deepEqual([entry?.title, entry?.location], ['Café = Straße', 'Größe']);
});

test('a mail of Thunderbird: 8bit, mixed, an attachment behind the calendar, a preamble and an epilogue', async () => {
  const uid = 'b5d1a9c2-thunderbird';
  const body = [
    'This is a multi-part message in MIME format.',
    part(
      '------------B',
      ['Content-Type: text/plain; charset=UTF-8; format=flowed', 'Content-Transfer-Encoding: 8bit'],
      '-- \r\n--------------\r\n--text',
    ),
    part(
      '------------B',
      ['Content-Type: text/calendar; charset=UTF-8; method=REQUEST', 'Content-Transfer-Encoding: 8bit'],
      message('REQUEST', uid, [...invitation(), 'LOCATION:Zürich']),
    ),
    part(
      '------------B',
      ['Content-Type: image/png; name="a.png"', 'Content-Transfer-Encoding: base64'],
      base64('png'),
    ),
    '--------------B--',
    'An epilogue.',
  ].join('\r\n');
  assert.equal(
    await outcomeOf(server, mailOf({ content: ['Content-Type: multipart/mixed; boundary="------------B"'], body })),
    'applied',
  );
  assert.equal((await entryOf(server, bob, uid))?.location, 'Zürich');
});

test('other charsets, line ends of one kind and of both, and a last boundary that is missing', async () => {
  const text = (uid: string) => message('REQUEST', uid, [...invitation(), 'LOCATION:Größe']);
  const latin = Buffer.from(text('latin1@x'), 'latin1');
  const type = 'Content-Type: text/calendar; method="request"; charset="iso-8859-1"';
  assert.equal(
    await outcomeOf(server, mailOf({ content: [type, 'Content-Transfer-Encoding: BASE64'], body: base64(latin) })),
    'applied',
  );
  assert.equal((await entryOf(server, bob, 'latin1@x'))?.location, 'Größe');
  const utf16 = Buffer.from(text('utf16@x'), 'utf16le');
  const wide = ['Content-Type: text/calendar; method=REQUEST; charset=utf-16le', 'Content-Transfer-Encoding: base64'];
  assert.equal(await outcomeOf(server, mailOf({ content: wide, body: base64(utf16) })), 'applied');
  assert.equal((await entryOf(server, bob, 'utf16@x'))?.location, 'Größe');
  const unix = mailOf({ body: text('unix@x') }).replaceAll('\r\n', '\n');
  assert.equal(await outcomeOf(server, unix), 'applied');
  const mixed = mailOf({ body: text('mixed@x').replaceAll('\r\n', '\n') });
  assert.equal(await outcomeOf(server, mixed), 'applied');
  const open = mailOf({
    content: ['Content-Type: multipart/mixed; boundary=b'],
    body: part('b', ['Content-Type: text/calendar; method=REQUEST'], text('open@x')),
  });
  assert.equal(await outcomeOf(server, open), 'applied');
  for (const uid of ['unix@x', 'mixed@x', 'open@x']) assert.equal(await summaryOf(uid), 'Tea');
});

test('a boundary that begins as another one is another one', async () => {
  const inner = [
    part('b-1', ['Content-Type: text/calendar; method=REQUEST'], message('REQUEST', 'nested@x', invitation())),
    '--b-1--',
  ];
  const body = [part('b', ['Content-Type: multipart/alternative; boundary=b-1'], inner.join('\r\n')), '--b--'].join(
    '\r\n',
  );
  assert.equal(
    await outcomeOf(server, mailOf({ content: ['Content-Type: multipart/mixed; boundary=b'], body })),
    'applied',
  );
  assert.equal(await summaryOf('nested@x'), 'Tea');
});

test('what is no calendar message is refused in words, and a mail within a mail stays closed', async () => {
  const content = (type: string) => [`Content-Type: ${type}`];
  const request = message('REQUEST', 'refused@x', invitation());
  const task = request.replaceAll('VEVENT', 'VTODO').replace('DTEND', 'DUE').replace('refused@x', 'task@x');
  const published = request.replace('METHOD:REQUEST\r\n', '');
  const cases: [string, string][] = [
    ['no_calendar_part', mailOf({ content: content('text/plain'), body: request })],
    ['no_calendar_part', mailOf({ content: [], body: 'Hello' })],
    ['no_calendar_part', mailOf({ content: content('application/ics'), body: request })],
    ['no_calendar_part', mailOf({ content: content('text/calendar'), body: published })],
    ['no_calendar_part', mailOf({ content: content('message/rfc822'), body: mailOf({ body: request }) })],
    ['method_mismatch', mailOf({ content: content('text/calendar; method=REQUEST'), body: published })],
    ['method_mismatch', mailOf({ content: content('text/calendar; method=CANCEL'), body: request })],
    ['calendar_invalid', mailOf({ content: content('text/calendar; method=REQUEST'), body: 'METHOD:REQUEST' })],
    ['calendar_invalid', mailOf({ body: request.replace('DTSTART:20270123T090000Z', 'DTSTART:soon') })],
    ['calendar_invalid', mailOf({ body: request.replaceAll('VEVENT', 'VFREEBUSY') })],
    ['kind_refused', mailOf({ body: request.replaceAll('VEVENT', 'VJOURNAL').replace(/DTEND.*\r\n/, '') })],
    // Tasks have a list of their own.
    ['applied', mailOf({ body: task })],
    ...['PUBLISH', 'ADD', 'REFRESH'].map((method): [string, string] => [
      'method_refused',
      mailOf({ content: content(`text/calendar; method=${method}`), body: message(method, 'refused@x', invitation()) }),
    ]),
    [
      'range_refused',
      mailOf({
        body: message(
          'REQUEST',
          'refused@x',
          invitation({ more: ['RECURRENCE-ID;RANGE=THISANDFUTURE:20270123T090000Z'] }),
        ),
      }),
    ],
    ['sender_unverified', mailOf({ top: [], content: content('text/plain'), body: 'Hello' })],
  ];
  for (const [outcome, mail] of cases) assert.equal(await outcomeOf(server, mail), outcome, mail.slice(-400));
  assert.equal(await summaryOf('refused@x'), undefined);
});

test('the first calendar with a METHOD counts', async () => {
  const body = [
    part(
      'b',
      ['Content-Type: text/calendar'],
      message('REQUEST', 'first@x', invitation()).replace('METHOD:REQUEST\r\n', ''),
    ),
    part('b', ['Content-Type: text/calendar; method=REQUEST'], message('REQUEST', 'second@x', invitation())),
    part('b', ['Content-Type: text/calendar; method=REQUEST'], message('REQUEST', 'third@x', invitation())),
    '--b--',
  ].join('\r\n');
  assert.equal(
    await outcomeOf(server, mailOf({ content: ['Content-Type: multipart/mixed; boundary=b'], body })),
    'applied',
  );
  assert.deepEqual(
    [await summaryOf('first@x'), await summaryOf('second@x'), await summaryOf('third@x')],
    [undefined, 'Tea', undefined],
  );
  const waiting = await call<{ items: { entry: { uid: string } }[] }>(server, bob, 'GET', '/v1/invitations?limit=200');
  assert.ok(waiting.body.items.some(({ entry }) => entry.uid === 'second@x'));
});

test('a series in days, and one in a zone that only its writer knows', async () => {
  const days = ['DTSTAMP:20261121T080000Z', 'DTSTART;VALUE=DATE:20270123', 'RRULE:FREQ=WEEKLY;COUNT=3', 'SUMMARY:Days'];
  const people = [organizer(), attendee('bob@example.org')];
  assert.equal(
    await outcomeOf(server, mailOf({ body: message('REQUEST', 'days@x', [...days, ...people]) })),
    'applied',
  );
  const zone = EXCHANGE_ZONE.map((line) => line.replace('W. Europe Standard Time', 'Customized Time Zone'));
  const own = [
    'DTSTAMP:20261121T080000Z',
    'DTSTART;TZID=Customized Time Zone:20270623T090000',
    'SUMMARY:Own',
    ...people,
  ];
  const text = message('REQUEST', 'own-zone@x', own).replace('BEGIN:VEVENT', `${zone.join('\r\n')}\r\nBEGIN:VEVENT`);
  assert.equal(await outcomeOf(server, mailOf({ body: text })), 'applied');
  assert.equal((await entryOf(server, bob, 'own-zone@x'))?.start_at, '2027-06-23T07:00:00.000Z');
  assert.equal((await entryOf(server, bob, 'days@x'))?.title, 'Days');
});
