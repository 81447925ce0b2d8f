/** Alarms by e-mail: to the owner of the calendar at their own address, and to nobody else (CAL-02). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { connect } from '#test/support/socket.ts';
import { makeCalendar } from '../calendar/service/calling.ts';
import { event, importEvents, inSeconds } from '../calendar/reminders/importing.ts';
import { writeInstant } from '#src/calendar/icalendar/values.ts';
import { MailServer } from './mail-server.ts';
import { openOutbox } from './outbox-scene.ts';
import { openMailScene } from './scene.ts';

const emailAlarm = (at: number) => [
  ...['BEGIN:VALARM', `TRIGGER;VALUE=DATE-TIME:${writeInstant(at)}`, 'ACTION:EMAIL'],
  ...['ATTENDEE:mailto:victim@example.com', 'ATTENDEE:mailto:bob@example.org'],
  ...['SUMMARY:Cheap pills', 'DESCRIPTION:Buy', 'END:VALARM'],
];

test('CAL-02 an alarm by e-mail reaches the owner of the calendar, whomever it names', async (t) => {
  const { alice, mails, server } = await openMailScene(t);
  const socket = await connect(server, alice);
  const { id } = await makeCalendar(server, alice);
  const at = inSeconds(6);
  const display = ['BEGIN:VALARM', `TRIGGER;VALUE=DATE-TIME:${writeInstant(at)}`, 'ACTION:DISPLAY', 'END:VALARM'];
  await importEvents(server, alice, id, event('Dentist', at, [...emailAlarm(at), ...display]));
  const [mail] = await mails.taken(1);
  assert.ok(mail !== undefined);
  assert.deepEqual([mail.to, mail.email.subject], [['alice@example.org'], 'Reminder: Dentist']);
  assert.doesNotMatch(mail.source, /victim|pills|bob@/);
  await socket.event(({ type }) => type === 'calendar.reminder', 'the reminder of apps');
  const told = socket.events.filter(({ type }) => type === 'calendar.reminder');
  assert.deepEqual(
    told.map(({ data }) => data['action']),
    ['display'],
  );
  assert.equal(mails.mails.length, 1);
  await socket.close();
});

test('CAL-02 alarms by e-mail beyond an hour’s are dropped, as are those that are late', async (t) => {
  const mails = await MailServer.open(t, { isOpen: true });
  const scene = await openOutbox(t, { port: mails.port });
  const alarm = { owner: 'alice', calendar: scene.calendar, uid: 'x', title: 'Dentist', location: 'Town', start: 0 };
  const alarms = Array.from({ length: STATED_POLICIES.alarm_sent.burst + 1 }, () => ({
    ...alarm,
    zone: 'Europe/Berlin',
  }));
  await scene.calendars.change((draft) => scene.outbox().remind(draft, alarms));
  scene.outbox().wake();
  await scene.settled();
  assert.equal(mails.mails.length, STATED_POLICIES.alarm_sent.burst);
  assert.match(
    mails.mails[0]?.email.text ?? '',
    /When: Thursday,? 1 January 1970 at 01:00 \(Europe\/Berlin\)\s+Where: Town/,
  );
  assert.deepEqual(scene.counts(), { dropped: 1, sent: STATED_POLICIES.alarm_sent.burst });
  const late = await openOutbox(t, {});
  await late.calendars.change((draft) => late.outbox().remind(draft, alarms.slice(0, 1)));
  late.later(3_600_001);
  await late.settled();
  assert.deepEqual(late.counts(), { dropped: 1 });
});
