/** How many pushes of calendars are on their way at once, and how many hear that a calendar is gone: below each bound, at it and beyond. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { REMOVAL_PUSHES_MAX, PUSHES_AT_ONCE } from '#src/calendar/push/calendar-pushes.ts';
import { registrationsOf } from '#storage/calendars/calendar-registrations.ts';
import { until } from '#test/support/waiting.ts';
import { open, registerMany, waitingIn } from './push-store.ts';

/** Of so many people's pushes that are due in the same moment, how many are attempted before one of them is answered. */
async function underWayOf(t: TestContext, people: number): Promise<number> {
  const { calendars, id, logins, provider, pushes, register, rename } = await open(t);
  const names = Array.from({ length: people }, (_, at) => `reader${at}`);
  await calendars.change((draft) => names.forEach((name) => draft.share(id, name, 'read')));
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  provider.answer = async () => {
    await promise;
    return { status: 201 };
  };
  for (const user of names) await register(undefined, { user });
  await rename('one');
  await until(() => waitingIn(pushes()) === people, 'all of them to be due');
  // An attempt asks about its person in the turn in which it begins, long before the push service sees it.
  const begun = logins.asked.length;
  await until(() => provider.asked.length === begun, 'what was begun to be asked for');
  answer();
  await until(() => waitingIn(pushes()) === 0, 'those that waited to have their turn');
  assert.deepEqual([provider.asked.length, new Set(logins.asked).size], [people, people]);
  return begun;
}

test('CAL-03 sixteen pushes of calendars are on their way at once, and the next one waits for an answer', async (t) => {
  assert.equal(PUSHES_AT_ONCE, 16);
  assert.equal(await underWayOf(t, PUSHES_AT_ONCE - 1), 15);
  assert.equal(await underWayOf(t, PUSHES_AT_ONCE), 16);
  assert.equal(await underWayOf(t, PUSHES_AT_ONCE + 1), 16);
});

test('CAL-03 a thousand registrations hear that their calendar is gone, and the next one ends without', async (t) => {
  const { calendars, clock, pushes, provider } = await open(t);
  assert.equal(REMOVAL_PUSHES_MAX, 1_000);
  const form = { description: '', color: '', order: 0, zone: 'UTC', transparency: 'opaque', kinds: ['event'] } as const;
  let before = 0;
  for (const [count, told] of [
    [REMOVAL_PUSHES_MAX - 1, 999],
    [REMOVAL_PUSHES_MAX, 1_000],
    [REMOVAL_PUSHES_MAX + 1, 1_000],
  ] as const) {
    const name = `with ${count}`;
    const { id } = await calendars.createCalendar({ ...form, kinds: ['event'], owner: 'ann', name, displayname: name });
    // They were told of something right now: their next push waits, and can be counted.
    await registerMany({ calendars, provider }, id, { count, toldAt: clock.now() });
    await calendars.removeCalendar(id);
    await until(() => waitingIn(pushes()) === before + told, `${told} of ${count} to be due`);
    before += told;
    await calendars.purged();
    assert.equal(registrationsOf(calendars, `a${count - 1}`), 0);
  }
  assert.equal(waitingIn(pushes()), before);
});
