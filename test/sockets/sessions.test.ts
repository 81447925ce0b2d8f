/** Sessions as the messaging service meets them: renewed, run out, revoked, and limited at sign-in. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callControl } from '#test/support/control.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { anotherDevice, assertRefused, say, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let brief: TestServer;
before(async () => {
  [server, brief] = await Promise.all([
    startServer({ shards: 2, environment: { PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '3' } }),
    startServer({ shards: 2, environment: { PARLEY_SESSION_SECONDS: '5' } }),
  ]);
});
after(async () => {
  await Promise.all([server.stop(), brief.stop()]);
});

async function renew(on: TestServer, { session }: Person): Promise<Session> {
  const reply = await request<Session>('POST', `${on.coordinator}/v1/auth/renew`, { token: session.token });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** Waits until a second has begun in which the session is over. */
async function waitFor(exp: number): Promise<void> {
  await until(() => Date.now() >= exp * 1000, 'the token to expire');
}

test('CRD-02 CRD-03 an expired token is refused each time, the renewed one works', async () => {
  const ann = await brief.person('ann');
  assert.equal(ann.session.exp - ann.session.iat, 5);
  assert.equal((await brief.api(ann, 'GET', '/v1/inbox')).status, 200);
  await waitFor(ann.session.exp);
  for (let count = 0; count < 2; count += 1) {
    assertRefused(await brief.api(ann, 'GET', '/v1/inbox'), 401, 'token_expired');
  }
  const renewed = { ...ann, session: await renew(brief, ann) };
  assert.ok(renewed.session.exp > ann.session.exp);
  assert.equal(renewed.session.rnw, ann.session.rnw);
  assert.equal((await brief.api(renewed, 'GET', '/v1/inbox')).status, 200);
  assertRefused(await brief.api(ann, 'GET', '/v1/inbox'), 401, 'token_expired');
});

test('CRD-02 a socket closes with 4004 when its session runs out, and lives on when it is renewed', async () => {
  const { cas, dot } = await brief.people('cas', 'dot');
  const [left, kept] = [await connect(brief, cas), await connect(brief, dot)];
  const renewed = { ...dot, session: await renew(brief, dot) };
  await waitFor(dot.session.iat + 2);
  const again = { ...dot, session: await renew(brief, renewed) };
  assert.ok(again.session.exp > cas.session.exp);
  assert.deepEqual(await left.closing(), { code: 4004, reason: 'sessionOver' });
  assert.ok(Date.now() >= cas.session.exp * 1000);
  assert.equal(kept.closed, undefined);
  assert.equal((await kept.closing()).code, 4004);
  assert.ok(Date.now() >= again.session.exp * 1000);
});

test('CRD-08 logout closes the socket of its session at once and refuses its token', async () => {
  const eli = await server.person('eli');
  const other = await anotherDevice(server, eli);
  const [gone, kept] = [await connect(server, eli), await connect(server, other)];
  const reply = await request('POST', `${server.coordinator}/v1/auth/logout`, { token: eli.session.token });
  assert.deepEqual({ status: reply.status, body: reply.body }, { status: 200, body: { status: 'ok' } });
  assertRefused(await server.api(eli, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.deepEqual(await gone.closing(), { code: 4401, reason: 'revoked' });
  const { id } = await start(server, other, 'room', []);
  await say(server, other, id, 'still here');
  await kept.event('message.new');
  await kept.close();
});

test('CRD-08 blocking a person closes all their sockets and refuses all their sessions', async () => {
  const fay = await server.person('fay');
  const other = await anotherDevice(server, fay);
  const sockets = [await connect(server, fay), await connect(server, other)];
  await callControl(server.folder, 'user.block', { username: 'fay' });
  for (const socket of sockets) assert.deepEqual(await socket.closing(), { code: 4401, reason: 'revoked' });
  for (const person of [fay, other]) {
    assertRefused(await server.api(person, 'GET', '/v1/inbox'), 401, 'session_revoked');
    const renewal = await request('POST', `${server.coordinator}/v1/auth/renew`, { token: person.session.token });
    assertRefused(renewal, 401, 'session_revoked');
  }
});

test('CRD-08 signing in again on a device ends the session it had', async () => {
  const gus = await server.person('gus');
  const socket = await connect(server, gus);
  const session = await server.signIn('gus', gus.password, gus.session.device_id);
  assert.equal(session.device_id, gus.session.device_id);
  assert.equal((await socket.closing()).code, 4401);
  assertRefused(await server.api(gus, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assert.equal((await server.api({ ...gus, session }, 'GET', '/v1/inbox')).status, 200);
});

test('ERR-06 a person who is refused for too many sign-ins goes on receiving', async () => {
  const { jan, kim } = await server.people('jan', 'kim');
  const socket = await connect(server, jan);
  const { id } = await start(server, kim, 'direct', ['jan']);
  const wrong = { body: { username: 'jan', password: 'not the right one' } };
  const url = `${server.coordinator}/v1/auth/login`;
  for (let count = 0; count < 3; count += 1) assertRefused(await request('POST', url, wrong), 401, 'login_failed');
  const limited = await request('POST', url, wrong);
  assertRefused(limited, 429, 'rate_limited');
  assert.match(limited.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  await say(server, kim, id, 'do you hear me?');
  assert.equal((await socket.event('message.new')).data['body'], 'do you hear me?');
  assert.equal(socket.closed, undefined);
  await socket.close();
});
