/** Whatever is wrong with a request, the answer is a code and a sentence, and nothing is stored (ERR, GOV). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MESSAGING_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { startServer, type Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { assertRefused, post, start } from './conversing.ts';
import { headOf, RawConnection, sendRaw } from './raw-http.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob'], { shards: 2 });
const { id: room } = await start(server, alice, 'room', ['bob']);
await post(server, alice, room, { kind: 'text', body: 'the one message' });

const messages = () => `/v1/conversations/${room}/messages`;

/** Posts a body as it stands to the room's messages. */
async function send(body: string | Uint8Array, contentType = 'application/json'): Promise<Reply> {
  return await server.api(alice, 'POST', messages(), body, { 'content-type': contentType });
}

/** The room's seqs: what a refused request must not have changed. */
async function stored(): Promise<number> {
  return (await server.api<{ head_seq: number }>(alice, 'GET', `/v1/conversations/${room}`)).body.head_seq;
}

/** One valid body per form that takes one. */
const forms = (): [string, string, object][] => [
  ['POST', '/v1/conversations', { kind: 'room', participants: ['bob'] }],
  ['PATCH', `/v1/conversations/${room}`, { title: 'claimed' }],
  ['POST', `/v1/conversations/${room}/participants`, { participants: ['bob'] }],
  ['PATCH', `/v1/conversations/${room}/participants/bob`, { role: 'moderator' }],
  ['POST', messages(), { kind: 'text', body: 'claimed' }],
  ['PATCH', `${messages()}/1`, { body: 'claimed' }],
  ['PUT', `/v1/conversations/${room}/draft`, { body: 'claimed' }],
  ['PUT', `/v1/conversations/${room}/mute`, { until: null }],
  ['PUT', `/v1/conversations/${room}/placement`, { favourite: true, category: null }],
  ['PUT', `/v1/conversations/${room}/hidden`, { seq: null }],
  ['POST', `/v1/conversations/${room}/links`, { uses: 1 }],
  ['POST', `/v1/conversations/${room}/receipts`, { state: 'read', seq: 1 }],
  ['POST', '/v1/signal', { to: room, kind: 'sub', step: 'subscribe', call: 'a', seq: 1 }],
  ['POST', `/v1/conversations/${room}/webhooks`, { name: 'claimed' }],
  ['PUT', `/v1/conversations/${room}/retention`, { seconds: null }],
  ['PUT', '/v1/push', { provider: 'fcm', token: 'claimed'.repeat(8) }],
];

/** The forms that only a bot can use, or that need one. Webhooks, which take no session, have a test of their own. */
const botForms = (): [string, string, object][] => [
  ['POST', `/v1/conversations/${room}/commands`, { command: 'claimed' }],
  ['PUT', '/v1/bots/self/commands', { commands: [] }],
  ['POST', '/v1/bots/self/responses', { response_token: 'claimed', text: 'claimed' }],
  ['POST', '/v1/bots/self/subscriptions', { url: 'https://example.org/', events: ['command'] }],
];

test('GOV-02 GOV-03 a body that says who speaks is refused on every form, and reaches nobody', async () => {
  const socket = await connect(server, bob);
  const head = await stored();
  for (const [method, path, body] of [...forms(), ...botForms()]) {
    for (const field of ['sender', 'from', 'user']) {
      const reply = await server.api(alice, method, path, { ...body, [field]: 'bob' });
      assertRefused(reply, 400, 'field_unknown', field);
    }
  }
  assert.equal(await stored(), head);
  await post(server, alice, room, { kind: 'text', body: 'mark' });
  await socket.event((event) => event.type === 'message.new' && event.data['body'] === 'mark');
  assert.deepEqual(
    socket.events.filter((event) => event.type !== 'presence').map((event) => event.data['body']),
    ['mark'],
  );
  await socket.close();
});

test('GOV-03 the forms of this test are all that there are, and each is good without the claim', async () => {
  const tabled = Object.values<Route>(MESSAGING_ROUTES).filter(
    ({ auth, body }) => body !== undefined && auth !== 'none',
  );
  assert.equal(forms().length + botForms().length, tabled.length);
  for (const [method, path, body] of forms()) {
    const reply = await server.api(alice, method, path, body);
    assert.ok(reply.status >= 200 && reply.status < 300, `${method} ${path}: ${reply.text}`);
  }
});

test('GOV-01 GOV-05 a field that a form does not have is refused at any depth, so that nobody ever reads it', async () => {
  const head = await stored();
  const outcome = { result: 'missed', duration: 0, flags: [] };
  const unknown: [object, string][] = [
    [{ kind: 'text', body: 'x', seq: 7 }, 'seq'],
    [{ kind: 'text', body: 'x', id: 'c_1' }, 'id'],
    [{ kind: 'text', body: 'x', created_at: '2030-01-01T00:00:00Z' }, 'created_at'],
    [{ kind: 'location', body: { latitude: 1, longitude: 2, user: 'bob' } }, 'body.user'],
    [{ kind: 'media', body: { attachment: 'att_1', name: 'n', type: 'a/b', size: 1, url: 'x' } }, 'body.url'],
    [{ kind: 'contact', body: { name: 'n', sender: 'bob' } }, 'body.sender'],
    [{ kind: 'call', body: { outcome, caller: 'bob' } }, 'body.caller'],
    [{ kind: 'text', body: 'x', constructor: 1 }, 'constructor'],
  ];
  for (const [form, field] of unknown)
    assertRefused(await post(server, alice, room, form), 400, 'field_unknown', field);
  assert.equal(await stored(), head);
});

test('ERR-07 what is not JSON, or JSON that a reader would trip over, is refused', async () => {
  const head = await stored();
  const nested = (depth: number) => `{"kind":"text","body":"x","a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const malformed = [
    ...[
      '',
      ' ',
      '{',
      '{"kind":"text","body":"x"',
      '{"kind":"text","body":"x"}}',
      "{'kind':'text'}",
      'undefined',
      'NaN',
    ],
    '{"kind":"text","body":"x",}',
    '\u{feff}{"kind":"text","body":"x"}',
    '{"kind":"text","body":"a\\u0000b"}',
    '{"kind":"text","body":"\\ud800"}',
    '{"kind":"text","body":"\\udc00\\ud800"}',
    '{"kind":"text","body":"x","\\ud800":1}',
    '{"kind":"text","body":"x","__proto__":{"sender":"bob"}}',
    '{"kind":"text","body":"raw \n newline"}',
    nested(16),
    nested(60_000),
    '['.repeat(100_000),
  ];
  for (const body of malformed) assertRefused(await send(body), 400, 'body_invalid_json');
  // One level less is sound, and refused for its unknown field.
  assertRefused(await send(nested(15)), 400, 'field_unknown', 'a');
  for (const body of ['null', '[]', '"text"', '7', 'true'])
    assert.equal((await send(body)).body['code'], 'field_invalid');
  assert.equal(await stored(), head);
});

test('ERR-07 a body that is not UTF-8 is refused', async () => {
  const head = await stored();
  const around = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"kind":"text","body":"'), Buffer.from(bytes), Buffer.from('"}')]);
  for (const body of [
    around(0xff),
    around(0xc0, 0x80),
    around(0xed, 0xa0, 0x80),
    around(0xf4, 0x90, 0x80, 0x80),
    around(0xe2, 0x82),
    Buffer.from('{"kind":"text","body":"x"}', 'utf16le').fill(0xfe, 0, 1),
  ]) {
    assertRefused(await send(body), 400, 'body_invalid_utf8');
  }
  assert.equal(await stored(), head);
});

test('ERR-07 a body of another content type is refused', async () => {
  const head = await stored();
  const body = '{"kind":"text","body":"x"}';
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/jsonp',
    'a',
    '',
  ]) {
    assertRefused(await send(body, type), 400, 'body_not_json');
  }
  const none = await sendRaw(
    server,
    `${headOf(`POST ${messages()}`, alice, [`content-length: ${body.length}`])}${body}`,
  );
  assertRefused(none, 400, 'body_not_json');
  assert.equal(await stored(), head);
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
    assert.equal((await send(body, type)).status, 201, type);
  }
});

test('ERR-07 a body of 131,072 bytes is read and one byte more is refused, with a length or without', async () => {
  const json = '{"kind":"text","body":"x"}';
  const padded = (bytes: number) => json + ' '.repeat(bytes - json.length);
  const type = 'content-type: application/json';
  const chunked = (bytes: number) =>
    `${headOf(`POST ${messages()}`, alice, [type, 'transfer-encoding: chunked'])}${bytes.toString(16)}\r\n${padded(bytes)}\r\n0\r\n\r\n`;
  const counted = (bytes: number) =>
    `${headOf(`POST ${messages()}`, alice, [type, `content-length: ${bytes}`])}${padded(bytes)}`;
  const head = await stored();
  for (const form of [counted, chunked]) {
    assert.equal((await sendRaw(server, form(131_072))).status, 201);
    assertRefused(await sendRaw(server, form(131_073)), 400, 'body_too_large');
  }
  // Announced, it is refused before a byte of it comes.
  const announced = headOf(`POST ${messages()}`, alice, [type, 'content-length: 99999999999']);
  assertRefused(await sendRaw(server, announced), 400, 'body_too_large');
  assert.equal(await stored(), head + 2);
});

test('ERR-04 every length takes its limit and refuses one more', async () => {
  const text = (length: number) => post(server, alice, room, { kind: 'text', body: 'я'.repeat(length) });
  assert.equal((await text(16_000)).status, 201);
  assertRefused(await text(16_001), 400, 'field_invalid', 'body');
  assertRefused(await text(0), 400, 'field_invalid', 'body');
  const keyed = (key: unknown) => post(server, alice, room, { kind: 'text', body: 'x', client_msg_id: key });
  assert.equal((await keyed('k'.repeat(128))).status, 201);
  for (const key of ['k'.repeat(129), '', 'with space', 'ключ', 7, null]) {
    assertRefused(await keyed(key), 400, 'field_invalid', 'client_msg_id');
  }
  const titled = (title: unknown) => server.api(alice, 'PATCH', `/v1/conversations/${room}`, { title });
  assert.equal((await titled('t'.repeat(200))).status, 200);
  for (const title of ['t'.repeat(201), '', '   ', 7, null])
    assertRefused(await titled(title), 400, 'field_invalid', 'title');
  const create = (count: number) =>
    server.api(alice, 'POST', '/v1/conversations', {
      kind: 'room',
      participants: Array.from({ length: count }, (_, n) => `nobody${n}`),
    });
  assertRefused(await create(1_000), 400, 'participant_unknown', 'participants.0');
  assertRefused(await create(1_001), 400, 'field_invalid', 'participants');
});

test('ERR-04 a number out of range, or that is no number, is refused with its field', async () => {
  const head = await stored();
  const location = (latitude: string) => send(`{"kind":"location","body":{"latitude":${latitude},"longitude":0}}`);
  for (const latitude of ['90.0000001', '-91', '1e999', '-1e999', '"1"', 'null', 'true', '[1]']) {
    assertRefused(await location(latitude), 400, 'field_invalid', 'body.latitude');
  }
  const media = (size: string) =>
    send(`{"kind":"media","body":{"attachment":"att_1","name":"n","type":"a/b","size":${size}}}`);
  for (const size of ['-1', '1.5', '9007199254740992', '1e400']) {
    assertRefused(await media(size), 400, 'field_invalid', 'body.size');
  }
  assert.equal(await stored(), head);
});

test('ERR-04 ERR-07 an unknown path is 404, with a token and without', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/',
    '/v2/inbox',
    '/v1/inbox/',
    '//v1/inbox',
    '/V1/inbox',
    '/v1/conversations//messages',
    '/admin/api/me',
  ]) {
    for (const who of [alice, undefined]) {
      assertRefused(await sendRaw(server, headOf(`GET ${path}`, who)), 404, 'path_not_found');
    }
  }
});

test('ERR-04 ERR-07 a method that a path does not have is 404 with a code of its own', async () => {
  const paths = new Map<string, Set<string>>();
  for (const { path, method } of Object.values<Route>(MESSAGING_ROUTES)) {
    paths.set(path, (paths.get(path) ?? new Set()).add(method.toUpperCase()));
  }
  for (const [path, methods] of paths) {
    const filled = path.replaceAll(/:[a-z]+/g, '1');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].filter(
      (one) => !methods.has(one),
    )) {
      assertRefused(await sendRaw(server, headOf(`${method} ${filled}`, alice)), 404, 'method_not_found');
    }
  }
});

test('ERR-07 the answer to HEAD has no body, so that the next answer is not taken for it', async () => {
  const connection = new RawConnection(server);
  connection.socket.write(headOf('HEAD /v1/inbox', alice));
  assert.deepEqual(await connection.answer({ toHead: true }), { status: 404, body: undefined });
  connection.socket.write(headOf('GET /v1/me/capabilities', alice));
  assert.equal((await connection.answer()).status, 200);
  connection.socket.destroy();
});

test('ERR-07 an answer without a body leaves its connection good for the next request', async () => {
  const connection = new RawConnection(server);
  for (let n = 0; n < 3; n += 1) {
    connection.socket.write(headOf(`DELETE /v1/conversations/${room}/draft`, alice));
    assert.deepEqual(await connection.answer(), { status: 204, body: undefined });
  }
  connection.socket.destroy();
});

test('ERR-05 ERR-07 percent garbage in a path names nothing', async () => {
  const answer = (path: string) => sendRaw(server, headOf(`GET ${path}`, alice));
  for (const garbage of ['%', '%zz', '%f', '%ff', '%F0%9F', '%C0%AF']) {
    assertRefused(await answer(`/v1/conversations/${garbage}`), 404, 'path_not_found');
    assertRefused(await answer(`${messages()}/${garbage}`), 404, 'path_not_found');
  }
  for (const strange of ['%00', '%2e%2e%2f', '..', 'c'.repeat(4_000), '%20', room.toUpperCase()]) {
    assertRefused(await answer(`/v1/conversations/${strange}`), 403, 'conversation_forbidden');
  }
});

test('ERR-04 a query parameter twice, or one that a route does not have, is refused', async () => {
  const bad: [string, string][] = [
    [`${messages()}?limit=5&limit=5`, 'limit'],
    [`${messages()}?limit=5&%6cimit=6`, 'limit'],
    ['/v1/inbox?after=x&after=x', 'after'],
    ['/v1/inbox?token=x', 'token'],
    ['/v1/me/capabilities?user=bob', 'user'],
    [`/v1/conversations/${room}?x`, 'x'],
    [`${messages()}?limit=%zz`, 'limit'],
  ];
  for (const [path, field] of bad) assertRefused(await server.api(alice, 'GET', path), 400, 'query_invalid', field);
});

test('ERR-04 a credential that is none is 401, each way with its code', async () => {
  const { token } = alice.session;
  const asking = (authorization: string) =>
    server.api(undefined, 'GET', '/v1/me/capabilities', undefined, { authorization });
  for (const header of ['', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} x`]) {
    assertRefused(await asking(header), 401, 'token_missing');
  }
  const [head, payload, signature] = token.split('.') as [string, string, string];
  const forged = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'bob' }),
  );
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  for (const bad of [
    `${head}.${forged.toString('base64url')}.${signature}`,
    `${head}.${payload}.`,
    `${none}.${payload}.`,
    `${token}x`,
    'svc_vst_1_secret',
    'bot_secret',
    'x',
  ]) {
    assertRefused(await asking(`Bearer ${bad}`), 401, 'token_invalid');
  }
  assert.equal((await asking(`bearer  ${token}`)).status, 200);
});

test('ERR-07 10,000 bytes of headers are read, and pipelined reads are answered in order', async () => {
  const large = headOf('GET /v1/me/capabilities', alice, [`x-padding: ${'a'.repeat(10_000)}`]);
  assert.equal((await sendRaw(server, large)).status, 200);
  const connection = new RawConnection(server);
  connection.socket.write(
    headOf('GET /v1/me/capabilities', alice) + headOf('GET /v1/nowhere', alice) + headOf(`GET ${messages()}/1`, alice),
  );
  assert.equal((await connection.answer()).status, 200);
  assertRefused(await connection.answer(), 404, 'path_not_found');
  assert.equal(((await connection.answer()).body as { seq: number }).seq, 1);
  connection.socket.destroy();
});

test('MSG-03 MSG-04 posts that were pipelined or cut off are settled by repeating them: none twice, none lost', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  const form = (n: number) => JSON.stringify({ kind: 'text', body: `${n}`, client_msg_id: `p-${n}` });
  const headers = (n: number) => ['content-type: application/json', `content-length: ${form(n).length}`];
  const whole = (n: number) => headOf(`POST /v1/conversations/${id}/messages`, alice, headers(n)) + form(n);
  const pipelined = new RawConnection(server);
  pipelined.socket.write(whole(0) + whole(1) + whole(2));
  const cut: RawConnection[] = [];
  for (let n = 3; n < 30; n += 1) {
    const connection = new RawConnection(server);
    // Some lose their end, and some go away as soon as they are whole.
    connection.socket.end(n % 2 === 0 ? whole(n) : whole(n).slice(0, -5), () => connection.socket.destroy());
    cut.push(connection);
  }
  await Promise.all(cut.map((connection) => connection.ending()));
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      post(server, alice, id, { kind: 'text', body: `${n}`, client_msg_id: `p-${n}` }),
    ),
  );
  pipelined.socket.destroy();
  const seqs = replies.map((reply) => reply.body.seq);
  assert.deepEqual(
    seqs.toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, n) => n + 1),
  );
  assert.deepEqual(
    replies.map((reply) => reply.body.body),
    Array.from({ length: 30 }, (_, n) => `${n}`),
  );
});

test('ERR-07 a body that does not arrive in time is dropped with its connection, and stores nothing', async (t) => {
  const own = await startServer({ shards: 2, environment: { PARLEY_REQUEST_SECONDS: '1' } });
  t.after(() => own.stop());
  const person = await own.person('alice');
  const { id } = await start(own, person, 'room', []);
  const connection = new RawConnection(own);
  const headers = ['content-type: application/json', 'content-length: 26'];
  connection.socket.write(`${headOf(`POST /v1/conversations/${id}/messages`, person, headers)}{"kind":"text"`);
  assert.equal(await connection.ending(), '');
  assert.equal((await post(own, person, id, { kind: 'text', body: 'in time' })).body.seq, 1);
});

test('HLT-01 whoever only asks whether /healthz is there gets the head of the answer, on every listener', async () => {
  for (const base of [server.coordinator, server.messaging, server.calendar]) {
    const reply = await fetch(`${base}/healthz`, { method: 'HEAD' });
    assert.equal(reply.status, 200, base);
    assert.match(String(reply.headers.get('content-type')), /^application\/json/);
    assert.equal(await reply.text(), '');
  }
});

test('ERR-07 what is no HTTP/1.1 is answered by the socket library itself, as the protocol page says', async () => {
  const odd: [head: string, status: number][] = [
    ['GET /healthz HTTP/1.0\r\nhost: x\r\n\r\n', 505],
    [`GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['GET /healthz HTTP/1.1\r\naccept: text/plain\r\n\r\n', 400],
  ];
  for (const [head, status] of odd) {
    const connection = new RawConnection(server);
    connection.socket.write(head);
    const said = await connection.ending();
    assert.match(said, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.doesNotMatch(said, /x-service-protocol|"code"/i);
  }
  const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
  const [, said = ''] =
    /\*\*What is no HTTP\/1\.1 to the messaging service\*\*[^.]* is answered ([\d, or]+) with/.exec(page) ?? [];
  assert.deepEqual(
    said.match(/\d+/g)?.map(Number),
    odd.map(([, status]) => status).toSorted((a, b) => a - b),
  );
  assert.equal((await server.api(undefined, 'GET', '/healthz')).status, 200);
});
