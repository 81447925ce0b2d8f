import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETUP_MILLIS } from '#src/identity/console/second-factors.ts';
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
import { PASSWORD } from './coordinator-fixture.ts';

const BREAK_GLASS = { kind: 'break_glass', role: 'owner', sid: 's_0123456789abcdefghjkmn', steppedUpUntil: 0 } as const;
const BY = { actor: 'server', address: null };

test('TFA-01 a set-up is not in force before its code is confirmed', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { token } = await site.login('olga');
  const principal = await site.who(token);
  const { secret } = await site.secondFactors.setup(principal, ADDRESS);
  assert.equal((await site.login('olga')).isFull, false);
  const wrong = wrongCodeAt(secret, site.clock.now());
  await assert.rejects(site.secondFactors.confirm(principal, wrong, ADDRESS), refusal('second_factor_wrong'));
  assert.equal(site.secondFactors.isEnrolled('olga'), false);
  const codes = await site.secondFactors.confirm(principal, codeAt(secret, site.clock.now()), ADDRESS);
  assert.equal(codes.length, 10);
  assert.equal(site.secondFactors.isEnrolled('olga'), true);
});

test('a set-up waits fifteen minutes for its code, and no second longer', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const principal = await site.who((await site.login('olga')).token);
  const { secret } = await site.secondFactors.setup(principal, ADDRESS);
  site.clock.advance(SETUP_MILLIS / 1000);
  const late = site.secondFactors.confirm(principal, codeAt(secret, site.clock.now()), ADDRESS);
  await assert.rejects(late, refusal('second_factor_setup_missing'));
  const again = await site.secondFactors.setup(principal, ADDRESS);
  site.clock.advance(SETUP_MILLIS / 1000 - 1);
  const code = codeAt(again.secret, site.clock.now());
  assert.equal((await site.secondFactors.confirm(principal, code, ADDRESS)).length, 10);
});

test('a code without a set-up, and one of an earlier set-up, confirm nothing', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const principal = await site.who((await site.login('olga')).token);
  const none = site.secondFactors.confirm(principal, '123456', ADDRESS);
  await assert.rejects(none, refusal('second_factor_setup_missing'));
  const first = await site.secondFactors.setup(principal, ADDRESS);
  await site.secondFactors.setup(principal, ADDRESS);
  const stale = site.secondFactors.confirm(principal, codeAt(first.secret, site.clock.now()), ADDRESS);
  await assert.rejects(stale, refusal('second_factor_wrong'));
});

test('a session that has not proven the factor in force cannot replace it; a full one that stepped up can', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { secret, session } = await site.enroll('olga');
  const principal = await site.who(session.token);
  const unproven = { ...principal, isFull: false } as typeof principal;
  await assert.rejects(site.secondFactors.setup(unproven, ADDRESS), refusal('second_factor_enrolled'));
  await assert.rejects(site.secondFactors.setup(principal, ADDRESS), refusal('step_up_required'));
  const again = { code: codeAt(secret, site.clock.now()) };
  await site.stepUp.byCode(principal, again, ADDRESS);
  const stepped = await site.who(session.token);
  const replaced = await site.secondFactors.setup(stepped, ADDRESS);
  const code = codeAt(replaced.secret, site.clock.now());
  await assert.rejects(site.secondFactors.confirm(unproven, code, ADDRESS), refusal('second_factor_enrolled'));
  await site.secondFactors.confirm(principal, code, ADDRESS);
  site.clock.advance(30);
  const old = site.login('olga', { code: codeAt(secret, site.clock.now()) });
  await assert.rejects(old, refusal('second_factor_wrong'));
  assert.equal((await site.login('olga', { code: codeAt(replaced.secret, site.clock.now()) })).isFull, true);
});

test('wrong codes of a set-up count as failed sign-ins do', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const principal = await site.who((await site.login('olga')).token);
  const { secret } = await site.secondFactors.setup(principal, ADDRESS);
  const code = wrongCodeAt(secret, site.clock.now());
  for (let times = 0; times < ATTEMPTS; times += 1) {
    await assert.rejects(site.secondFactors.confirm(principal, code, ADDRESS), refusal('second_factor_wrong'));
  }
  const right = codeAt(secret, site.clock.now());
  await assert.rejects(site.secondFactors.confirm(principal, right, ADDRESS), refusal('rate_limited'));
  await assert.rejects(site.login('olga'), refusal('rate_limited'));
  await site.secondFactors.confirm(principal, right, '192.0.2.8');
});

test('new recovery codes void those before, and want a code', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { secret, session, recoveryCodes } = await site.enroll('olga');
  const principal = await site.who(session.token);
  const wrong = wrongCodeAt(secret, site.clock.now());
  const refused = site.secondFactors.renewRecoveryCodes(principal, wrong, ADDRESS);
  await assert.rejects(refused, refusal('second_factor_wrong'));
  const code = codeAt(secret, site.clock.now());
  const renewed = await site.secondFactors.renewRecoveryCodes(principal, code, ADDRESS);
  const voided = site.login('olga', { recovery_code: recoveryCodes[0] });
  await assert.rejects(voided, refusal('second_factor_wrong'));
  assert.equal((await site.login('olga', { recovery_code: renewed[0] })).isFull, true);
  const items = [{ user: 'olga', since: '2026-11-21T08:00:00.000Z', recovery_codes_left: 9 }];
  assert.deepEqual(site.secondFactors.list(undefined, 10), { items, next: null });
});

test('CRD-08 an owner takes a lost factor away: its person is signed out and sets up another', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  await site.add('vera', 'viewer');
  const { session } = await site.enroll('vera');
  await site.secondFactors.remove(OWNER, 'vera', ADDRESS);
  await assert.rejects(site.who(session.token), refusal('token_invalid'));
  assert.equal((await site.login('vera')).isFull, false);
  const entry = site.trail('second_factor.removed').at(-1);
  assert.deepEqual([entry?.actor, entry?.subject, entry?.address], ['user:olga', 'user:vera', ADDRESS]);
  await assert.rejects(site.secondFactors.remove(OWNER, 'vera', ADDRESS), refusal('second_factor_not_found'));
  const viewer = { ...OWNER_PERSON, role: 'viewer' } as const;
  await assert.rejects(site.secondFactors.remove(viewer, 'olga', ADDRESS), refusal('right_missing'));
  await site.enroll('vera');
  await site.secondFactors.remove(BREAK_GLASS, 'vera', ADDRESS);
  assert.equal(site.secondFactors.isEnrolled('vera'), false);
});

test('the break-glass account and vendors have no factor to set up here', async (context) => {
  const site = await openConsole(context);
  const vendor = { kind: 'vendor', id: 'x', role: 'vendor_support' } as const;
  for (const principal of [BREAK_GLASS, vendor]) {
    await assert.rejects(site.secondFactors.setup(principal, ADDRESS), refusal('right_missing'));
    await assert.rejects(site.secondFactors.confirm(principal, '123456', ADDRESS), refusal('right_missing'));
  }
});

test('while secrets are locked a code is not judged, and a recovery code signs in', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const { secret, recoveryCodes } = await site.enroll('olga');
  const masterKey = new Uint8Array(32).fill(9);
  await site.vault.enable(masterKey, BY);
  await site.vault.lock(BY);
  const code = codeAt(secret, site.clock.now());
  await assert.rejects(site.login('olga', { code }), refusal('encryption_locked'));
  assert.equal((await site.login('olga', { recovery_code: recoveryCodes[0] })).isFull, true);
  await site.vault.unlock(masterKey, BY);
  assert.equal((await site.login('olga', { code })).isFull, true);
});

test('CRD-09 with encryption at rest on, the shared key is not in the file in the clear', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  await site.vault.enable(new Uint8Array(32).fill(9), BY);
  await site.enroll('olga');
  const { vaultSecrets } = await import('#storage/vault/vault-secrets.ts');
  const stored = site.accounts.document(vaultSecrets, 'totp:olga');
  assert.equal(stored?.sealed, true);
  assert.equal(site.accounts.document(vaultSecrets, 'totp-pending:olga'), undefined);
  assert.equal(JSON.stringify(site.trail()).includes(PASSWORD), false);
});
