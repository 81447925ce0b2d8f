/** Reminders reach whom the calendar belongs to: at their time, once, and late after a crash (CAL-02). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { putAlarm } from '#storage/calendars/calendar-alarms.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { checkFolder } from '#storage/check/check.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { LATE_MILLIS_MAX } from '#src/calendar/reminders/reminder-schedule.ts';
import { writeInstant } from '#src/calendar/icalendar/values.ts';
import { startServer, type Person } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';
import { call, makeCalendar } from '../service/calling.ts';
import { alarm, event, importEvents, inSeconds } from './importing.ts';

const reminders = (socket: TestSocket) => socket.events.filter(({ type }) => type === 'calendar.reminder');
const about = (title: string) => (one: TestEvent) => one.type === 'calendar.reminder' && one.data['title'] === title;

const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
let server = await startServer({ folder });
after(async () => {
  await server.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

test('CAL-02 an alarm reaches all sockets of whom the calendar belongs to, once, and nobody else', async () => {
  const { alice, bob } = await server.people('alice', 'bob');
  const { id } = await makeCalendar(server, alice);
  await call(server, alice, 'PUT', `/v1/calendars/${id}/shares/bob`, { access: 'write' });
  const other: Person = { ...alice, session: await server.signIn('alice', alice.password) };
  const [first, second, his] = (await Promise.all([alice, other, bob].map((who) => connect(server, who)))) as [
    TestSocket,
    TestSocket,
    TestSocket,
  ];
  const start = inSeconds(6);
  const relative = ['BEGIN:VALARM', 'UID:by-start', 'TRIGGER:-PT1S', 'ACTION:AUDIO', 'END:VALARM'];
  await importEvents(
    server,
    alice,
    id,
    event('series', start, ['RRULE:FREQ=DAILY', 'LOCATION:Pier', ...relative, ...alarm(start + 1000)]),
    event('moved', start + 3_600_000, alarm(start)),
    event('removed', start, alarm(start)),
    event('seen', start, alarm(start, `ACKNOWLEDGED:${writeInstant(start)}`)),
    event('past', start - 7_200_000, alarm(start - 3_600_000)),
    event('last', start + 2000, alarm(start + 2000)),
  );
  // Changed and removed before their time.
  await importEvents(server, alice, id, event('moved', start + 3_600_000, alarm(start + 1000)));
  await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${entryIdOf('removed')}`);
  for (const socket of [first, second]) await socket.event(about('last'));
  const iso = (millis: number) => new Date(millis).toISOString();
  for (const socket of [first, second]) {
    const told = reminders(socket).map(({ data }) => data);
    assert.deepEqual(
      told
        .map(({ title, remind_at: at, action }) => [title, at, action])
        .toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      [
        ['last', iso(start + 2000), 'display'],
        ['moved', iso(start + 1000), 'display'],
        ['series', iso(start - 1000), 'audio'],
        ['series', iso(start + 1000), 'display'],
      ],
    );
    const { reminder_id: reminder, ...data } = told.find(({ action }) => action === 'audio') ?? {};
    assert.match(String(reminder), /^[\w-]{22}$/);
    assert.deepEqual(data, {
      calendar_id: id,
      entry_id: entryIdOf('series'),
      recurrence_id: writeInstant(start),
      start_at: iso(start),
      title: 'series',
      location: 'Pier',
      action: 'audio',
      remind_at: iso(start - 1000),
      late: false,
    });
    assert.equal(new Set(told.map(({ reminder_id: one }) => one)).size, 4);
  }
  assert.deepEqual(reminders(his), [], 'whom a calendar is shared with has alarms of their own');
  for (const socket of [first, second, his]) socket.raw.close();
});

test('CAL-02 what was due while the server was down is told late, up to an hour, and not once more', async () => {
  const carol = await server.person('carol');
  const { id } = await makeCalendar(server, carol);
  const now = inSeconds(0);
  const [lateAt, tooLateAt] = [now - LATE_MILLIS_MAX + 60_000, now - LATE_MILLIS_MAX - 1000];
  const soon = inSeconds(30);
  await importEvents(
    server,
    carol,
    id,
    event('late', lateAt, alarm(lateAt)),
    event('too late', tooLateAt, alarm(tooLateAt)),
    event('gone', now, alarm(soon)),
    event('kept', soon, ['RRULE:FREQ=DAILY', 'BEGIN:VALARM', 'TRIGGER:-PT29S', 'ACTION:DISPLAY', 'END:VALARM']),
  );
  await server.end('SIGKILL');
  assert.deepEqual((await checkFolder(folder)).problems, []);
  // As they stood when these were still ahead.
  const calendars = Calendars.open(folder, { now: () => Date.now() });
  await calendars.change((draft) => {
    for (const [uid, due] of [
      ['late', lateAt],
      ['too late', tooLateAt],
    ] as const) {
      putAlarm(draft, id, `${entryIdOf(uid)}.ics`, due);
    }
    draft.removeObject(id, `${entryIdOf('gone')}.ics`);
  });
  await calendars.close();
  server = await startServer({ folder });
  carol.session = await server.signIn('carol', carol.password);
  const socket = await connect(server, carol);
  await socket.event(about('late'));
  const kept = await socket.event(about('kept'));
  assert.equal(kept.data['recurrence_id'], writeInstant(soon));
  await socket.event(about('kept'));
  const metrics = await fetch(`${server.coordinator}/healthz`, { headers: { accept: 'text/plain' } });
  assert.match(await metrics.text(), /^parley_calendar_reminders_dropped_total 1$/m);
  assert.deepEqual(
    reminders(socket)
      .map(({ data }) => [data['title'], data['late']])
      .toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
    [
      ['kept', false],
      ['late', true],
    ],
  );
  socket.raw.close();
  await server.end('SIGTERM');
  server = await startServer({ folder });
  carol.session = await server.signIn('carol', carol.password);
  const again = await connect(server, carol);
  const next = inSeconds(6);
  await importEvents(server, carol, id, event('next', next, alarm(next)));
  await again.event(about('next'));
  assert.deepEqual(
    reminders(again).map(({ data }) => data['title']),
    ['next'],
  );
  again.raw.close();
});
