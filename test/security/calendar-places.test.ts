/**
 * Whole calendar files on their way: what one person begins and leaves lying must not keep others waiting. Each test is
 * the attack, and asks as somebody else whether it works.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import {
  EXPORTS_AT_ONCE_MAX,
  FEEDS_AT_ONCE_MAX,
  FEEDS_OF_OWNER_MAX,
  FEEDS_TO_ADDRESS_MAX,
  IMPORTS_AT_ONCE_MAX,
} from '#src/calendar/ics/file-routes.ts';
import { call, makeCalendar } from '#test/calendar/service/calling.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

const NAMES = ['mallory', 'alice', 'bob', 'carol', 'dave', 'erin', 'frank', 'grace', 'heidi'] as const;
const ITEM = 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x\r\nDTSTART:20261123T090000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
/** More than the buffers between two ends of a connection hold. */
const LARGE = [
  'BEGIN:VCALENDAR\r\n',
  ...Array.from(
    { length: 32 },
    (_, at) =>
      `BEGIN:VEVENT\r\nUID:${at}\r\nDTSTART:20261123T090000Z\r\nDESCRIPTION:${'x'.repeat(500_000)}\r\nEND:VEVENT\r\n`,
  ),
  'END:VCALENDAR\r\n',
].join('');
const UNFINISHED = 'content-type: text/calendar\r\ncontent-length: 100000\r\n';
/** The server says that it was let in. */
const CONTINUED = `${UNFINISHED}expect: 100-continue\r\n`;

let server: TestServer;
let people: Record<(typeof NAMES)[number], Person>;
/** Mallory's calendar, which is large. */
let large: string;
const sockets: Socket[] = [];
before(async () => {
  server = await startServer({ environment: { PARLEY_TRUSTED_PROXIES: '127.0.0.1', PARLEY_REQUEST_SECONDS: '60' } });
  people = await server.people(...NAMES);
  large = (await makeCalendar(server, people.mallory)).id;
  const filled = await upload(people.mallory, large, LARGE);
  assert.equal(filled.status, 200, filled.text);
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop();
});

async function upload(who: Person, calendar: string, body: string) {
  const headers = { 'content-type': 'text/calendar' };
  const url = `${server.calendar}/v1/calendars/${calendar}/import`;
  return await request<{ code?: string }>('POST', url, { body, headers, token: who.session.token });
}

async function download(who: Person, calendar: string): Promise<number> {
  const headers = { authorization: `Bearer ${who.session.token}` };
  const response = await fetch(`${server.calendar}/v1/calendars/${calendar}/export`, { headers });
  await response.arrayBuffer();
  return response.status;
}

/** A request that is begun and left lying, as soon as the server said something. Its first line. */
async function leaveLying(method: string, path: string, headers: string): Promise<string> {
  const { port, hostname } = new URL(server.calendar);
  const socket = connectTo(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`);
  await once(socket, 'readable');
  return String((socket.read(12) as Buffer | null)?.toString('latin1'));
}

const bearer = (who: Person) => `authorization: Bearer ${who.session.token}\r\n`;

function goAway(): void {
  for (const socket of sockets.splice(0)) socket.destroy();
}

test('uploads to a calendar that is none, or is another’s, are refused before their bodies, and take no place', async () => {
  const { id } = await makeCalendar(server, people.alice);
  const theirs = await makeCalendar(server, people.bob);
  for (const calendar of ['cal_none', theirs.id]) {
    for (let count = 0; count < IMPORTS_AT_ONCE_MAX; count += 1) {
      const path = `/v1/calendars/${calendar}/import`;
      assert.equal(await leaveLying('POST', path, bearer(people.mallory) + UNFINISHED), 'HTTP/1.1 404');
    }
    assert.equal((await upload(people.alice, id, ITEM)).status, 200, calendar);
  }
  goAway();
});

test('unfinished uploads of one person take one place, and lose it', async () => {
  const { id } = await makeCalendar(server, people.alice);
  const path = `/v1/calendars/${large}/import`;
  assert.equal(await leaveLying('POST', path, bearer(people.mallory) + CONTINUED), 'HTTP/1.1 100');
  for (let count = 1; count < IMPORTS_AT_ONCE_MAX; count += 1) {
    assert.equal(await leaveLying('POST', path, bearer(people.mallory) + UNFINISHED), 'HTTP/1.1 429');
  }
  assert.equal((await upload(people.alice, id, ITEM)).status, 200);
  const refused = await upload(people.mallory, large, ITEM);
  assert.deepEqual([refused.status, refused.body.code, refused.headers.get('retry-after')], [429, 'rate_limited', '1']);
  // Nobody goes away, and the place is free again all the same.
  const [lying] = sockets;
  lying?.resume();
  await once(lying as Socket, 'close', { signal: AbortSignal.timeout(40_000) });
  const isFree = async () => ((await upload(people.mallory, large, ITEM)).status === 200 ? true : undefined);
  await until(isFree, 'the place that was lost to be free');
  goAway();
});

test('unread downloads of one person take one place, and lose it', async () => {
  const { id } = await makeCalendar(server, people.alice);
  const path = `/v1/calendars/${large}/export`;
  assert.equal(await leaveLying('GET', path, bearer(people.mallory)), 'HTTP/1.1 200');
  for (let count = 1; count < EXPORTS_AT_ONCE_MAX; count += 1) {
    assert.equal(await leaveLying('GET', path, bearer(people.mallory)), 'HTTP/1.1 429');
  }
  assert.equal(await download(people.alice, id), 200);
  assert.equal(await download(people.mallory, large), 429);
  await until(async () => ((await download(people.mallory, large)) === 200 ? true : undefined), 'a free place', 40_000);
  goAway();
});

test('unread feeds keep neither exports nor the feeds of others waiting', async () => {
  const published = async (who: Person, calendar: string) =>
    (await call<{ path: string }>(server, who, 'POST', `/v1/calendars/${calendar}/feeds`, { detail: 'full' })).body
      .path;
  const hostile = await published(people.mallory, large);
  const from = (address: string) => `x-forwarded-for: ${address}\r\n`;
  const told: string[] = [];
  for (let count = 0; count < FEEDS_AT_ONCE_MAX; count += 1) {
    told.push(await leaveLying('GET', hostile, from(`198.51.100.${Math.floor(count / 4)}`)));
  }
  assert.equal(told.filter((line) => line === 'HTTP/1.1 200').length, FEEDS_OF_OWNER_MAX);
  assert.deepEqual(told.slice(0, FEEDS_TO_ADDRESS_MAX + 1), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 429']);
  const { id } = await makeCalendar(server, people.alice);
  const own = await published(people.alice, id);
  const response = await fetch(`${server.calendar}${own}`, { headers: { 'x-forwarded-for': '198.51.100.200' } });
  assert.equal(response.status, 200);
  assert.equal(await download(people.alice, id), 200);
  goAway();
});

test('so many people’s files go in and out at once, and one more is asked to come again', async () => {
  const { bob, carol, dave } = people;
  for (const who of [bob, carol]) {
    const { id } = await makeCalendar(server, who);
    const line = await leaveLying('POST', `/v1/calendars/${id}/import`, bearer(who) + CONTINUED);
    assert.equal(line, 'HTTP/1.1 100');
  }
  const { id } = await makeCalendar(server, dave);
  const refused = await upload(dave, id, ITEM);
  assert.deepEqual([refused.status, refused.body.code, refused.headers.get('retry-after')], [503, 'busy', '1']);
  goAway();
  for (const name of NAMES)
    await call(server, people.mallory, 'PUT', `/v1/calendars/${large}/shares/${name}`, { access: 'read' });
  const readers = NAMES.slice(1, 1 + EXPORTS_AT_ONCE_MAX);
  for (const name of readers) {
    assert.equal(await leaveLying('GET', `/v1/calendars/${large}/export`, bearer(people[name])), 'HTTP/1.1 200', name);
  }
  assert.equal(await download(people.mallory, large), 503);
  goAway();
  await until(async () => ((await download(people.mallory, large)) === 200 ? true : undefined), 'room for another');
});
