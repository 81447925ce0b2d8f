/** Limits of the door, each one step beyond, and what is said then. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { BUSY_OCCURRENCES_MAX, OCCURRENCES_PER_OBJECT_MAX } from '#src/calendar/objects/busy-times.ts';
import { CACHED_BYTES_MAX, readStored } from '#src/calendar/objects/object-cache.ts';
import { CHANGES_MAX, DESCRIPTION_MAX, DISPLAY_NAME_MAX } from '#src/calendar/dav/properties/property-changes.ts';
import { PROPERTIES_MAX } from '#src/calendar/dav/properties/propfind.ts';
import { FREE_BUSY_MILLIS_MAX } from '#src/calendar/dav/reports/free-busy.ts';
import { EXPANSIONS_MAX, SEARCHES_MAX } from '#src/calendar/dav/reports/principal-reports.ts';
import { etagOf } from '#storage/calendars/calendar-records.ts';
import { basicOf, conditionsOf, DAV_NS, eventOf, rowsOf, startDav } from './dav-server.ts';

const dav = await startDav();
const path = '/dav/calendars/ann/limits/';
await dav.call('MKCALENDAR', path);
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const named = (count: number) => Array.from({ length: count }, (_, at) => `<X:p${at} xmlns:X="urn:x"/>`).join('');
const patch = async (inner: string) =>
  await dav.call('PROPPATCH', path, {
    body: `<D:propertyupdate ${DAV_NS}><D:set><D:prop>${inner}</D:prop></D:set></D:propertyupdate>`,
  });

test('a request names so many properties, and changes so many', async () => {
  const propfind = async (count: number) =>
    await dav.call('PROPFIND', path, {
      body: `<D:propfind ${DAV_NS}><D:prop>${named(count)}</D:prop></D:propfind>`,
      headers: { depth: '0' },
    });
  assert.equal((await propfind(PROPERTIES_MAX)).status, 207);
  assert.equal((await propfind(PROPERTIES_MAX + 1)).status, 400);
  assert.equal((await patch(named(CHANGES_MAX))).status, 207);
  assert.equal((await patch(named(CHANGES_MAX + 1))).status, 400);
});

test('a name and a description have so many characters', async () => {
  for (const [name, most] of [
    ['D:displayname', DISPLAY_NAME_MAX],
    ['C:calendar-description', DESCRIPTION_MAX],
  ] as const) {
    assert.match((await patch(`<${name}>${'x'.repeat(most)}</${name}>`)).text, /HTTP\/1.1 200/);
    assert.match((await patch(`<${name}>${'x'.repeat(most + 1)}</${name}>`)).text, /HTTP\/1.1 409/);
  }
});

test('free-busy is told of so long a time', async () => {
  const start = Date.UTC(2026, 0, 1);
  const utc = (millis: number) => `${new Date(millis).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const ask = async (millis: number) =>
    await dav.call('REPORT', path, {
      body: `<C:free-busy-query ${DAV_NS}><C:time-range start="${utc(start)}" end="${utc(start + millis)}"/></C:free-busy-query>`,
    });
  assert.equal((await ask(FREE_BUSY_MILLIS_MAX)).status, 200);
  const refused = await ask(FREE_BUSY_MILLIS_MAX + 1_000);
  assert.deepEqual([refused.status, conditionsOf(refused)], [403, ['{DAV:}number-of-matches-within-limits']]);
});

test('expand-property follows so many hrefs', async () => {
  const expand = async (count: number) => {
    const one = '<D:property name="current-user-principal"><D:property name="displayname"/></D:property>';
    const body = `<D:expand-property ${DAV_NS}>${one.repeat(count)}</D:expand-property>`;
    return await dav.call('REPORT', '/dav/principals/ann/', { body });
  };
  assert.equal((await expand(EXPANSIONS_MAX)).status, 207);
  assert.equal((await expand(EXPANSIONS_MAX + 1)).status, 403);
});

test('objects that were read are kept up to so many bytes, the oldest go first', () => {
  let reads = 0;
  const long = 'x'.repeat(400_000);
  const bytesOf = (_calendar: string, name: string) => {
    reads += 1;
    return Buffer.from(eventOf(name, [`DESCRIPTION:${long}`]));
  };
  const context = { calendars: { bytesOf } };
  const etag = (name: string) => etagOf(Buffer.from(eventOf(name, [`DESCRIPTION:${long}`])));
  const read = (name: string) => readStored(context, 'cal', { name, etag: etag(name) })?.uid;
  assert.deepEqual([read('first'), read('first'), reads], ['first', 'first', 1]);
  const enough = Math.ceil(CACHED_BYTES_MAX / long.length);
  for (let at = 0; at < enough; at += 1) read(`other ${at}`);
  const before = reads;
  read(`other ${enough - 1}`);
  assert.equal(reads, before);
  read('first');
  assert.equal(reads, before + 1);
});

test('an object that changed since it was listed is not kept as what it was', () => {
  const [earlier, later] = [eventOf('listed', ['SUMMARY:Before']), eventOf('listed', ['SUMMARY:After'])];
  const stored = { bytes: Buffer.from(later) };
  const context = { calendars: { bytesOf: () => stored.bytes } };
  const listed = { name: 'listed', etag: etagOf(Buffer.from(earlier)) };
  assert.match(readStored(context, 'cal', listed)?.source ?? '', /SUMMARY:After/);
  stored.bytes = Buffer.from(earlier);
  assert.match(readStored(context, 'cal', listed)?.source ?? '', /SUMMARY:Before/);
});

test('a search for people looks for so many things', async () => {
  const search = async (count: number) => {
    const one = '<D:property-search><D:prop><D:displayname/></D:prop><D:match>an</D:match></D:property-search>';
    const body = `<D:principal-property-search ${DAV_NS}>${one.repeat(count)}</D:principal-property-search>`;
    return await dav.call('REPORT', '/dav/principals/', { body });
  };
  assert.equal((await search(SEARCHES_MAX)).status, 207);
  const beyond = await search(SEARCHES_MAX + 1);
  assert.deepEqual([beyond.status, conditionsOf(beyond)], [403, ['{DAV:}number-of-matches-within-limits']]);
});

test('an object that a multiget names ten thousand times is answered once', async () => {
  await dav.call('PUT', `${path}often.ics`, { body: eventOf('often', [`DESCRIPTION:${'x'.repeat(100_000)}`]) });
  const spellings = [`${path}often.ics`, `${path}%6fften.ics`, `${dav.url}${path}often.ics`];
  const hrefs = Array.from({ length: 9_990 }, (_, at) => `<D:href>${spellings[at % spellings.length]}</D:href>`);
  const body = `<C:calendar-multiget ${DAV_NS}><D:prop><C:calendar-data/></D:prop>${hrefs.join('')}</C:calendar-multiget>`;
  const reply = await dav.call('REPORT', path, { body });
  assert.deepEqual([reply.status, rowsOf(reply).length], [207, 1]);
  assert.ok(reply.text.length < 200_000, `${reply.text.length} characters`);
});

test('what is not there is answered once too, however often a multiget names it', async () => {
  const body = `<C:calendar-multiget ${DAV_NS}><D:prop><C:calendar-data/></D:prop>${`<D:href>${path}gone.ics</D:href>`.repeat(9_990)}</C:calendar-multiget>`;
  const reply = await dav.call('REPORT', path, { body });
  assert.deepEqual([reply.status, rowsOf(reply).length], [207, 1]);
  assert.match(reply.text, /404/);
});

test('an answer that is not read is not made ready either: what changes meanwhile is what stands in its later rows', async () => {
  const many = '/dav/calendars/ann/many/';
  await dav.call('MKCALENDAR', many);
  // More than the system keeps of a connection in both directions, which is some 10 MB.
  const names = Array.from({ length: 140 }, (_, at) => `${many}n${at}.ics`);
  const long = 'x'.repeat(100_000);
  for (const [at, name] of names.entries()) {
    assert.equal((await dav.call('PUT', name, { body: eventOf(`n${at}`, [`DESCRIPTION:${long}`]) })).status, 201);
  }
  const hrefs = names.map((name) => `<D:href>${name}</D:href>`).join('');
  const body = `<C:calendar-multiget ${DAV_NS}><D:prop><C:calendar-data/></D:prop>${hrefs}</C:calendar-multiget>`;
  const { hostname, port } = new URL(dav.url);
  const sent = httpRequest({
    ...{ method: 'REPORT', hostname, port, path: many, agent: false },
    headers: { authorization: basicOf('ann'), 'content-length': String(body.length) },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // As much of the server's time as it would take to make all of it ready.
  for (const name of names) assert.equal((await dav.call('GET', name)).status, 200);
  const last = names.at(-1) as string;
  assert.equal((await dav.call('DELETE', last)).status, 204);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  assert.ok(text.length > 139 * long.length);
  assert.match(text.slice(text.lastIndexOf('n139.ics')), /404/);
});

test('free and busy times that are too many to look at are refused, and never half told', async () => {
  const crowded = '/dav/calendars/ann/crowded/';
  await dav.call('MKCALENDAR', crowded);
  const query = async () => {
    const body = `<C:free-busy-query ${DAV_NS}><C:time-range start="20260101T000000Z" end="20270101T000000Z"/></C:free-busy-query>`;
    return await dav.call('REPORT', crowded, { body });
  };
  // Every series beyond OCCURRENCES_PER_OBJECT_MAX is looked at so far, and its time counts as unavailable behind it.
  const series = BUSY_OCCURRENCES_MAX / OCCURRENCES_PER_OBJECT_MAX;
  assert.equal(series, 20);
  for (let at = 0; at < series; at += 1) {
    const lines = ['DTSTART:20260101T000000Z', 'DTEND:20260101T001000Z', 'RRULE:FREQ=HOURLY'];
    await dav.call('PUT', `${crowded}${at}.ics`, { body: eventOf(`crowded-${at}`, lines) });
  }
  const full = await query();
  assert.equal(full.status, 200);
  assert.match(full.text, /FBTYPE=BUSY-UNAVAILABLE:20260415T\d{6}Z\/20270101T000000Z/);
  await dav.call('PUT', `${crowded}beyond.ics`, { body: eventOf('crowded-beyond') });
  const beyond = await query();
  assert.deepEqual([beyond.status, conditionsOf(beyond)], [403, ['{DAV:}number-of-matches-within-limits']]);
});
