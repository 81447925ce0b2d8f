/** Files of other programs go in and come out as they were, each zone once, whatever is beside them (CAL-02). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as sendRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import { importLines, type ImportSteps } from '#src/calendar/ics/import-lines.ts';
import { type ImportLine, type ImportReport, IMPORT_FAULTS_MAX } from '#src/protocol/calendars/calendar-files.ts';
import { ERRORS, Refusal } from '#src/protocol/errors.ts';
import type { CalendarView } from '#src/protocol/calendars/calendars.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { request, type Reply } from '#test/support/server.ts';
import { assertRefused, call, eventText, makeCalendar, makeEntry, range } from '../service/calling.ts';
import { FOREIGN_FILES, linesOf } from './foreign-files.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob']);

async function importText(
  calendar: string,
  text: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply<ImportReport>> {
  return await request<ImportReport>('POST', `${server.calendar}/v1/calendars/${calendar}/import`, {
    body: text,
    headers: { 'content-type': 'text/calendar; charset=utf-8', ...headers },
    token: alice.session.token,
  });
}

async function exported(calendar: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return await fetch(`${server.calendar}/v1/calendars/${calendar}/export`, {
    headers: { authorization: `Bearer ${alice.session.token}`, ...headers },
  });
}

async function sequenceOf(calendar: string): Promise<number> {
  return (await call<CalendarView>(server, alice, 'GET', `/v1/calendars/${calendar}`)).body.sync_seq;
}

const counts = ({ imported, replaced, skipped, failed }: ImportReport) => [imported, replaced, skipped, failed];

for (const [program, file] of Object.entries(FOREIGN_FILES)) {
  test(`CAL-02 what ${program} writes goes in and comes out line by line, and once more changes nothing`, async () => {
    const { id } = await makeCalendar(server, alice, { kinds: ['event', 'todo', 'journal'], tz: 'Europe/Berlin' });
    const first = await importText(id, file.text);
    assert.equal(first.status, 200, first.text);
    assert.deepEqual([counts(first.body), first.body.faults], [[file.items, 0, 0, 0], []]);
    const before = await sequenceOf(id);
    assert.deepEqual(counts((await importText(id, file.text)).body), [0, 0, file.items, 0]);
    assert.equal(await sequenceOf(id), before, 'the same file once more writes nothing');
    const out = await (await exported(id)).text();
    // What it was written in is another's; every line of every component is the program's own.
    assert.deepEqual(linesOf(out), linesOf(file.text));
    assert.equal(out.includes('METHOD:'), false);
    assert.equal(/^ORGANIZER/m.test(out), /^ORGANIZER/m.test(file.text), 'a foreign organizer is kept');
    // The export is a file to import, and has nothing new for the calendar that it is of.
    assert.deepEqual(counts((await importText(id, out)).body), [0, 0, file.items, 0]);
    const other = await makeCalendar(server, alice, { kinds: ['event', 'todo', 'journal'] });
    assert.deepEqual(counts((await importText(other.id, out)).body), [file.items, 0, 0, 0]);
    assert.deepEqual(linesOf(await (await exported(other.id)).text()), linesOf(out));
    if (file.starts !== undefined) {
      const [from, to] = ['2026-11-01T00:00:00Z', '2026-12-31T00:00:00Z'];
      const starts = (await range(server, alice, id, from, to)).map((one) => one['start_at']);
      assert.deepEqual(starts, file.starts);
    }
  });
}

test('CAL-02 each zone is defined once, before it is named, and two zones of one name stay two', async () => {
  const { id } = await makeCalendar(server, alice);
  const own = (offset: string) => [
    'BEGIN:VTIMEZONE',
    'TZID:Customized Time Zone',
    'BEGIN:STANDARD',
    'DTSTART:16010101T000000',
    `TZOFFSETFROM:${offset}`,
    `TZOFFSETTO:${offset}`,
    'END:STANDARD',
    'END:VTIMEZONE',
  ];
  const file = (uid: string, tzid: string, zone: readonly string[]) =>
    ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', ...zone, 'BEGIN:VEVENT', `UID:${uid}`]
      .concat(['DTSTAMP:20261121T080000Z', `DTSTART;TZID=${tzid}:20261123T090000`, 'END:VEVENT', 'END:VCALENDAR', ''])
      .join('\r\n');
  for (const [uid, tzid, zone] of [
    ['a', 'Customized Time Zone', own('+0300')],
    ['b', 'Customized Time Zone', own('-0500')],
    ['c', 'Europe/Berlin', []],
    ['d', 'Europe/Berlin', []],
    ['e', 'W. Europe Standard Time', []],
  ] as const) {
    assert.deepEqual(counts((await importText(id, file(uid, tzid, zone))).body), [1, 0, 0, 0]);
  }
  const text = await (await exported(id)).text();
  const tzids = [...text.matchAll(/^TZID:(.*)\r$/gm)].map(([, name = '']) => name).toSorted((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(tzids, [
    'Customized Time Zone',
    'Customized Time Zone (2)',
    'Europe/Berlin',
    'W. Europe Standard Time',
  ]);
  for (const tzid of tzids) {
    assert.ok(text.indexOf(`TZID:${tzid}\r`) < text.indexOf(`DTSTART;TZID=${tzid}:`), `${tzid} is defined first`);
  }
  const other = await makeCalendar(server, alice);
  assert.deepEqual(counts((await importText(other.id, text)).body), [5, 0, 0, 0]);
  const [from, to] = ['2026-11-23T00:00:00Z', '2026-11-24T00:00:00Z'];
  const starts = async (calendar: string) =>
    (await range(server, alice, calendar, from, to)).map((one) => String(one['start_at']).slice(11, 16));
  assert.deepEqual(await starts(id), ['06:00', '08:00', '08:00', '08:00', '14:00']);
  assert.deepEqual(await starts(other.id), await starts(id));
});

test('CAL-02 an export has an etag that changes with the calendar, and is for those who may read it', async () => {
  const { id } = await makeCalendar(server, alice, { displayname: 'Räte; Ämter' });
  await makeEntry(server, alice, id, { title: 'x', start_at: '2026-11-23T09:00:00Z' });
  const first = await exported(id);
  assert.equal(first.headers.get('content-type'), 'text/calendar; charset=utf-8');
  assert.match(await first.text(), /X-WR-CALNAME:Räte\\; Ämter\r\n/);
  const etag = first.headers.get('etag') ?? '';
  assert.equal((await exported(id, { 'if-none-match': etag })).status, 304);
  assert.equal((await exported(id, { 'if-none-match': `"x", ${etag}` })).status, 304);
  await makeEntry(server, alice, id, { title: 'y', start_at: '2026-11-23T09:00:00Z' });
  const second = await exported(id, { 'if-none-match': etag });
  assert.deepEqual([second.status, (await second.text()).match(/BEGIN:VEVENT/g)?.length], [200, 2]);
  const path = `/v1/calendars/${id}`;
  assertRefused(await call(server, bob, 'GET', `${path}/export`), 'calendar_not_found');
  assertRefused(await call(server, undefined, 'GET', `${path}/export`), 'token_missing');
  await call(server, alice, 'PUT', `${path}/shares/bob`, { access: 'free_busy' });
  assertRefused(await call(server, bob, 'GET', `${path}/export`), 'right_missing');
  await call(server, alice, 'PUT', `${path}/shares/bob`, { access: 'read' });
  const shared = await fetch(`${server.calendar}${path}/export`, {
    headers: { authorization: `Bearer ${bob.session.token}` },
  });
  assert.equal((await shared.text()).match(/BEGIN:VEVENT/g)?.length, 2);
  const post = {
    method: 'POST',
    headers: { authorization: `Bearer ${bob.session.token}`, 'content-type': 'text/calendar' },
  };
  const refused = await fetch(`${server.calendar}${path}/import`, { ...post, body: eventText('x') });
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [403, 'right_missing']);
});

test('CAL-02 one bad item stops none of the others, and is told with its place', async () => {
  const { id } = await makeCalendar(server, alice);
  const good = (uid: string) => ['BEGIN:VEVENT', `UID:${uid}`, 'DTSTART:20261123T090000Z', 'END:VEVENT'];
  const text = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'METHOD:PUBLISH',
    ...good('first'),
    ...['BEGIN:VEVENT', 'UID:no-start', 'SUMMARY:x', 'END:VEVENT'],
    ...['BEGIN:VEVENT', 'UID:bad-line', 'DTSTART:20261123T090000Z', 'THIS IS NO LINE', 'END:VEVENT'],
    ...good('second'),
    ...['BEGIN:VTODO', 'UID:todo', 'END:VTODO'],
    ...['BEGIN:VEVENT', 'DTSTART:20261123T090000Z', 'END:VEVENT'],
    ...['BEGIN:VEVENT', 'UID:unended', 'DTSTART:20261123T090000Z'],
    ...good('third'),
    ...['BEGIN:VFREEBUSY', 'UID:busy', 'END:VFREEBUSY'],
    ...[
      'BEGIN:VEVENT',
      'UID:of a colleague',
      'DTSTART:20261123T090000Z',
      `ORGANIZER:${uuidAddress('bob')}`,
      'END:VEVENT',
    ],
    ...['BEGIN:VEVENT', 'UID:cut', 'DTSTART:20261123'],
  ].join('\n');
  const { body } = await importText(id, text);
  assert.deepEqual(counts(body), [4, 0, 0, 7]);
  assert.deepEqual(
    body.faults.map(({ index, uid, line, code }) => [index, uid, line, code]),
    [
      [1, 'no-start', 8, 'entry_invalid'],
      [2, 'bad-line', 15, 'entry_invalid'],
      [4, 'todo', 21, 'entry_kind_refused'],
      [5, undefined, 24, 'entry_invalid'],
      [6, 'unended', 27, 'entry_invalid'],
      [8, 'busy', 34, 'entry_kind_refused'],
      [10, 'cut', 42, 'entry_invalid'],
    ],
  );
});

test('CAL-02 what is no calendar file is refused whole, and one byte beyond the limit is', async () => {
  const { id } = await makeCalendar(server, alice);
  assertRefused(await importText(id, '<html>no calendar</html>'), 'body_not_calendar');
  assertRefused(await importText(id, ''), 'body_not_calendar');
  assertRefused(await importText(id, '{}', { 'content-type': 'application/json' }), 'body_not_calendar');
  assertRefused(await importText('cal_none', eventText('x')), 'calendar_not_found');
  const most = 16 * 1024 * 1024;
  const head = Buffer.from(eventText('x'));
  const filled = Buffer.concat([head, Buffer.alloc(most - head.length, '\n')]);
  assert.deepEqual(counts((await importText(id, filled)).body), [1, 0, 0, 0]);
  assert.deepEqual(await refusalOfLength(id, most + 1), [400, 'body_too_large']);
  assert.equal(await sequenceOf(id), 2);
});

/** What a body of that length is refused with before a byte of it is sent. */
async function refusalOfLength(calendar: string, length: number): Promise<[number | undefined, unknown]> {
  const asked = sendRequest(`${server.calendar}/v1/calendars/${calendar}/import`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${alice.session.token}`,
      'content-type': 'text/calendar',
      'content-length': String(length),
    },
  });
  asked.flushHeaders();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const { code } = (await json(response)) as { code: string };
  asked.on('error', () => undefined).destroy();
  return [response.statusCode, code];
}

test('CAL-02 of very many faults the first are listed, and all are counted', async () => {
  const { id } = await makeCalendar(server, alice);
  const bad = Array.from({ length: IMPORT_FAULTS_MAX + 1 }, (_, at) => `BEGIN:VEVENT\nUID:${at}\nEND:VEVENT\n`);
  const { body } = await importText(
    id,
    `BEGIN:VCALENDAR\n${bad.join('')}${eventText('good').split('\r\n').slice(3, -2).join('\n')}\nEND:VCALENDAR`,
  );
  assert.deepEqual(
    [counts(body), body.faults.length, body.is_cut],
    [[1, 0, 0, IMPORT_FAULTS_MAX + 1], IMPORT_FAULTS_MAX, true],
  );
});

test('CAL-02 an import replaces what changed, and never what the invited answered', async () => {
  const { id } = await makeCalendar(server, alice);
  const text = eventText('meeting', [`ATTENDEE;PARTSTAT=ACCEPTED:${uuidAddress('bob')}`, 'SEQUENCE:0']);
  assert.deepEqual(counts((await importText(id, text)).body), [1, 0, 0, 0]);
  // What an import says that Bob answered, Bob did not.
  assert.match(await (await exported(id)).text(), /ATTENDEE;PARTSTAT=NEEDS-ACTION:/);
  assert.deepEqual(counts((await importText(id, text)).body), [0, 0, 1, 0]);
  assert.deepEqual(counts((await importText(id, text.replace('SEQUENCE:0', 'SEQUENCE:1'))).body), [0, 1, 0, 0]);
  const invited = await call<{ items: unknown[] }>(server, bob, 'GET', '/v1/invitations');
  assert.deepEqual(invited.body.items, [], 'an import invites nobody');
});

test('CAL-02 an import is told as it goes, in lines that end with its report', async () => {
  const { id } = await makeCalendar(server, alice);
  const event = (uid: number) => eventText(String(uid)).split('\r\n').slice(3, -2).join('\n');
  const events = Array.from({ length: 300 }, (_, uid) => event(uid));
  const text = `BEGIN:VCALENDAR\n${events.join('\n')}\nBEGIN:VEVENT\nUID:bad\nEND:VEVENT\nEND:VCALENDAR`;
  const answer = await fetch(`${server.calendar}/v1/calendars/${id}/import`, {
    method: 'POST',
    headers: {
      'content-type': 'text/calendar',
      accept: 'text/html, Application/x-NDJSON; q=1',
      authorization: `Bearer ${alice.session.token}`,
    },
    body: text,
  });
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/x-ndjson']);
  const lines = (await answer.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ImportLine);
  const steps = lines.flatMap((line) => ('progress' in line ? [line.progress] : []));
  assert.deepEqual(steps[0], { done: 1, of: 301 }, 'what cannot be read is done with');
  assert.deepEqual(steps.at(-1), { done: 301, of: 301 });
  assert.ok(steps.length > 2 && steps.every(({ done }, at) => at === 0 || done > (steps[at - 1]?.done ?? 0)));
  const [last] = lines.slice(-1);
  assert.ok(last !== undefined && 'report' in last && lines.length === steps.length + 1);
  assert.deepEqual(counts(last.report), [300, 0, 0, 1]);
  // What refuses all of the file is an answer as any other, and whoever asks for no lines gets none.
  assertRefused(await importText(id, 'no calendar', { accept: 'application/x-ndjson' }), 'body_not_calendar');
  assert.deepEqual(counts((await importText(id, text, { accept: '*/*' })).body), [0, 0, 300, 1]);
});

test('CAL-02 an import that stops on its way says why in its last line, and one that nobody reads ends', async () => {
  let ended = 0;
  const stopping = async function* (error: Error): ImportSteps {
    try {
      yield { done: 0, of: 2 };
      yield { done: 1, of: 2 };
      throw error;
    } finally {
      ended += 1;
    }
  };
  const refused = stopping(new Refusal('storage_full'));
  const lines = await Array.fromAsync(importLines(await refused.next(), refused));
  const { error } = ERRORS.storage_full;
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ progress: { done: 0, of: 2 } }, { progress: { done: 1, of: 2 } }, { refused: { code: 'storage_full', error } }],
  );
  const broken = stopping(new Error('a fault of the server'));
  await assert.rejects(Array.fromAsync(importLines(await broken.next(), broken)), /a fault of the server/);
  const left = stopping(new Error('never'));
  for await (const line of importLines(await left.next(), left)) {
    assert.match(line, /progress/);
    break;
  }
  assert.equal(ended, 3);
});
