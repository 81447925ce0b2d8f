/**
 * Scheduling between people who share calendars with one another, in every way that they can: what one of them sees of the
 * other's calendar is no copy of their own, and nothing that is told may get lost over it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { call, defaultCalendar, makeEntry } from '../service/calling.ts';

const { server, alice, bob, carol } = await shareServer(['alice', 'bob', 'carol']);
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };
const SHARES = ['none', 'free_busy', 'read', 'write'] as const;

async function entryOf(who: Person, uid: string): Promise<EntryView | undefined> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  return reply.body.items.find((one) => one.uid === uid);
}

async function entryWhen(who: Person, uid: string, isRight: (entry: EntryView) => boolean): Promise<EntryView> {
  return await until(async () => {
    const entry = await entryOf(who, uid);
    return entry !== undefined && isRight(entry) ? entry : false;
  }, `${uid} of ${who.username}`);
}

const answerOf = (entry: EntryView, user: string) => entry.attendees.find((one) => one.user === user)?.answer;

async function setShare(owner: Person, sharee: Person, access: (typeof SHARES)[number]): Promise<void> {
  const { id } = await defaultCalendar(server, owner);
  const path = `/v1/calendars/${id}/shares/${sharee.username}`;
  const reply =
    access === 'none' ? await call(server, owner, 'DELETE', path) : await call(server, owner, 'PUT', path, { access });
  assert.ok([200, 201, 204, 404].includes(reply.status), reply.text);
}

async function isBusy(asker: Person, who: Person): Promise<unknown[]> {
  const body = { users: [who.username], from: '2026-11-23T00:00:00Z', to: '2026-11-24T00:00:00Z' };
  const reply = await call<{ items: { busy: unknown[] }[] }>(server, asker, 'POST', '/v1/free-busy', body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items[0]?.busy ?? [];
}

for (const given of SHARES) {
  for (const taken of SHARES) {
    test(`CAL-03 attendees share ${given} and get ${taken}: cancelling and declining reach everybody`, async () => {
      for (const attendee of [bob, carol]) {
        await setShare(attendee, alice, given);
        await setShare(alice, attendee, taken);
      }
      const { id } = await defaultCalendar(server, alice);
      const entry = await makeEntry(server, alice, id, { ...TALK, attendees: ['bob', 'carol'] });
      const copies = await Promise.all([bob, carol].map((who) => entryWhen(who, entry.uid, () => true)));

      // Bob takes his copy away: that declines, and the organiser sees it.
      const own = await defaultCalendar(server, bob);
      const removed = await call(server, bob, 'DELETE', `/v1/calendars/${own.id}/entries/${copies[0]?.id}`);
      assert.equal(removed.status, 204, removed.text);
      await entryWhen(alice, entry.uid, (one) => answerOf(one, 'bob') === 'declined');
      assert.equal(answerOf((await entryOf(alice, entry.uid)) as EntryView, 'carol'), 'needs_action');
      await until(async () => (await isBusy(alice, bob)).length === 0, 'bob is free');

      // Alice takes the meeting away: that cancels it for Carol, whoever sees whose calendar.
      const cancelled = await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${entry.id}`);
      assert.equal(cancelled.status, 204, cancelled.text);
      await entryWhen(carol, entry.uid, (one) => one.status === 'cancelled');
      assert.deepEqual(await isBusy(alice, carol), []);
      const waiting = await call<{ items: { entry: EntryView }[] }>(server, carol, 'GET', '/v1/invitations');
      assert.deepEqual(
        waiting.body.items.filter((one) => one.entry.uid === entry.uid),
        [],
      );
    });
  }
}

test('CAL-03 free and busy times follow answers: declined is free, tentative and unanswered may be busy', async () => {
  for (const attendee of [bob, carol]) {
    await setShare(attendee, alice, 'none');
    await setShare(alice, attendee, 'none');
  }
  const { id } = await defaultCalendar(server, alice);
  const entry = await makeEntry(server, alice, id, { ...TALK, attendees: ['bob'] });
  const copy = await entryWhen(bob, entry.uid, () => true);
  const own = await defaultCalendar(server, bob);
  const time = { start_at: '2026-11-23T09:00:00.000Z', end_at: '2026-11-23T10:00:00.000Z' };
  assert.deepEqual(
    await isBusy(alice, alice),
    [{ ...time, tentative: false, unavailable: false }],
    'who organises it is there',
  );
  assert.deepEqual(await isBusy(alice, bob), [{ ...time, tentative: true, unavailable: false }]);
  for (const [answer, busy] of [
    ['accepted', [{ ...time, tentative: false, unavailable: false }]],
    ['tentative', [{ ...time, tentative: true, unavailable: false }]],
    ['declined', []],
  ] as const) {
    const path = `/v1/invitations/${own.id}/${copy.id}/answer`;
    assert.equal((await call(server, bob, 'PUT', path, { answer })).status, 200);
    assert.deepEqual(await isBusy(alice, bob), busy, answer);
  }
});
