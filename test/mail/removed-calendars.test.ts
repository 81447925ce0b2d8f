/** Removing a calendar with meetings in it: who is asked, and who is told (RFC 6638, 3.2.3.2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CalendarView, EntryView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import {
  appPassword,
  assertRefused,
  call,
  defaultCalendar,
  makeCalendar,
  makeEntry,
} from '../calendar/service/calling.ts';
import { calendarOf, smtpError } from './mail-server.ts';
import { lineWhen, openMailScene, TALK, type MailScene } from './scene.ts';

const ZOE = 'mailto:zoe@example.net';

async function copyOf({ server }: MailScene, who: Person, uid: string): Promise<EntryView | undefined> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  return reply.body.items.find((one) => one.uid === uid);
}

async function copyWhen(scene: MailScene, who: Person, uid: string, isRight: (copy: EntryView) => boolean) {
  return await until(async () => {
    const copy = await copyOf(scene, who, uid);
    return copy !== undefined && isRight(copy) && copy;
  }, `${uid} of ${who.username}`);
}

test('CAL-03 a calendar with meetings of its owner goes only with a word about who is told', async (t) => {
  // The mail server takes the cancellation later, when the calendar is gone.
  const scene = await openMailScene(t, { onMail: (number) => (number === 3 ? smtpError(451, 'Later') : undefined) });
  const { alice, bob, mails, server } = scene;
  const invited = { ...TALK, attendees: ['bob', ZOE] };
  const past = { ...invited, local_start: '2020-03-29T09:00:00', local_end: '2020-03-29T10:00:00' };
  const make = async (...forms: object[]) => {
    const calendar = await makeCalendar(server, alice);
    const entries: EntryView[] = [];
    for (const form of forms) entries.push(await makeEntry(server, alice, calendar.id, form));
    return { path: `/v1/calendars/${calendar.id}`, name: calendar.name, entries };
  };
  const isThere = async (path: string) => (await call(server, alice, 'GET', path)).status === 200;

  const told = await make(invited, past, { ...TALK, title: 'Alone' });
  const [meeting, over] = told.entries.map(({ uid }) => uid) as [string, string];
  await mails.taken(2);
  await copyWhen(scene, bob, over, () => true);
  assertRefused(await call(server, alice, 'DELETE', told.path), 'calendar_has_meetings');
  assertRefused(await call(server, alice, 'DELETE', `${told.path}?notify=some`), 'query_invalid', 'notify');
  assertRefused(await call(server, bob, 'DELETE', `${told.path}?notify=all`), 'calendar_not_found');
  assert.ok(await isThere(told.path));
  assert.equal((await call(server, alice, 'DELETE', `${told.path}?notify=all`)).status, 204);
  assert.ok(!(await isThere(told.path)));
  const cancelled = (await mails.taken(3))[2];
  assert.match(cancelled === undefined ? '' : calendarOf(cancelled), /METHOD:CANCEL\n/);
  assert.ok(cancelled !== undefined && calendarOf(cancelled).includes(`UID:${meeting}`));
  await copyWhen(scene, bob, meeting, ({ status }) => status === 'cancelled');

  const quiet = await make(invited);
  const [{ uid }] = quiet.entries as [EntryView];
  await copyWhen(scene, bob, uid, () => true);
  await mails.taken(4);
  assert.equal((await call(server, alice, 'DELETE', `${quiet.path}?notify=none`)).status, 204);

  // Nobody misses what is over, or what nobody else is invited to.
  const alone = await make(past, TALK, { ...invited, status: 'cancelled' });
  assert.equal((await call(server, alice, 'DELETE', alone.path)).status, 204);

  // A client of CalDAV cannot say; there everybody is told.
  const dav = await make(invited);
  const [last] = dav.entries as [EntryView];
  await copyWhen(scene, bob, last.uid, () => true);
  const headers = await appPassword(server, alice);
  const removed = await fetch(`${server.calendar}/dav/calendars/alice/${dav.name}/`, { method: 'DELETE', headers });
  assert.equal(removed.status, 204);
  await copyWhen(scene, bob, last.uid, ({ status }) => status === 'cancelled');
  assert.equal((await copyOf(scene, bob, uid))?.status, undefined, 'of the quiet one nobody was told');
  assert.equal((await copyOf(scene, bob, over))?.status, undefined);
  const uids = mails.mails.map((mail) => calendarOf(mail)).filter((text) => text.includes('METHOD:CANCEL'));
  assert.ok(uids.every((text) => !text.includes(uid) && !text.includes(over)));
});

test('CAL-03 who removes a calendar with invitations in it declines them, unless they say to tell nobody', async (t) => {
  const scene = await openMailScene(t);
  const { alice, bob, calendar, server } = scene;
  const invite = async () => await makeEntry(server, alice, calendar, { ...TALK, attendees: ['bob'] });
  const answerOf = async (uid: string) => {
    const answer = (await copyOf(scene, alice, uid))?.attendees.find(({ user }) => user === 'bob')?.answer;
    return answer;
  };
  const gone = async (notify: string, entry: EntryView) => {
    await copyWhen(scene, bob, entry.uid, () => true);
    const { id } = await defaultCalendar(server, bob);
    const reply = await call<CalendarView>(server, bob, 'DELETE', `/v1/calendars/${id}${notify}`);
    assert.equal(reply.status, 204, reply.text);
  };
  const first = await invite();
  await gone('?notify=all', first);
  await until(async () => (await answerOf(first.uid)) === 'declined', 'Bob has declined');
  const second = await invite();
  await gone('', second);
  const third = await invite();
  await gone('?notify=none', third);
  await lineWhen(scene, third.uid, 'mailto:bob@', /SCHEDULE-STATUS=1\.2/);
  assert.deepEqual([await answerOf(second.uid), await answerOf(third.uid)], ['needs_action', 'needs_action']);
});
