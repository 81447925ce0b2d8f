/** When pushes of calendars go out, over a real store and a push service on loopback, by a clock that a test sets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PUSH_EVERY_MILLIS,
  PUSH_MILLIS_MAX,
  PUSHES_OF_ONE_AT_ONCE,
  PUSHES_WAITING_MAX,
  REGISTRATION_MILLIS_MAX,
} from '#src/calendar/push/calendar-pushes.ts';
import { UNTOLD_URLS_MAX, untoldOf } from '#src/calendar/dav/push-registration.ts';
import { TouchedCalendar, UNTOLD_LISTS_MAX } from '#src/calendar/push/touched-calendar.ts';
import { noteRegistration, registrationName, registrationsOf } from '#storage/calendars/calendar-registrations.ts';
import { eraseCalendarsOf } from '#storage/calendars/calendar-erasure.ts';
import { until } from '#test/support/waiting.ts';
import { countOf, HOUR, NOON, open, registerMany, SOON, waitingIn } from './push-store.ts';

test('a registration gets one push in its time, and then one for all that came', async (t) => {
  const { calendars, clock, id, provider, register, rename } = await open(t);
  const first = await register();
  await rename('one');
  await until(() => first.count() === 1 && first.at()?.toldAt === NOON, 'the first push, written down');
  const told = first.at()?.toldSeq;
  assert.equal(told, calendars.calendar(id)?.syncSeq);
  clock.at += PUSH_EVERY_MILLIS - SOON;
  for (const name of ['two', 'three']) await rename(name);
  // Another one, that was not told yet, hears of it at once: the first has been decided on by then.
  const second = await register();
  await rename('four');
  await until(() => second.count() === 1, 'the push of the second');
  assert.equal(first.count(), 1);
  clock.at += SOON;
  await until(() => first.count() === 2, 'the push that was put off');
  await until(() => first.at()?.toldSeq === calendars.calendar(id)?.syncSeq, 'it to be written down');
  assert.equal(provider.asked.length, 3);
});

test('a push that nobody takes for an hour is given up, and nothing is due of it', async (t) => {
  const { calendars, clock, id, provider, pushes, register, rename } = await open(t);
  provider.answer = () => ({ status: 503 });
  const one = await register();
  await rename('one');
  await until(() => countOf(pushes(), 'retried') === 1, 'the first attempt to have failed');
  clock.at += PUSH_MILLIS_MAX;
  await until(() => countOf(pushes(), 'retried') === 2, 'the attempt at the end of the hour to have failed');
  // Behind the wait for the next one.
  clock.at += 60_000;
  await until(() => one.at()?.toldSeq === calendars.calendar(id)?.syncSeq, 'it to be given up');
  assert.equal(one.count(), 2);
});

test('who is spared a change was told of it, and a change that comes during an attempt that fails is told with the next', async (t) => {
  const { calendars, clock, id, provider, pushes, register, rename } = await open(t);
  const waiting = () => waitingIn(pushes());
  const one = await register();
  const spared = new Set([registrationName(one.place)]);
  await calendars.change((draft) => draft.changeCalendar(id, { displayname: 'spared' }, spared));
  await until(() => one.at()?.toldSeq === calendars.calendar(id)?.syncSeq, 'the change to be noted as told');
  assert.deepEqual([one.count(), one.at()?.toldAt], [0, 0]);
  const { promise, resolve: fail } = Promise.withResolvers<void>();
  provider.answer = async () => {
    await promise;
    return { status: 503 };
  };
  await rename('one');
  await until(() => one.count() === 1, 'an attempt');
  await rename('two');
  await until(() => waiting() === 2, 'another push to wait behind it');
  fail();
  await until(() => countOf(pushes(), 'retried') === 1, 'the attempt to have failed');
  provider.answer = () => ({ status: 201 });
  clock.at += 60_000;
  await until(() => waiting() === 0, 'nothing to wait');
  assert.equal(one.count(), 2);
  assert.equal(one.at()?.toldSeq, calendars.calendar(id)?.syncSeq);
});

test('what ended is not told, and is gone when all are looked through', async (t) => {
  const { calendars, clock, pushes, register, rename, restart } = await open(t);
  const [short, long] = [await register(NOON + HOUR), await register(NOON + 2 * REGISTRATION_MILLIS_MAX)];
  assert.deepEqual([short.expiresAt, long.expiresAt], [NOON + HOUR, NOON + REGISTRATION_MILLIS_MAX]);
  clock.at = NOON + HOUR;
  await rename('one');
  await until(() => long.count() === 1, 'the push of what lasts');
  assert.equal(short.count(), 0);
  await until(() => short.at() === undefined, 'what was found to have ended to be gone');
  clock.at = NOON + REGISTRATION_MILLIS_MAX;
  pushes().wake();
  await until(() => long.at() === undefined, 'what ended to be gone');
  assert.equal(registrationsOf(calendars, 'ann'), 0);
  const told = await register();
  await restart();
  await rename('two');
  await until(() => told.count() === 1, 'a push behind another start');
});

test('what is behind is told at the start, and what is not is left alone', async (t) => {
  const { calendars, register, restart } = await open(t);
  const [behind, told] = [await register(), await register()];
  await calendars.change((draft) => noteRegistration(draft, behind.place, { toldSeq: 0 }));
  // A program that registers again before it was told has not read what it was not told of.
  await register(undefined, behind);
  await restart();
  await until(() => behind.count() === 1 && behind.at()?.toldSeq === told.at()?.toldSeq, 'the push of what is behind');
  assert.equal(told.count(), 0);
});

test('of one person so many pushes are under way and no more, and others are not held up', async (t) => {
  const { calendars, id, provider, register, rename } = await open(t);
  await calendars.change((draft) => draft.share(id, 'ben', 'read'));
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  provider.answer = async () => {
    await promise;
    return { status: 201 };
  };
  const own: Awaited<ReturnType<typeof register>>[] = [];
  for (let count = 0; count <= PUSHES_OF_ONE_AT_ONCE; count += 1) own.push(await register());
  const bens = await register(undefined, { user: 'ben' });
  await rename('one');
  // It is read behind all of ann's.
  await until(() => bens.count() === 1, 'the push of ben');
  const asked = () => own.filter(({ count }) => count() === 1).length;
  await until(() => asked() === PUSHES_OF_ONE_AT_ONCE, 'those of ann that may go');
  assert.equal(asked(), PUSHES_OF_ONE_AT_ONCE);
  answer();
  await until(() => asked() === PUSHES_OF_ONE_AT_ONCE + 1, 'the last one');
});

test('so many URLs in one Push-Dont-Notify count, and those behind them are told', () => {
  const urls = (count: number) => Array.from({ length: count }, (_, at) => `"/dav/push/ann/cal_0/${at}"`).join(', ');
  const spared = (count: number) => {
    const untold = untoldOf({ 'push-dont-notify': urls(count) }, 'ann');
    return untold instanceof Set ? untold.size : untold;
  };
  assert.deepEqual([spared(UNTOLD_URLS_MAX), spared(UNTOLD_URLS_MAX + 1)], [UNTOLD_URLS_MAX, UNTOLD_URLS_MAX]);
  assert.equal(untoldOf({ 'push-dont-notify': urls(1) }, 'ben'), undefined);
});

test('whoever is erased has no registrations left, on calendars of others either', async (t) => {
  const { calendars, id, register } = await open(t);
  const by = { actor: 'user:ann', address: null };
  await calendars.change((draft) => draft.share(id, 'ben', 'read'));
  const [own, bens] = [await register(), await register(undefined, { user: 'ben' })];
  await eraseCalendarsOf(calendars, 'ben', by);
  assert.deepEqual([bens.at(), registrationsOf(calendars, 'ben')], [undefined, 0]);
  assert.equal(own.at()?.toldAt, 0);
  await eraseCalendarsOf(calendars, 'ann', by);
  assert.deepEqual([own.at(), registrationsOf(calendars, 'ann')], [undefined, 0]);
});

test('what finds no room in the queue stays due', async (t) => {
  const { calendars, clock, id, pushes, provider, register, rename } = await open(t);
  await registerMany({ calendars, provider }, id, { count: PUSHES_WAITING_MAX, toldAt: clock.now() });
  const last = await register();
  await rename('one');
  const waiting = () => waitingIn(pushes());
  await until(() => waiting() === PUSHES_WAITING_MAX, 'a full queue');
  // It is read behind the others, and none of them may go yet.
  assert.deepEqual([provider.asked.length, last.at()?.toldSeq], [0, 1]);
});

test('of more lists of who need not hear than are kept, everybody hears', async (t) => {
  const { calendars, id } = await open(t);
  const calendar = calendars.calendar(id)!;
  const touched = new TouchedCalendar();
  for (let at = 0; at <= UNTOLD_LISTS_MAX; at += 1) {
    touched.add({ calendar, isContent: true, isProperty: false, untold: new Set(['me', `other ${at}`]) });
    const update = { isContent: at === UNTOLD_LISTS_MAX, isProperty: false };
    assert.deepEqual(touched.updateFor('me'), update);
  }
  assert.equal(touched.updateFor('other 3').isContent, true);
});
