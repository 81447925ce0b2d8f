/** tsdav, a client library of its own, against the door: discovery, edits, conflicts, removal, exceptions of a series. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createDAVClient } from 'tsdav';
import { eventOf, startDav } from './dav-server.ts';

const dav = await startDav();
after(async () => {
  assert.deepEqual(dav.faults, []);
  await dav.stop();
});

const connect = async () =>
  await createDAVClient({
    serverUrl: dav.url,
    credentials: { username: 'ann', password: 'nna' },
    authMethod: 'Basic',
    defaultAccountType: 'caldav',
  });

test('CAL-01 tsdav discovers, makes a calendar, creates, edits, meets a conflict and removes', async () => {
  const client = await connect();
  await client.makeCalendar({
    url: `${dav.url}/dav/calendars/ann/tsdav/`,
    props: { displayname: 'By tsdav' },
  });
  const calendars = await client.fetchCalendars();
  const calendar = calendars.find(({ displayName }) => displayName === 'By tsdav');
  assert.ok(calendar !== undefined);
  assert.deepEqual(calendar.components, ['VEVENT', 'VTODO', 'VJOURNAL']);
  const created = await client.createCalendarObject({ calendar, filename: 'a.ics', iCalString: eventOf('a') });
  assert.equal(created.status, 201);
  const [object] = await client.fetchCalendarObjects({ calendar });
  assert.ok(object !== undefined);
  // Its XML reader trims texts.
  assert.equal(object.data, eventOf('a').trim());
  const changed = await client.updateCalendarObject({
    calendarObject: { ...object, data: eventOf('a', ['SUMMARY:Changed']) },
  });
  assert.equal(changed.status, 204);
  const conflict = await client.updateCalendarObject({
    calendarObject: { ...object, data: eventOf('a', ['SUMMARY:From the past']) },
  });
  assert.equal(conflict.status, 412);
  const [now] = await client.fetchCalendarObjects({ calendar });
  assert.ok(now !== undefined);
  assert.match(String(now.data), /SUMMARY:Changed/);
  assert.equal((await client.deleteCalendarObject({ calendarObject: now })).status, 204);
  assert.deepEqual(await client.fetchCalendarObjects({ calendar }), []);
});

test('CAL-03 tsdav synchronises by token, and finds nothing to do the second time', async () => {
  const client = await connect();
  await client.makeCalendar({ url: `${dav.url}/dav/calendars/ann/synced/`, props: { displayname: 'Synced' } });
  const find = async () => (await client.fetchCalendars()).find(({ displayName }) => displayName === 'Synced');
  const calendar = await find();
  assert.ok(calendar !== undefined);
  for (const uid of ['a', 'b']) {
    await client.createCalendarObject({ calendar, filename: `${uid}.ics`, iCalString: eventOf(uid) });
  }
  const sync = async (state: object) =>
    await client.smartCollectionSyncDetailed({
      collection: { ...calendar, ...state, objectMultiGet: client.calendarMultiGet } as never,
      method: 'webdav',
    });
  const first = await sync({ objects: [], syncToken: '' });
  assert.equal(first.objects.created.length, 2);
  const second = await sync({ objects: first.objects.created, syncToken: first['syncToken'] });
  const { created, updated, deleted } = second.objects;
  assert.deepEqual([created, updated, deleted], [[], [], []]);
  assert.equal(second['syncToken'], (await find())?.syncToken);
});

test('CAL-01 tsdav finds an exception of a series by time, and reads it written out', async () => {
  const client = await connect();
  const calendar = (await client.fetchCalendars())[0];
  assert.ok(calendar !== undefined);
  const override =
    'BEGIN:VEVENT\r\nUID:series\r\nDTSTAMP:20260101T000000Z\r\nRECURRENCE-ID:20261122T090000Z\r\nDTSTART:20261122T200000Z\r\nDURATION:PT1H\r\nSUMMARY:Late\r\nEND:VEVENT\r\nEND:VCALENDAR';
  const iCalString = eventOf('series', ['RRULE:FREQ=DAILY;COUNT=3']).replace('END:VCALENDAR', override);
  assert.equal((await client.createCalendarObject({ calendar, filename: 'series.ics', iCalString })).status, 201);
  const timeRange = { start: '2026-11-22T19:00:00Z', end: '2026-11-22T21:00:00Z' };
  const found = await client.fetchCalendarObjects({ calendar, timeRange, expand: true });
  assert.equal(found.length, 1);
  assert.match(String(found[0]?.data), /SUMMARY:Late/);
  assert.doesNotMatch(String(found[0]?.data), /RRULE/);
  const excluded = { start: '2026-11-22T08:00:00Z', end: '2026-11-22T10:00:00Z' };
  assert.deepEqual(await client.fetchCalendarObjects({ calendar, timeRange: excluded }), []);
});
