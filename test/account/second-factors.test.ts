/** Second factors of people: authenticator apps and recovery codes, whom the rule asks, and who takes them away (TFA-01). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ParleyError } from '#src/client/parley-error.ts';
import { finishSignIn } from '#src/client/second-factor.ts';
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import { CODES_WITHOUT_WAIT_MAX } from '#src/identity/credentials/code-attempts.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { codeAt, wrongCodeAt } from '#test/coordinator/console-fixture.ts';
import { anotherDevice } from '#test/messaging/conversing.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';

const host = await startConsoleServer({ PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '1000' }, { shards: 2 });
const { server } = host;
after(async () => await host.stop());

interface Asked {
  readonly code: string;
  readonly second_factor: SecondFactorAsk;
}
interface Added {
  readonly factor: { readonly id: string; readonly name: string };
  readonly recovery_codes: string[] | null;
  readonly sessions_ended: number;
}

async function own<T = Record<string, unknown>>(token: string, method: string, path = '', body?: object) {
  const url = `${server.coordinator}/v1/me/second-factors${path}`;
  return await request<T>(method, url, { token, ...(body === undefined ? {} : { body }) });
}

async function login<T = Asked>(who: Pick<Person, 'username' | 'password'>, more: object = {}): Promise<Reply<T>> {
  const body = { username: who.username, password: who.password, ...more };
  return await request<T>('POST', `${server.coordinator}/v1/auth/login`, { body });
}

async function finish<T = Session>(challenge: string, proof: object): Promise<Reply<T>> {
  return await request<T>('POST', `${server.coordinator}/v1/auth/second-factor`, { body: { challenge, ...proof } });
}

async function renew(session: Session): Promise<Session> {
  const body = { refresh_token: session.refresh_token };
  const reply = await request<Session>('POST', `${server.coordinator}/v1/auth/renew`, { body });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/**
 * Sets an app up; answers its secret, and the codes that are shown once. The code of this half minute is used, so that the
 * next one is `nextCode`: both are taken for half a minute at least, whenever in its half minute a test comes by.
 */
async function enroll(token: string, more: object = {}): Promise<{ secret: string; code: string; added: Added }> {
  const { body: setup } = await own<{ secret: string }>(token, 'POST', '/totp');
  const code = codeAt(setup.secret, Date.now());
  const reply = await own<Added>(token, 'POST', '/totp/confirm', { code, ...more });
  assert.equal(reply.status, 200, reply.text);
  return { secret: setup.secret, code, added: reply.body };
}

/** The code that a phone shows next, which is taken already (RFC 6238, section 5.2). */
function nextCode(secret: string): string {
  return codeAt(secret, Date.now() + 30_000);
}

async function setRule(form: object): Promise<Reply> {
  return await host.call('owner', 'PUT', '/settings/second-factors', { body: form });
}

async function events(about: string): Promise<string[]> {
  const { body } = await host.call<{ items: { event: string; about: string | null }[] }>('owner', 'GET', '/audit');
  return body.items.filter((entry) => entry.about === `user:${about}`).map(({ event }) => event);
}

/** That a request was refused with a status and a code, whatever field is to blame. */
function assertRefused(reply: Reply<unknown>, status: number, code: string): void {
  assert.deepEqual([reply.status, (reply.body as { code?: string }).code], [status, code], reply.text);
}

test('TFA-01 an app that is set up is asked for at the next sign-in, and its code is good once', async () => {
  const ann = await server.person('ann');
  const { added, secret } = await enroll(ann.session.token, { name: 'My phone' });
  assert.equal(added.recovery_codes?.length, 10);
  assert.equal(added.sessions_ended, 0);
  const asked = await login(ann);
  assertRefused(asked, 401, 'second_factor_required');
  const { challenge, ways } = asked.body.second_factor;
  assert.deepEqual(ways, ['code', 'recovery_code']);
  const code = nextCode(secret);
  const done = await finish(challenge, { code });
  assert.equal(done.status, 200, done.text);
  assert.equal((await server.api({ ...ann, session: done.body }, 'GET', '/v1/inbox')).status, 200);
  assertRefused(await finish(challenge, { code }), 410, 'sign_in_over');
  const again = await login(ann);
  assertRefused(await finish(again.body.second_factor.challenge, { code }), 401, 'second_factor_wrong');
  const { body } = await own<{ items: { name: string }[]; is_asked: boolean }>(ann.session.token, 'GET');
  assert.deepEqual([body.items.map(({ name }) => name), body.is_asked], [['My phone'], true]);
  assert.ok((await events('ann')).includes('second_factor.refused'));
});

test('a recovery code signs in once, and a sign-in takes five wrong proofs and no sixth', async () => {
  const bob = await server.person('bob');
  const { added, secret } = await enroll(bob.session.token);
  const [recovery_code = ''] = added.recovery_codes ?? [];
  const first = (await login(bob)).body.second_factor.challenge;
  assert.equal((await finish(first, { recovery_code })).status, 200);
  const { challenge } = (await login(bob)).body.second_factor;
  assertRefused(await finish(challenge, { recovery_code }), 401, 'second_factor_wrong');
  const code = wrongCodeAt(secret, Date.now());
  for (let tries = 2; tries <= 5; tries += 1) {
    assertRefused(await finish(challenge, { code }), 401, 'second_factor_wrong');
  }
  assertRefused(await finish(challenge, { code: nextCode(secret) }), 410, 'sign_in_over');
});

test('of six sign-ins that wait the first is over', async () => {
  const bea = await server.person('bea');
  const { secret } = await enroll(bea.session.token);
  const challenges: string[] = [];
  for (let at = 0; at < 6; at += 1) challenges.push((await login(bea)).body.second_factor.challenge);
  const code = nextCode(secret);
  assertRefused(await finish(challenges[0] as string, { code }), 410, 'sign_in_over');
  assert.equal((await finish(challenges[1] as string, { code })).status, 200);
});

test('a challenge goes on as its own person on its own device, whoever brings a proof', async () => {
  const { cat, dan } = await server.people('cat', 'dan');
  const other = await enroll(cat.session.token);
  const { secret } = await enroll(dan.session.token);
  const asked = await login(dan, { device_id: dan.session.device_id });
  const { challenge } = asked.body.second_factor;
  const theirs = codeAt(other.secret, Date.now());
  assertRefused(await finish(challenge, { code: theirs }), 401, 'second_factor_wrong');
  assertRefused(await finish(challenge, { code: theirs, device_id: 'd_0' }), 400, 'field_unknown');
  const done = await finish(challenge, { code: nextCode(secret) });
  assert.deepEqual([done.body.user, done.body.device_id], ['dan', dan.session.device_id]);
});

test('wrong codes are counted for the account, whatever the sign-in and the address, over a right password', async () => {
  const { eve } = await server.people('eve');
  const { secret } = await enroll(eve.session.token);
  const code = wrongCodeAt(secret, Date.now());
  let last: Reply<unknown> | undefined;
  for (let tries = 0; tries < 12; tries += 1) {
    // On the person's own device, whose failures are counted apart from those of strangers.
    const { challenge } = (await login(eve, { device_id: eve.session.device_id })).body.second_factor ?? {};
    last = challenge === undefined ? last : await finish(challenge, { code });
    if (last?.status === 429) break;
  }
  assert.equal(last?.status, 429, last?.text);
});

test('wrong codes of an app that is being set up are counted for the account as well', async () => {
  const { uri } = await server.people('uri');
  const { body: setup } = await own<{ secret: string }>(uri.session.token, 'POST', '/totp');
  const code = wrongCodeAt(setup.secret, Date.now());
  for (let tries = 0; tries < CODES_WITHOUT_WAIT_MAX; tries += 1)
    assertRefused(await own(uri.session.token, 'POST', '/totp/confirm', { code }), 403, 'proof_wrong');
  const beyond = await own(uri.session.token, 'POST', '/totp/confirm', { code });
  // The eleventh waits for half a minute since the tenth; on a slow machine that may be over, and the twelfth waits for a whole one.
  const last = beyond.status === 429 ? beyond : await own(uri.session.token, 'POST', '/totp/confirm', { code });
  assertRefused(last, 429, 'rate_limited');
});

test('with a factor in force a factor proves it, and without one the password or a fresh sign-in does', async () => {
  const fay = await server.person('fay');
  const wrong = await own(fay.session.token, 'POST', '/proof', { password: 'not the right one' });
  assertRefused(wrong, 403, 'password_wrong');
  const none = await own(fay.session.token, 'POST', '/proof', { code: '123456' });
  assertRefused(none, 404, 'second_factor_not_found');
  assert.equal((await own(fay.session.token, 'POST', '/proof', { password: fay.password })).status, 200);
  const { added, code, secret } = await enroll(fay.session.token);
  // A session that was there before has proven the password at most.
  const [recovery_code] = added.recovery_codes ?? [];
  const other = (await finish((await login(fay)).body.second_factor.challenge, { recovery_code })).body;
  assertRefused(await own(other.token, 'DELETE', '/totp'), 403, 'proof_required');
  assertRefused(await own(other.token, 'POST', '/proof', { password: fay.password }), 403, 'proof_required');
  assertRefused(await own(other.token, 'POST', '/proof', { code }), 403, 'proof_wrong');
  assert.equal((await own(other.token, 'POST', '/proof', { code: nextCode(secret) })).status, 200);
  const renamed = await own<{ name: string }>(other.token, 'PATCH', '/totp', { name: 'Tablet' });
  assert.equal(renamed.body.name, 'Tablet');
  const { body } = await own<{ recovery_codes: string[] }>(other.token, 'POST', '/recovery-codes');
  assert.equal(body.recovery_codes.length, 10);
  assertRefused(await own(other.token, 'DELETE', '/psk_0'), 404, 'second_factor_not_found');
  assert.equal((await own(other.token, 'DELETE', '/totp')).status, 204);
  assert.equal((await login(fay)).status, 200);
  const trail = await events('fay');
  for (const event of ['second_factor.added', 'second_factor.renamed', 'second_factor.taken_away']) {
    assert.ok(trail.includes(event), event);
  }
});

test('CRD-08 a change of factors ends other sessions as wished, and no other', async () => {
  const gil = await server.person('gil');
  const kept = await anotherDevice(server, gil);
  await enroll(gil.session.token);
  assert.equal((await server.api(kept, 'GET', '/v1/inbox')).status, 200);
  const { added } = await enroll(gil.session.token, { end_others: true });
  assert.deepEqual([added.sessions_ended, added.recovery_codes], [1, null]);
  assertRefused(await server.api(kept, 'GET', '/v1/inbox'), 401, 'session_revoked');
});

test('TFA-01 whom the rule names sets a factor up first: the session does that and nothing else', async () => {
  const { hal } = await server.people('hal');
  const waiting = await anotherDevice(server, hal);
  const made = await host.call<{ id: string }>('owner', 'POST', '/groups', {
    body: { name: 'Vault', members: ['hal'] },
  });
  assertRefused(await setRule({ groups: `grp_${'0'.repeat(22)}` }), 400, 'field_invalid');
  assert.equal((await setRule({ groups: made.body.id })).status, 200);
  assertRefused(await host.call('owner', 'DELETE', `/groups/${made.body.id}`), 409, 'group_in_use');
  // Who was signed in before may go on until the token is renewed.
  assert.equal((await server.api(hal, 'GET', '/v1/inbox')).status, 200);
  assert.equal((await renew(hal.session)).second_factor, 'enrollment');
  const [mallory, session] = [(await login<Session>(hal)).body, (await login<Session>(hal)).body];
  assert.equal(session.second_factor, 'enrollment');
  const who = { ...hal, session };
  assertRefused(await server.api(who, 'GET', '/v1/inbox'), 403, 'two_factor_enrollment_required');
  const profile = await request('GET', `${server.coordinator}/v1/me`, { token: session.token });
  assertRefused(profile, 403, 'two_factor_enrollment_required');
  await assert.rejects(connect(server, who));
  const { added, secret } = await enroll(session.token);
  // Somebody who had the password alone is out: their session was opened without the factor.
  assert.equal(added.sessions_ended, 3);
  assertRefused(await own(mallory.token, 'GET'), 401, 'session_revoked');
  // So is one of before the rule: it would have been as any other at its next renewal, by a factor that it never proved.
  assertRefused(await server.api(waiting, 'GET', '/v1/inbox'), 401, 'session_revoked');
  const full = await renew(session);
  assert.equal(full.second_factor, undefined);
  assert.equal((await server.api({ ...hal, session: full }, 'GET', '/v1/inbox')).status, 200);
  assertRefused(await own(full.token, 'DELETE', '/totp'), 409, 'second_factor_last');
  const done = await finish((await login(hal)).body.second_factor.challenge, { code: nextCode(secret) });
  assert.equal(done.body.second_factor, undefined);
  await setRule({ groups: null });
});

test('a factor that comes into force ends at once what a password alone had proven in another session', async () => {
  for (const name of ['ned', 'nia', 'nat', 'nell', 'nick', 'nora']) {
    const person = await server.person(name);
    const thief = await anotherDevice(server, person);
    const { body: setup } = await own<{ secret: string }>(person.session.token, 'POST', '/totp');
    const over = new AbortController();
    const confirming = own(person.session.token, 'POST', '/totp/confirm', { code: codeAt(setup.secret, Date.now()) });
    const confirmed = confirming.finally(() => over.abort());
    const guess = async () => {
      const seen: number[] = [];
      while (!over.signal.aborted) seen.push((await own(thief.session.token, 'POST', '/recovery-codes')).status);
      return seen;
    };
    const seen = (await Promise.all(Array.from({ length: 8 }, guess))).flat();
    assert.equal((await confirmed).status, 200);
    assert.deepEqual(
      seen.filter((status) => status === 200),
      [],
      name,
    );
  }
});

test('days of grace let a person in as before, and say until when', async () => {
  const { ian, ida, ivy } = await server.people('ian', 'ida', 'ivy');
  assert.equal((await setRule({ everybody: true, grace_days: 7 })).status, 200);
  // Whoever was signed in and stays so has them once, too, and not anew at every renewal.
  const first = await renew(ida.session);
  assert.equal(first.second_factor, 'due');
  assert.equal((await renew(first)).second_factor_due, first.second_factor_due);
  const byToken = async () =>
    (await request<Session>('POST', `${server.coordinator}/v1/auth/renew`, { token: ian.session.token })).body;
  const due = (await byToken()).second_factor_due;
  assert.ok(due !== undefined);
  assert.equal((await byToken()).second_factor_due, due);
  const { body } = await login<Session>(ivy);
  assert.equal(body.second_factor, 'due');
  const left = Date.parse(body.second_factor_due ?? '') - Date.now();
  assert.ok(left > 6.9 * 86_400_000 && left <= 7 * 86_400_000, String(left));
  assert.equal((await server.api({ ...ivy, session: body }, 'GET', '/v1/inbox')).status, 200);
  assert.equal((await setRule({ grace_days: 91 })).status, 400);
  await setRule({ everybody: null, grace_days: null });
  assert.equal((await login<Session>(ivy)).body.second_factor, undefined);
  // A rule that names somebody again begins anew: who was told of the one before has all of its days.
  await setRule({ everybody: true, grace_days: 7 });
  const again = (await login<Session>(ivy)).body;
  assert.equal(again.second_factor, 'due');
  assert.ok(Date.parse(again.second_factor_due ?? '') > Date.parse(body.second_factor_due ?? ''));
  await setRule({ everybody: null, grace_days: null });
});

test('TFA-01 the first factor that is put in force in the console ends sessions of apps that could only enrol', async () => {
  const [session, early] = [
    await server.signIn('newcomer', CALLER_PASSWORD),
    await server.signIn('newcomer', CALLER_PASSWORD),
  ];
  assert.equal((await setRule({ everybody: true })).status, 200);
  const enrolling = await renew(session);
  assert.equal(enrolling.second_factor, 'enrollment');
  const { body: setup } = await host.call<{ secret: string }>('before_second_factor', 'POST', '/second-factor/setup');
  const code = codeAt(setup.secret, Date.now());
  const confirmed = await host.call('before_second_factor', 'POST', '/second-factor/confirm', { body: { code } });
  assert.equal(confirmed.status, 200, confirmed.text);
  // One of before the rule, and one that waited for a factor: neither has proven the one that is in force now.
  for (const { token } of [early, enrolling]) assertRefused(await own(token, 'GET'), 401, 'session_revoked');
  await setRule({ everybody: null });
});

test('VND-17 the rule is the owner’s', async () => {
  const refused = await host.call('administrator', 'PUT', '/settings/second-factors', { body: { everybody: true } });
  assertRefused(refused, 403, 'right_missing');
});

test('CRD-12 factors are taken away by the rules of resetting a password, and every session ends', async () => {
  const { jan, kim } = await server.people('jan', 'kim');
  await enroll(jan.session.token);
  const remove = async (who: 'administrator' | 'owner', username: string) =>
    await host.call(who, 'DELETE', `/users/${username}/second-factors`);
  assertRefused(await remove('administrator', 'kim'), 404, 'second_factor_not_found');
  assertRefused(await remove('administrator', 'nobody'), 404, 'person_not_found');
  assert.equal((await host.call('owner', 'PUT', '/console-roles/kim', { body: { role: 'viewer' } })).status, 204);
  await enroll(kim.session.token);
  assertRefused(await remove('administrator', 'kim'), 403, 'right_missing');
  assert.equal((await remove('administrator', 'jan')).status, 204);
  assertRefused(await server.api(jan, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.equal((await login(jan)).status, 200);
  await callControl(server.folder, 'user.forget-factors', { username: 'kim' });
  assert.equal((await login(kim)).status, 200);
  await assert.rejects(callControl(server.folder, 'user.forget-factors', { username: 'kim' }));
  assert.ok((await events('jan')).includes('second_factor.removed'));
});

test('nothing tells whether an account exists: a wrong password reads the same with a factor and without a person', async () => {
  const lea = await server.person('lea');
  await enroll(lea.session.token);
  const [known, unknown] = [
    await login({ username: 'lea', password: 'wrong one' }),
    await login({ username: 'nobody', password: 'wrong one' }),
  ];
  assertRefused(known, 401, 'login_failed');
  assert.deepEqual([known.status, known.text], [unknown.status, unknown.text]);
  assertRefused(await finish('x'.repeat(43), { code: '123456' }), 410, 'sign_in_over');
  assertRefused(await finish('x'.repeat(65), { code: '123456' }), 400, 'field_invalid');
  assertRefused(await finish('x', { code: '123456', recovery_code: 'a' }), 400, 'field_invalid');
});

test('the SDK says how a sign-in goes on, and goes on with it', async (t) => {
  const may = await server.person('may');
  const { secret } = await enroll(may.session.token);
  const options = { coordinatorUrl: server.coordinator, messagingUrl: server.messaging };
  const error = await ParleyClient.signIn({ ...options, username: 'may', password: may.password }).then(
    () => undefined,
    (thrown: unknown) => thrown as ParleyError,
  );
  assert.equal(error?.code, 'second_factor_required');
  const { secondFactor: ask } = error;
  assert.ok(ask !== undefined);
  const session = await finishSignIn({ ...options, ask, proof: { code: nextCode(secret) } });
  const client = ParleyClient.resume({ ...options, session });
  t.after(() => client.close());
  await client.caughtUp();
  assert.equal((await client.account.call('listOwnFactors')).items.length, 1);
});
