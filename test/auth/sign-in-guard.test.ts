/** Who is held up at sign-in, and who is not (CRD-08). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ATTEMPTS_WAITING_MAX,
  DELAY_MILLIS_MAX,
  FAILURES_BEFORE_DELAY,
  SignInGuard,
} from '#src/identity/credentials/sign-in-guard.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { limiterBy } from '#test/support/limiter.ts';

const FAILURES = 2;

function guardAt(failures = FAILURES) {
  const clock = { millis: 1_000_000, now: () => clock.millis };
  const limiter = limiterBy(clock, { loginAttemptsPerMinute: failures });
  const pauses: number[] = [];
  const pause = async (millis: number) => void pauses.push(millis);
  const guard = new SignInGuard({ limiter, realm: 'client', pause });
  const attempt = async (username: string, address: string, isRight: boolean, knownDevice?: string) =>
    await guard.attempt({ username, address, knownDevice }, async ({ goesFirst }) => {
      await new Promise(setImmediate);
      if (!isRight) throw new Refusal('login_failed');
      return goesFirst;
    });
  const fail = async (username: string, address: string, knownDevice?: string) =>
    await assert.rejects(attempt(username, address, false, knownDevice), { code: 'login_failed' });
  return { attempt, clock, fail, guard, pauses };
}

const limited = { code: 'rate_limited' };

test('the failure after the last allowed one waits, and successes never count', async () => {
  const { attempt, clock, fail } = guardAt(3);
  for (let times = 0; times < 3; times += 1) await fail('alice', '10.0.0.1');
  await assert.rejects(attempt('alice', '10.0.0.1', true), { code: 'rate_limited', retryAfter: 20 });
  clock.millis += 20_000;
  for (let times = 0; times < 9; times += 1) assert.equal(await attempt('alice', '10.0.0.1', true), false);
  await fail('alice', '10.0.0.1');
});

test('nobody else is refused: not the same person elsewhere, not another person there', async () => {
  const { attempt, fail } = guardAt(1);
  await fail('alice', '2001:db8:1:2::1');
  await assert.rejects(attempt('alice', '2001:db8:1:2:ffff::9', true), limited);
  await attempt('alice', '2001:db8:1:3::1', true);
  await attempt('bob', '2001:db8:1:2::1', true);
});

test('attempts made at once do not each see the room that is left', async () => {
  const { attempt } = guardAt();
  const all = Array.from({ length: FAILURES + 2 }, () => attempt('alice', '10.0.0.1', false));
  const settled = await Promise.allSettled(all);
  const codes = settled.map((one) => (one.status === 'rejected' ? (one.reason as Refusal).code : ''));
  assert.deepEqual(codes, ['login_failed', 'login_failed', 'rate_limited', 'rate_limited']);
});

test('an address and a network that fail too often wait over all names, and their neighbours do not', async () => {
  const { attempt, fail } = guardAt(1);
  for (let number = 0; number < 10; number += 1) await fail(`nobody${number}`, '10.0.0.1');
  await assert.rejects(attempt('alice', '10.0.0.1', true), limited);
  for (let number = 10; number < 30; number += 1) await fail(`nobody${number}`, `10.0.0.${number}`);
  await assert.rejects(attempt('alice', '10.0.0.200', true), limited);
  await attempt('alice', '10.0.1.1', true);
});

test('while everybody’s failures are used up, addresses that failed wait and others do not', async () => {
  const { attempt, fail } = guardAt(1);
  for (let number = 0; number < 120; number += 1) await fail(`nobody${number}`, `10.${number}.0.1`);
  await assert.rejects(attempt('alice', '10.3.0.1', true), limited);
  await attempt('alice', '172.16.0.1', true);
});

test('a name that is guessed at waits longer each time, is never refused, and its device does not wait', async () => {
  const { attempt, fail, pauses } = guardAt(10);
  for (let number = 0; number < FAILURES_BEFORE_DELAY; number += 1) await fail('alice', `10.${number}.0.1`);
  assert.deepEqual(pauses, []);
  assert.equal(await attempt('alice', '172.16.0.1', true, 'd_1'), true);
  assert.deepEqual(pauses, []);
  for (let number = 0; number < 7; number += 1) await fail('alice', `10.${number}.1.1`);
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, DELAY_MILLIS_MAX, DELAY_MILLIS_MAX]);
  await attempt('alice', '172.16.0.1', true);
  await attempt('bob', '10.1.0.1', true);
  assert.equal(pauses.length, 8);
});

test('a device that fails too often counts as unknown', async () => {
  const { attempt, fail } = guardAt(2);
  for (let times = 0; times < 2; times += 1) await fail('alice', '10.0.0.1', 'd_1');
  assert.equal(await attempt('alice', '10.0.0.1', true, 'd_1'), false);
  assert.equal(await attempt('alice', '10.0.0.1', true, 'd_2'), true);
});

test('one attempt more than may wait for one name is busy, and other names are not', async () => {
  const { attempt } = guardAt(1_000);
  const all = Array.from({ length: ATTEMPTS_WAITING_MAX + 2 }, () => attempt('alice', '10.0.0.1', true));
  await assert.rejects(all.at(-1) as Promise<unknown>, { code: 'busy' });
  await attempt('bob', '10.0.0.1', true);
  await Promise.all(all.slice(0, -1));
});
