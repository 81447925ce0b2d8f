/** Who accepted, seen by everybody who is invited: through both doors of a server, and over a kill (CAL-03). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { uuidAddress } from '#src/calendar/address-book.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { CalendarReader } from '#storage/calendars/calendar-reader.ts';
import { openCalendars } from '#storage/calendars/calendar-records.ts';
import { checkFolder } from '#storage/check/check.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { basic, call, defaultCalendar, makeEntry } from '../service/calling.ts';

const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };
/** Longer than answers are gathered, on a slow machine. */
const SHOWN_MILLIS = 40_000;

const answerOf = (entry: EntryView, user: string) => entry.attendees.find((one) => one.user === user)?.answer;

const server = await startServer({});
after(async () => await server.stop());

test('CAL-03 what some answer is seen by the others, in what is theirs, and goes no further', async () => {
  const { alice, bob, carol, dave } = await server.people('alice', 'bob', 'carol', 'dave');
  const ids = new Map<Person, string>();
  for (const who of [alice, bob, carol, dave]) ids.set(who, (await defaultCalendar(server, who)).id);
  const entryWhen = async (who: Person, uid: string, isRight: (entry: EntryView) => boolean, millis?: number) =>
    await until(
      async () => {
        const path = `/v1/calendars/${ids.get(who)}/changes?limit=200`;
        const { items } = (await call<{ items: EntryView[] }>(server, who, 'GET', path)).body;
        return items.find((one) => one.uid === uid && isRight(one)) ?? false;
      },
      `${uid} of ${who.username}`,
      millis,
    );
  const answer = async (who: Person, uid: string, word: string) => {
    const { id } = await entryWhen(who, uid, () => true);
    const path = `/v1/invitations/${ids.get(who)}/${id}/answer`;
    assert.equal((await call(server, who, 'PUT', path, { answer: word })).status, 200);
  };
  const made = await request('POST', `${server.coordinator}/v1/app-passwords`, {
    ...{ body: { name: 'x' }, token: carol.session.token },
  });
  const hers = basic('carol', made.body['password'] as string);
  const dav = async (method: string, path: string, more: Record<string, string> = {}, body?: string) => {
    const given = body === undefined ? {} : { body };
    const response = await fetch(`${server.calendar}${path}`, { method, headers: { ...hers, ...more }, ...given });
    return { status: response.status, tag: response.headers.get('schedule-tag'), text: await response.text() };
  };
  const make = async (attendees: string[], form: object = {}) =>
    await makeEntry(server, alice, ids.get(alice) as string, { ...TALK, ...form, attendees });

  const talk = await make(['bob', 'carol', 'dave']);
  const series = await make(['bob', 'carol'], { rule: { frequency: 'weekly', count: 3 }, tz: 'Europe/Berlin' });
  const removed = await make(['bob', 'carol', 'dave'], { title: 'Removed' });
  for (const { uid } of [talk, series, removed]) for (const who of [bob, carol]) await entryWhen(who, uid, () => true);

  // Carol's own: an alarm, free time, maybe.
  const path = `/dav/calendars/carol/default/${talk.id}.ics`;
  const alarm =
    'TRANSP:TRANSPARENT\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nACTION:DISPLAY\r\nDESCRIPTION:x\r\nEND:VALARM\r\n';
  const copy = (await dav('GET', path)).text.replaceAll('\r\n ', '').replace('END:VEVENT', `${alarm}END:VEVENT`);
  assert.equal((await dav('PUT', path, { 'content-type': 'text/calendar' }, copy)).status, 204);
  await answer(carol, talk.uid, 'tentative');
  const before = await dav('GET', path);
  const gone = `/dav/calendars/carol/default/${removed.id}.ics`;
  assert.equal((await dav('DELETE', gone, { 'schedule-reply': 'F' })).status, 204);

  await answer(bob, talk.uid, 'accepted');
  await answer(dave, talk.uid, 'declined');
  await answer(bob, removed.uid, 'accepted');
  const { id } = await entryWhen(bob, series.uid, () => true);
  const one = `/v1/calendars/${ids.get(bob)}/entries/${id}?scope=this&recurrence_id=20261130T100000`;
  assert.equal((await call(server, bob, 'DELETE', one)).status, 204);
  const answered = await entryWhen(...([alice, talk.uid] as const), (entry) =>
    ['bob', 'carol', 'dave'].every((user) => answerOf(entry, user) !== 'needs_action'),
  );

  const seen = await entryWhen(carol, talk.uid, (entry) => answerOf(entry, 'dave') === 'declined', SHOWN_MILLIS);
  assert.deepEqual(
    [answerOf(seen, 'bob'), answerOf(seen, 'carol'), seen.transparency],
    ['accepted', 'tentative', 'transparent'],
  );
  const later = await dav('GET', path);
  assert.equal(later.tag, before.tag);
  const others = (text: string) =>
    text
      .replaceAll('\r\n ', '')
      .split('\r\n')
      .filter((line) => !/^ATTENDEE.*(bob|dave|:urn)/.test(line) || line.includes('TENTATIVE'));
  assert.deepEqual(others(later.text), others(before.text));
  assert.match(later.text, /TRIGGER:-PT5M/);
  await entryWhen(bob, talk.uid, (entry) => answerOf(entry, 'carol') === 'tentative', SHOWN_MILLIS);
  await entryWhen(dave, removed.uid, (entry) => answerOf(entry, 'bob') === 'accepted', SHOWN_MILLIS);
  assert.equal((await dav('GET', gone)).status, 404);

  const single = await until(
    async () => {
      const { text } = await dav('GET', `/dav/calendars/carol/default/${series.id}.ics`);
      return text.includes('PARTSTAT=DECLINED') && text.replaceAll('\r\n ', '');
    },
    'the answer to one occurrence',
    SHOWN_MILLIS,
  );
  assert.match(single, /RECURRENCE-ID;TZID=Europe\/Berlin:20261130T100000\r\n/);
  assert.equal(single.match(/PARTSTAT=DECLINED/g)?.length, 1);
  const list = await call<{ items: { entry: EntryView }[] }>(server, carol, 'GET', '/v1/invitations');
  assert.deepEqual(
    list.body.items.map(({ entry }) => entry.uid).filter((uid) => uid === talk.uid),
    [],
  );
  assert.equal((await entryWhen(alice, talk.uid, () => true)).etag, answered.etag);
});

test('CAL-03 what the organiser answers to their own meeting is seen by the others, and asks nobody anew', async () => {
  const { hal, ivy } = await server.people('hal', 'ivy');
  const own = await Promise.all(
    [hal, ivy].map(async ({ session, username }) => {
      const { body } = await request('POST', `${server.coordinator}/v1/app-passwords`, {
        ...{ body: { name: 'x' }, token: session.token },
      });
      return basic(username, body['password'] as string);
    }),
  );
  const [hals, ivys] = own as [Record<string, string>, Record<string, string>];
  const dav = async (headers: Record<string, string>, method: string, path: string, body?: string) => {
    const given = body === undefined ? {} : { body };
    const type = { 'content-type': 'text/calendar' };
    const response = await fetch(`${server.calendar}${path}`, { method, headers: { ...headers, ...type }, ...given });
    return { status: response.status, text: (await response.text()).replaceAll('\r\n ', '') };
  };
  const line = (user: string, answer: string) => `ATTENDEE;PARTSTAT=${answer}:${uuidAddress(user)}`;
  const event = (answer: string, more: readonly string[] = []) => [
    ...['BEGIN:VEVENT', 'UID:own', 'DTSTAMP:20260101T000000Z', 'DURATION:PT1H', ...more],
    ...[`ORGANIZER:${uuidAddress('hal')}`, line('hal', answer), line('ivy', 'NEEDS-ACTION'), 'END:VEVENT'],
  ];
  const write = async (...components: readonly (readonly string[])[]) => {
    const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:x', ...components.flat(), 'END:VCALENDAR', ''];
    const reply = await dav(hals, 'PUT', '/dav/calendars/hal/default/own.ics', lines.join('\r\n'));
    assert.ok(reply.status < 300, reply.text);
  };
  const series = ['DTSTART:20261123T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=3'];
  const second = ['RECURRENCE-ID:20261130T090000Z', 'DTSTART:20261130T090000Z'];
  const { id } = await defaultCalendar(server, ivy);
  const copy = async () => {
    const { items } = (await call<{ items: EntryView[] }>(server, ivy, 'GET', `/v1/calendars/${id}/changes?limit=200`))
      .body;
    const found = items.find(({ uid }) => uid === 'own');
    if (found === undefined) return '';
    return (await dav(ivys, 'GET', `/dav/calendars/ivy/default/${found.id}.ics`)).text;
  };
  const halIs = (text: string) =>
    [...text.matchAll(new RegExp(`PARTSTAT=([A-Z]+)[^\\r]*:(?:mailto:hal@|${uuidAddress('hal')})`, 'g'))].map(
      ([, is]) => is,
    );
  const sees = async (answers: readonly string[]) =>
    await until(async () => halIs(await copy()).join(' ') === answers.join(' '), answers.join(' '), SHOWN_MILLIS);
  await write(event('ACCEPTED', series));
  await sees(['ACCEPTED']);
  const invitations = async () =>
    (await call<{ items: unknown[] }>(server, ivy, 'GET', '/v1/invitations')).body.items.length;
  const asked = await invitations();
  await write(event('ACCEPTED', series), event('DECLINED', second));
  await sees(['ACCEPTED', 'DECLINED']);
  await write(event('TENTATIVE', series), event('TENTATIVE', second));
  await sees(['TENTATIVE', 'TENTATIVE']);
  // To one date alone, which has a component of its own already.
  await write(event('TENTATIVE', series), event('ACCEPTED', second));
  await sees(['TENTATIVE', 'ACCEPTED']);
  assert.equal(await invitations(), asked);
  assert.match(await copy(), new RegExp(`PARTSTAT=NEEDS-ACTION[^\\r]*:(mailto:ivy@|${uuidAddress('ivy')})`));
});

test('CAL-03 after kill -9 between an answer and its update the others see the answer', async (t) => {
  const { erin, fay, gus } = await server.people('erin', 'fay', 'gus');
  const { id } = await defaultCalendar(server, erin);
  const [fays, guss] = [(await defaultCalendar(server, fay)).id, (await defaultCalendar(server, gus)).id];
  const uids: string[] = [];
  for (let number = 0; number < 20; number += 1) {
    const entry = await makeEntry(server, erin, id, { ...TALK, title: `Talk ${number}`, attendees: ['fay', 'gus'] });
    uids.push(entry.uid);
    const path = `/v1/invitations/${fays}/${entry.id}/answer`;
    await until(async () => (await call(server, fay, 'PUT', path, { answer: 'accepted' })).status === 200, 'the entry');
  }
  await server.end('SIGKILL');
  const killedOff = new CalendarReader(openCalendars(server.folder));
  const left = killedOff.environment.tables.answers.getKeysCount();
  await killedOff.close();
  assert.ok(left > 0, 'something was to be shown when the process ended');
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
  const again = await startServer({ folder: server.folder });
  t.after(async () => await again.end('SIGKILL'));
  const reader = new CalendarReader(openCalendars(server.folder));
  const accepted = new RegExp(`PARTSTAT=ACCEPTED[^\\r]*:(mailto:fay@|${uuidAddress('fay')})`);
  const textOf = (uid: string) =>
    reader
      .bytesOf(guss, reader.nameByUid(guss, uid) ?? '')
      ?.toString()
      .replaceAll('\r\n ', '') ?? '';
  await until(
    () => {
      reader.refresh();
      return uids.every((uid) => accepted.test(textOf(uid)));
    },
    'the answers in every copy',
    SHOWN_MILLIS,
  );
  assert.equal(reader.environment.tables.answers.getKeysCount(), 0);
  // A calendar begins at 1; each copy came once and got the answer once.
  assert.equal(reader.calendar(guss)?.syncSeq, 1 + 2 * uids.length);
  await reader.close();
  await again.stop();
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
});
