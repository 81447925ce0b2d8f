/** Codes of the second factor that are tried from many addresses and over restarts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODES_WITHOUT_WAIT_MAX } from '#src/identity/credentials/code-attempts.ts';
import { codeAt, openConsoleOn, OWNER, refusal, wrongCodeAt } from '#test/coordinator/console-fixture.ts';
import { HandClock, PASSWORD, temporaryFolder } from '#test/coordinator/coordinator-fixture.ts';
import { openFolder } from '#storage/engine/folder.ts';

test('TFA-01 wrong codes are limited per account, whatever address they come from, and over a restart', async (t) => {
  const folder = temporaryFolder(t);
  openFolder(folder, 4, '2026-11-22T08:00:00.000Z');
  const clock = new HandClock();
  let site = await openConsoleOn(folder, clock);
  t.after(() => site.accounts.close());
  await site.add('vera', 'viewer');
  const { secret, recoveryCodes } = await site.enroll('vera');
  const attempt = async (code: string, at: number) =>
    await site.signIn.login({ username: 'vera', password: PASSWORD, code }, `10.0.${at}.1`);
  const wrong = wrongCodeAt(secret, clock.now());
  const guessed = await Promise.allSettled(Array.from({ length: 60 }, (_, at) => attempt(wrong, at)));
  const codes = guessed.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'in'));
  assert.equal(codes.filter((code) => code === 'second_factor_wrong').length, CODES_WITHOUT_WAIT_MAX);
  assert.equal(codes.filter((code) => code === 'rate_limited').length, 60 - CODES_WITHOUT_WAIT_MAX);
  await site.accounts.close();
  site = await openConsoleOn(folder, clock);
  const early = attempt(codeAt(secret, clock.now()), 100);
  await assert.rejects(early, { ...refusal('rate_limited'), retryAfter: 30 });
  // A recovery code is the owner's way in meanwhile, and ends the wait.
  const recovery = { username: 'vera', password: PASSWORD, recovery_code: recoveryCodes[0] };
  assert.equal((await site.signIn.login(recovery, '10.1.0.1')).isFull, true);
  assert.equal((await attempt(codeAt(secret, clock.now()), 101)).isFull, true);
});

test('TFA-01 each wrong code beyond the tenth waits twice as long, and a right one begins anew', async (t) => {
  const folder = temporaryFolder(t);
  openFolder(folder, 4, '2026-11-22T08:00:00.000Z');
  const clock = new HandClock();
  const site = await openConsoleOn(folder, clock);
  t.after(() => site.accounts.close());
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, '10.0.0.1');
  let at = 0;
  const attempt = async (code: string) => {
    at += 1;
    return await site.breakGlass.login({ password: PASSWORD, code }, `10.0.${at}.1`);
  };
  const fail = async () =>
    await assert.rejects(attempt(wrongCodeAt(secret, clock.now())), refusal('second_factor_wrong'));
  for (let count = 0; count < CODES_WITHOUT_WAIT_MAX; count += 1) await fail();
  for (const seconds of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
    clock.advance(seconds - 1);
    await assert.rejects(attempt('123456'), { ...refusal('rate_limited'), retryAfter: 1 });
    clock.advance(1);
    await fail();
  }
  clock.advance(3_600);
  assert.equal((await attempt(codeAt(secret, clock.now()))).isFull, true);
  await fail();
  clock.advance(30);
  assert.equal((await attempt(codeAt(secret, clock.now()))).isFull, true);
});
