/**
 * What of an entry's CLASS (RFC 5545, 3.8.1.3) comes through which door to whom: one table of what may be seen, and every
 * door asked. Nothing of what is not shown may stand anywhere in an answer.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CATEGORIES_MAX, CATEGORY_LENGTH_MAX, type CalendarView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { appPassword, assertRefused, call, makeCalendar, makeEntry, putObject } from './calling.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob']);

const CLASSES = ['PUBLIC', 'CONFIDENTIAL', 'PRIVATE', 'X-OURS'] as const;
type Class = (typeof CLASSES)[number];
const ACCESSES = ['owner', 'delegate', 'write', 'read', 'free_busy'] as const;
type Access = (typeof ACCESSES)[number];

/** `whole`, its time and nothing else, or not even that. What nobody defined is private (RFC 5545, 3.8.1.3). */
type Shown = 'whole' | 'time' | 'hidden';
const OF_SHAREE: Readonly<Record<Class, Shown>> = {
  ...{ PUBLIC: 'whole', CONFIDENTIAL: 'time', PRIVATE: 'hidden', 'X-OURS': 'hidden' },
};
const ALL: Readonly<Record<Class, Shown>> = {
  ...{ PUBLIC: 'whole', CONFIDENTIAL: 'whole', PRIVATE: 'whole', 'X-OURS': 'whole' },
};
const NOTHING: Readonly<Record<Class, Shown>> = {
  ...{ PUBLIC: 'hidden', CONFIDENTIAL: 'hidden', PRIVATE: 'hidden', 'X-OURS': 'hidden' },
};
const TABLE: Readonly<Record<Access, Readonly<Record<Class, Shown>>>> = {
  ...{ owner: ALL, delegate: ALL, write: OF_SHAREE, read: OF_SHAREE, free_busy: NOTHING },
};

/** Everything of an entry that says what it is; the UID and the name of the file among it. */
const secretOf = (name: Class) => `Secret-${name}`;
const uidOf = (name: Class) => `${secretOf(name)}@uid.test`;
const hourOf = (name: Class) => `20261123T${String(9 + CLASSES.indexOf(name)).padStart(2, '0')}`;

function textOf(name: Class, value = `CLASS:${name}`): string {
  const secret = secretOf(name);
  return [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', `PRODID:-//${secret}//EN`],
    ...['BEGIN:VTIMEZONE', `TZID:${secret}`, `COMMENT:${secret}`],
    ...['BEGIN:STANDARD', 'DTSTART:19700101T000000', 'TZOFFSETFROM:+0000', 'TZOFFSETTO:+0000', `TZNAME:${secret}`],
    ...['END:STANDARD', 'END:VTIMEZONE'],
    ...['BEGIN:VEVENT', `UID:${uidOf(name)}`, 'DTSTAMP:20261121T080000Z', value],
    ...[`DTSTART;X-WHAT="${secret}":${hourOf(name)}0000Z`, `DTEND:${hourOf(name)}3000Z`, 'RRULE:FREQ=DAILY;COUNT=3'],
    ...[`SUMMARY:${secret}`, `DESCRIPTION:${secret}`, `LOCATION:${secret}`, `CATEGORIES:${secret}`],
    ...[`X-NOTE:${secret}`, `COMMENT:${secret}`, `URL:https://example.org/${secret}`, 'GEO:1.5;2.5'],
    ...['BEGIN:VALARM', 'ACTION:DISPLAY', 'TRIGGER:-PT5M', `DESCRIPTION:${secret}`, 'END:VALARM'],
    ...['END:VEVENT', 'BEGIN:VEVENT', `UID:${uidOf(name)}`, 'DTSTAMP:20261121T080000Z'],
    ...[`RECURRENCE-ID:20261124T${hourOf(name).slice(9)}0000Z`, `DTSTART:20261124T${hourOf(name).slice(9)}1000Z`],
    ...[`SUMMARY:${secret} moved`, 'END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n');
}

const passwords = { alice: await appPassword(server, alice), bob: await appPassword(server, bob) };

const NS = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';

async function dav(who: Person, method: string, path: string, body = '', headers: object = {}): Promise<string> {
  const all = { ...passwords[who.username as 'alice' | 'bob'], depth: '1', ...headers };
  const init = body === '' ? {} : { body };
  const response = await fetch(`${server.calendar}${path}`, { method, headers: all, ...init });
  return `${response.status}\n${[...response.headers].join('\n')}\n${await response.text()}`;
}

const report = (who: Person, path: string, name: string, inner: string) =>
  dav(who, 'REPORT', path, `<${name} ${NS}>${inner}</${name}>`);
const PROPS =
  '<D:prop><D:getetag/><D:getcontentlength/><D:displayname/><X:note xmlns:X="x:"/><C:calendar-data/></D:prop>';
const filterOf = (inner: string) =>
  `<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">${inner}</C:comp-filter></C:comp-filter></C:filter>`;

async function exportOf(who: Person, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${who.session.token}` };
  return await (await fetch(`${server.calendar}/v1/calendars/${id}/export`, { headers })).text();
}

/** A calendar of Alice's with one entry of each class, and what clients keep on them. */
async function filled(): Promise<CalendarView> {
  const calendar = await makeCalendar(server, alice);
  const path = `/dav/calendars/alice/${calendar.name}`;
  for (const name of CLASSES) {
    const file = `${path}/${secretOf(name)}.ics`;
    assert.equal((await putObject(server, passwords.alice, file, textOf(name))).status, 201);
    const kept = `<D:propertyupdate ${NS}><D:set><D:prop><X:note xmlns:X="x:">${secretOf(name)}</X:note></D:prop></D:set></D:propertyupdate>`;
    assert.match(await dav(alice, 'PROPPATCH', file, kept), /^207/);
  }
  return calendar;
}

/** Every door by which something of a calendar's entries is read: its name → what it answers. */
function doorsOf(who: Person, calendar: CalendarView): Readonly<Record<string, (name: Class) => Promise<string>>> {
  const path = `/dav/calendars/${who.username}/${who === alice ? calendar.name : calendar.id}/`;
  const fileOf = (name: Class) => `${path}${secretOf(name)}.ics`;
  const span = 'from=2026-11-23T00:00:00Z&to=2026-11-26T00:00:00Z';
  const json = async (method: string, at: string, body?: object) => (await call(server, who, method, at, body)).text;
  return {
    'DAV GET': (name) => dav(who, 'GET', fileOf(name)),
    'DAV PROPFIND': () => dav(who, 'PROPFIND', path),
    'DAV PROPFIND of the home': () => dav(who, 'PROPFIND', `/dav/calendars/${who.username}/`),
    multiget: (name) => report(who, path, 'C:calendar-multiget', `${PROPS}<D:href>${fileOf(name)}</D:href>`),
    'multiget expanded': (name) =>
      report(
        who,
        path,
        'C:calendar-multiget',
        `<D:prop><C:calendar-data><C:expand start="20261123T000000Z" end="20261126T000000Z"/></C:calendar-data></D:prop><D:href>${fileOf(name)}</D:href>`,
      ),
    query: () => report(who, path, 'C:calendar-query', PROPS + filterOf('')),
    'query by time': () =>
      report(
        who,
        path,
        'C:calendar-query',
        PROPS + filterOf('<C:time-range start="20261123T000000Z" end="20261126T000000Z"/>'),
      ),
    'sync-collection': () =>
      report(who, path, 'D:sync-collection', `<D:sync-token/><D:sync-level>1</D:sync-level>${PROPS}`),
    'JSON changes': () => json('GET', `/v1/calendars/${calendar.id}/changes?limit=200`),
    'JSON range': () => json('GET', `/v1/calendars/${calendar.id}/entries?${span}`),
    export: () => exportOf(who, calendar.id),
  };
}

/** Whether an answer has the entry whole, its time alone, or nothing of it. */
function shownIn(answer: string, name: Class, isJson: boolean): Shown {
  const text = answer.replaceAll(/\r\n[ \t]/g, '');
  if (text.includes(`${secretOf(name)} moved`) || text.includes(`SUMMARY:${secretOf(name)}`)) return 'whole';
  if (isJson && text.includes(`"title":"${secretOf(name)}`)) return 'whole';
  const hour = hourOf(name).slice(9);
  const time = isJson ? `2026-11-23T${hour}:00:00.000Z` : `DTSTART:20261123T${hour}0000Z`;
  return text.includes(time) ? 'time' : 'hidden';
}

for (const access of ACCESSES) {
  test(`CAL-05 ${access}: each class is shown as the table says by every door`, async () => {
    const calendar = await filled();
    const who = access === 'owner' ? alice : bob;
    const path = `/v1/calendars/${calendar.id}`;
    if (access !== 'owner') {
      assert.equal((await call(server, alice, 'PUT', `${path}/shares/bob`, { access })).status, 200);
    }
    const table = TABLE[access];
    for (const [door, ask] of Object.entries(doorsOf(who, calendar))) {
      for (const name of CLASSES) {
        const answer = await ask(name);
        const expected = table[name];
        if (door.startsWith('DAV PROPFIND')) {
          const isListed = door === 'DAV PROPFIND' && expected !== 'hidden';
          assert.equal(answer.includes(`${secretOf(name)}.ics`), isListed, `${door} ${name}\n${answer}`);
          continue;
        }
        const isJson = door.startsWith('JSON');
        // Whoever sees free and busy times only sees by this door when the owner is busy, and of all that is so.
        const shown = access === 'free_busy' && door === 'JSON range' ? 'time' : expected;
        assert.equal(shownIn(answer, name, isJson), shown, `${door} ${name}\n${answer}`);
        if (shown === 'whole') continue;
        // The names by which it is asked for are the only words that may come back.
        const own = [`${secretOf(name)}.ics`, ...(shown === 'time' ? [uidOf(name)] : [])];
        const isAskedFor = shown === 'time' || door.startsWith('multiget');
        const words = own.reduce((text, word) => text.replaceAll(isAskedFor ? word : '\0', ''), answer);
        assert.ok(!words.includes(secretOf(name)), `${door} names ${name}:\n${words}`);
        assert.ok(!/GEO|VALARM|X-WHAT/.test(shown === 'time' && !isAll(table) ? onlyOf(answer, name) : ''), door);
      }
    }
  });
}

/** Alice's calendar with one entry of each class, as Bob has it. */
async function sharedWith(access: Exclude<Access, 'owner'>) {
  const calendar = await filled();
  const path = `/v1/calendars/${calendar.id}`;
  const put = async (value: Exclude<Access, 'owner'>) => {
    const reply = await call(server, alice, 'PUT', `${path}/shares/bob`, { access: value });
    assert.equal(reply.status, 200, reply.text);
  };
  await put(access);
  const home = `/dav/calendars/bob/${calendar.id}`;
  const own = `/dav/calendars/alice/${calendar.name}`;
  return { calendar, path, put, home, own, fileOf: (name: Class) => `${home}/${secretOf(name)}.ics` };
}

const assertSecret = (answer: string, names: readonly string[] = []) => {
  const rest = names.reduce((text, name) => text.replaceAll(name, ''), answer.replaceAll(/\r\n[ \t]/g, ''));
  assert.ok(!/Secret-(?:CONF|PRIV|X-)/.test(rest), rest);
};

test('CAL-05 a feed leaves private entries out and shows the time of confidential ones; busy times have all of them', async () => {
  const { calendar, path, put, home } = await sharedWith('free_busy');
  const feedOf = async (detail: string) => {
    const made = await call<{ path: string }>(server, alice, 'POST', `${path}/feeds`, { detail });
    return await (await fetch(`${server.calendar}${made.body.path}`)).text();
  };
  const hours = (text: string) => [...text.matchAll(/^DTSTART[^:]*:20261123T(\d\d)/gm)].map(([, hour = '']) => hour);
  const full = await feedOf('full');
  assert.deepEqual(hours(full), ['10', '09'], 'by the names of their files: CONFIDENTIAL, PUBLIC');
  assertSecret(full);
  assert.match(full, /SUMMARY:Secret-PUBLIC/);
  const busy = await feedOf('free_busy');
  assert.deepEqual(hours(busy).toSorted(), ['09', '10', '11', '12']);
  assert.ok(!busy.includes('Secret'), busy);
  for (const access of ['free_busy', 'read', 'write', 'delegate'] as const) {
    await put(access);
    const span = '<C:time-range start="20261123T000000Z" end="20261124T000000Z"/>';
    const asked = await report(bob, `${home}/`, 'C:free-busy-query', span);
    assert.equal([...asked.matchAll(/20261123T(09|10|11|12)0000Z\/20261123T\1(?:30)00Z/g)].length, 4, asked);
    const body = { users: ['alice'], from: '2026-11-23T00:00:00Z', to: '2026-11-24T00:00:00Z' };
    const json = await call(server, bob, 'POST', '/v1/free-busy', body);
    assert.match(json.text, /2026-11-23T11:00:00.000Z/);
    assert.ok(!`${asked}${json.text}`.includes('Secret'));
  }
  await call(server, alice, 'DELETE', `/v1/calendars/${calendar.id}`);
});

test('CAL-05 a question about words is answered by what is shown', async () => {
  const { home, put } = await sharedWith('read');
  const ask = async (property: string, text: string, negate = 'no') => {
    const match = `<C:text-match negate-condition="${negate}">${text}</C:text-match>`;
    const filter = filterOf(`<C:prop-filter name="${property}">${match}</C:prop-filter>`);
    const answer = await report(bob, `${home}/`, 'C:calendar-query', `<D:prop><D:getetag/></D:prop>${filter}`);
    return [...answer.matchAll(/<D:href>[^<]*(Secret-[\w-]+)\.ics/g)].map(([, name = '']) => name).toSorted();
  };
  assert.deepEqual(await ask('SUMMARY', 'Secret'), ['Secret-PUBLIC']);
  assert.deepEqual(await ask('SUMMARY', 'Secret', 'yes'), ['Secret-CONFIDENTIAL']);
  for (const property of ['DESCRIPTION', 'LOCATION', 'CATEGORIES', 'X-NOTE', 'URL']) {
    assert.deepEqual(await ask(property, 'Secret'), ['Secret-PUBLIC'], property);
  }
  const alarm = '<C:comp-filter name="VALARM"/>';
  const rung = await report(bob, `${home}/`, 'C:calendar-query', `<D:prop><D:getetag/></D:prop>${filterOf(alarm)}`);
  assert.deepEqual(rung.match(/Secret-[\w-]+\.ics/g), ['Secret-PUBLIC.ics']);
  await put('delegate');
  assert.equal((await ask('SUMMARY', 'Secret')).length, 4);
});

test('CAL-05 who may write changes nothing of what they do not see whole, and writes nothing that they would not see', async () => {
  const { calendar, path, home, own, fileOf, put } = await sharedWith('write');
  const stored = await exportOf(alice, calendar.id);
  const text = { 'content-type': 'text/calendar' };
  const entries = `${path}/entries`;
  const changes = await call<{ items: { id: string; uid: string }[] }>(server, alice, 'GET', `${path}/changes`);
  const idOf = (name: Class) => changes.body.items.find(({ uid }) => uid === uidOf(name))?.id ?? '';
  const confidential = [
    await dav(bob, 'PUT', fileOf('CONFIDENTIAL'), textOf('CONFIDENTIAL', 'CLASS:PUBLIC'), text),
    await dav(bob, 'DELETE', fileOf('CONFIDENTIAL')),
    await dav(bob, 'MOVE', fileOf('CONFIDENTIAL'), '', { destination: '/dav/calendars/bob/default/got.ics' }),
    await dav(bob, 'COPY', fileOf('CONFIDENTIAL'), '', { destination: '/dav/calendars/bob/default/got.ics' }),
  ];
  for (const answer of confidential) assert.match(answer, /^403\n[^]*need-privileges/);
  const kept = `<D:propertyupdate ${NS}><D:set><D:prop><X:note xmlns:X="x:">Mine</X:note></D:prop></D:set></D:propertyupdate>`;
  assert.match(await dav(bob, 'PROPPATCH', fileOf('CONFIDENTIAL'), kept), /need-privileges/);
  const privileges = `<D:propfind ${NS}><D:prop><D:current-user-privilege-set/></D:prop></D:propfind>`;
  assert.match(await dav(bob, 'PROPFIND', fileOf('PUBLIC'), privileges), /write-content/);
  assert.doesNotMatch(await dav(bob, 'PROPFIND', fileOf('CONFIDENTIAL'), privileges), /write-content/);
  for (const [method, body] of [
    ['PATCH', { scope: 'all', title: 'Mine' }],
    ['DELETE', undefined],
  ] as const) {
    const at = (name: Class) => `${entries}/${idOf(name)}${method === 'DELETE' ? '?scope=all' : ''}`;
    assertRefused(await call(server, bob, method, at('CONFIDENTIAL'), body), 'right_missing');
    assertRefused(await call(server, bob, method, at('PRIVATE'), body), 'entry_not_found');
  }
  assertRefused(await call(server, bob, 'GET', `${entries}/${idOf('PRIVATE')}`), 'entry_not_found');
  for (const method of ['GET', 'DELETE', 'MOVE', 'COPY', 'PROPPATCH']) {
    const headers = { destination: '/dav/calendars/bob/default/got.ics' };
    assert.match(
      await dav(bob, method, fileOf('PRIVATE'), method === 'PROPPATCH' ? kept : '', headers),
      /^404/,
      method,
    );
  }
  assert.match(await dav(bob, 'PUT', fileOf('PRIVATE'), textOf('PRIVATE', 'CLASS:PUBLIC'), text), /^403/);
  // The same UID elsewhere is refused without saying where it is.
  const conflict = await dav(bob, 'PUT', `${home}/new.ics`, textOf('PRIVATE', 'CLASS:PUBLIC'), text);
  assert.match(conflict, /^403\n[^]*no-uid-conflict/);
  assertSecret(conflict);
  for (const name of ['PRIVATE', 'CONFIDENTIAL'] as const) {
    const mine = textOf(name).replaceAll(uidOf(name), `mine-${name}`);
    assert.match(await dav(bob, 'PUT', `${home}/mine.ics`, mine, text), /^403\n[^]*need-privileges/);
    const file = await fetch(`${server.calendar}${path}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bob.session.token}`, ...text },
      body: textOf(name),
    });
    const told = (await file.json()) as { failed: number; skipped: number };
    assert.deepEqual([told.failed, told.skipped], [1, 0], 'not even whether it is the same is told');
  }
  assert.equal(await exportOf(alice, calendar.id), stored, 'nothing of it changed');
  await put('delegate');
  assert.match(await dav(bob, 'PUT', fileOf('PRIVATE'), textOf('PRIVATE').replace('5.2', '6'), text), /^204/);
  assert.match(await dav(bob, 'DELETE', fileOf('CONFIDENTIAL')), /^204/);
  assert.match(await dav(alice, 'GET', `${own}/Secret-CONFIDENTIAL.ics`), /^404/);
});

test('CAL-05 what becomes private goes from whoever had it, and what never was shown is never named', async () => {
  const { own, home, path, put } = await sharedWith('read');
  const sync = async (token: string) =>
    await report(
      bob,
      `${home}/`,
      'D:sync-collection',
      `<D:sync-token>${token}</D:sync-token><D:sync-level>1</D:sync-level>${PROPS}`,
    );
  const tokenIn = (answer: string) => /<D:sync-token>([^<]+)/.exec(answer)?.[1] ?? '';
  type Changes = { items: { uid: string }[]; deleted: string[]; next: string };
  const changes = async (after = '') =>
    await call<Changes>(server, bob, 'GET', `${path}/changes${after === '' ? '' : `?after=${after}`}`);
  const first = await sync('');
  const { next, items } = (await changes()).body;
  assert.deepEqual(items.map(({ uid }) => uid).toSorted(), [uidOf('CONFIDENTIAL'), uidOf('PUBLIC')]);
  const write = async (name: Class, value: string) =>
    assert.equal(
      (await putObject(server, passwords.alice, `${own}/${secretOf(name)}.ics`, textOf(name, value))).status,
      204,
    );
  await write('PUBLIC', 'CLASS:PRIVATE');
  await write('PRIVATE', 'CLASS:PRIVATE\r\nX-MORE:1');
  assert.match(await dav(alice, 'DELETE', `${own}/Secret-X-OURS.ics`), /^204/);
  const second = await sync(tokenIn(first));
  assert.match(second, /Secret-PUBLIC\.ics<\/D:href><D:status>HTTP\/1.1 404/);
  assertSecret(second);
  const after = (await changes(next)).body;
  assert.deepEqual([after.items.length, after.deleted.length], [0, 1]);
  await write('PUBLIC', 'CLASS:PUBLIC');
  assert.match(await sync(tokenIn(second)), /SUMMARY:Secret-PUBLIC/);
  // Who sees more or less from now on reads everything again.
  const last = tokenIn(await sync(tokenIn(second)));
  await put('write');
  assert.match(await sync(last), /^207/);
  await put('delegate');
  assert.match(await sync(last), /^403\n[^]*valid-sync-token/);
  assertRefused(await changes(after.next), 'sync_cursor_expired');
  const whole = await sync('');
  assert.match(whole, /SUMMARY:Secret-CONFIDENTIAL/);
  await put('read');
  assert.match(await sync(tokenIn(whole)), /^403\n[^]*valid-sync-token/);
});

test('CAL-05 what was taken from a reader is named to them once, and not again when it changes or goes', async () => {
  const { own, home, path } = await sharedWith('read');
  type Changes = { items: { uid: string }[]; deleted: string[]; next: string };
  const asked = `<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop>`;
  const read = async (token: string, after: string) => {
    const answer = await report(bob, `${home}/`, 'D:sync-collection', `<D:sync-token>${token}</D:sync-token>${asked}`);
    const json = await call<Changes>(server, bob, 'GET', `${path}/changes${after === '' ? '' : `?after=${after}`}`);
    const names = [...answer.matchAll(/<D:href>[^<]*\/([^/<]+)\.ics<\/D:href><D:(status|propstat)>/g)];
    return {
      token: /<D:sync-token>([^<]+)/.exec(answer)?.[1] ?? '',
      after: json.body.next,
      rows: names.map(([, name, kind]) => `${kind === 'status' ? 'gone' : 'is'} ${name}`).toSorted(),
      json: [json.body.items.length, json.body.deleted.length],
    };
  };
  const file = `${own}/Secret-PUBLIC.ics`;
  const write = async (value: string) =>
    assert.ok((await putObject(server, passwords.alice, file, textOf('PUBLIC', value))).ok, value);
  const first = await read('', '');
  assert.deepEqual(first.rows, ['is Secret-CONFIDENTIAL', 'is Secret-PUBLIC']);
  await write('CLASS:PRIVATE');
  const taken = await read(first.token, first.after);
  assert.deepEqual([taken.rows, taken.json], [['gone Secret-PUBLIC'], [0, 1]]);
  const nothing = [[], [0, 0]];
  await write('CLASS:PRIVATE\r\nX-MORE:1');
  const later = await read(taken.token, taken.after);
  assert.deepEqual([later.rows, later.json], nothing, 'changed where nobody sees it');
  // Whoever begins now never had it, and whoever did not ask meanwhile is told.
  const fresh = await read('', '');
  assert.deepEqual(fresh.rows, ['is Secret-CONFIDENTIAL']);
  assert.deepEqual((await read(first.token, first.after)).rows, ['gone Secret-PUBLIC']);
  await write('CLASS:CONFIDENTIAL');
  const shown = await read(later.token, later.after);
  assert.deepEqual([shown.rows, shown.json], [['is Secret-PUBLIC'], [1, 0]]);
  await write('CLASS:PRIVATE\r\nX-MORE:2');
  assert.deepEqual((await read(fresh.token, fresh.after)).rows, ['gone Secret-PUBLIC']);
  const again = await read(shown.token, shown.after);
  assert.deepEqual(again.rows, ['gone Secret-PUBLIC']);
  assert.match(await dav(alice, 'DELETE', file), /^204/);
  const gone = await read(again.token, again.after);
  assert.deepEqual([gone.rows, gone.json], nothing, 'removed where nobody sees it');
  assert.deepEqual((await read(shown.token, shown.after)).rows, ['gone Secret-PUBLIC']);
  // What is removed and comes back for its owner alone goes from whoever had it.
  await write('CLASS:PUBLIC');
  const back = await read(gone.token, gone.after);
  assert.deepEqual(back.rows, ['is Secret-PUBLIC']);
  assert.match(await dav(alice, 'DELETE', file), /^204/);
  await write('CLASS:PRIVATE');
  const last = await read(back.token, back.after);
  assert.deepEqual([last.rows, last.json], [['gone Secret-PUBLIC'], [0, 1]]);
});

test('CAL-05 no tag or length that a reader of times is given can be held against a guess of the words', async () => {
  const { own, home, path, fileOf } = await sharedWith('read');
  // Whoever guesses all of it puts the guess into a calendar of their own, and reads what it has there.
  const guess = `/dav/calendars/bob/default/guess-${Date.now()}.ics`;
  const text = { 'content-type': 'text/calendar' };
  assert.match(await dav(bob, 'PUT', guess, textOf('CONFIDENTIAL'), text), /^201/);
  const [, etag = ''] = /\netag,"([^"]+)"/.exec(await dav(bob, 'GET', guess)) ?? [];
  assert.ok(etag.length > 8, etag);
  const props = '<D:prop><D:getetag/><C:schedule-tag/><D:getcontentlength/><C:calendar-data/></D:prop>';
  const answers = async () => [
    await dav(bob, 'GET', fileOf('CONFIDENTIAL')),
    await dav(bob, 'HEAD', fileOf('CONFIDENTIAL')),
    await dav(bob, 'PROPFIND', fileOf('CONFIDENTIAL'), `<D:propfind ${NS}>${props}</D:propfind>`),
    await report(bob, `${home}/`, 'C:calendar-multiget', `${props}<D:href>${fileOf('CONFIDENTIAL')}</D:href>`),
    await report(bob, `${home}/`, 'C:calendar-query', props + filterOf('')),
    (await call(server, bob, 'GET', `${path}/changes`)).text,
  ];
  for (const answer of await answers()) assert.ok(!answer.includes(etag.slice(0, 8)), answer);
  // Longer words are no longer object to them, and another state all the same.
  const tagged = (answer: string) => /\netag,("[^"]+")/.exec(answer)?.[1] ?? '';
  const lengthIn = (answer: string) => /getcontentlength>(\d+)/.exec(answer)?.[1];
  const before = await answers();
  const longer = textOf('CONFIDENTIAL').replace('SUMMARY:Secret', `SUMMARY:${'Long'.repeat(90)} Secret`);
  const file = fileOf('CONFIDENTIAL').replace(/^.*\//, '');
  assert.ok((await putObject(server, passwords.alice, `${own}/${file}`, longer)).ok);
  const after = await answers();
  assert.equal(lengthIn(after[2] ?? ''), lengthIn(before[2] ?? ''));
  assert.ok(lengthIn(after[2] ?? '') !== undefined);
  const [old, now] = [tagged(before[0] ?? ''), tagged(after[0] ?? '')];
  assert.notEqual(old, now);
  assert.match(await dav(bob, 'GET', fileOf('CONFIDENTIAL'), '', { 'if-none-match': now }), /^304/);
  assert.match(await dav(bob, 'GET', fileOf('CONFIDENTIAL'), '', { 'if-none-match': old }), /^200/);
  assert.match(await dav(bob, 'DELETE', guess), /^204/);
});

test('CAL-05 to a reader what is hidden is answered as what never was, to the byte', async () => {
  const { calendar, home, path, put } = await sharedWith('read');
  const stored = await exportOf(alice, calendar.id);
  const changes = await call<{ items: { id: string; uid: string }[] }>(server, alice, 'GET', `${path}/changes`);
  const text = { 'content-type': 'text/calendar' };
  const hidden = { file: 'Secret-PRIVATE', uid: uidOf('PRIVATE') };
  const never = { file: 'Nobody-PRIVATE', uid: uidOf('PRIVATE').replace('Secret', 'Nobody') };
  const id = changes.body.items.find(({ uid }) => uid === hidden.uid)?.id ?? '';
  const bobs = '/dav/calendars/bob/default';
  const ask = async ({ file, uid }: typeof hidden, entry: string) => {
    const at = `${home}/${file}.ics`;
    const props = '<D:prop><D:getetag/></D:prop>';
    const uidFilter = filterOf(`<C:prop-filter name="UID"><C:text-match>${uid}</C:text-match></C:prop-filter>`);
    const json = async (method: string, where: string, body?: object) => {
      const { status, body: said } = await call(server, bob, method, where, body);
      return `${status} ${JSON.stringify(said)}`;
    };
    const answers = [
      await dav(bob, 'GET', at),
      await dav(bob, 'HEAD', at),
      await dav(bob, 'GET', at, '', { 'if-none-match': '*' }),
      await dav(bob, 'GET', at, '', { 'if-match': '*' }),
      await dav(bob, 'PROPFIND', at, '', { depth: '0' }),
      await dav(bob, 'DELETE', at),
      await dav(bob, 'DELETE', at, '', { 'if-match': '*' }),
      await dav(bob, 'MOVE', at, '', { destination: `${bobs}/got.ics` }),
      await dav(bob, 'COPY', at, '', { destination: `${bobs}/got.ics` }),
      await report(bob, `${home}/`, 'C:calendar-multiget', `${props}<D:href>${at}</D:href>`),
      await report(bob, `${home}/`, 'C:calendar-query', props + uidFilter),
      await json('GET', `${path}/entries/${entry}`),
      await json('PATCH', `${path}/entries/${entry}`, { scope: 'all', title: 'Mine', etag: 'x' }),
      await json('DELETE', `${path}/entries/${entry}?scope=all`),
      await json('PUT', `/v1/invitations/${calendar.id}/${entry}/answer`, { answer: 'accepted' }),
      await json('POST', `/v1/invitations/${calendar.id}/${entry}/proposals`, { start_at: '2027-01-01T00:00:00Z' }),
      await json('GET', `/v1/entries?q=${encodeURIComponent(file)}&calendar=${calendar.id}`),
    ];
    // By whoever may only read: not even a conflict of names or UIDs.
    const written = [
      await dav(bob, 'PUT', at, textOf('PUBLIC').replaceAll(uidOf('PUBLIC'), uid), text),
      await dav(bob, 'PUT', `${home}/free.ics`, textOf('PUBLIC').replaceAll(uidOf('PUBLIC'), uid), text),
      await dav(bob, 'PUT', at, 'nothing', { ...text, 'if-none-match': '*' }),
    ];
    const neutral = (answer: string) =>
      answer
        .replaceAll(file, 'FILE')
        .replaceAll(uid, 'UID')
        .replaceAll(/\ndate,[^\n]*|\nx-request-id,[^\n]*/gi, '');
    return { answers: answers.map(neutral), written: written.map(neutral) };
  };
  const unknown = id.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
  for (const access of ['read', 'write'] as const) {
    await put(access);
    const [one, other] = [await ask(hidden, id), access === 'read' ? await ask(never, unknown) : undefined];
    if (other !== undefined) assert.deepEqual(one, other);
    for (const answer of [...one.answers, ...one.written]) assertSecret(answer, ['Secret-PRIVATE']);
    assert.equal(await exportOf(alice, calendar.id), stored, access);
  }
  // Onto a hidden entry nothing is written, whatever the writer says of what is there.
  const mine = await dav(bob, 'PUT', `${bobs}/mine.ics`, textOf('PUBLIC').replaceAll(uidOf('PUBLIC'), 'mine@x'), text);
  assert.match(mine, /^201/);
  for (const [method, headers] of [
    ['COPY', {}],
    ['MOVE', {}],
    ['COPY', { overwrite: 'F' }],
    ['MOVE', { overwrite: 'F' }],
    ['PUT', { ...text, 'if-match': '*' }],
    ['PUT', { ...text, 'if-none-match': '*' }],
  ] as const) {
    const at = `${home}/Secret-PRIVATE.ics`;
    const answer =
      method === 'PUT'
        ? await dav(bob, method, at, textOf('PUBLIC').replaceAll(uidOf('PUBLIC'), 'mine@x'), headers)
        : await dav(bob, method, `${bobs}/mine.ics`, '', { destination: at, ...headers });
    assert.match(answer, /^403\n[^]*need-privileges/, `${method} ${JSON.stringify(headers)}`);
    assertSecret(answer, ['Secret-PRIVATE']);
  }
  assert.equal(await exportOf(alice, calendar.id), stored);
  assert.match(await dav(bob, 'DELETE', `${bobs}/mine.ics`), /^204/);
});

test('CAL-05 JSON says and shows whom an entry is for, and its categories', async () => {
  const { id } = await makeCalendar(server, alice);
  const entries = `/v1/calendars/${id}/entries`;
  await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'write' });
  const form = {
    title: 'Secret-PRIV',
    local_start: '2026-11-23T09:00:00',
    local_end: '2026-11-23T10:00:00',
    tz: 'UTC',
  };
  const series = {
    ...form,
    rule: { frequency: 'daily', count: 3 },
    visibility: 'private',
    categories: ['Health', 'a, b; c\\'],
  };
  const made = await makeEntry(server, alice, id, series);
  assert.deepEqual([made.visibility, made.categories], ['private', ['Health', 'a, b; c\\']]);
  const path = `${entries}/${made.id}`;
  assertRefused(await call(server, bob, 'GET', path), 'entry_not_found');
  assertRefused(await call(server, bob, 'POST', entries, series), 'right_missing');
  const plain = await makeEntry(server, bob, id, form);
  assert.deepEqual([plain.visibility, plain.categories], ['public', []]);
  assertRefused(
    await call(server, bob, 'PATCH', `${entries}/${plain.id}`, { visibility: 'confidential' }),
    'right_missing',
  );
  // An exception, and then all of it is for others to see again.
  const one = { scope: 'this', recurrence_id: '20261124T090000Z' };
  assert.equal((await call(server, alice, 'PATCH', path, { ...one, title: 'Secret-PRIV, too' })).status, 200);
  assertRefused(
    await call(server, alice, 'PATCH', path, { ...one, visibility: 'public' }),
    'field_invalid',
    'visibility',
  );
  for (const [visibility, seen] of [
    ['confidential', ['Busy', []]],
    ['private', undefined],
    ['public', ['Secret-PRIV', ['Health', 'a, b; c\\']]],
  ] as const) {
    const changed = await call(server, alice, 'PATCH', path, { visibility });
    assert.deepEqual([changed.status, changed.body['visibility']], [200, visibility]);
    const { body, status, text } = await call(server, bob, 'GET', path);
    assert.deepEqual(status === 404 ? undefined : [body['title'], body['categories']], seen, text);
  }
  assert.deepEqual((await call(server, alice, 'PATCH', path, { categories: [] })).body['categories'], []);
  const many = Array.from({ length: CATEGORIES_MAX + 1 }, (_, at) => `c${at}`);
  const most = await call(server, alice, 'PATCH', path, { categories: many.slice(1) });
  assert.deepEqual(most.body['categories'], many.slice(1));
  assertRefused(await call(server, alice, 'PATCH', path, { categories: many }), 'field_invalid', 'categories');
  const long = 'x'.repeat(CATEGORY_LENGTH_MAX);
  assert.deepEqual((await call(server, alice, 'PATCH', path, { categories: [long] })).body['categories'], [long]);
  assert.equal((await call(server, alice, 'PATCH', path, { categories: [`${long}x`] })).body['code'], 'field_invalid');
});

test('CAL-05 sockets and reminders tell a sharee nothing of an entry', async () => {
  const { own, calendar } = await sharedWith('read');
  const [hers, his] = await Promise.all([connect(server, alice), connect(server, bob)]);
  const at = new Date(Date.now() + 5_000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const alarm = `TRIGGER;VALUE=DATE-TIME:${at}`;
  const text = textOf('PRIVATE').replace('TRIGGER:-PT5M', alarm);
  assert.equal((await putObject(server, passwords.alice, `${own}/Secret-PRIVATE.ics`, text)).status, 204);
  await hers.event(({ type, data }) => type === 'calendar.reminder' && data['calendar_id'] === calendar.id, 'reminder');
  await his.event(({ type, data }) => type === 'calendar.changed' && data['calendar_id'] === calendar.id, 'change');
  assert.deepEqual(
    his.events.filter(({ type }) => type === 'calendar.reminder'),
    [],
  );
  assertSecret(his.texts.join('\n'));
  for (const socket of [hers, his]) socket.raw.close();
});

const isAll = (table: Readonly<Record<Class, Shown>>) => table === ALL;
/** The object of one class in an answer, from its UID to the end of its components. */
function onlyOf(answer: string, name: Class): string {
  const at = answer.indexOf(`UID:${uidOf(name)}`);
  return at === -1 ? '' : answer.slice(at, answer.indexOf('END:VEVENT', at));
}
