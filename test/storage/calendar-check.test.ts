/** Beside the calendars themselves: what is handed to the audit trail, and what a check finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCalendars } from '#storage/check/calendar-check.ts';
import { noteAnswer } from '#storage/calendars/calendar-answers.ts';
import type { CalendarForm } from '#storage/calendars/calendar-draft.ts';
import { putRsvp } from '#storage/calendars/calendar-mails.ts';
import { deliveryRecord, entryIdOf, messageRecord, SCHEDULING_QUEUE } from '#storage/calendars/calendar-records.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { Findings } from '#storage/engine/findings.ts';
import { key, numbered, numberValue } from '#storage/engine/keys.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const WORK: CalendarForm = {
  owner: 'alice',
  name: 'work',
  displayname: 'Work',
  description: '',
  color: '',
  order: 0,
  zone: 'UTC',
  kinds: ['event'],
  transparency: 'opaque',
};

test('what is to be audited is handed over once it is on disk, and again after a crash in between', async (t) => {
  const folder = temporaryFolder(t);
  const failing = Calendars.open(folder, { now: () => NOON, onDeeds: () => Promise.reject(new Error('no')) });
  const { id } = await failing.createCalendar(WORK, { actor: 'user:alice', address: '127.0.0.1' });
  await failing.close();
  const audited: string[] = [];
  const calendars = Calendars.open(folder, {
    now: () => NOON,
    onDeeds: async (deeds) => void audited.push(...deeds.map(({ event, subject }) => `${event} ${subject}`)),
  });
  await calendars.change((draft) => draft.share(id, 'bob', 'read'));
  assert.deepEqual(audited, [`calendar.created calendar:${id}`, `calendar.shared calendar:${id}`]);
  await calendars.removeCalendar(id);
  assert.equal(audited.length, 3);
  await calendars.close();
});

test('a check names what does not go together', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => NOON });
  const { id } = await calendars.createCalendar(WORK);
  await calendars.putObject(id, 'a', Buffer.from('1'), {
    ...{ uid: 'uid-a', kind: 'event', firstAt: NOON, lastAt: NOON + 1, recurring: false },
    ...{ transparent: false, scheduled: false, unanswered: false },
  });
  await calendars.change((draft) => {
    draft.put('bodies', key(id, 'a'), Buffer.from('2'));
    draft.put('uids', key(id, 'gone'), Buffer.from('gone'));
    draft.put('bodies', key(id, 'stray'), Buffer.from('3'));
  });
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  assert.deepEqual(findings.problems, [
    `objects [${id}, a] has bytes that are not those of its etag.`,
    `bodies [${id}, stray] is of no object.`,
    `uids [${id}, gone] is of no object.`,
  ]);
});

test('counts of entries and bytes that are not those of what is there are found', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => NOON });
  const { id } = await calendars.createCalendar(WORK);
  await calendars.putObject(id, 'a', Buffer.from('123'), {
    ...{ uid: 'uid-a', kind: 'event', firstAt: NOON, lastAt: NOON + 1, recurring: false },
    ...{ transparent: false, scheduled: false, unanswered: false },
  });
  const { owner } = WORK;
  const look = async () => {
    const findings = new Findings('');
    await checkCalendars(folder, findings);
    return findings.problems;
  };
  await calendars.change((draft) => {
    draft.put('meta', key('usage', owner), numberValue(2, 3));
    draft.put('meta', key('usage', ''), null);
  });
  await calendars.close();
  assert.deepEqual(await look(), [
    `meta [usage, ${owner}] counts 2 entries and there are 1.`,
    'meta [usage, everybody] counts 0 entries and there are 1.',
  ]);
});

test('a check names what is on its way to nobody, and who waits for nothing', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => NOON });
  const record = {
    from: 'alice',
    method: 'REQUEST',
    uid: 'uid-a',
    calendar: 'cal_a',
    bytes: Buffer.from('1'),
  } as const;
  await calendars.change((draft) => {
    const send = (number: number) =>
      draft.put('messages', numbered(number, SCHEDULING_QUEUE), messageRecord.encode(record));
    const wait = (number: number, message: number, to: string, isLast: boolean) =>
      draft.put('deliveries', numbered(number, SCHEDULING_QUEUE), deliveryRecord.encode({ message, to, isLast }));
    // Sound.
    send(1);
    wait(2, 1, 'bob', false);
    wait(3, 1, 'carol', true);
    // Without its last recipient; without any.
    send(4);
    wait(5, 4, 'bob', false);
    send(6);
    // Of a message that is gone.
    wait(7, 99, 'dave', true);
    // Behind the one who took the message along.
    send(8);
    wait(9, 8, 'bob', true);
    wait(10, 8, 'carol', false);
    // Of another version.
    draft.put('messages', numbered(11, SCHEDULING_QUEUE), Buffer.from([9]));
    wait(12, 11, 'bob', true);
    draft.put('deliveries', numbered(13, SCHEDULING_QUEUE), Buffer.from([9]));
  });
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  assert.deepEqual(findings.problems, [
    'deliveries [7, dave] has no message.',
    'deliveries [10, carol] comes behind the last one of its message.',
    'deliveries [13] cannot be read (A delivery has version 9; 1 is known).',
    'messages [4] has no last recipient.',
    'messages [6] has no last recipient.',
    'messages [11] cannot be read (A scheduling message has version 9; 1 is known).',
  ]);
});

test('a check names notes of answers that are of no calendar, of another entry or of another version', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => NOON });
  const { id } = await calendars.createCalendar(WORK);
  await calendars.change((draft) => {
    // Sound, also where its object was removed since.
    noteAnswer(draft, { calendar: id, uid: 'uid-a', organizer: 'alice' });
    noteAnswer(draft, { calendar: 'cal_gone', uid: 'uid-b', organizer: 'alice' });
    draft.put('answers', key(id, '~'), draft.read('answers', key(id, entryIdOf('uid-a'))) ?? null);
    draft.put('answers', key(id, '~~'), Buffer.from([9]));
  });
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  assert.deepEqual(
    findings.problems.toSorted(),
    [
      `answers [${id}, uid-a] stands under another entry.`,
      `answers [${id}] cannot be read (A note of answers has version 9; 1 is known).`,
      'answers [cal_gone, uid-b] is of no calendar.',
    ].toSorted(),
  );
});

test('a check names links to answer by that are of no calendar or of another version', async (t) => {
  const folder = temporaryFolder(t);
  const calendars = Calendars.open(folder, { now: () => NOON });
  const { id } = await calendars.createCalendar(WORK);
  const record = { uid: 'uid-a', attendee: 'mailto:zoe@example.net', expiresAt: NOON + 1 };
  await calendars.change((draft) => {
    putRsvp(calendars, draft, { calendar: id, hash: 'a' }, record);
    // A calendar that is gone has none.
    putRsvp(calendars, draft, { calendar: 'cal_gone', hash: 'b' }, record);
    draft.put('rsvps', key(id, 'c'), Buffer.from([9]));
    draft.put('rsvps', key('cal_other', 'd'), Buffer.from(draft.read('rsvps', key(id, 'a')) ?? []));
  });
  await calendars.close();
  const findings = new Findings('');
  await checkCalendars(folder, findings);
  assert.deepEqual(findings.problems, [
    `rsvps [${id}] cannot be read (A RSVP link has version 9; 1 is known).`,
    'rsvps [cal_other] is of no calendar.',
  ]);
});
