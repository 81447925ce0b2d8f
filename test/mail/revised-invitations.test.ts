/** What a mail says of an invitation that changed: what is another, of which occurrence, in its reader's language (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { request } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, call, makeCalendar } from '../calendar/service/calling.ts';
import { event, importEvents, inSeconds } from '../calendar/reminders/importing.ts';
import { writeInstant } from '#src/calendar/icalendar/values.ts';
import { mailSettings, type TakenMail } from './mail-server.ts';
import { change, invite, openMailScene, type MailScene } from './scene.ts';

const ZOE = 'mailto:zoe@example.net';
const WEEKLY = { rule: { frequency: 'weekly', count: 5 } };

/** The newest mail to an address, once there are so many to it. */
async function mailTo({ mails }: MailScene, address: string, count: number): Promise<TakenMail> {
  const found = await until(() => {
    const all = mails.mails.filter(({ to }) => to[0] === address);
    return all.length >= count && all;
  }, `${count} mails to ${address}`);
  return found[count - 1] as TakenMail;
}

/** The lines behind the heading of changes, without what differs between versions of the database of languages. */
function changesIn({ email }: TakenMail, heading = 'What has changed:'): string[] {
  const lines = (email.text ?? '').split('\n').map((line) => line.trim().replaceAll('day,', 'day'));
  const at = lines.indexOf(heading);
  return at === -1 ? [] : lines.slice(at + 1).filter((line) => line.startsWith('- '));
}

async function leaveOut({ alice, calendar, server }: MailScene, { id }: EntryView, recurrenceId: string) {
  const path = `/v1/calendars/${calendar}/entries/${id}?scope=this&recurrence_id=${recurrenceId}`;
  assert.equal((await call(server, alice, 'DELETE', path)).status, 204);
}

test('CAL-03 an updated invitation says what changed, and of which occurrence', async (t) => {
  const scene = await openMailScene(t);
  const entry = await invite(scene, [ZOE], WEEKLY);
  const first = await mailTo(scene, 'zoe@example.net', 1);
  assert.deepEqual([first.email.subject, changesIn(first)], ['Invitation: Talk', []]);

  await change(scene, entry, { title: 'Long talk', location: '', description: 'Bring all.' });
  const words = await mailTo(scene, 'zoe@example.net', 2);
  assert.equal(words.email.subject, 'Updated invitation: Long talk');
  assert.deepEqual(changesIn(words), [
    '- Title: Talk → Long talk',
    '- Where: Room 1 → nothing',
    '- The notes are other ones.',
  ]);

  const one = { scope: 'this', recurrence_id: '20270405T090000' };
  const at = { local_start: '2027-04-06T11:00:00', local_end: '2027-04-06T12:00:00', tz: 'Europe/Berlin' };
  await change(scene, entry, { ...one, ...at, location: 'Room <2>' });
  const moved = await mailTo(scene, 'zoe@example.net', 3);
  const ofFirst = 'The occurrence of Monday 5 April 2027, 09:00–10:00 (Europe/Berlin)';
  assert.deepEqual(changesIn(moved), [
    `- ${ofFirst}: When: Monday 5 April 2027, 09:00–10:00 (Europe/Berlin) → Tuesday 6 April 2027, 11:00–12:00 (Europe/Berlin)`,
    `- ${ofFirst}: Where: nothing → Room <2>`,
  ]);
  assert.match(moved.email.html ?? '', /<li dir="auto">The occurrence of [^<]*Room &#60;2&#62;<\/li>/);

  await leaveOut(scene, entry, '20270412T090000');
  const left = await mailTo(scene, 'zoe@example.net', 4);
  assert.deepEqual(changesIn(left), [
    '- The occurrence of Monday 12 April 2027, 09:00–10:00 (Europe/Berlin): It does not take place.',
  ]);

  // Who comes to it now hears nothing of what it was before.
  await change(scene, entry, { attendees: [ZOE, 'mailto:yan@example.net'] });
  const [known, fresh] = [await mailTo(scene, 'zoe@example.net', 5), await mailTo(scene, 'yan@example.net', 1)];
  assert.equal(changesIn(known)[0], '- Other people are invited.');
  assert.deepEqual([fresh.email.subject, changesIn(fresh)], ['Invitation: Long talk', []]);

  await change(scene, entry, { rule: { frequency: 'daily', count: 3 } });
  const rule = await mailTo(scene, 'zoe@example.net', 6);
  assert.deepEqual(changesIn(rule), ['- It repeats in another way.']);
});

test('CAL-03 mails and pages are in the language of the installation, reminders in that of their reader', async (t) => {
  const scene = await openMailScene(t);
  const { alice, bob, console, mails, server } = scene;
  assertRefused(
    await console('PUT', '/settings/mail', { ...mailSettings(mails.port), language: 'tlh' }),
    'field_invalid',
    'language',
  );
  const set = await console('PUT', '/settings/mail', { ...mailSettings(mails.port), language: 'ru' });
  assert.equal(set.status, 200, set.text);
  const entry = await invite(scene, [ZOE], WEEKLY);
  const first = await mailTo(scene, 'zoe@example.net', 1);
  assert.equal(first.email.subject, 'Приглашение: Talk');
  assert.match(
    first.email.text ?? '',
    /Когда: понедельник, 29 марта 2027\s+г\., 09:00–10:00 \(Europe\/Berlin\), повторяется\s+Где: Room 1/,
  );
  await leaveOut(scene, entry, '20270412T090000');
  const left = await mailTo(scene, 'zoe@example.net', 2);
  assert.equal(left.email.subject, 'Изменённое приглашение: Talk');
  assert.match(
    changesIn(left, 'Что изменилось:')[0] ?? '',
    /^- Повторение понедельник, 12 апреля 2027.*: Не состоится\.$/,
  );
  const [link = ''] = /http:\S+\/rsvp\/[\w-]+/.exec(left.email.text ?? '') ?? [];
  const page = await (await fetch(link)).text();
  assert.match(page, /<html lang="ru">.*<dt>Организатор<\/dt>.*>Принять<\/button>/s);
  const nothing = await fetch(link.replace(/.$/, (it) => (it === 'A' ? 'B' : 'A')));
  assert.match(await nothing.text(), /<html lang="ru">.*По этой ссылке ответить нельзя/s);

  // One of the two reads English, the other has said nothing.
  const { token } = alice.session;
  const told = await request('PATCH', `${server.coordinator}/v1/me`, { token, body: { language: 'en-US' } });
  assert.equal(told.status, 200, told.text);
  const at = inSeconds(6);
  const alarm = [
    'BEGIN:VALARM',
    `TRIGGER;VALUE=DATE-TIME:${writeInstant(at)}`,
    'ACTION:EMAIL',
    'DESCRIPTION:x',
    'END:VALARM',
  ];
  for (const who of [alice, bob]) {
    const { id } = await makeCalendar(server, who);
    await importEvents(server, who, id, event('Dentist', at, alarm));
  }
  assert.equal((await mailTo(scene, 'alice@example.org', 1)).email.subject, 'Reminder: Dentist');
  assert.equal((await mailTo(scene, 'bob@example.org', 1)).email.subject, 'Напоминание: Dentist');
});
