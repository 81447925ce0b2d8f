import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '#src/config.ts';
import { DEVICES_PER_PERSON_MAX } from '#src/identity/device-sessions.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { KEYS_PER_RING_MAX, rotateSigningKeys } from '#src/server/signing-key-rotation.ts';
import { KEY_RINGS, type RingsOfKeys } from '#storage/accounts/signing-keys.ts';
import { AccountsReader } from '#storage/accounts/accounts.ts';
import { until as waitUntil } from '#test/support/waiting.ts';
import { PASSWORD, START, startCoordinator, type Answer } from './coordinator-fixture.ts';

const NOW = START / 1000;

test('CRD-02 a login answers a token, its claims in Unix seconds, and the device', async (context) => {
  const { people, post, tokens } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const device = { name: 'Alice’s laptop', platform: 'desktop' };
  const { status, json } = await post('/v1/auth/login', { username: 'alice', password: PASSWORD, device });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).toSorted(), ['device_id', 'exp', 'iat', 'refresh_token', 'rnw', 'token', 'user']);
  assert.equal(json.user, 'alice');
  assert.equal(json.iat, 1_795_248_000);
  assert.equal(json.exp, 1_795_248_900);
  assert.equal(json.rnw, 1_797_840_000);
  const { claims } = tokens.verify(json.token, NOW);
  assert.deepEqual(
    [claims?.sub, claims?.dev, claims?.exp, claims?.iat, claims?.rnw],
    ['alice', json.device_id, json.exp, json.iat, json.rnw],
  );
});

test('a username is the same with a capital, as phones write it', async (context) => {
  const { people, login } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  assert.equal((await login('Alice')).user, 'alice');
});

test('CRD-02 every way to fail has one answer and costs one hash', async (context) => {
  const { people, passwords, post } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  await people.add('bob', PASSWORD);
  await people.block('bob');
  let hashes = 0;
  const verify = passwords.verify.bind(passwords);
  passwords.verify = async (...given) => {
    hashes += 1;
    return await verify(...given);
  };
  const form = (answer: Answer) => {
    const headers = [...answer.headers].filter(([name]) => name !== 'date');
    return { status: answer.status, text: answer.text, headers };
  };
  const cases: [string, string][] = [
    ['alice', 'not the password'],
    ['nobody', PASSWORD],
    ['no such username at all!', PASSWORD],
    ['bob', PASSWORD],
    ['bob', 'not the password'],
  ];
  const answers = [];
  for (const [username, password] of cases) answers.push(form(await post('/v1/auth/login', { username, password })));
  assert.equal(answers[0]?.status, 401);
  assert.equal(answers[0].text, '{"code":"login_failed","error":"The username or the password is wrong."}');
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.equal(hashes, cases.length);
});

test('after the allowed failures a minute the answer is 429 with Retry-After, for that person there alone', async (context) => {
  const { clock, login, people, post } = await startCoordinator(context, { PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '3' });
  await people.add('alice', PASSWORD);
  await people.add('bob', PASSWORD);
  for (let times = 0; times < 3; times += 1) {
    assert.equal((await post('/v1/auth/login', { username: 'alice', password: 'wrong' })).json.code, 'login_failed');
  }
  const refused = await post('/v1/auth/login', { username: 'alice', password: PASSWORD });
  assert.equal(refused.status, 429);
  assert.equal(refused.json.code, 'rate_limited');
  assert.equal(refused.headers.get('retry-after'), '20');
  assert.equal((await login('bob')).user, 'bob');
  clock.advance(20);
  assert.equal((await login('alice')).user, 'alice');
});

for (const [who, proxies, second] of [
  ['nobody', '', 429],
  ['another proxy', '192.0.2.0/24', 429],
  ['the proxy in front', '192.0.2.0/24,127.0.0.1', 401],
] as const) {
  test(`behind a proxy, with ${who} trusted, a second address is answered ${second}`, async (context) => {
    const { call, people } = await startCoordinator(context, {
      PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '1',
      PARLEY_TRUSTED_PROXIES: proxies,
    });
    await people.add('alice', PASSWORD);
    const attempt = async (address: string) => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': address };
      const body = JSON.stringify({ username: 'alice', password: 'wrong' });
      return (await call('POST', '/v1/auth/login', { headers, body })).status;
    };
    assert.equal(await attempt('198.51.100.1'), 401);
    assert.equal(await attempt('198.51.100.2'), second);
  });
}

test('a list of trusted proxies that holds anything else stops the start', () => {
  assert.throws(() => readConfig({ PARLEY_TRUSTED_PROXIES: '127.0.0.1,loopback' }), {
    message: /^PARLEY_TRUSTED_PROXIES is "127.0.0.1,loopback": must be addresses or networks/,
  });
});

test('a device id that is the person’s is kept, and one that is not is replaced', async (context) => {
  const { people, login, accounts } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  await people.add('bob', PASSWORD);
  const first = await login('alice', { device: { name: 'phone', platform: 'ios' } });
  const again = await login('alice', { device_id: first.device_id, device: { name: 'old phone', platform: 'ios' } });
  assert.equal(again.device_id, first.device_id);
  assert.deepEqual(
    accounts.devices('alice').map(({ name }) => name),
    ['old phone'],
  );
  const bobs = await login('bob', { device_id: first.device_id });
  assert.notEqual(bobs.device_id, first.device_id);
  assert.deepEqual(
    accounts.devices('bob').map(({ id, name }) => [id, name]),
    [[bobs.device_id, 'unnamed']],
  );
});

test('CRD-08 signing in again on a device ends the session before, and no other', async (context) => {
  const { people, login, announced, tokens, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const [phone, laptop] = [await login('alice'), await login('alice')];
  assert.notEqual(phone.device_id, laptop.device_id);
  const again = await login('alice', { device_id: phone.device_id });
  const sid = tokens.verify(phone.token, NOW).claims?.sid as string;
  assert.deepEqual(
    announced.filter(({ what }) => what === 'revoked'),
    [{ what: 'revoked', revocations: [{ sid, until: phone.rnw }] }],
  );
  assert.equal((await withToken('/v1/auth/renew', phone.token)).json.code, 'session_revoked');
  assert.equal((await withToken('/v1/auth/renew', laptop.token)).status, 200);
  assert.equal((await withToken('/v1/auth/renew', again.token)).status, 200);
});

test('CRD-08 sign-ins that succeed are bounded for each name, before anything is hashed, and failures do not count', async (context) => {
  const { people, login, post, clock } = await startCoordinator(context);
  for (const name of ['alice', 'bob']) await people.add(name, PASSWORD);
  const { device_id: device } = await login('alice');
  for (let more = 1; more < 20; more += 1) assert.ok((await login('alice', { device_id: device })).token);
  const refused = await post('/v1/auth/login', { username: 'alice', password: PASSWORD, device_id: device });
  assert.deepEqual([refused.status, refused.json.code, refused.headers.get('retry-after')], [429, 'rate_limited', '3']);
  assert.ok((await login('bob')).token, 'somebody else is not held up');
  clock.advance(3);
  assert.equal((await post('/v1/auth/login', { username: 'alice', password: 'wrong', device_id: device })).status, 401);
  assert.ok((await login('alice', { device_id: device })).token);
});

test('one device more than a person may have takes the place of the one unused for longest', async (context) => {
  // A hundred sign-ins in a second are beyond what one person may do.
  const settings = { PARLEY_RATE_LIMITS: '0' };
  const { people, login, accounts, clock, withToken } = await startCoordinator(context, settings);
  await people.add('alice', PASSWORD);
  const first = await login('alice');
  clock.advance(1);
  const second = await login('alice');
  for (let devices = 2; devices < DEVICES_PER_PERSON_MAX; devices += 1) await login('alice');
  assert.equal((await withToken('/v1/auth/renew', first.token)).status, 200);
  await login('alice');
  assert.equal(accounts.devices('alice').length, DEVICES_PER_PERSON_MAX);
  assert.equal((await withToken('/v1/auth/renew', first.token)).json.code, 'session_revoked');
  assert.equal((await withToken('/v1/auth/renew', second.token)).status, 200);
});

test('CRD-08 the last use of a session that is renewed by its token is written down once an hour', async (context) => {
  const { accounts, clock, login, people, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { token } = await login('alice');
  const seenAt = () => accounts.devices('alice')[0]?.session?.seen?.at;
  clock.advance(3_599);
  assert.equal((await withToken('/v1/auth/renew', token)).status, 200);
  clock.advance(1);
  await accounts.change(() => undefined);
  assert.equal(seenAt(), NOW);
  assert.equal((await withToken('/v1/auth/renew', token)).status, 200);
  await waitUntil(() => seenAt() === NOW + 3_600, 'the use to be written down');
});

test('CRD-08 a refresh token that was replaced is taken for thirty seconds, and there is one rotation in them', async (context) => {
  const { accounts, announced, clock, login, people, post } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const renew = async ({ refresh_token }: Session) => (await post('/v1/auth/renew', { refresh_token })).json;
  const first = await login('alice');
  clock.advance(600);
  const second = await renew(first);
  assert.deepEqual([second.iat, second.exp, second.rnw], [NOW + 600, NOW + 1500, first.rnw]);
  clock.advance(29);
  // Both get what is good now: a tab that was late, and one that was early.
  for (const session of [first, second]) assert.equal((await renew(session)).refresh_token, second.refresh_token);
  clock.advance(1);
  const third = await renew(second);
  assert.notEqual(third.refresh_token, second.refresh_token);
  clock.advance(30);
  const sid = accounts.devices('alice')[0]?.session?.sid;
  assert.equal((await renew(second)).code, 'session_reused');
  assert.deepEqual(announced.slice(-2), [
    { what: 'revoked', revocations: [{ sid, until: first.rnw }] },
    { what: 'reused', sid, user: 'alice' },
  ]);
  assert.equal(accounts.devices('alice')[0]?.session, undefined);
  assert.equal((await renew(third)).code, 'session_revoked');
});

test('CRD-02 a token that was replaced twice is over at once, and a guest’s refresh token no longer than the guest', async (context) => {
  const { clock, login, people, post, call } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const read = async ({ token }: Session) =>
    (await call('GET', '/v1/directory', { headers: { authorization: `Bearer ${token}` } })).status;
  const sessions = [await login('alice')];
  for (let count = 0; count < 2; count += 1) {
    clock.advance(40);
    const { refresh_token } = sessions.at(-1) as Session;
    sessions.push((await post('/v1/auth/renew', { refresh_token })).json);
  }
  assert.deepEqual(await Promise.all(sessions.map(read)), [401, 200, 200]);
  clock.advance(29);
  assert.deepEqual(await Promise.all(sessions.map(read)), [401, 200, 200]);
  clock.advance(1);
  assert.deepEqual(await Promise.all(sessions.map(read)), [401, 401, 200]);
  clock.advance(2_592_000 - 110);
  const { refresh_token } = sessions.at(-1) as Session;
  assert.equal((await post('/v1/auth/renew', { refresh_token })).json.code, 'session_over');
});

test('CRD-08 a key that was retired proves what it signed for as long as that renews, then it is gone; at once it proves nothing', async (context) => {
  const { accounts, clock, config, login, people, post, tokens, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const announced: RingsOfKeys[] = [];
  const announce = async (rings: RingsOfKeys) => void announced.push(rings);
  const rotate = async (atOnce = false) =>
    await rotateSigningKeys({ accounts, announce, clock, config, tokens }, atOnce);
  const kept = () => KEY_RINGS.map((ring) => accounts.signingKeys(ring).length);
  const old = await login('alice');
  const { links_until: links, session_key: id, sessions_until: sessions } = await rotate();
  assert.deepEqual(
    announced.map(({ session_keys: [present, retired] }) => [present.id, retired?.retired?.validUntil]),
    [[id, NOW + 905]],
  );
  assert.deepEqual([sessions, links], ['2026-11-22T08:15:05.000Z', '2026-11-21T08:15:05.000Z']);
  assert.equal(accounts.auditEntries({ limit: 1 })[0]?.event, 'keys.rotated');
  clock.advance(905);
  assert.equal((await withToken('/v1/auth/renew', old.token)).status, 200);
  await accounts.sweep(clock.now() / 1000);
  assert.deepEqual(kept(), [2, 1]);
  clock.advance(86_399 - 5);
  assert.equal((await withToken('/v1/auth/renew', old.token)).status, 200);
  clock.advance(6);
  assert.equal((await withToken('/v1/auth/renew', old.token)).json.code, 'token_invalid');
  await accounts.sweep(clock.now() / 1000);
  assert.deepEqual(kept(), [1, 1]);

  const fresh = await login('alice');
  for (let count = 1; count < KEYS_PER_RING_MAX; count += 1) await rotate();
  await assert.rejects(rotate(), { code: 'rate_limited' });
  assert.equal((await withToken('/v1/auth/renew', fresh.token)).status, 200);
  await rotate(true);
  assert.deepEqual(kept(), [1, 1]);
  assert.equal((await withToken('/v1/auth/renew', fresh.token)).json.code, 'token_invalid');
  const { refresh_token } = fresh;
  assert.equal((await post('/v1/auth/renew', { refresh_token })).status, 200);
});

test('CRD-02 a session is renewed with a valid and with an expired token, never beyond rnw', async (context) => {
  const { people, login, clock, announced, tokens, withToken } = await startCoordinator(context, {
    PARLEY_RENEW_SECONDS: '1000',
  });
  await people.add('alice', PASSWORD);
  const session = await login('alice');
  clock.advance(60);
  const fresh = await withToken('/v1/auth/renew', session.token);
  assert.equal(fresh.status, 200);
  assert.deepEqual([fresh.json.iat, fresh.json.exp, fresh.json.rnw], [NOW + 60, NOW + 960, NOW + 1000]);
  assert.equal(fresh.json.device_id, session.device_id);
  assert.equal(tokens.verify(fresh.json.token, NOW).claims?.sid, tokens.verify(session.token, NOW).claims?.sid);
  clock.advance(900);
  const late = await withToken('/v1/auth/renew', session.token);
  assert.deepEqual([late.status, late.json.exp], [200, NOW + 1000]);
  const sid = tokens.verify(session.token, NOW).claims?.sid;
  assert.deepEqual(
    announced.filter(({ what }) => what === 'renewed'),
    [
      { what: 'renewed', sid, exp: NOW + 960 },
      { what: 'renewed', sid, exp: NOW + 1000 },
    ],
  );
  clock.advance(40);
  const over = await withToken('/v1/auth/renew', late.json.token);
  assert.deepEqual([over.status, over.json.code], [401, 'session_over']);
});

test('CRD-03 the same token gets the same 401 again', async (context) => {
  const { people, login, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { token } = await login('alice');
  await withToken('/v1/auth/logout', token);
  const [first, second] = [await withToken('/v1/auth/renew', token), await withToken('/v1/auth/renew', token)];
  assert.deepEqual([first.status, first.json.code], [401, 'session_revoked']);
  assert.equal(second.text, first.text);
});

test('a missing, broken or foreign credential is 401 with its code', async (context) => {
  const { call, withToken } = await startCoordinator(context);
  const withHeader = async (authorization: string) =>
    await call('POST', '/v1/auth/renew', { headers: { authorization } });
  assert.deepEqual((await call('POST', '/v1/auth/renew')).json.code, 'token_missing');
  assert.deepEqual((await withHeader('Bearer ')).json.code, 'token_missing');
  assert.deepEqual((await withHeader('Basic YTpi')).json.code, 'token_missing');
  for (const token of ['x', 'svc_vst_a_b', 'bot_abc', 'a.b.c']) {
    const answer = await withToken('/v1/auth/renew', token);
    assert.deepEqual([answer.status, answer.json.code], [401, 'token_invalid']);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  }
});

test('CRD-08 a logout is on disk when it is announced, and announced when it is answered', async (context) => {
  const { people, login, announced, announcer, folder, tokens, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { token, rnw } = await login('alice');
  const sid = tokens.verify(token, NOW).claims?.sid as string;
  const reader = new AccountsReader(folder);
  context.after(async () => await reader.close());
  const order: string[] = [];
  announcer.revoked = async (revocations) => {
    announced.push({ what: 'revoked', revocations });
    reader.refresh();
    order.push(reader.isRevoked(sid) ? 'announced, on disk' : 'announced');
  };
  const answer = await withToken('/v1/auth/logout', token);
  order.push('answered');
  assert.deepEqual([answer.status, answer.text], [200, '{"status":"ok"}']);
  assert.deepEqual(order, ['announced, on disk', 'answered']);
  assert.deepEqual(announced.at(-1), { what: 'revoked', revocations: [{ sid, until: rnw }] });
  assert.deepEqual(reader.revocations(), [{ sid, until: rnw }]);
  assert.equal((await withToken('/v1/auth/logout', token)).json.code, 'session_revoked');
});

test('a logout with an expired token ends the session too', async (context) => {
  const { people, login, clock, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { token } = await login('alice');
  clock.advance(3600);
  assert.equal((await withToken('/v1/auth/logout', token)).status, 200);
  assert.equal((await withToken('/v1/auth/renew', token)).json.code, 'session_revoked');
});

test('CRD-08 blocking a person ends all their sessions at once; unblocking brings none back', async (context) => {
  const { people, login, announced, tokens, withToken, post } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const sessions = [await login('alice'), await login('alice')];
  await people.block('alice');
  const revocations = sessions.map(({ token, rnw }) => ({
    sid: tokens.verify(token, NOW).claims?.sid as string,
    until: rnw,
  }));
  assert.deepEqual(announced.slice(-2), [
    { what: 'revoked', revocations },
    { what: 'directory', user: 'alice', rev: 2 },
  ]);
  for (const { token } of sessions)
    assert.equal((await withToken('/v1/auth/renew', token)).json.code, 'session_revoked');
  assert.equal((await post('/v1/auth/login', { username: 'alice', password: PASSWORD })).json.code, 'login_failed');
  await people.unblock('alice');
  assert.deepEqual(announced.at(-1), { what: 'directory', user: 'alice', rev: 3 });
  assert.equal((await withToken('/v1/auth/renew', sessions[0]?.token as string)).json.code, 'session_revoked');
  assert.equal((await login('alice')).user, 'alice');
});

test('a person blocked while their password is being checked does not get in', async (context) => {
  const { people, passwords, post } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const verify = passwords.verify.bind(passwords);
  passwords.verify = async (...given) => {
    const isRight = await verify(...given);
    await people.block('alice');
    return isRight;
  };
  const answer = await post('/v1/auth/login', { username: 'alice', password: PASSWORD });
  assert.deepEqual([answer.status, answer.json.code], [401, 'login_failed']);
});

test('two sign-ins on one device at once leave one session', async (context) => {
  const { people, login, withToken } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const { device_id } = await login('alice');
  const sessions = await Promise.all(Array.from({ length: 8 }, () => login('alice', { device_id })));
  const answers = await Promise.all(sessions.map(({ token }) => withToken('/v1/auth/renew', token)));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 401, 401, 401, 401, 401, 401, 401],
  );
});
