import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Secret } from 'otpauth';
import { openFolder } from '#storage/engine/folder.ts';
import { HandClock, PASSWORD, temporaryFolder } from './coordinator-fixture.ts';
import {
  ADDRESS,
  ATTEMPTS,
  codeAt,
  openConsole,
  openConsoleOn,
  OWNER,
  refusal,
  wrongCodeAt,
} from './console-fixture.ts';

test('TFA-01 a password sign-in without a second factor opens its set-up and nothing else', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const session = await site.login('olga');
  assert.match(session.token, /^adm_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(
    [session.username, session.role, session.signIn, session.isFull],
    ['olga', 'owner', 'password', false],
  );
  const principal = await site.who(session.token);
  assert.deepEqual(principal, {
    kind: 'person',
    username: 'olga',
    role: 'owner',
    signIn: 'password',
    sid: session.sid,
    isFull: false,
    steppedUpUntil: 0,
  });
});

test('TFA-01 after the code is confirmed the same session is full, and the person’s others are over', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const other = await site.login('olga');
  const { session } = await site.enroll('olga');
  const principal = await site.who(session.token);
  assert.equal(principal.kind === 'person' && principal.isFull, true);
  await assert.rejects(site.who(other.token), refusal('token_invalid'));
});

test('TFA-01 with a second factor the password alone is told that a code is missing, and with it the session is full', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { secret } = await site.enroll('vera');
  await assert.rejects(site.login('vera'), refusal('second_factor_required'));
  const session = await site.login('vera', { code: codeAt(secret, site.clock.now()) });
  assert.deepEqual([session.isFull, session.role], [true, 'viewer']);
});

test('TFA-01 a code that was used is refused, also the one that confirmed the set-up', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { secret } = await site.enroll('vera');
  const confirmed = codeAt(secret, site.clock.now() - 30_000);
  await assert.rejects(site.login('vera', { code: confirmed }), refusal('second_factor_wrong'));
  const code = codeAt(secret, site.clock.now());
  await site.login('vera', { code });
  await assert.rejects(site.login('vera', { code }), refusal('second_factor_wrong'));
  site.clock.advance(30);
  await assert.rejects(site.login('vera', { code }), refusal('second_factor_wrong'));
  assert.equal((await site.login('vera', { code: codeAt(secret, site.clock.now()) })).isFull, true);
});

test('of two sign-ins at once with one code, one gets in', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { secret } = await site.enroll('vera');
  const code = codeAt(secret, site.clock.now());
  const both = await Promise.allSettled([site.login('vera', { code }), site.login('vera', { code })]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('TFA-01 a recovery code signs in once, and says so in the audit trail', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { recoveryCodes } = await site.enroll('vera');
  const session = await site.login('vera', { recovery_code: recoveryCodes[0] });
  assert.equal(session.isFull, true);
  const again = site.login('vera', { recovery_code: recoveryCodes[0] });
  await assert.rejects(again, refusal('second_factor_wrong'));
  const entry = site.trail('console.signed_in').at(-1);
  assert.deepEqual(
    [entry?.actor, entry?.address, entry?.details],
    ['user:vera', ADDRESS, { second_factor: 'recovery_code', session: session.sid, sign_in: 'password' }],
  );
});

test('every way to fail has one answer and costs one hash', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  await site.add('bob', 'viewer');
  await site.add('carol', null);
  await site.enroll('olga');
  await site.block('bob');
  let hashes = 0;
  const verify = site.passwords.verify.bind(site.passwords);
  site.passwords.verify = async (...given) => {
    hashes += 1;
    return await verify(...given);
  };
  const cases: [string, string][] = [
    ['olga', 'not the password'],
    ['nobody', PASSWORD],
    ['no such username at all!', PASSWORD],
    ['bob', PASSWORD],
    ['bob', 'not the password'],
    ['carol', PASSWORD],
    ['carol', 'not the password'],
  ];
  const changes = site.trail().length;
  for (const [username, password] of cases) {
    const refused = site.signIn.login({ username, password }, ADDRESS);
    await assert.rejects(refused, { ...refusal('login_failed'), field: undefined, retryAfter: undefined });
  }
  assert.equal(hashes, cases.length);
  // Nothing is written for any of them, so that no disk tells a known name from an unknown one.
  assert.equal(site.trail().length, changes);
});

test('a wrong password with a right code is login_failed, and the code stays unused', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { secret } = await site.enroll('vera');
  const code = codeAt(secret, site.clock.now());
  const wrong = site.signIn.login({ username: 'vera', password: 'wrong', code }, ADDRESS);
  await assert.rejects(wrong, refusal('login_failed'));
  assert.equal((await site.login('vera', { code })).isFull, true);
});

test('wrong codes count as failures do, for that person at that address alone', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  await site.add('olga', 'owner');
  const { secret } = await site.enroll('vera');
  const code = wrongCodeAt(secret, site.clock.now());
  for (let times = 0; times < ATTEMPTS; times += 1) {
    await assert.rejects(site.login('vera', { code }), refusal('second_factor_wrong'));
  }
  const right = codeAt(secret, site.clock.now());
  await assert.rejects(site.login('vera', { code: right }), { ...refusal('rate_limited'), retryAfter: 12 });
  assert.equal((await site.login('olga')).username, 'olga');
  const elsewhere = await site.signIn.login({ username: 'vera', password: PASSWORD, code: right }, '192.0.2.8');
  assert.equal(elsewhere.isFull, true);
  const refused = site.trail('console.code_refused');
  assert.equal(refused.length, ATTEMPTS);
  assert.deepEqual([refused[0]?.actor, refused[0]?.subject, refused[0]?.address], ['server', 'user:vera', ADDRESS]);
});

test('asking without a code is no failure', async (context) => {
  const site = await openConsole(context);
  await site.add('vera', 'viewer');
  const { secret } = await site.enroll('vera');
  for (let times = 0; times <= ATTEMPTS; times += 1) {
    await assert.rejects(site.login('vera'), refusal('second_factor_required'));
  }
  assert.equal((await site.login('vera', { code: codeAt(secret, site.clock.now()) })).isFull, true);
});

for (const which of ['mode', 'token'] as const) {
  test(`VND-14 with ${which === 'mode' ? 'sign_in_mode' : 'platform_token'} at identity a password opens nothing`, async (context) => {
    const site = await openConsole(context);
    await site.add('olga', 'owner');
    site.sources[which] = 'identity';
    await assert.rejects(site.login('olga'), refusal('sign_in_by_identity'));
    await assert.rejects(site.login('nobody'), refusal('sign_in_by_identity'));
    site.sources[which] = 'local';
    assert.equal((await site.login('olga')).username, 'olga');
  });
}

test('signing out ends that session and no other, and is in the audit trail', async (context) => {
  const site = await openConsole(context);
  await site.add('olga', 'owner');
  const [one, other] = [await site.login('olga'), await site.login('olga')];
  await site.signIn.logout(await site.who(one.token), ADDRESS);
  await assert.rejects(site.who(one.token), refusal('token_invalid'));
  assert.equal((await site.who(other.token)).kind, 'person');
  assert.equal(site.trail('console.signed_out').at(-1)?.actor, 'user:olga');
});

test('CRD-09 neither token, password, recovery code nor secret is stored, audited or logged in the clear', async (context) => {
  const folder = temporaryFolder(context);
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const site = await openConsoleOn(folder, new HandClock());
  // Sealed from the start: LMDB leaves the bytes of an earlier page where they are.
  await site.vault.enable(new Uint8Array(32).fill(9), { actor: 'server', address: null });
  await site.add('olga', 'owner');
  const { secret, recoveryCodes, session } = await site.enroll('olga');
  const full = await site.login('olga', { code: codeAt(secret, site.clock.now()) });
  const breakGlass = await site.breakGlass.set(OWNER, 'in case of fire break this', ADDRESS);
  const form = { name: 'Support', vendor: 'parley', purpose: 'A case', term_days: 365 } as const;
  const vendor = await site.vendorTokens.issue(OWNER, form, ADDRESS);
  await site.vendorTokens.revoke(OWNER, vendor.record.id, ADDRESS);
  const told = Buffer.from(JSON.stringify([site.trail(), site.logged]));
  await site.accounts.close();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const stored = files.map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  const bytes = Buffer.concat([told, ...stored]);
  assert.equal(bytes.includes('vendor_token.revoked'), true);
  const keys = [secret, breakGlass.secret].map((text) => Buffer.from(Secret.fromBase32(text).bytes));
  const texts = [PASSWORD, 'in case of fire break this', session.token, full.token, vendor.token.slice(-43)];
  for (const text of [...texts, ...recoveryCodes, secret, breakGlass.secret]) assert.equal(bytes.includes(text), false);
  for (const key of keys) assert.equal(bytes.includes(key), false);
});
