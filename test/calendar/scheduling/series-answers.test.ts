/** Answers to a series of which single occurrences stand by themselves, because others answered those or its organiser wrote them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { appPassword, call, defaultCalendar, makeEntry, putObject } from '../service/calling.ts';

const { server, alice, bob, carol, dave } = await shareServer(['alice', 'bob', 'carol', 'dave']);
const DATES = ['20270104T090000', '20270111T090000', '20270118T090000'] as const;
const SERIES = {
  ...{ title: 'Talk', local_start: '2027-01-04T09:00:00', local_end: '2027-01-04T10:00:00', tz: 'Europe/Berlin' },
  rule: { frequency: 'weekly', count: 3 },
};
const ids = new Map<Person, string>();
for (const who of [alice, bob, carol]) ids.set(who, (await defaultCalendar(server, who)).id);

async function invite(attendees: readonly string[]): Promise<EntryView> {
  return await makeEntry(server, alice, ids.get(alice) as string, { ...SERIES, attendees });
}

/** One occurrence of what somebody has; undefined while there is none. */
async function occurrence(who: Person, { id }: EntryView, at: string): Promise<EntryView | undefined> {
  const reply = await call<EntryView>(
    server,
    who,
    'GET',
    `/v1/calendars/${ids.get(who)}/entries/${id}?recurrence_id=${at}`,
  );
  return reply.status === 200 ? reply.body : undefined;
}

/** Waits until an occurrence says that of those people: `bob accepted`. */
async function says(who: Person, entry: EntryView, at: string, ...answers: readonly string[]): Promise<void> {
  await until(async () => {
    const people = (await occurrence(who, entry, at))?.attendees ?? [];
    const said = people.filter(({ user }) => user !== 'alice').map((one) => `${one.user} ${one.answer}`);
    return said.toSorted().join() === answers.join();
  }, `${at} of ${who.username}: ${answers.join()}`);
}

/** Takes an occurrence out of somebody's copy, which declines it. */
async function leave(who: Person, entry: EntryView, at: string): Promise<void> {
  await until(async () => (await occurrence(who, entry, at)) !== undefined, `${entry.uid} of ${who.username}`);
  const path = `/v1/calendars/${ids.get(who)}/entries/${entry.id}?scope=this&recurrence_id=${at}`;
  assert.equal((await call(server, who, 'DELETE', path)).status, 204);
}

async function answer(who: Person, { id }: EntryView, word: string): Promise<void> {
  const reply = await call(server, who, 'PUT', `/v1/invitations/${ids.get(who)}/${id}/answer`, { answer: word });
  assert.equal(reply.status, 200, reply.text);
}

async function change({ id }: EntryView, form: object): Promise<void> {
  const reply = await call(server, alice, 'PATCH', `/v1/calendars/${ids.get(alice)}/entries/${id}`, form);
  assert.equal(reply.status, 200, reply.text);
}

test('CAL-03 an answer to a series is one to the occurrence that somebody else answered by itself, and none to what one left', async () => {
  const entry = await invite(['bob', 'carol']);
  await leave(bob, entry, DATES[1]);
  await says(alice, entry, DATES[1], 'bob declined', 'carol needs_action');
  await answer(carol, entry, 'accepted');
  await says(alice, entry, DATES[1], 'bob declined', 'carol accepted');
  // Bob left that one, and says so of the others only.
  await answer(bob, entry, 'tentative');
  await says(alice, entry, DATES[0], 'bob tentative', 'carol accepted');
  await says(alice, entry, DATES[1], 'bob declined', 'carol accepted');
});

test('CAL-03 who leaves out an occurrence that was moved later than the series was written declines it', async () => {
  const entry = await invite(['bob']);
  for (const hour of [11, 12]) {
    const times = {
      local_start: `2027-01-11T${hour}:00:00`,
      local_end: `2027-01-11T${hour + 1}:00:00`,
      tz: 'Europe/Berlin',
    };
    await change(entry, { scope: 'this', recurrence_id: DATES[1], ...times });
  }
  await until(
    async () => (await occurrence(bob, entry, DATES[1]))?.local_start === '2027-01-11T12:00:00',
    'it is moved',
  );
  await leave(bob, entry, DATES[1]);
  await says(alice, entry, DATES[1], 'bob declined');
  await says(alice, entry, DATES[0], 'bob needs_action');
});

test('CAL-03 what is changed for a whole series is changed in occurrences that an answer made, and not in their own words', async () => {
  const entry = await invite(['bob']);
  await leave(bob, entry, DATES[1]);
  await says(alice, entry, DATES[1], 'bob declined');
  await change(entry, { scope: 'this', recurrence_id: DATES[2], title: 'Last talk' });
  await change(entry, { title: 'Lecture', attendees: ['bob', 'carol'] });
  const titles = await Promise.all(DATES.map(async (at) => (await occurrence(alice, entry, at))?.title));
  assert.deepEqual(titles, ['Lecture', 'Lecture', 'Last talk']);
  for (const at of [DATES[0], DATES[2]]) await says(carol, entry, at, 'bob needs_action', 'carol needs_action');
  await says(carol, entry, DATES[1], 'bob declined', 'carol needs_action');
  // Taken out of all of it, nobody stays in one of its dates.
  await change(entry, { attendees: ['carol'] });
  for (const at of DATES) await says(alice, entry, at, 'carol needs_action');
});

test('CAL-03 who is invited again after they were taken out is asked anew', async () => {
  const entry = await invite(['bob', 'carol']);
  await until(async () => (await occurrence(bob, entry, DATES[0])) !== undefined, 'the copy');
  await answer(bob, entry, 'accepted');
  await says(alice, entry, DATES[0], 'bob accepted', 'carol needs_action');
  await change(entry, { attendees: ['carol'] });
  await until(async () => (await occurrence(bob, entry, DATES[0]))?.status === 'cancelled', 'it is cancelled');
  await change(entry, { attendees: ['bob', 'carol'] });
  await until(async () => (await occurrence(bob, entry, DATES[0]))?.status !== 'cancelled', 'it is back');
  for (const who of [alice, bob]) await says(who, entry, DATES[0], 'bob needs_action', 'carol needs_action');
});

test('CAL-03 what somebody writes for the organiser is a conflict for the organiser’s program', async () => {
  const entry = await invite(['bob']);
  const share = `/v1/calendars/${ids.get(alice)}/shares/dave`;
  assert.ok((await call(server, alice, 'PUT', share, { access: 'write' })).status < 300);
  const { body } = await call<{ items: { id: string; name: string }[] }>(server, dave, 'GET', '/v1/calendars');
  const shared = body.items.find(({ id }) => id === ids.get(alice))?.name;
  const [hers, his] = [await appPassword(server, alice), await appPassword(server, dave)];
  const file = `${entry.uid}.ics`;
  const read = await fetch(`${server.calendar}/dav/calendars/alice/default/${file}`, { headers: hers });
  const [tag, text] = [read.headers.get('schedule-tag') ?? '', await read.text()];
  const put = async (path: string, headers: Record<string, string>, title: string) => {
    const conditions = { ...headers, 'if-schedule-tag-match': tag };
    return (await putObject(server, conditions, path, text.replace('SUMMARY:Talk', `SUMMARY:${title}`))).status;
  };
  assert.equal(await put(`/dav/calendars/dave/${shared}/${file}`, his, 'Of Dave'), 204);
  assert.equal(await put(`/dav/calendars/alice/default/${file}`, hers, 'Of Alice'), 412);
});

test('CAL-03 a series that only ends sooner asks nobody anew: what they answered to it, and to single dates, stays', async () => {
  const entry = await makeEntry(server, alice, ids.get(alice) as string, {
    ...SERIES,
    ...{ rule: { frequency: 'weekly', count: 5 }, attendees: ['bob', 'carol'] },
  });
  const [first, second, third, fourth, fifth] = [...DATES, '20270125T090000', '20270201T090000'] as const;
  await until(async () => (await occurrence(bob, entry, first)) !== undefined, 'the copy');
  await answer(bob, entry, 'accepted');
  await leave(bob, entry, second);
  await says(alice, entry, second, 'bob declined', 'carol needs_action');
  const stays = async (gone: string) => {
    for (const who of [bob, carol])
      await until(async () => (await occurrence(who, entry, gone)) === undefined, `${gone} to be gone`);
    for (const who of [alice, carol]) {
      await says(who, entry, first, 'bob accepted', 'carol needs_action');
      await says(who, entry, second, 'bob declined', 'carol needs_action');
    }
    assert.equal(
      (await occurrence(bob, entry, first))?.attendees.find(({ user }) => user === 'bob')?.answer,
      'accepted',
    );
    assert.equal(await occurrence(bob, entry, second), undefined);
    const { items } = (await call<{ items: { entry: EntryView }[] }>(server, bob, 'GET', '/v1/invitations')).body;
    assert.deepEqual(
      items.filter((one) => one.entry.uid === entry.uid),
      [],
    );
  };
  await change(entry, { rule: { frequency: 'weekly', count: 4 } });
  await stays(fifth);
  // By a time in place of a number, as most programs end a series.
  const path = `/v1/calendars/${ids.get(alice)}/entries/${entry.id}?scope=this_and_following&recurrence_id=${fourth}`;
  assert.equal((await call(server, alice, 'DELETE', path)).status, 204);
  await stays(fourth);
  assert.notEqual(await occurrence(carol, entry, third), undefined);
  // A date more is another one that nobody answered.
  await change(entry, { rule: { frequency: 'weekly', count: 4 } });
  for (const who of [alice, carol]) await says(who, entry, first, 'bob needs_action', 'carol needs_action');
});

test('CAL-03 what a client drops of a series is put back, be it all but one occurrence or one that was moved; leaving it out declines', async () => {
  const entry = await invite(['bob']);
  const times = { local_start: '2027-01-11T11:00:00', local_end: '2027-01-11T12:00:00', tz: 'Europe/Berlin' };
  await change(entry, { scope: 'this', recurrence_id: DATES[1], ...times });
  await until(
    async () => (await occurrence(bob, entry, DATES[1]))?.local_start === '2027-01-11T11:00:00',
    'it is moved',
  );
  const headers = await appPassword(server, bob);
  const path = `/dav/calendars/bob/default/${entry.id}.ics`;
  const read = async () =>
    (await (await fetch(`${server.calendar}${path}`, { headers })).text()).replaceAll('\r\n ', '');
  const text = await read();
  const [series = '', moved = ''] = text.match(/BEGIN:VEVENT[^]*?END:VEVENT\r\n/g) ?? [];
  assert.match(moved, /^RECURRENCE-ID/m);
  for (const dropped of [moved, series]) {
    const written = await putObject(server, headers, path, text.replace(dropped, ''));
    assert.deepEqual([written.status, written.headers.get('etag')], [204, null], 'it is not what was written');
    const events = (one: string) => one.match(/BEGIN:VEVENT[^]*?END:VEVENT/g)?.toSorted();
    assert.deepEqual(events(await read()), events(text));
  }
  // An answer that comes with it counts.
  await putObject(server, headers, path, text.replace(moved, '').replace(/NEEDS-ACTION/, 'TENTATIVE'));
  await says(alice, entry, DATES[0], 'bob tentative');
  await says(alice, entry, DATES[1], 'bob needs_action');
  await putObject(server, headers, path, text);
  await says(alice, entry, DATES[0], 'bob needs_action');
  // An occurrence that has nothing but an answer of its own may lose it, and is answered as the series is.
  const answered = series
    .replace(/RRULE:.*\r\n/, `RECURRENCE-ID;TZID=Europe/Berlin:${DATES[2]}\r\n`)
    .replace(/(DTSTART[^:]*:).*/, `$1${DATES[2]}`)
    .replace(/(DTEND[^:]*:).*/, '$120270118T100000')
    .replace(/NEEDS-ACTION/, 'TENTATIVE');
  assert.equal((await putObject(server, headers, path, text.replace(series, `${series}${answered}`))).status, 204);
  await says(alice, entry, DATES[2], 'bob tentative');
  assert.equal((await putObject(server, headers, path, text)).status, 204);
  const out = series.replace('RRULE:', `EXDATE;TZID=Europe/Berlin:${DATES[1]}\r\nRRULE:`);
  assert.equal((await putObject(server, headers, path, text.replace(moved, '').replace(series, out))).status, 204);
  await says(alice, entry, DATES[1], 'bob declined');
  await says(alice, entry, DATES[0], 'bob needs_action');
});
