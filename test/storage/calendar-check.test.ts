/** Beside the calendars themselves: what is handed to the audit trail, and what a check finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCalendars } from '#storage/calendar-check.ts';
import type { CalendarForm } from '#storage/calendar-draft.ts';
import { Calendars } from '#storage/calendars.ts';
import { Findings } from '#storage/findings.ts';
import { key } from '#storage/keys.ts';
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
