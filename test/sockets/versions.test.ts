/** The version exchange on every surface: headers everywhere, and what happens to a client that is too old. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect, refusedUpgrade } from '#test/support/socket.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { assertRefused, start } from '#test/messaging/conversing.ts';

const CURRENT = { 'x-service-client-protocol': '1' };

let server: TestServer;
let strict: TestServer;
let ann: Person;
let old: Person;

before(async () => {
  [server, strict] = await Promise.all([
    startServer({ shards: 2 }),
    startServer({ shards: 2, environment: { PARLEY_PROTOCOL_MIN: '1' } }),
  ]);
  ann = await server.person('ann');
  await request('POST', `${strict.coordinator}/v1/auth/login`, { body: {} });
  const { person } = await addWithHeader(strict, 'old');
  old = person;
});
after(async () => {
  await Promise.all([server.stop(), strict.stop()]);
});

/** A person of a server that refuses requests without the header. */
async function addWithHeader(on: TestServer, username: string): Promise<{ person: Person }> {
  const { callControl } = await import('#test/support/control.ts');
  const password = `password of ${username}`;
  await callControl(on.folder, 'user.add', { username, password, role: 'person' });
  const reply = await request<Person['session']>('POST', `${on.coordinator}/v1/auth/login`, {
    body: { username, password },
    headers: CURRENT,
  });
  assert.equal(reply.status, 200, reply.text);
  return { person: { username, password, session: reply.body } };
}

test('VER-01 VER-02 every answer of both services carries the two versions', async () => {
  const { id } = await start(server, ann, 'room', []);
  const { messaging, coordinator, calendar } = server;
  const { token } = ann.session;
  const cases: readonly [number, string, string, object][] = [
    [200, 'GET', `${messaging}/v1/inbox`, { token }],
    [200, 'GET', `${messaging}/healthz`, {}],
    [201, 'POST', `${messaging}/v1/conversations`, { token, body: { kind: 'room' } }],
    [202, 'POST', `${messaging}/v1/signal`, { token, body: { to: id, kind: 'sub', step: 'subscribe' } }],
    [204, 'DELETE', `${messaging}/v1/conversations/${id}/draft`, { token }],
    [204, 'OPTIONS', `${messaging}/v1/inbox`, {}],
    [400, 'POST', `${messaging}/v1/conversations`, { token, body: '{' }],
    [400, 'GET', `${messaging}/v1/ws`, {}],
    [401, 'GET', `${messaging}/v1/inbox`, {}],
    [403, 'GET', `${messaging}/v1/conversations/c_none`, { token }],
    [404, 'GET', `${messaging}/nothing/here`, {}],
    [404, 'PUT', `${messaging}/v1/inbox`, {}],
    [
      410,
      'POST',
      `${messaging}/v1/conversations/${id}/messages`,
      { token, body: { kind: 'call', body: { action: 'join' } } },
    ],
    [200, 'GET', `${coordinator}/healthz`, {}],
    [200, 'POST', `${coordinator}/v1/auth/renew`, { token }],
    [400, 'POST', `${coordinator}/v1/auth/login`, { body: '{' }],
    [401, 'POST', `${coordinator}/v1/auth/login`, { body: { username: 'ann', password: 'not hers at all' } }],
    [404, 'GET', `${coordinator}/nothing/here`, {}],
    [404, 'GET', `${coordinator}/v1/auth/login`, {}],
    [200, 'GET', `${calendar}/healthz`, {}],
    [404, 'GET', `${calendar}/nothing/here`, {}],
  ];
  for (const [status, method, url, options] of cases) {
    const reply = await request(method, url, options);
    assert.equal(reply.status, status, `${method} ${url}: ${reply.text}`);
    assert.equal(reply.headers.get('x-service-protocol'), '1', `${method} ${url}`);
    assert.equal(reply.headers.get('x-service-protocol-min'), '0', `${method} ${url}`);
  }
});

test('VER-02 upgrades carry the two versions, accepted and refused', async () => {
  const refusal = await refusedUpgrade(server, '?device=d_1');
  assert.equal(refusal.headers['x-service-protocol'], '1');
  assert.equal(refusal.headers['x-service-protocol-min'], '0');
  const { token, device_id: device } = ann.session;
  const raw = new WebSocket(`${server.messaging.replace(/^http/, 'ws')}/v1/ws?token=${token}&device=${device}`);
  const [response] = await deadline(once(raw, 'upgrade'), PATIENCE_MILLIS, 'the upgrade');
  assert.equal(response.statusCode, 101);
  assert.equal(response.headers['x-service-protocol'], '1');
  assert.equal(response.headers['x-service-protocol-min'], '0');
  const gone = once(raw, 'close');
  raw.close();
  await deadline(gone, PATIENCE_MILLIS, 'the socket to close');
});

test('VER-03 below Min a request is refused on both services, also without the header', async () => {
  const unread = ['', '0', 'one', '-1', '1.0'].map((value) => ({ 'x-service-client-protocol': value }));
  for (const headers of [{}, ...unread]) {
    assertRefused(await strict.api(old, 'GET', '/v1/inbox', undefined, headers), 410, 'client_too_old');
    const url = `${strict.coordinator}/v1/auth/renew`;
    const reply = await request('POST', url, { token: old.session.token, headers });
    assertRefused(reply, 410, 'client_too_old');
    assert.equal(reply.headers.get('x-service-protocol-min'), '1');
  }
  assert.equal((await strict.api(old, 'GET', '/v1/inbox', undefined, CURRENT)).status, 200);
  assert.equal(
    (await strict.api(old, 'GET', '/v1/inbox', undefined, { 'x-service-client-protocol': '2' })).status,
    200,
  );
});

test('VER-03 below Min an upgrade is refused before it', async () => {
  const { token, device_id: device } = old.session;
  const refusal = await refusedUpgrade(strict, `?token=${token}&device=${device}`);
  assertRefused(refusal, 410, 'client_too_old');
  assert.equal(refusal.headers['x-service-protocol-min'], '1');
  const socket = await connect(strict, old, { headers: CURRENT });
  await socket.close();
});

test('VER-03 a browser below Min is let in and closed with 4426, for it sees no answer to an upgrade', async () => {
  const socket = await connect(strict, old, { headers: { origin: 'https://chat.example.org' } });
  assert.deepEqual(await socket.closing(), { code: 4426, reason: 'clientTooOld' });
  assert.deepEqual(socket.events, []);
});

test('VER-03 a browser states its version in the subprotocol', async () => {
  const origin = { origin: 'https://chat.example.org' };
  const socket = await connect(strict, old, { headers: origin, protocols: ['parley.1'] });
  assert.equal(socket.raw.protocol, 'parley.1');
  const { id } = await createWithHeader();
  assert.equal((await socket.event('inbox')).conv ?? id, id);
  const { body } = await strict.api<{ clients: { by_version: object } }>(undefined, 'GET', '/healthz');
  assert.deepEqual(body.clients.by_version, { 1: 1 });
  await socket.close();
  const older = await connect(strict, old, { headers: origin, protocols: ['parley.0'] });
  assert.equal((await older.closing()).code, 4426);
});

test('VER-03 health is served to every client', async () => {
  for (const base of [strict.messaging, strict.coordinator, strict.calendar]) {
    assert.equal((await request('GET', `${base}/healthz`)).status, 200);
  }
});

test('VER-03 refusals of old clients are counted in /healthz', async () => {
  type Counts = Record<string, number>;
  const { body } = await strict.api<{ refusals: Counts; requests_by_version: Counts }>(undefined, 'GET', '/healthz');
  // Six requests to each service, an upgrade, and the sign-in before the tests.
  assert.equal(body.refusals['client_too_old'], 14);
  assert.ok((body.requests_by_version['0'] ?? 0) >= 14);
  assert.ok((body.requests_by_version['1'] ?? 0) >= 2);
});

async function createWithHeader(): Promise<{ id: string }> {
  const reply = await strict.api<{ id: string }>(old, 'POST', '/v1/conversations', { kind: 'room' }, CURRENT);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

test('VER-03 whoever is too old is told of the release to install, and of nothing else', async () => {
  const latest = await request('GET', `${strict.coordinator}/v1/clients/latest?platform=android`);
  assertRefused(latest, 404, 'client_release_not_found');
  assert.equal(latest.headers.get('x-service-protocol-min'), '1');
  const body = { platform: 'android', version: '1.4.0', url: 'https://chat.example.org/parley.apk' };
  assertRefused(await request('POST', `${strict.coordinator}/v1/clients/releases`, { body }), 410, 'client_too_old');
});
