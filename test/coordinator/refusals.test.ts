import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import { HEADER_BYTES_MAX } from '#src/http/http-surface.ts';
import { PASSWORD, sendRaw, startCoordinator, type Answer } from './coordinator-fixture.ts';

const LOGIN = { username: 'alice', password: PASSWORD };

function assertRefused(answer: Answer, code: ErrorCode, field?: string): void {
  assert.deepEqual(
    answer.json,
    field === undefined ? { code, error: ERRORS[code].error } : { code, error: ERRORS[code].error, field },
  );
  assert.equal(answer.status, ERRORS[code].status);
  assert.equal(answer.headers.get('x-service-protocol'), '1');
  assert.equal(answer.headers.get('x-service-protocol-min'), '0');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
}

test('GOV-03 a field that the form does not have is refused by name, identity fields first of all', async (context) => {
  const { post, refused } = await startCoordinator(context);
  for (const field of ['sender', 'from', 'user', 'role', 'sub']) {
    assertRefused(await post('/v1/auth/login', { ...LOGIN, [field]: 'bob' }), 'field_unknown', field);
  }
  assertRefused(
    await post('/v1/auth/login', { ...LOGIN, device: { name: 'a', platform: 'ios', user: 'bob' } }),
    'field_unknown',
    'device.user',
  );
  assertRefused(await post('/v1/auth/login', { username: 7, sender: 'bob' }), 'field_unknown', 'sender');
  assertRefused(await post('/v1/auth/renew', { user: 'bob' }), 'field_unknown', 'user');
  assertRefused(await post('/v1/auth/logout', { user: 'bob' }), 'field_unknown', 'user');
  assertRefused(
    await post('/v1/enroll/inv_x', { username: 'bob', password: PASSWORD, role: 'owner' }),
    'field_unknown',
    'role',
  );
  assert.equal(refused.length, 10);
});

test('ERR-04 a missing or wrong field is 400 with its name', async (context) => {
  const { post } = await startCoordinator(context);
  const cases: [unknown, string | undefined][] = [
    [{ password: PASSWORD }, 'username'],
    [{ username: 'alice' }, 'password'],
    [{ ...LOGIN, username: '' }, 'username'],
    [{ ...LOGIN, username: 'a'.repeat(65) }, 'username'],
    [{ ...LOGIN, username: ['alice'] }, 'username'],
    [{ ...LOGIN, password: 'x'.repeat(257) }, 'password'],
    [{ ...LOGIN, password: 12345678 }, 'password'],
    [{ ...LOGIN, device_id: 'mine' }, 'device_id'],
    [{ ...LOGIN, device: { name: 'phone' } }, 'device.platform'],
    [[], undefined],
    ['text', undefined],
    [null, undefined],
    [7, undefined],
  ];
  for (const [body, field] of cases) assertRefused(await post('/v1/auth/login', body), 'field_invalid', field);
  assertRefused(await post('/v1/enroll/inv_x', { username: 'Bob', password: PASSWORD }), 'field_invalid', 'username');
  assertRefused(await post('/v1/enroll/inv_x', { username: 'bob', password: 7 }), 'field_invalid', 'password');
});

test('ERR-07 a body that is not sound JSON in UTF-8 is 400 with its code', async (context) => {
  const { call } = await startCoordinator(context);
  const send = async (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
    await call('POST', '/v1/auth/login', { body, headers: { 'content-type': type } });
  const login = JSON.stringify(LOGIN);
  assertRefused(await send(login.slice(0, -1)), 'body_invalid_json');
  assertRefused(await send('{"username":"alice",}'), 'body_invalid_json');
  assertRefused(await send(''), 'body_invalid_json');
  assertRefused(await send('['.repeat(20_000)), 'body_invalid_json');
  assertRefused(await send(`{"username":${'['.repeat(17)}${']'.repeat(17)}}`), 'body_invalid_json');
  assertRefused(await send('{"username":"\\ud800","password":"x"}'), 'body_invalid_json');
  assertRefused(await send('{"username":"a\\u0000b","password":"x"}'), 'body_invalid_json');
  assertRefused(await send('{"__proto__":{"admin":true},"username":"a","password":"x"}'), 'body_invalid_json');
  assertRefused(await send(Uint8Array.from([0x22, 0xc3, 0x28, 0x22])), 'body_invalid_utf8');
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'nonsense']) {
    assertRefused(await send(login, type), 'body_not_json');
  }
  assertRefused(await call('POST', '/v1/auth/login'), 'body_invalid_json');
});

test('a body of the largest size is read, and one byte more is refused', async (context) => {
  const { call } = await startCoordinator(context);
  const send = async (length: number) => {
    const body = `{"username":"${'a'.repeat(length - 15)}"}`;
    assert.equal(body.length, length);
    return await call('POST', '/v1/auth/login', { body, headers: { 'content-type': 'application/json' } });
  };
  assertRefused(await send(BODY_BYTES_MAX), 'field_invalid', 'username');
  assertRefused(await send(BODY_BYTES_MAX + 1), 'body_too_large');
});

test('ERR-07 a body that grows too large in chunks is refused as well', async (context) => {
  const { port } = await startCoordinator(context);
  const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
  const head =
    'POST /v1/auth/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  assertRawRefused(await sendRaw(port, head + chunk.repeat(5)), 'body_too_large');
});

test('ERR-07 unknown paths, wrong methods and stray queries have codes', async (context) => {
  const { call, post } = await startCoordinator(context);
  assertRefused(await call('GET', '/'), 'path_not_found');
  assertRefused(await call('GET', '/v1/nothing'), 'path_not_found');
  assertRefused(await call('POST', '/v1/auth/login/', { body: '{}' }), 'path_not_found');
  assertRefused(await call('GET', `/v1/enroll/${'x'.repeat(129)}`), 'path_not_found');
  assertRefused(await call('GET', '/v1/auth/login'), 'method_not_found');
  assertRefused(await call('DELETE', '/v1/auth/login'), 'method_not_found');
  assertRefused(await call('PUT', '/v1/enroll/inv_x'), 'method_not_found');
  assertRefused(await call('POST', '/healthz'), 'method_not_found');
  assertRefused(await call('OPTIONS', '/v1/auth/login'), 'method_not_found');
  assertRefused(await post('/v1/auth/login?token=secret', LOGIN), 'query_invalid', 'token');
  assertRefused(await call('GET', '/%zz'), 'request_malformed');
  assertRefused(await call('GET', '/v1/enroll/%ff'), 'request_malformed');
});

/** An answer as it came over a bare connection: a status of the contract, the version headers and a code. */
function assertRawRefused(received: string, code: ErrorCode): void {
  assert.match(received, new RegExp(`^HTTP/1\\.1 ${ERRORS[code].status} `));
  assert.match(received, /^x-service-protocol: 1\r$/m);
  assert.match(received, /^x-service-protocol-min: 0\r$/m);
  assert.match(received, /^cache-control: no-store\r$/m);
  assert.ok(received.endsWith(`\r\n\r\n${JSON.stringify({ code, error: ERRORS[code].error })}`), received);
}

const CLOSE = 'host: a\r\nconnection: close\r\n';
const MALFORMED: Record<string, string> = {
  'no HTTP at all': 'GARBAGE\r\n\r\n',
  'a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
  'a method that nobody knows': `FOO / HTTP/1.1\r\n${CLOSE}\r\n`,
  'HTTP of another age': `GET / HTTP/3.7\r\n${CLOSE}\r\n`,
  'a header without a colon': `GET /healthz HTTP/1.1\r\n${CLOSE}nonsense\r\n\r\n`,
  'a header with a NUL': `GET /healthz HTTP/1.1\r\n${CLOSE}x: a\0b\r\n\r\n`,
  'no Host': 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n',
  CONNECT: `CONNECT example.org:443 HTTP/1.1\r\n${CLOSE}\r\n`,
  'an expectation that nobody meets': `POST /v1/auth/login HTTP/1.1\r\n${CLOSE}expect: cake\r\n\r\n`,
  'two lengths': `POST /v1/auth/login HTTP/1.1\r\n${CLOSE}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
  'a length and chunks': `POST /v1/auth/login HTTP/1.1\r\n${CLOSE}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a length that is no number': `POST /v1/auth/login HTTP/1.1\r\n${CLOSE}content-length: two\r\n\r\n{}`,
  'a chunk of no length': `POST /v1/auth/login HTTP/1.1\r\n${CLOSE}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
  'headers a little too large': `GET /healthz HTTP/1.1\r\n${CLOSE}x: ${'y'.repeat(HEADER_BYTES_MAX)}\r\n\r\n`,
  'a flood of headers': `GET /healthz HTTP/1.1\r\n${CLOSE}${`x: ${'y'.repeat(1000)}\r\n`.repeat(2000)}\r\n`,
  'a path a little too long': `GET /${'y'.repeat(HEADER_BYTES_MAX)} HTTP/1.1\r\n${CLOSE}\r\n`,
};

test('ERR-07 whatever is not HTTP is 400 request_malformed with the version headers', async (context) => {
  const { port, refused } = await startCoordinator(context);
  for (const [what, bytes] of Object.entries(MALFORMED)) {
    await context.test(what, async () => assertRawRefused(await sendRaw(port, bytes), 'request_malformed'));
  }
  assert.ok(refused.length >= Object.keys(MALFORMED).length);
  assert.deepEqual([...new Set(refused)], ['request_malformed']);
});

test('10,000 bytes of headers are served', async (context) => {
  const { port } = await startCoordinator(context);
  const received = await sendRaw(port, `GET /healthz HTTP/1.1\r\n${CLOSE}x: ${'y'.repeat(10_000)}\r\n\r\n`);
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
});

test('methods that only other protocols know, and upgrades, are 404 with a code', async (context) => {
  const { port } = await startCoordinator(context);
  assertRawRefused(await sendRaw(port, `PROPFIND /healthz HTTP/1.1\r\n${CLOSE}\r\n`), 'method_not_found');
  assertRawRefused(await sendRaw(port, `TRACE /nothing HTTP/1.1\r\n${CLOSE}\r\n`), 'path_not_found');
  const upgrade = 'GET /v1/ws HTTP/1.1\r\nhost: a\r\nconnection: close, upgrade\r\nupgrade: websocket\r\n\r\n';
  assertRawRefused(await sendRaw(port, upgrade), 'path_not_found');
});

test('a request that does not come to an end is refused at the deadline', async (context) => {
  const { port } = await startCoordinator(context, { PARLEY_REQUEST_SECONDS: '1' });
  const [headers, body] = await Promise.all([
    sendRaw(port, 'GET /healthz HTTP/1.1\r\nhost: a\r\nx: y'),
    sendRaw(
      port,
      'POST /v1/auth/login HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    ),
  ]);
  assertRawRefused(headers, 'request_malformed');
  assert.match(body, /^HTTP\/1\.1 (400|503) /);
  assert.match(body, /"code":"(request_malformed|busy)"/);
});

test('a connection that a browser opened ahead of need and never used is closed at the deadline without a word', async (context) => {
  const { port, refused } = await startCoordinator(context, { PARLEY_REQUEST_SECONDS: '1' });
  const [silent, begun] = await Promise.all([sendRaw(port, ''), sendRaw(port, 'G')]);
  assert.equal(silent, '', 'a request that is sent at that moment has no answer but its own');
  assertRawRefused(begun, 'request_malformed');
  assert.deepEqual(refused, ['request_malformed']);
});

test('a fault of the server reads as internal, and only the log knows more', async (context) => {
  const { call, passwords, people, post, logged } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  passwords.verify = () => Promise.reject(new Error('the secret reason'));
  const answer = await post('/v1/auth/login', LOGIN);
  assert.deepEqual([answer.status, answer.json.code], [500, 'internal']);
  assert.ok(!answer.text.includes('reason'));
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? '', /the secret reason/);
  assert.ok(!logged[0]?.includes(PASSWORD));
  assert.equal((await call('GET', '/healthz')).status, 200);
});

test('health answers in the form that was asked for', async (context) => {
  const { call } = await startCoordinator(context);
  const { status, json } = await call('GET', '/healthz', { headers: { accept: 'text/plain' } });
  assert.deepEqual([status, json], [200, { accept: 'text/plain' }]);
});
