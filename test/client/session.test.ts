/** Staying signed in, against a scripted server. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Http, REQUEST_MILLIS_MAX } from '#src/client/connection/http.ts';
import { GRACE_MILLIS } from '#src/identity/credentials/refresh-tokens.ts';
import { RENEW_RETRY_MILLIS, Session, type SessionOptions } from '#src/client/connection/session.ts';
import { StandingWatch } from '#src/client/connection/standing.ts';
import { ManualTimers } from './manual-timers.ts';
import { refusal, ScriptedServer, sessionOf } from './scripted-server.ts';
import { until } from './condition.ts';

let server: ScriptedServer;
let timers: ManualTimers;
let http: Http;
let told: string[];
let session: Session;

beforeEach(async () => {
  server = await new ScriptedServer().listen();
  timers = new ManualTimers();
  told = [];
  const standing = new StandingWatch(1, () => {});
  http = new Http({ url: server.url, fetch: globalThis.fetch, timers, standing });
  session = new Session(
    { ...sessionOf('alice'), iat: Math.floor(timers.now() / 1000), exp: Math.floor(timers.now() / 1000) + 900 },
    options(),
  );
});
afterEach(() => server.close());

/** What a session works with, and tells. */
const options = (): SessionOptions => ({
  coordinator: http,
  timers,
  onRenewed: ({ token }) => told.push(`renewed ${token}`),
  onOver: ({ code }) => told.push(`over ${code}`),
});

const ask = () => session.request(http, { method: 'get', path: '/v1/thing' });
const renewals = () => server.count('/v1/auth/renew');
/** The server takes tokens from this number on, and renews to the next one. */
function takesFrom(least: number): void {
  let latest = 1;
  server.on('GET /v1/thing', ({ token }) =>
    Number(token?.split('-')[1]) >= least ? { body: { token } } : refusal(401, 'token_expired'),
  );
  server.on('POST /v1/auth/renew', () => ({ body: sessionOf('alice', (latest += 1)) }));
}

test('CRD-03 on 401 it renews once and retries once with the new token', async () => {
  takesFrom(2);
  assert.deepEqual(await ask(), { token: 'alice-2' });
  assert.deepEqual(
    server.asked.map(({ name, token }) => `${name} ${token}`),
    ['GET /v1/thing alice-1', 'POST /v1/auth/renew alice-1', 'GET /v1/thing alice-2'],
  );
  assert.deepEqual(told, ['renewed alice-2']);
});

test('CRD-03 a second 401 is the answer: no loop', async () => {
  takesFrom(99);
  await assert.rejects(ask(), { code: 'token_expired', status: 401 });
  assert.equal(server.count('/v1/thing'), 2);
  assert.equal(renewals(), 1);
});

test('CRD-03 requests that meet 401 together share one renewal', async () => {
  takesFrom(2);
  const answers = await Promise.all([ask(), ask(), ask(), ask()]);
  assert.deepEqual(
    answers,
    Array.from({ length: 4 }, () => ({ token: 'alice-2' })),
  );
  assert.equal(renewals(), 1);
});

test('CRD-03 a 401 that comes after another request renewed uses that renewal', async () => {
  takesFrom(2);
  let release = () => {};
  const late = new Promise<void>((resolve) => {
    release = resolve;
  });
  server.on('GET /v1/late', async ({ token }) => {
    if (token === 'alice-1') await late;
    return token === 'alice-1' ? refusal(401, 'token_expired') : { body: { token } };
  });
  const slow = session.request(http, { method: 'get', path: '/v1/late' });
  await until('the slow request is there', () => server.count('/v1/late') === 1);
  await ask();
  release();
  assert.deepEqual(await slow, { token: 'alice-2' });
  assert.equal(renewals(), 1);
});

for (const code of ['session_over', 'session_reused', 'session_revoked']) {
  test(`CRD-03 a renewal refused with ${code} ends the session, and nothing is asked any more`, async () => {
    takesFrom(2);
    server.on('POST /v1/auth/renew', () => refusal(401, code));
    await assert.rejects(Promise.all([ask(), ask()]), { code, status: 401 });
    assert.deepEqual(told, [`over ${code}`]);
    const before = server.asked.length;
    await assert.rejects(ask(), { code });
    await timers.pass(86_400_000);
    assert.equal(server.asked.length, before);
  });
}

test('CRD-03 a renewal that does not get through is no end, and the next request tries again', async () => {
  takesFrom(2);
  const renew: ('cut' | undefined)[] = ['cut'];
  server.on('POST /v1/auth/renew', () => renew.shift() ?? { body: sessionOf('alice', 2) });
  await assert.rejects(ask(), { code: 'network_failed' });
  assert.deepEqual(told, []);
  assert.deepEqual(await ask(), { token: 'alice-2' });
});

test('CRD-02 each renewal shows the refresh token of the one before, and a lost answer’s is shown again in time', async () => {
  session = new Session({ ...session.wire, refresh_token: 'r1' }, options());
  const answers: (string | undefined)[] = ['cut', 'r2', undefined, 'r3'];
  const shown: unknown[] = [];
  server.on('POST /v1/auth/renew', ({ body }) => {
    shown.push(body['refresh_token']);
    const next = answers.shift();
    if (next === 'cut') return 'cut';
    return { body: { ...sessionOf('alice', shown.length), ...(next === undefined ? {} : { refresh_token: next }) } };
  });
  assert.ok(RENEW_RETRY_MILLIS + REQUEST_MILLIS_MAX < GRACE_MILLIS);
  await assert.rejects(session.renew(session.token), { code: 'network_failed' });
  for (let count = 0; count < 3; count += 1) await session.renew(session.token);
  assert.deepEqual(shown, ['r1', 'r1', 'r2', 'r2']);
  assert.equal(session.wire.refresh_token, 'r3');
});

test('CRD-02 what another tab renewed is taken over; an older session and somebody else’s are not', async () => {
  const { wire } = session;
  const newer = { ...wire, token: 'alice-9', iat: wire.iat + 1, exp: wire.exp + 1, refresh_token: 'r9' };
  for (const other of [
    { ...newer, user: 'bob' },
    { ...newer, device_id: 'd_other' },
    { ...newer, iat: wire.iat },
  ]) {
    session.adopt(other);
    assert.equal(session.token, wire.token);
  }
  session.adopt(newer);
  assert.deepEqual(session.wire, newer);
  takesFrom(9);
  assert.deepEqual(await ask(), { token: 'alice-9' });
  assert.equal(renewals(), 0);
});

test('CRD-03 a proxy’s 401 renews nothing', async () => {
  server.on('GET /v1/thing', () => ({ status: 401, text: '<html>Proxy</html>' }));
  await assert.rejects(ask(), { code: 'answer_unreadable', status: 401 });
  assert.equal(renewals(), 0);
});

test('CRD-02 the token is renewed unasked after three quarters of its life, again and again', async () => {
  takesFrom(1);
  assert.deepEqual(timers.waits, [675_000]);
  await timers.pass(675_000);
  await until('it was renewed', () => told.length === 1);
  assert.deepEqual(timers.waits, [675_000]);
  await timers.pass(675_000);
  await until('it was renewed again', () => told.length === 2);
  assert.deepEqual(told, ['renewed alice-2', 'renewed alice-3']);
});

test('CRD-02 an unasked renewal that fails is tried again', async () => {
  const renew: ('cut' | undefined)[] = ['cut'];
  server.on('POST /v1/auth/renew', () => renew.shift() ?? { body: sessionOf('alice', 2) });
  await timers.pass(675_000);
  await until('the renewal failed', () => timers.waits[0] === RENEW_RETRY_MILLIS);
  await timers.pass(RENEW_RETRY_MILLIS);
  await until('it was renewed', () => told.length === 1);
});

test('CRD-02 logging out tells the server and ends the session; a 401 to it means that it had ended', async () => {
  server.on('POST /v1/auth/logout', () => refusal(401, 'session_revoked'));
  await session.logout();
  assert.equal(server.count('/v1/auth/logout'), 1);
  await assert.rejects(ask(), { code: 'client_closed' });
  assert.deepEqual(timers.waits, []);
});

test('CRD-02 a logout that does not get through is told, and the session is over here all the same', async () => {
  server.on('POST /v1/auth/logout', () => 'cut');
  await assert.rejects(session.logout(), { code: 'network_failed' });
  await assert.rejects(ask(), { code: 'client_closed' });
});

test('CRD-02 a logout waits for the renewal under way, whose cookie would outlive it, and for the turn of other tabs', async () => {
  const renewal = Promise.withResolvers<void>();
  server.on('POST /v1/auth/renew', async () => {
    await renewal.promise;
    return { body: sessionOf('alice', 2) };
  });
  const turns: string[] = [];
  const turn = async (work: () => Promise<void>) => {
    turns.push('begins');
    await work();
    turns.push('ends');
  };
  session = new Session(session.wire, { ...options(), inCookie: true, turn });
  const renewed = session.renew(session.token);
  await until('the renewal is under way', () => renewals() === 1);
  const ended = session.logout();
  // A request of its own goes to the server and back meanwhile: a logout that did not wait would have come before it.
  await fetch(`${server.url}/v1/inbox`);
  assert.equal(server.count('/v1/auth/logout'), 0);
  renewal.resolve();
  await Promise.all([renewed, ended]);
  assert.deepEqual(
    server.asked.filter(({ path }) => path.startsWith('/v1/auth')).map(({ name, token }) => `${name} ${token}`),
    ['POST /v1/auth/renew alice-1', 'POST /v1/auth/logout alice-2'],
  );
  assert.deepEqual(turns, ['begins', 'ends', 'begins', 'ends']);
});

test('CRD-02 nothing is renewed beside a logout, whose cookie a late answer would put back', async () => {
  const gate = Promise.withResolvers<void>();
  server.on('POST /v1/auth/logout', async () => {
    await gate.promise;
    return { body: { status: 'ok' } };
  });
  const ended = session.logout();
  await until('the logout is under way', () => server.count('/v1/auth/logout') === 1);
  await assert.rejects(session.renew(session.token), { code: 'client_closed' });
  gate.resolve();
  await ended;
  assert.equal(renewals(), 0);
  assert.deepEqual(timers.waits, []);
});

test('CRD-02 a logout goes out all the same when the renewal under way fails', async () => {
  server.on('POST /v1/auth/renew', () => 'cut');
  const renewed = assert.rejects(session.renew(session.token), { code: 'network_failed' });
  await session.logout();
  await renewed;
  assert.equal(server.count('/v1/auth/logout'), 1);
});
