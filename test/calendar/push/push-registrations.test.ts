/** What a registration for pushes of a calendar hears, and what it ends by, over a real store and by a clock that a test sets. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { LOOK_MILLIS, PUSH_EVERY_MILLIS } from '#src/calendar/push/calendar-pushes.ts';
import { noteRegistration, registrationName, registrationsOf } from '#storage/calendars/calendar-registrations.ts';
import { Subscription } from '#test/push/loopback-provider.ts';
import { until } from '#test/support/waiting.ts';
import { countOf, NOON, open, SOON, waitingIn } from './push-store.ts';

test('CAL-03 a registration that is made again is told no sooner for it', async (t) => {
  const { clock, register, rename } = await open(t);
  const first = await register();
  await rename('one');
  await until(() => first.at()?.toldAt === NOON, 'the first push, written down');
  const toldSeq = first.at()?.toldSeq;
  clock.at += PUSH_EVERY_MILLIS - SOON;
  await register(undefined, first);
  assert.deepEqual([first.at()?.toldAt, first.at()?.toldSeq], [NOON, toldSeq]);
  const witness = await register();
  await rename('two');
  await until(() => witness.count() === 1, 'the push of what was never told before');
  assert.equal(first.count(), 1);
  clock.at += SOON;
  await until(() => first.count() === 2, 'the push that was put off');
});

test('CAL-03 what is under way when all are looked through is told once', async (t) => {
  const { calendars, id, provider, pushes, register, rename } = await open(t);
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  provider.answer = async () => {
    await promise;
    return { status: 201 };
  };
  const first = await register();
  await rename('one');
  await until(() => first.count() === 1, 'a push under way');
  const behind = await register();
  await calendars.change((draft) => noteRegistration(draft, behind.place, { toldSeq: 0 }));
  pushes().wake();
  // Both are looked at in one go.
  await until(() => behind.count() === 1, 'the push of what is behind');
  answer();
  await until(() => waitingIn(pushes()) === 0, 'nothing to be due');
  const { syncSeq } = calendars.calendar(id)!;
  for (const one of [first, behind]) assert.deepEqual([one.count(), one.at()?.toldSeq], [1, syncSeq]);
});

test('CAL-03 what is gathered when all are looked through is told as what it was', async (t) => {
  const { pushes, register, rename } = await open(t);
  const one = await register();
  await rename('one');
  pushes().wake();
  await until(() => one.count() === 1, 'the push');
  // Behind a crash, where nobody knows what it was, both are said.
  const text = one.subscription.textOf(one.asked()[0]!.body);
  assert.deepEqual([text.includes('property-update'), text.includes('content-update')], [true, false]);
});

test('CAL-03 who is spared a change while another push fails is not taken for told of that one', async (t) => {
  const { calendars, id, provider, pushes, register, rename, restart } = await open(t);
  const [first, witness] = [await register(), await register()];
  const failing = new URL(first.subscription.endpoint).pathname;
  provider.answer = ({ path }) => ({ status: path === failing ? 503 : 201 });
  const before = first.at()?.toldSeq;
  await rename('one');
  await until(() => countOf(pushes(), 'retried') === 1, 'the attempt to have failed');
  const spared = new Set([first, witness].map(({ place }) => registrationName(place)));
  await calendars.change((draft) => draft.changeCalendar(id, { displayname: 'two' }, spared));
  await until(() => witness.at()?.toldSeq === calendars.calendar(id)?.syncSeq, 'those that were spared to be noted');
  assert.equal(first.at()?.toldSeq, before);
  provider.answer = () => ({ status: 201 });
  await restart();
  await until(() => first.at()?.toldSeq === calendars.calendar(id)?.syncSeq, 'the push at the next start');
  assert.deepEqual([first.count(), witness.count()], [2, 1]);
});

test('CAL-03 pushes that say the same take each other’s place at the push service, and no others', async (t) => {
  const { calendars, clock, register, rename, restart } = await open(t);
  const [one, other] = [await register(), await register()];
  const topics = ({ asked }: typeof one) => asked().map(({ headers }) => String(headers['topic']));
  for (const times of [1, 2]) {
    await rename(`name ${times}`);
    await until(() => one.count() === times && other.count() === times, 'the pushes of a name');
    await until(() => one.at()?.toldAt === clock.at && other.at()?.toldAt === clock.at, 'them to be written down');
    clock.at += PUSH_EVERY_MILLIS;
  }
  await calendars.change((draft) => noteRegistration(draft, one.place, { toldSeq: 0 }));
  await restart();
  await until(() => one.count() === 3, 'the push of what nobody knows');
  const [name, again, all] = topics(one);
  assert.match(name!, /^[\w-]{1,32}$/);
  assert.equal(again, name);
  assert.notEqual(all, name);
  const [others] = topics(other);
  assert.notEqual(others, name);
});

test('CAL-03 VND-01 whose app password ended, and who may not read any more, is gone when all are looked through', async (t) => {
  const { calendars, id, logins, pushes, register, restart } = await open(t);
  await calendars.change((draft) => ['ben', 'cyn', 'dan'].forEach((name) => draft.share(id, name, 'read')));
  const [anns, bens, cyns, dans] = [
    await register(),
    await register(undefined, { user: 'ben' }),
    await register(undefined, { user: 'cyn' }),
    await register(undefined, { user: 'dan' }),
  ];
  await pushes().stop();
  logins.ended.add('ben');
  await calendars.change((draft) => draft.share(id, 'cyn', null));
  await calendars.change((draft) => draft.share(id, 'dan', 'free_busy'));
  // Nothing is due to anybody, so that no attempt finds them out.
  const { syncSeq: toldSeq } = calendars.calendar(id)!;
  await calendars.change((draft) => {
    for (const { place } of [anns, bens, cyns, dans]) noteRegistration(draft, place, { toldSeq });
  });
  await restart();
  await until(() => [bens, cyns, dans].every(({ at }) => at() === undefined), 'those that ended to be gone');
  assert.deepEqual(
    ['ann', 'ben', 'cyn', 'dan'].map((user) => registrationsOf(calendars, user)),
    [1, 0, 0, 0],
  );
  assert.deepEqual([anns.count(), bens.count(), cyns.count(), dans.count()], [0, 0, 0, 0]);
});

test('CAL-03 an attempt ends the registration whose app password ended or whose person may not read any more', async (t) => {
  const { calendars, clock, id, logins, provider, pushes, register, rename } = await open(t);
  await calendars.change((draft) => ['ben', 'cyn'].forEach((name) => draft.share(id, name, 'read')));
  provider.answer = () => ({ status: 503 });
  const [bens, cyns] = [await register(undefined, { user: 'ben' }), await register(undefined, { user: 'cyn' })];
  await rename('one');
  await until(() => countOf(pushes(), 'retried') === 2, 'both attempts to have failed');
  logins.ended.add('ben');
  await calendars.change((draft) => draft.share(id, 'cyn', 'free_busy'));
  provider.answer = () => ({ status: 201 });
  clock.at += 60_000;
  await until(() => bens.at() === undefined && cyns.at() === undefined, 'both to be gone');
  assert.deepEqual([bens.count(), cyns.count(), waitingIn(pushes())], [1, 1, 0]);
});

test('CAL-03 a private address is not registered, and asked nothing if it was before that was forbidden', async (t) => {
  const { id, pushes, provider, register, rename, restart } = await open(t);
  // One is private as it is written, the other where its name leads.
  for (const host of ['127.0.0.1', 'push.example']) {
    const subscription = new Subscription(`${provider.url.replace('localhost', host)}/up/`);
    await register(undefined, { subscription });
  }
  await restart(false);
  t.mock.method(dns, 'lookup', (_name: string, _options: object, answer: (...of: unknown[]) => void) =>
    answer(null, [{ address: '127.0.0.1', family: 4 }]),
  );
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  await rename('one');
  await until(() => countOf(pushes(), 'refused') === 2, 'both pushes to be refused');
  assert.deepEqual([provider.asked.length, provider.connections], [0, 0]);
  const { endpoint, keys } = new Subscription(`${provider.url}/up/`).address;
  const registering = pushes().register({ user: 'ann', calendar: id }, 'apw_1', {
    ...{ target: { endpoint, keys }, isContent: true, isProperty: true, expiresAt: undefined },
  });
  await assert.rejects(registering, { code: 'target_private' });
});

test('CAL-03 REL-01 one look that fails is told to the operator, and the next one comes within the hour', async (t) => {
  assert.equal(LOOK_MILLIS, 3_600_000);
  const { calendars, pushes, register, warnings } = await open(t);
  const behind = await register();
  await calendars.change((draft) => noteRegistration(draft, behind.place, { toldSeq: 0 }));
  const { setTimeout: set } = globalThis;
  let lookAgain: (() => void) | undefined;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, millis: number) => {
    if (millis === LOOK_MILLIS) lookAgain = run;
    return set(run, millis);
  });
  const { registrations } = calendars.environment.tables;
  const reading = t.mock.method(registrations, 'getRange', () => {
    throw new Error('The disk cannot be read.');
  });
  pushes().wake();
  const look = await until(() => lookAgain, 'another look to be set');
  assert.equal(reading.mock.callCount(), 1);
  reading.mock.restore();
  assert.deepEqual(
    warnings.splice(0).map((said) => (said as [string])[0]),
    ['registrations for pushes of calendars could not be looked through'],
  );
  assert.equal(behind.count(), 0);
  look();
  await until(() => behind.count() === 1, 'the push of what is behind');
});
