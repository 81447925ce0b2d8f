import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP_UP_MILLIS } from '#src/identity/console/console-sessions.ts';
import { hasSteppedUp } from '#src/identity/console/principal.ts';
import { ADDRESS, ATTEMPTS, codeAt, openConsole, OWNER, refusal, wrongCodeAt } from './console-fixture.ts';

test('VND-17 a step-up counts for five minutes, in its session alone', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { secret, session } = await site.enroll('olga');
  const other = await site.login('olga', { code: codeAt(secret, site.clock.now()) });
  const isSteppedUp = async (token: string) => hasSteppedUp(await site.who(token), site.clock.now());
  // Signing in with a code is none.
  assert.equal(await isSteppedUp(other.token), false);
  site.clock.advance(30);
  const code = codeAt(secret, site.clock.now());
  const until = await site.stepUp.byCode(await site.who(session.token), { code }, ADDRESS);
  assert.equal(until, site.clock.now() + STEP_UP_MILLIS);
  assert.deepEqual([await isSteppedUp(session.token), await isSteppedUp(other.token)], [true, false]);
  site.clock.advance(STEP_UP_MILLIS / 1_000 - 1);
  assert.equal(await isSteppedUp(session.token), true);
  site.clock.advance(1);
  assert.equal(await isSteppedUp(session.token), false);
  assert.deepEqual(site.trail('console.stepped_up').at(-1)?.details, { factor: 'code', session: session.sid });
});

test('VND-17 a recovery code steps up once; wrong codes count as failed sign-ins do', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { recoveryCodes, secret, session } = await site.enroll('olga');
  const principal = await site.who(session.token);
  const proof = { recovery_code: recoveryCodes[0] as string };
  await site.stepUp.byCode(principal, proof, ADDRESS);
  const wrong = { code: wrongCodeAt(secret, site.clock.now()) };
  await assert.rejects(site.stepUp.byCode(principal, proof, ADDRESS), refusal('second_factor_wrong'));
  const refused = site.trail('console.code_refused').at(-1);
  assert.deepEqual([refused?.subject, refused?.details], ['user:olga', { session: session.sid }]);
  for (let failed = 1; failed < ATTEMPTS; failed += 1) {
    await assert.rejects(site.stepUp.byCode(principal, wrong, ADDRESS), refusal('second_factor_wrong'));
  }
  const right = { code: codeAt(secret, site.clock.now()) };
  await assert.rejects(site.stepUp.byCode(principal, right, ADDRESS), refusal('rate_limited'));
});

test('VND-17 the break-glass account steps up by a code of its own, a session that ended by none, a vendor never', async (context) => {
  const site = await openConsole(context);
  const { secret } = await site.breakGlass.set(OWNER, 'a password in the safe', ADDRESS);
  const code = codeAt(secret, site.clock.now());
  const session = await site.breakGlass.login({ password: 'a password in the safe', code }, ADDRESS);
  const principal = await site.who(session.token);
  const stepUp = async (proof: object) => await site.stepUp.byCode(principal, proof, ADDRESS);
  await assert.rejects(stepUp({ recovery_code: 'x' }), { ...refusal('field_invalid'), field: 'code' });
  await assert.rejects(stepUp({ code }), refusal('second_factor_wrong'));
  site.clock.advance(30);
  await stepUp({ code: codeAt(secret, site.clock.now()) });
  assert.equal(hasSteppedUp(await site.who(session.token), site.clock.now()), true);
  site.clock.advance(30);
  await site.signIn.logout(principal, ADDRESS);
  await assert.rejects(stepUp({ code: codeAt(secret, site.clock.now()) }), refusal('token_invalid'));
  const vendor = { kind: 'vendor', id: 'x', role: 'vendor_support' } as const;
  await assert.rejects(site.stepUp.byCode(vendor, { code }, ADDRESS), refusal('vendor_token_forbidden'));
});
