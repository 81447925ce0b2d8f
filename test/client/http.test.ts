/** One request of the client, against a scripted server. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import { Http, REQUEST_MILLIS_MAX } from '#src/client/connection/http.ts';
import { StandingWatch } from '#src/client/connection/standing.ts';
import { systemTimers, type Timers } from '#src/client/connection/timers.ts';
import { until } from './condition.ts';
import { ManualTimers } from './manual-timers.ts';
import { refusal, ScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
let standings: string[];

beforeEach(async () => {
  server = await new ScriptedServer().listen();
  standings = [];
});
afterEach(() => server.close());

function httpTo(url: string, timers: Timers = systemTimers): Http {
  const standing = new StandingWatch(1, (now) => standings.push(now));
  return new Http({ url, fetch: globalThis.fetch, timers, standing });
}

test('VER-03 a request carries the version, the token, its query and its body', async () => {
  server.on('PUT /v1/thing', () => ({ body: { ok: true } }));
  const request = {
    method: 'put',
    path: '/v1/thing',
    query: { a: 'x&y', b: undefined, c: 3 },
    body: { d: 1 },
    token: 't',
  };
  assert.deepEqual(await httpTo(`${server.url}/`).request(request), { ok: true });
  const [asked] = server.asked;
  assert.equal(asked?.name, 'PUT /v1/thing');
  assert.equal(asked?.query.toString(), 'a=x%26y&c=3');
  assert.deepEqual(asked?.body, { d: 1 });
  assert.equal(asked?.headers['authorization'], 'Bearer t');
  assert.equal(asked?.headers['x-service-client-protocol'], '1');
  assert.equal(asked?.headers['content-type'], 'application/json');
});

test('a request without body or token carries neither header, and an empty answer is undefined', async () => {
  server.on('DELETE /v1/thing', () => ({ status: 204 }));
  assert.equal(await httpTo(server.url).request({ method: 'delete', path: '/v1/thing' }), undefined);
  assert.equal(server.asked[0]?.headers['content-type'], undefined);
  assert.equal(server.asked[0]?.headers['authorization'], undefined);
});

test('ERR-01 a refusal is read with code, status, field and sentence', async () => {
  const body = { code: 'field_invalid', error: 'A field is wrong.', field: 'title' };
  server.on('GET /v1/thing', () => ({ status: 400, body }));
  await assert.rejects(httpTo(server.url).request({ method: 'get', path: '/v1/thing' }), {
    name: 'ParleyError',
    code: 'field_invalid',
    status: 400,
    field: 'title',
    message: 'A field is wrong.',
  });
});

for (const [header, seconds] of [
  ['7', 7],
  ['soon', undefined],
  [new Date(Date.now() - 60_000).toUTCString(), 0],
] as const) {
  test(`ERR-06 Retry-After “${header.length > 6 ? 'a date that has passed' : header}” is read`, async () => {
    server.on('GET /v1/thing', () => refusal(429, 'rate_limited', { 'retry-after': header }));
    await assert.rejects(httpTo(server.url).request({ method: 'get', path: '/v1/thing' }), {
      code: 'rate_limited',
      status: 429,
      retryAfter: seconds,
    });
  });
}

test('an answer that is not Parley’s has its status and a code of the client', async () => {
  server.on('GET /v1/page', () => ({ status: 502, text: '<html>Bad gateway</html>' }));
  server.on('GET /v1/odd', () => ({ status: 403, body: ['no code'] }));
  server.on('GET /v1/portal', () => ({ status: 200, text: '<html>Sign in to the Wi-Fi</html>' }));
  const http = httpTo(server.url);
  for (const [path, status] of [
    ['/v1/page', 502],
    ['/v1/odd', 403],
    ['/v1/portal', 200],
  ] as const) {
    await assert.rejects(http.request({ method: 'get', path }), { code: 'answer_unreadable', status });
  }
});

test('VER-04 the standing is learnt from any answer, also one whose body cannot be read', async () => {
  const headers = { 'x-service-protocol': '2', 'x-service-protocol-min': '1' };
  server.on('GET /v1/thing', () => ({ status: 400, text: '<', headers }));
  await assert.rejects(httpTo(server.url).request({ method: 'get', path: '/v1/thing' }), { code: 'answer_unreadable' });
  assert.deepEqual(standings, ['behind']);
});

test('VER-04 client_too_old is too old, even where the headers cannot be read', async () => {
  server.on('GET /v1/thing', () =>
    refusal(410, 'client_too_old', { 'x-service-protocol': '', 'x-service-protocol-min': '' }),
  );
  await assert.rejects(httpTo(server.url).request({ method: 'get', path: '/v1/thing' }), { code: 'client_too_old' });
  assert.deepEqual(standings, ['too-old']);
});

test('no answer is network_failed: connection cut, or nobody there', async () => {
  server.on('GET /v1/thing', () => 'cut');
  await assert.rejects(httpTo(server.url).request({ method: 'get', path: '/v1/thing' }), {
    code: 'network_failed',
    status: 0,
  });
  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const { port } = nobody.address() as AddressInfo;
  nobody.close();
  await once(nobody, 'close');
  await assert.rejects(httpTo(`http://127.0.0.1:${port}`).request({ method: 'get', path: '/' }), {
    code: 'network_failed',
  });
});

test('a request that takes longer than its deadline fails with deadline_exceeded', async () => {
  const timers = new ManualTimers();
  server.on('GET /v1/thing', () => 'hang');
  const asked = httpTo(server.url, timers).request({ method: 'get', path: '/v1/thing' });
  const failed = assert.rejects(asked, { code: 'deadline_exceeded', status: 0 });
  await until('the server was asked', () => server.asked.length === 1);
  await timers.pass(REQUEST_MILLIS_MAX - 1);
  assert.equal(timers.waits.length, 1);
  await timers.pass(1);
  await failed;
});

test('closing ends what is under way and refuses what comes later', async () => {
  server.on('GET /v1/thing', () => 'hang');
  const http = httpTo(server.url);
  const failed = assert.rejects(http.request({ method: 'get', path: '/v1/thing' }), { code: 'client_closed' });
  await until('the server was asked', () => server.asked.length === 1);
  http.close();
  await failed;
  await assert.rejects(http.request({ method: 'get', path: '/v1/thing' }), { code: 'client_closed' });
  assert.equal(server.asked.length, 1);
});
