import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '#test/support/waiting.ts';
import { PASSWORD, startCoordinator } from './coordinator-fixture.ts';

const LOGIN = { username: 'alice', password: PASSWORD };

test('VER-02 every answer carries both version headers', async (context) => {
  const { call, people, post } = await startCoordinator(context, { PARLEY_PROTOCOL_MIN: '1' });
  await people.add('alice', PASSWORD);
  const current = { 'x-service-client-protocol': '1' };
  const answers = [
    await post('/v1/auth/login', LOGIN, current),
    await post('/v1/auth/login', {}, current),
    await post('/v1/auth/login', LOGIN),
    await call('GET', '/healthz'),
    await call('GET', '/nothing', { headers: current }),
    await call('GET', '/%zz'),
    await call('GET', '/v1/enroll/inv_x'),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 400, 410, 200, 404, 400, 200],
  );
  for (const { headers } of answers) {
    assert.equal(headers.get('x-service-protocol'), '1');
    assert.equal(headers.get('x-service-protocol-min'), '1');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
});

test('VER-03 a client below the oldest served is refused whatever it asks; absent and unreadable read as 0', async (context) => {
  const { answered, call, people, post } = await startCoordinator(context, { PARLEY_PROTOCOL_MIN: '1' });
  await people.add('alice', PASSWORD);
  for (const version of [undefined, '0', 'one', '-1']) {
    const answer = await post(
      '/v1/auth/login',
      LOGIN,
      version === undefined ? {} : { 'x-service-client-protocol': version },
    );
    assert.deepEqual([answer.status, answer.json.code], [410, 'client_too_old']);
  }
  assert.equal((await call('GET', '/nothing')).json.code, 'client_too_old');
  assert.equal((await post('/v1/auth/login', LOGIN, { 'x-service-client-protocol': '1' })).status, 200);
  assert.equal((await post('/v1/auth/login', LOGIN, { 'x-service-client-protocol': '2' })).status, 200);
  const login = '/v1/auth/login';
  await until(() => answered.length === 7, 'seven answers');
  assert.deepEqual(answered, [
    [login, 410, 0],
    [login, 410, 0],
    [login, 410, 0],
    [login, 410, 0],
    [undefined, 410, 0],
    [login, 200, 1],
    [login, 200, 2],
  ]);
});

test('VER-03 health, and the page that a browser opens by itself, are served to every client', async (context) => {
  const { call } = await startCoordinator(context, { PARLEY_PROTOCOL_MIN: '1' });
  assert.equal((await call('GET', '/healthz')).status, 200);
  assert.equal((await call('GET', '/v1/enroll/inv_x')).status, 200);
});

test('pages of an allowed origin and of the coordinator’s own may call, others may not read', async (context) => {
  const { call, port } = await startCoordinator(context, {
    PARLEY_ALLOWED_ORIGINS: 'https://chat.example.org, https://two.example.org/',
    PARLEY_PROTOCOL_MIN: '1',
  });
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
  for (const origin of [
    'https://chat.example.org',
    'https://two.example.org',
    `http://127.0.0.1:${port}`,
    `http://localhost:${port}`,
  ]) {
    const allowed = await call('OPTIONS', '/v1/auth/login', { headers: { origin, ...preflight } });
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers.get('access-control-allow-origin'), origin);
    assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /authorization.*x-service-client-protocol/);
    const read = await call('GET', '/healthz', { headers: { origin } });
    assert.equal(read.headers.get('access-control-allow-origin'), origin);
    assert.match(read.headers.get('access-control-expose-headers') ?? '', /x-service-protocol-min/);
    assert.equal(read.headers.get('vary'), 'Accept, Origin');
  }
  for (const origin of ['https://evil.example.org', 'http://chat.example.org', 'null']) {
    const refused = await call('OPTIONS', '/v1/auth/login', { headers: { origin, ...preflight } });
    assert.deepEqual([refused.status, refused.json.code], [403, 'origin_forbidden']);
    const read = await call('GET', '/healthz', { headers: { origin } });
    assert.equal(read.headers.get('access-control-allow-origin'), null);
  }
});
