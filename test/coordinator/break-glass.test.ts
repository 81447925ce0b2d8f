import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BreakGlassAccount } from '#src/identity/console/break-glass.ts';
import {
  ADDRESS,
  ATTEMPTS,
  codeAt,
  openConsole,
  OWNER,
  OWNER_PERSON,
  refusal,
  wrongCodeAt,
} from './console-fixture.ts';

const PASSWORD = 'in case of fire break this';

test('TFA-02 the account signs in with password and code, and each use is audited and raises an alert', async (context) => {
  const site = await openConsole(context);
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const session = await site.breakGlass.login({ password: PASSWORD, code: codeAt(secret, site.clock.now()) }, ADDRESS);
  assert.deepEqual([session.isFull, session.role, session.username], [true, 'owner', null]);
  assert.deepEqual(await site.who(session.token), {
    kind: 'break_glass',
    role: 'owner',
    sid: session.sid,
    steppedUpUntil: 0,
  });
  assert.deepEqual(site.alerts, [{ address: ADDRESS, at: '2026-11-21T08:00:00.000Z' }]);
  const entry = site.trail('break_glass.used').at(-1);
  assert.deepEqual([entry?.actor, entry?.address], ['break-glass', ADDRESS]);
  assert.deepEqual(site.breakGlass.state, {
    is_set: true,
    set_at: '2026-11-21T08:00:00.000Z',
    set_by: 'user:olga',
    last_used_at: '2026-11-21T08:00:00.000Z',
    last_used_address: ADDRESS,
  });
});

test('an account that is not set, and a wrong password, have one answer at one cost', async (context) => {
  const site = await openConsole(context);
  let hashes = 0;
  const verify = site.passwords.verify.bind(site.passwords);
  site.passwords.verify = async (...given) => {
    hashes += 1;
    return await verify(...given);
  };
  assert.equal(site.breakGlass.state.is_set, false);
  await assert.rejects(site.breakGlass.login({ password: PASSWORD, code: '123456' }, ADDRESS), refusal('login_failed'));
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const code = codeAt(secret, site.clock.now());
  await assert.rejects(site.breakGlass.login({ password: 'wrong', code }, ADDRESS), refusal('login_failed'));
  assert.equal(hashes, 2);
  assert.deepEqual(site.alerts, []);
});

test('TFA-02 a wrong code and one that was used are refused and audited, and no alert is raised', async (context) => {
  const site = await openConsole(context);
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const wrong = { password: PASSWORD, code: wrongCodeAt(secret, site.clock.now()) };
  await assert.rejects(site.breakGlass.login(wrong, ADDRESS), refusal('second_factor_wrong'));
  const right = { password: PASSWORD, code: codeAt(secret, site.clock.now()) };
  await site.breakGlass.login(right, ADDRESS);
  await assert.rejects(site.breakGlass.login(right, ADDRESS), refusal('second_factor_wrong'));
  assert.equal(site.trail('break_glass.refused').length, 2);
  assert.equal(site.alerts.length, 1);
});

test('failures are limited at their address, and another address still signs in', async (context) => {
  const site = await openConsole(context);
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  for (let times = 0; times < ATTEMPTS; times += 1) {
    await assert.rejects(
      site.breakGlass.login({ password: 'wrong', code: '123456' }, ADDRESS),
      refusal('login_failed'),
    );
  }
  const right = { password: PASSWORD, code: codeAt(secret, site.clock.now()) };
  await assert.rejects(site.breakGlass.login(right, ADDRESS), refusal('rate_limited'));
  assert.equal((await site.breakGlass.login(right, '192.0.2.8')).isFull, true);
});

test('CRD-08 setting the account anew ends its sessions and voids its key', async (context) => {
  const site = await openConsole(context);
  const before = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const first = await site.breakGlass.login(
    { password: PASSWORD, code: codeAt(before.secret, site.clock.now()) },
    ADDRESS,
  );
  const after = await site.breakGlass.set(await site.who(first.token), PASSWORD, ADDRESS);
  await assert.rejects(site.who(first.token), refusal('token_invalid'));
  site.clock.advance(30);
  const old = { password: PASSWORD, code: codeAt(before.secret, site.clock.now()) };
  await assert.rejects(site.breakGlass.login(old, ADDRESS), refusal('second_factor_wrong'));
  const now = { password: PASSWORD, code: codeAt(after.secret, site.clock.now()) };
  assert.equal((await site.breakGlass.login(now, ADDRESS)).isFull, true);
  assert.deepEqual(
    site.trail('break_glass.set').map(({ actor, details }) => [actor, details]),
    [
      ['user:olga', { was_set: false }],
      ['break-glass', { was_set: true }],
    ],
  );
});

test('nobody below owner sets it, and the switches to identity do not close it', async (context) => {
  const site = await openConsole(context);
  const administrator = { ...OWNER_PERSON, role: 'administrator' } as const;
  await assert.rejects(site.breakGlass.set(administrator, PASSWORD, ADDRESS), refusal('right_missing'));
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  site.sources.mode = 'identity';
  site.sources.token = 'identity';
  const code = codeAt(secret, site.clock.now());
  assert.equal((await site.breakGlass.login({ password: PASSWORD, code }, ADDRESS)).isFull, true);
});

test('its sign-out ends its session', async (context) => {
  const site = await openConsole(context);
  const { secret } = await site.breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const { token } = await site.breakGlass.login(
    { password: PASSWORD, code: codeAt(secret, site.clock.now()) },
    ADDRESS,
  );
  await site.signIn.logout(await site.who(token), ADDRESS);
  await assert.rejects(site.who(token), refusal('token_invalid'));
});

test('an alert that cannot be raised keeps nobody out, and is logged', async (context) => {
  const site = await openConsole(context);
  const breakGlass = new BreakGlassAccount({
    ...site.breakGlassParts,
    raiseAlert: () => {
      throw new Error('no alerts today');
    },
  });
  const { secret } = await breakGlass.set(OWNER, PASSWORD, ADDRESS);
  const code = codeAt(secret, site.clock.now());
  assert.equal((await breakGlass.login({ password: PASSWORD, code }, ADDRESS)).isFull, true);
  assert.equal(site.logged.length, 1);
});
