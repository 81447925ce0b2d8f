/** Large objects go over the pool's thread, hostile ones are refused, a restored folder refuses cursors of before. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CalendarServices } from '#src/calendar/calendar-services.ts';
import { readEntryLeft } from '#src/calendar/json/entry-handlers.ts';
import { DerivationPool, INLINE_BYTES_MAX, POOL_QUEUE_MAX } from '#src/calendar/objects/derivation-pool.ts';
import { CalendarFault } from '#src/calendar/icalendar/calendar-fault.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { CalendarContents } from '#src/calendar/objects/calendar-contents.ts';
import { storedOccurrences } from '#src/calendar/objects/stored-occurrences.ts';
import {
  etagOf,
  OBJECT_BYTES_MAX,
  type CalendarRecord,
  type NamedObject,
} from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startServer } from '#test/support/server.ts';
import { assertRefused, call, defaultCalendar, eventText, makeCalendar, makeEntry } from './calling.ts';

/** An event of that many bytes and a few more. */
function largeText(bytes: number, lines: readonly string[] = []): string {
  const line = `X-NOTE:${'x'.repeat(60)}`;
  return eventText('large', [...lines, ...Array.from({ length: Math.floor(bytes / 69) }, () => line)]);
}

test('an object reads the same on the thread of the pool as on this one, faults included', async (t) => {
  const pool = new DerivationPool();
  t.after(async () => await pool.close());
  const lines = [
    'RRULE:FREQ=DAILY;COUNT=3',
    'ORGANIZER:mailto:a@example.org',
    'ATTENDEE;PARTSTAT=ACCEPTED:mailto:b@example.org',
  ];
  const small = Buffer.from(largeText(100, lines));
  const large = Buffer.from(largeText(INLINE_BYTES_MAX + 1_000, lines));
  const [one, other] = [await pool.derive(small, 'UTC'), await pool.derive(large, 'UTC')];
  assert.deepEqual(other, one);
  const window = { from: Date.UTC(2026, 10, 24), to: Date.UTC(2026, 11, 24) };
  const expansion = await pool.expand(large, window, 'UTC', { most: 10 });
  assert.deepEqual(await pool.expand(small, window, 'UTC', { most: 10 }), expansion);
  assert.deepEqual(
    expansion.occurrences.map(({ recurrenceId }) => recurrenceId),
    ['20261124T090000Z', '20261125T090000Z'],
  );
  const [attendee] = one.participations[0]?.attendees ?? [];
  const corrected = await pool.correct(large, [
    { start: attendee?.start ?? 0, partstat: 'DECLINED', sentBy: undefined },
  ]);
  assert.equal((await pool.derive(corrected, 'UTC')).participations[0]?.attendees[0]?.partstat, 'DECLINED');
  assert.equal(Buffer.from(corrected).toString().replace('DECLINED', 'ACCEPTED'), large.toString());
  const broken = Buffer.from(largeText(INLINE_BYTES_MAX + 1_000, ['DTSTART:never']));
  await assert.rejects(
    pool.derive(broken, 'UTC'),
    (error) => error instanceof CalendarFault && error.line !== undefined,
  );
});

test('CAL-01 a stored object that no reader takes any more has no occurrences, on this thread and on the other', async (t) => {
  const pool = new DerivationPool();
  t.after(async () => await pool.close());
  const window = { from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 11, 1) };
  const found = async (text: string, name: string) => {
    const bytes = Buffer.from(text);
    const calendars = { bytesOf: () => bytes } as unknown as Calendars;
    const object = { name, etag: etagOf(bytes), bytes: bytes.length } as NamedObject;
    return (await storedOccurrences({ calendars, pool }, { id: 'cal', zone: 'UTC' }, object, window, { most: 10 }))
      ?.occurrences;
  };
  for (const size of [100, INLINE_BYTES_MAX + 1_000]) {
    assert.equal((await found(largeText(size), 'sound'))?.length, 1);
    assert.equal(await found(largeText(size, ['DTSTART:never']), 'broken'), undefined);
  }
});

test('CAL-01 a stored object that no reader takes any more is no entry, and fails no page of changes', () => {
  const view = (text: string) => {
    const bytes = Buffer.from(text);
    const calendars = {
      refresh: () => undefined,
      nameByEntry: () => 'one.ics',
      object: () => ({ etag: etagOf(bytes), uid: 'large', createdAt: 0, changedAt: 0 }),
      bytesOf: () => bytes,
    };
    const services = { calendars, book: { userOf: () => undefined } } as unknown as CalendarServices;
    const calendar = { id: 'cal', zone: 'UTC' } as CalendarRecord;
    const contents = new CalendarContents(services.calendars, { calendar, access: 'owner' });
    return readEntryLeft(services, calendar, contents, 'e'.repeat(43));
  };
  assert.equal(view(largeText(100))?.uid, 'large');
  assert.equal(view(largeText(100, ['DTSTART:never'])), undefined);
});

test('one large object more than may wait is refused, and small ones never wait', async (t) => {
  const pool = new DerivationPool();
  t.after(async () => await pool.close());
  const large = Buffer.from(largeText(INLINE_BYTES_MAX + 1_000));
  const waiting = Array.from({ length: POOL_QUEUE_MAX + 1 }, () => pool.derive(large, 'UTC'));
  await assert.rejects(pool.derive(large, 'UTC'), { code: 'busy' });
  assert.equal((await pool.derive(Buffer.from(largeText(10)), 'UTC')).index.uid, 'large');
  assert.equal((await Promise.all(waiting)).length, POOL_QUEUE_MAX + 1);
});

const root = await mkdtemp(join(tmpdir(), 'parley-test-'));
const [folder, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(root, name)) as [
  string,
  string,
  string,
];
let server = await startServer({ folder });
const alice = await server.person('alice');
after(async () => {
  await server.end('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

test('SVC-05 the largest entry is taken, one that is larger is refused, and both lose nothing', async () => {
  const { id } = await defaultCalendar(server, alice);
  const path = `/v1/calendars/${id}/entries`;
  const form = { title: 'x', start_at: '2026-11-23T09:00:00Z' };
  const entry = await makeEntry(server, alice, id, { ...form, description: 'é'.repeat(32_000) });
  assert.equal(entry.description?.length, 32_000);
  assertRefused(
    await call(server, alice, 'POST', path, { ...form, description: 'x'.repeat(32_001) }),
    'field_invalid',
    'description',
  );
  assertRefused(await call(server, alice, 'POST', path, '{"title":'), 'body_invalid_json');
  assertRefused(await call(server, alice, 'POST', path, { ...form, title: 'a\0b' }), 'body_invalid_json');
  const changed = await call<EntryView>(server, alice, 'GET', `${path}/${entry.id}`);
  assert.equal(changed.body.etag, entry.etag);
  const made = await fetch(`${server.coordinator}/v1/app-passwords`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.session.token}`, 'content-type': 'application/json' },
    body: '{"name":"x"}',
  });
  const { password } = (await made.json()) as { password: string };
  const put = async (text: string) => {
    const headers = { authorization: `Basic ${btoa(`alice:${password}`)}`, 'content-type': 'text/calendar' };
    const url = `${server.calendar}/dav/calendars/alice/default/large.ics`;
    const response = await fetch(url, { method: 'PUT', headers, body: text });
    await response.text();
    return response.status;
  };
  const most = largeText(OBJECT_BYTES_MAX - 1_000);
  assert.equal(await put(most), 201);
  assert.equal(await put(`${most}${' '.repeat(OBJECT_BYTES_MAX - most.length + 1)}`), 403);
  const range = `${path}?from=2026-11-23T00:00:00Z&to=2026-11-24T00:00:00Z`;
  assert.equal((await call<{ items: unknown[] }>(server, alice, 'GET', range)).body.items.length, 2);
});

test('CAL-01 a restored folder has the entries, and refuses cursors of before with sync_cursor_expired', async () => {
  const { id } = await makeCalendar(server, alice);
  const entry = await makeEntry(server, alice, id, { title: 'Kept', start_at: '2026-11-23T09:00:00Z' });
  const { next } = (await call<{ next: string }>(server, alice, 'GET', `/v1/calendars/${id}/changes`)).body;
  await server.end('SIGTERM');
  await backupFolder(folder, backup);
  await restoreFolder(backup, restored);
  assert.deepEqual((await checkFolder(restored)).problems, []);
  server = await startServer({ folder: restored });
  alice.session = await server.signIn('alice', alice.password);
  assertRefused(await call(server, alice, 'GET', `/v1/calendars/${id}/changes?after=${next}`), 'sync_cursor_expired');
  const anew = (await call<{ items: EntryView[] }>(server, alice, 'GET', `/v1/calendars/${id}/changes`)).body;
  assert.deepEqual(
    anew.items.map(({ title, etag }) => [title, etag]),
    [['Kept', entry.etag]],
  );
});
