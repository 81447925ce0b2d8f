/** Limits of the door, each one step beyond, and what is said then. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CACHED_BYTES_MAX, readStored } from '#src/calendar/objects/object-cache.ts';
import { CHANGES_MAX, DESCRIPTION_MAX, DISPLAY_NAME_MAX } from '#src/calendar/dav/properties/property-changes.ts';
import { PROPERTIES_MAX } from '#src/calendar/dav/properties/propfind.ts';
import { FREE_BUSY_MILLIS_MAX } from '#src/calendar/dav/reports/free-busy.ts';
import { EXPANSIONS_MAX } from '#src/calendar/dav/reports/principal-reports.ts';
import type { DavContext } from '#src/calendar/dav/dav-context.ts';
import { etagOf } from '#storage/calendars/calendar-records.ts';
import { conditionsOf, DAV_NS, eventOf, startDav } from './dav-server.ts';

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
  const context = { calendars: { bytesOf } } as unknown as DavContext;
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
