import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTEMPTS_WAITING_MAX, LOGIN_PAIRS_MAX, LoginLimiter } from '#src/identity/credentials/login-limiter.ts';
import { Refusal } from '#src/protocol/errors.ts';

function limiterAt(failuresPerMinute: number) {
  const clock = { millis: 1_000_000, now: () => clock.millis };
  return { limiter: new LoginLimiter(failuresPerMinute, clock), clock };
}

async function fail(limiter: LoginLimiter, username: string, address: string): Promise<void> {
  (await limiter.begin(username, address))(false);
}

const limited = (retryAfter: number) => (error: unknown) =>
  error instanceof Refusal && error.code === 'rate_limited' && error.retryAfter === retryAfter;

test('the failure after the last allowed one is refused until the minute is over', async () => {
  const { limiter, clock } = limiterAt(3);
  for (let times = 0; times < 3; times += 1) await fail(limiter, 'alice', '10.0.0.1');
  clock.millis += 20_000;
  await assert.rejects(limiter.begin('alice', '10.0.0.1'), limited(40));
  clock.millis += 40_000;
  await fail(limiter, 'alice', '10.0.0.1');
});

test('nobody else is refused: not the same person elsewhere, not another person there', async () => {
  const { limiter } = limiterAt(1);
  await fail(limiter, 'alice', '10.0.0.1');
  await assert.rejects(limiter.begin('alice', '10.0.0.1'), limited(60));
  (await limiter.begin('alice', '10.0.0.2'))(true);
  (await limiter.begin('bob', '10.0.0.1'))(true);
});

test('successes never count', async () => {
  const { limiter } = limiterAt(1);
  for (let times = 0; times < 5; times += 1) (await limiter.begin('alice', '10.0.0.1'))(true);
});

test('one IPv6 network counts as one address, and an IPv4 address in IPv6 form as itself', async () => {
  const { limiter } = limiterAt(1);
  await fail(limiter, 'alice', '2001:db8:1:2::1');
  await assert.rejects(limiter.begin('alice', '2001:db8:1:2:ffff::9'), limited(60));
  (await limiter.begin('alice', '2001:db8:1:3::1'))(true);
  await fail(limiter, 'alice', '::ffff:10.0.0.1');
  (await limiter.begin('alice', '::ffff:10.0.0.2'))(true);
});

test('attempts made at once do not each see the room that is left', async () => {
  const { limiter } = limiterAt(2);
  const [first, second] = [await limiter.begin('alice', '10.0.0.1'), await limiter.begin('alice', '10.0.0.1')];
  const third = limiter.begin('alice', '10.0.0.1');
  first(false);
  second(false);
  await assert.rejects(third, limited(60));
});

test('an attempt that waited goes on when one before it succeeded', async () => {
  const { limiter } = limiterAt(1);
  const first = await limiter.begin('alice', '10.0.0.1');
  const second = limiter.begin('alice', '10.0.0.1');
  first(true);
  (await second)(true);
});

test('more attempts than may wait are busy', async () => {
  const { limiter } = limiterAt(1);
  const first = await limiter.begin('alice', '10.0.0.1');
  const waiting = Array.from({ length: ATTEMPTS_WAITING_MAX }, () => limiter.begin('alice', '10.0.0.1'));
  await assert.rejects(limiter.begin('alice', '10.0.0.1'), (error: Refusal) => error.code === 'busy');
  first(false);
  for (const { status } of await Promise.allSettled(waiting)) assert.equal(status, 'rejected');
});

test('the table is bounded: one pair beyond it makes the oldest forgotten', async () => {
  const { limiter } = limiterAt(1);
  for (let number = 0; number < LOGIN_PAIRS_MAX; number += 1) await fail(limiter, `u${number}`, '10.0.0.1');
  await assert.rejects(limiter.begin('u0', '10.0.0.1'), limited(60));
  await fail(limiter, 'one-more', '10.0.0.1');
  assert.equal(limiter.pairs, LOGIN_PAIRS_MAX);
  await assert.rejects(limiter.begin('u1', '10.0.0.1'), limited(60));
  (await limiter.begin('u0', '10.0.0.1'))(true);
});

test('a clock that was set back does not prolong a window', async () => {
  const { limiter, clock } = limiterAt(1);
  await fail(limiter, 'alice', '10.0.0.1');
  clock.millis -= 3_600_000;
  (await limiter.begin('alice', '10.0.0.1'))(true);
});
