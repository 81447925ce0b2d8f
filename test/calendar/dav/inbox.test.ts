/** The schedule inbox (RFC 6638, 2.2 and 4): what comes in, how a program reads and clears it, and that it is its owner's alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CalendarView, EntryView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
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
import { DAV_NS } from './dav-server.ts';

const { server, alice, bob, carol } = await shareServer(['alice', 'bob', 'carol']);
const headers = {
  alice: await appPassword(server, alice),
  bob: await appPassword(server, bob),
  carol: await appPassword(server, carol),
};
type Name = keyof typeof headers;
const TALK = { title: 'Talk', start_at: '2026-12-01T09:00:00Z', end_at: '2026-12-01T10:00:00Z' };

async function dav(who: Name, method: string, path: string, body?: string, more: Record<string, string> = {}) {
  const response = await fetch(`${server.calendar}${path}`, {
    method,
    headers: { ...headers[who], ...more },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const hrefsIn = (text: string) =>
  [...text.matchAll(/<D:href>(\/dav\/inbox\/[^<]+\.ics)<\/D:href>/g)].map(([, href]) => href as string);
const inbox = (who: Name) => `/dav/inbox/${who}/`;

/** The messages in somebody's inbox: path → text, unfolded. */
async function messagesOf(who: Name): Promise<Map<string, string>> {
  const ask = `<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>`;
  const listed = await dav(who, 'PROPFIND', inbox(who), ask, { depth: '1' });
  assert.equal(listed.status, 207, listed.text);
  const found = new Map<string, string>();
  for (const href of hrefsIn(listed.text)) {
    const got = await dav(who, 'GET', href);
    assert.equal(got.status, 200, href);
    found.set(href, got.text.replaceAll(/\r\n[ \t]/g, ''));
  }
  return found;
}

/** The one message of that method about a meeting, once it is there. */
async function messageOf(who: Name, method: string, uid: string): Promise<{ href: string; text: string }> {
  return await until(async () => {
    const found = [...(await messagesOf(who))].filter(
      ([, text]) => text.includes(`METHOD:${method}\r\n`) && text.includes(`UID:${uid}\r\n`),
    );
    assert.ok(found.length <= 1, `${method} came ${found.length} times`);
    const [first] = found;
    return first === undefined ? false : { href: first[0], text: first[1] };
  }, `${method} of ${uid} for ${who}`);
}

async function report(who: Name, name: string, inner: string, path = inbox(who)) {
  return await dav(who, 'REPORT', path, `<${name} ${DAV_NS}>${inner}</${name}>`, { depth: '1' });
}

const tokenIn = (text: string) => /<D:sync-token>([^<]+)<\/D:sync-token>/.exec(text)?.[1] ?? '';

async function invite(form: object = {}): Promise<{ calendar: string; entry: EntryView }> {
  const { id } = await defaultCalendar(server, alice);
  return { calendar: id, entry: await makeEntry(server, alice, id, { ...TALK, attendees: ['bob'], ...form }) };
}

test('CAL-04 invitations, answers and cancellations come into the inbox as messages, beside what the server made of them', async () => {
  const { calendar, entry } = await invite();
  const request = await messageOf('bob', 'REQUEST', entry.uid);
  assert.match(request.text, /^BEGIN:VCALENDAR\r\n/);
  assert.match(request.text, /SUMMARY:Talk\r\n/);
  assert.ok(!request.text.includes('SCHEDULE-'), 'what is between a client and the server stays there');
  const own = await defaultCalendar(server, bob);
  const copies = await call<{ items: EntryView[] }>(server, bob, 'GET', `/v1/calendars/${own.id}/changes?limit=200`);
  const copy = copies.body.items.find(({ uid }) => uid === entry.uid) as EntryView;
  const answered = await call(server, bob, 'PUT', `/v1/invitations/${own.id}/${copy.id}/answer`, {
    answer: 'accepted',
  });
  assert.equal(answered.status, 200, answered.text);
  const reply = await messageOf('alice', 'REPLY', entry.uid);
  assert.match(reply.text, /ATTENDEE[^\r]*PARTSTAT=ACCEPTED/);
  assert.equal(
    (await call(server, alice, 'DELETE', `/v1/calendars/${calendar}/entries/${entry.id}?scope=all`)).status,
    204,
  );
  const cancel = await messageOf('bob', 'CANCEL', entry.uid);
  assert.match(cancel.text, /STATUS:CANCELLED\r\n/);
  // Of what others answered no message comes: that is between the server and the copies.
  assert.deepEqual([...(await messagesOf('carol')).keys()], []);
});

test('CAL-04 a program syncs, queries, reads and clears the inbox', async () => {
  const properties = ['resourcetype', 'getctag', 'sync-token', 'supported-report-set', 'current-user-privilege-set'];
  const asked = properties.map((name) => (name === 'getctag' ? '<CS:getctag/>' : `<D:${name}/>`)).join('');
  const ask = `<D:propfind ${DAV_NS}><D:prop>${asked}<C:supported-calendar-component-set/></D:prop></D:propfind>`;
  const before = await dav('bob', 'PROPFIND', inbox('bob'), ask, { depth: '0' });
  assert.match(before.text, /<C:schedule-inbox\/>/);
  assert.match(before.text, /<D:privilege><D:unbind\/>/);
  assert.doesNotMatch(before.text, /<D:privilege><D:(?:bind|write|write-content|all)\/>/);
  for (const name of ['D:sync-collection', 'C:calendar-query', 'C:calendar-multiget'])
    assert.match(before.text, new RegExp(`<D:report><${name}/>`));
  assert.doesNotMatch(before.text, /404 Not Found/);
  const token = tokenIn(before.text);
  const { entry } = await invite({ start_at: '2026-12-08T09:00:00Z', end_at: '2026-12-08T10:00:00Z' });
  const { href } = await messageOf('bob', 'REQUEST', entry.uid);
  const after = await dav('bob', 'PROPFIND', inbox('bob'), ask, { depth: '0' });
  assert.notEqual(tokenIn(after.text), token);
  const sync = async (from: string) =>
    await report(
      'bob',
      'D:sync-collection',
      `<D:sync-token>${from}</D:sync-token><D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop>`,
    );
  const delta = await sync(token);
  assert.deepEqual([delta.status, hrefsIn(delta.text)], [207, [href]], delta.text);
  assert.deepEqual(hrefsIn((await sync('')).text).includes(href), true);
  const data = '<D:prop><D:getetag/><D:getcontenttype/><C:schedule-tag/><C:calendar-data/></D:prop>';
  const got = await report(
    'bob',
    'C:calendar-multiget',
    `${data}<D:href>${href}</D:href><D:href>${inbox('bob')}no.ics</D:href>`,
  );
  assert.match(got.text, /METHOD:REQUEST/);
  assert.match(got.text, /text\/calendar/);
  assert.match(got.text, /<D:status>HTTP\/1.1 404/);
  const query = async (filter: string) =>
    hrefsIn(
      (
        await report(
          'bob',
          'C:calendar-query',
          `${data}<C:filter><C:comp-filter name="VCALENDAR">${filter}</C:comp-filter></C:filter>`,
        )
      ).text,
    );
  const range = (from: string, to: string) =>
    `<C:comp-filter name="VEVENT"><C:time-range start="${from}T000000Z" end="${to}T000000Z"/></C:comp-filter>`;
  assert.deepEqual(await query(range('20261208', '20261209')), [href]);
  assert.deepEqual(await query(range('20261209', '20261210')), []);
  const uid = (value: string) =>
    `<C:comp-filter name="VEVENT"><C:prop-filter name="UID"><C:text-match collation="i;octet">${value}</C:text-match></C:prop-filter></C:comp-filter>`;
  assert.deepEqual(await query(uid(entry.uid)), [href]);
  assert.deepEqual(await query(uid('elsewhere')), []);
  const read = await dav('bob', 'GET', href);
  const etag = read.headers.get('etag') as string;
  assert.equal(read.headers.get('schedule-tag'), null);
  assert.equal((await dav('bob', 'DELETE', href, undefined, { 'if-match': '"another"' })).status, 412);
  assert.equal((await dav('bob', 'DELETE', href, undefined, { 'if-match': etag })).status, 204);
  assert.equal((await dav('bob', 'GET', href)).status, 404);
  assert.equal((await dav('bob', 'DELETE', href)).status, 404);
  const gone = await sync(tokenIn(delta.text));
  assert.match(gone.text, new RegExp(`<D:href>${href}</D:href><D:status>HTTP/1.1 404`));
  // What was read and removed is still an invitation that waits for an answer.
  const list = await call<{ items: { entry: EntryView }[] }>(server, bob, 'GET', '/v1/invitations');
  assert.equal(
    list.body.items.some((one) => one.entry.uid === entry.uid),
    true,
  );
});

test('CAL-05 an inbox is its owner’s alone: by no path, id, share, list or answer does anybody else come to it', async () => {
  const { calendar, entry } = await invite({ visibility: 'private' });
  const { href, text } = await messageOf('bob', 'REQUEST', entry.uid);
  assert.match(text, /CLASS:PRIVATE/);
  const own = await defaultCalendar(server, bob);
  for (const access of ['read', 'write', 'delegate'] as const) {
    const shared = await call(server, bob, 'PUT', `/v1/calendars/${own.id}/shares/carol`, { access });
    assert.equal(shared.status, 200, shared.text);
    for (const method of ['PROPFIND', 'GET', 'DELETE', 'PROPPATCH', 'COPY', 'MOVE'])
      assert.ok([400, 404].includes((await dav('carol', method, href)).status), `${access} ${method}`);
    const query = `<C:calendar-query ${DAV_NS}><D:prop/><C:filter><C:comp-filter name="VCALENDAR"/></C:filter></C:calendar-query>`;
    assert.equal((await dav('carol', 'REPORT', inbox('bob'), query)).status, 404);
    // Named from the reader's own place it is nobody's.
    const named = await report(
      'carol',
      'C:calendar-multiget',
      `<D:prop><C:calendar-data/></D:prop><D:href>${href}</D:href>`,
    );
    assert.match(named.text, /404/);
    assert.doesNotMatch(named.text, /BEGIN:VCALENDAR/);
    const home = await dav('carol', 'PROPFIND', '/dav/calendars/carol/', undefined, { depth: '1' });
    assert.doesNotMatch(home.text, /inb_/);
  }
  // The id stands in the sync-token, and opens nothing.
  const listed = await dav(
    'bob',
    'PROPFIND',
    inbox('bob'),
    `<propfind xmlns="DAV:"><prop><sync-token/></prop></propfind>`,
    { depth: '0' },
  );
  const id = /inb_[0-9a-z]{22}/.exec(listed.text)?.[0] as string;
  assert.ok(id !== undefined, listed.text);
  for (const who of [bob, carol] as Person[]) {
    for (const path of ['', '/shares', '/changes', '/entries?from=2026-12-01T00:00:00Z&to=2026-12-02T00:00:00Z'])
      assertRefused(await call(server, who, 'GET', `/v1/calendars/${id}${path}`), 'calendar_not_found');
    assertRefused(
      await call(server, who, 'PUT', `/v1/calendars/${id}/shares/alice`, { access: 'read' }),
      'calendar_not_found',
    );
    assertRefused(await call(server, who, 'DELETE', `/v1/calendars/${id}`), 'calendar_not_found');
    const name = who.username as Name;
    for (const method of ['PROPFIND', 'GET', 'DELETE'])
      assert.equal((await dav(name, method, `/dav/calendars/${name}/${id}/`)).status, 404, method);
    const lists = await call<{ items: CalendarView[] }>(server, who, 'GET', '/v1/calendars');
    assert.equal(
      lists.body.items.some((one) => one.id === id),
      false,
    );
  }
  assert.equal(calendar.startsWith('cal_'), true);
});

test('CAL-04 a program puts nothing into the inbox, takes nothing out of it but away, and it takes nobody’s time', async () => {
  const { entry } = await invite({ start_at: '2026-12-15T09:00:00Z', end_at: '2026-12-15T10:00:00Z' });
  const { href } = await messageOf('bob', 'REQUEST', entry.uid);
  const put = await putObject(server, headers.bob, `${inbox('bob')}own.ics`, eventText('own'));
  assert.equal(put.status, 403);
  const over = await putObject(server, headers.bob, href, eventText('own'));
  assert.equal(over.status, 403);
  const to = (path: string) => ({ destination: `${server.calendar}${path}` });
  for (const method of ['COPY', 'MOVE']) {
    assert.equal(
      (await dav('bob', method, href, undefined, to('/dav/calendars/bob/default/m.ics'))).status,
      403,
      method,
    );
    const stored = `/dav/calendars/bob/default/${entry.id}.ics`;
    assert.equal((await dav('bob', method, stored, undefined, to(`${inbox('bob')}m.ics`))).status, 403, method);
  }
  assert.equal((await dav('bob', 'DELETE', inbox('bob'))).status, 403);
  assert.ok([403, 405].includes((await dav('bob', 'MKCALENDAR', `${inbox('bob')}new`)).status));
  const note = '<propertyupdate xmlns="DAV:"><set><prop><x:n xmlns:x="urn:x">1</x:n></prop></set></propertyupdate>';
  for (const path of [inbox('bob'), href])
    assert.match((await dav('bob', 'PROPPATCH', path, note)).text, /403 Forbidden/);
  const free = await report(
    'bob',
    'C:free-busy-query',
    '<C:time-range start="20261215T000000Z" end="20261216T000000Z"/>',
  );
  assert.equal(free.status, 403);
  assert.match(free.text, /supported-report/);
  const body = { users: ['bob'], from: '2026-12-15T00:00:00Z', to: '2026-12-16T00:00:00Z' };
  const busy = await call<{ items: { busy: unknown[] }[] }>(server, alice, 'POST', '/v1/free-busy', body);
  assert.equal(busy.body.items[0]?.busy.length, 1);
  assert.equal((await messagesOf('bob')).has(href), true);
});
