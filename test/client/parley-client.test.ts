/** The whole client against a scripted server: signing in and out, sending, and how a connection ends. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { OutboxEntry } from '#src/client/conversations/outbox.ts';
import { cookieSession } from '#src/client/connection/session.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ClientOptions } from '#src/client/client-context.ts';
import { until } from './condition.ts';
import { hear, inboxItem, inboxOf, optionsFor, scriptInbox, signInTo } from './connected-client.ts';
import { CONV, wireConversation, wireMessage } from './samples.ts';
import { type Asked, refusal, ScriptedServer, sessionOf } from './scripted-server.ts';

let server: ScriptedServer;
const clients: ParleyClient[] = [];

beforeEach(async () => {
  server = await new ScriptedServer().listen();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

async function signIn(more: Partial<ClientOptions> = {}): Promise<ParleyClient> {
  const client = await signInTo(server, more);
  clients.push(client);
  return client;
}

/** The token that a handshake showed, among its subprotocols. */
const tokenShown = (asked: Asked | undefined) =>
  /parley-token\.([^,]+)$/.exec(asked?.headers['sec-websocket-protocol'] ?? '')?.[1];

/** A client that knows one room at rev 3 with three messages. */
async function inRoom(since: () => object[] = () => []): Promise<{ client: ParleyClient; heard: string[] }> {
  scriptInbox(server, [inboxItem({ rev: 3, head_seq: 3 })], since);
  const client = await signIn();
  await client.caughtUp();
  return { client, heard: hear(client) };
}

test('CRD-02 signing in sends the credentials, then the socket opens with token, device and version', async () => {
  const client = await ParleyClient.signIn({
    ...optionsFor(server),
    username: 'alice',
    password: 'correct horse',
    device: { name: 'Laptop', platform: 'node', id: 'd_before' },
  });
  clients.push(client);
  await client.caughtUp();
  assert.deepEqual(server.asked[0]?.body, {
    username: 'alice',
    password: 'correct horse',
    device: { name: 'Laptop', platform: 'node' },
    device_id: 'd_before',
  });
  assert.equal(client.user, 'alice');
  assert.equal(client.isConnected, true);
  assert.equal(server.handshakes[0]?.query.get('token'), null);
  assert.equal(server.handshakes[0]?.query.get('device'), 'd_alice');
  assert.match(String(server.handshakes[0]?.headers['sec-websocket-protocol']), /^parley\.1, ?parley-token\.alice-1$/);
});

test('CRD-08 a session whose refresh token is in a cookie is renewed before anything is asked, and never shows one', async () => {
  scriptInbox(server, [], () => []);
  const answers: ('cut' | undefined)[] = ['cut'];
  server.on('POST /v1/auth/renew', () => answers.shift() ?? { body: sessionOf('alice', 2) });
  const session = cookieSession({ user: 'alice', deviceId: 'd_alice' });
  const client = ParleyClient.resume({ ...optionsFor(server), sessionCookie: true, session });
  clients.push(client);
  await client.caughtUp();
  const renewals = server.asked.filter(({ path }) => path === '/v1/auth/renew');
  assert.equal(renewals.length, 2);
  for (const { body, token } of renewals) {
    assert.deepEqual(body, { session_cookie: true, device_id: 'd_alice' });
    assert.equal(token, undefined);
  }
  assert.deepEqual(server.handshakes.map(tokenShown), ['alice-2']);
  assert.ok(server.asked.every(({ path, token }) => path.startsWith('/v1/auth/') || token === 'alice-2'));
  assert.equal(client.session.refresh_token, undefined);
});

test('CRD-02 a wrong password is login_failed, and no renewal is tried', async () => {
  server.on('POST /v1/auth/login', () => refusal(401, 'login_failed'));
  await assert.rejects(signIn(), { code: 'login_failed', status: 401 });
  assert.deepEqual(
    server.asked.map(({ name }) => name),
    ['POST /v1/auth/login'],
  );
});

test('MSG-03 a post whose connection broke is repeated under one id, also by the client after a reload', async () => {
  let saved: readonly OutboxEntry[] = [];
  const store = {
    load: () => structuredClone(saved),
    save: (entries: readonly OutboxEntry[]) => void (saved = structuredClone(entries)),
  };
  const posted: string[] = [];
  let script: 'cut' | 'hang' | 'store' = 'cut';
  server.on('POST /v1/conversations/:id/messages', ({ body }) => {
    const id = String(body['client_msg_id']);
    if (!posted.includes(id)) posted.push(id);
    if (script !== 'store') return script;
    return { status: 201, body: wireMessage(posted.indexOf(id) + 1, { sender: 'alice', client_msg_id: id }) };
  });
  const before = await signIn({ store });
  const first = before.post(CONV, 'one', 'id-1');
  await until('it was tried twice', () => server.count('/messages') >= 2);
  script = 'hang';
  await until('it hangs', () => server.count('/messages') >= 3);
  void before.post(CONV, { kind: 'location', body: { latitude: 1, longitude: 2 } }, 'id-2');
  await until('it is stored', () => saved.length === 2);
  before.close();
  await assert.rejects(first, { code: 'client_closed' });

  script = 'store';
  const after = await signIn({ store });
  await until('the outbox is empty', () => posted.length === 2 && after.outbox.length === 0);
  assert.deepEqual(posted, ['id-1', 'id-2']);
  const third = await after.post(CONV, 'three');
  assert.equal(third.seq, 3);
  assert.equal(third.createdAt, 1_795_248_000_500);
  await until('the store is empty', () => saved.length === 0);
});

test('RCP-01 receipts are sent once and gathered; those of another device are not repeated', async () => {
  const { client, heard } = await inRoom();
  server.on('POST /v1/conversations/:id/receipts', ({ body }) => ({
    body: { user: 'alice', delivered: Number(body['seq']), read: Number(body['seq']) },
  }));
  client.receipt(CONV, 'read', 1);
  client.receipt(CONV, 'read', 2);
  await until('it was sent', () => server.count('/receipts') === 1);
  const receipt = { user: 'alice', conversation_id: CONV, seq: 3, state: 'read' };
  server.send({ type: 'receipt', conv: CONV, seq: 3, ts: 1, data: receipt });
  await until('it was told', () => heard.includes('receipt alice read 3'));
  client.receipt(CONV, 'read', 3);
  client.receipt(CONV, 'delivered', 3);
  client.receipt('c_other', 'read', 1);
  await until('the other one was sent', () => server.count('c_other/receipts') === 1);
  assert.deepEqual(server.asked.find(({ path }) => path.includes('/receipts'))?.body, { state: 'read', seq: 2 });
  assert.equal(server.count('/receipts'), 2);
  assert.deepEqual(client.conversations.get(CONV)?.watermarks.get('alice'), { delivered: 3, read: 3 });
});

test('SOC-06 typing and presence are frames, and presence is told again after a reconnect', async () => {
  const { client } = await inRoom();
  assert.equal(client.typing(CONV), true);
  assert.equal(client.typing(CONV), false);
  client.presence(false);
  await until('both arrived', () => server.frames.length === 2);
  server.closeSockets(4003);
  await until('it was told again', () => server.frames.length === 3);
  assert.deepEqual(server.frames, [
    { kind: 'typing', conv: CONV },
    { kind: 'presence', awake: false },
    { kind: 'presence', awake: false },
  ]);
});

test('a close with 4004 renews the session, then comes back with the new token', async () => {
  const { client } = await inRoom();
  server.on('POST /v1/auth/renew', () => ({ body: sessionOf('alice', 2) }));
  server.closeSockets(4004);
  await until('it came back', () => server.handshakes.length === 2 && client.isConnected);
  assert.equal(tokenShown(server.handshakes[1]), 'alice-2');
  assert.equal(server.count('/v1/auth/renew'), 1);
});

test('CRD-08 a close with 4401 signs out: no reconnect, no request, and what waits says why', async () => {
  const { client, heard } = await inRoom();
  server.closeSockets(4401);
  await until('it was told', () => heard.length > 0);
  assert.deepEqual(heard, ['signed out session_revoked']);
  await assert.rejects(client.caughtUp(), { code: 'session_revoked' });
  await assert.rejects(client.inbox(), { code: 'session_revoked', status: 401 });
  assert.equal(server.handshakes.length, 1);
});

test('VER-04 a close with 4426 is too old: no reconnect', async () => {
  const { client, heard } = await inRoom();
  server.closeSockets(4426);
  await until('it was told', () => heard.length > 0);
  assert.deepEqual(heard, ['standing too-old']);
  await assert.rejects(client.caughtUp(), { code: 'client_too_old' });
  assert.equal(client.standing, 'too-old');
  assert.equal(server.handshakes.length, 1);
});

test('SOC-08 a close with 4400 stops, and says that it is for good', async () => {
  const { client } = await inRoom();
  server.closeSockets(4400);
  await until('it stopped', () => !client.isConnected);
  await assert.rejects(client.caughtUp(), { code: 'connection_refused' });
  assert.equal(server.handshakes.length, 1);
});

test('SOC-01 a handshake refused for its token leads to one renewal and then to a socket', async () => {
  server.refuseHandshake = (asked) => (tokenShown(asked) === 'alice-1' ? 401 : undefined);
  server.on('GET /v1/me/capabilities', ({ token }) =>
    token === 'alice-1' ? refusal(401, 'token_expired') : { body: { rights: [] } },
  );
  server.on('POST /v1/auth/renew', () => ({ body: sessionOf('alice', 2) }));
  const client = await signIn();
  await client.caughtUp();
  assert.deepEqual(server.handshakes.map(tokenShown), ['alice-1', 'alice-2']);
  assert.equal(server.count('/v1/auth/renew'), 1);
});

test('VER-04 a handshake refused because the client is too old stops it', async () => {
  server.refuseHandshake = () => 410;
  server.on('GET /v1/me/capabilities', () =>
    refusal(410, 'client_too_old', { 'x-service-protocol': '2', 'x-service-protocol-min': '2' }),
  );
  const client = await signIn();
  await assert.rejects(client.caughtUp(), { code: 'client_too_old' });
  assert.equal(client.standing, 'too-old');
  assert.equal(server.handshakes.length, 1);
});

test('CRD-03 a handshake refused because the session is over signs out', async () => {
  server.refuseHandshake = () => 401;
  server.on('GET /v1/me/capabilities', () => refusal(401, 'session_revoked'));
  server.on('POST /v1/auth/renew', () => refusal(401, 'session_revoked'));
  const client = await signIn();
  await assert.rejects(client.caughtUp(), { code: 'session_revoked' });
  assert.equal(server.handshakes.length, 1);
});

test('CAP-02 an installation without the capabilities call is older, and its handshakes are tried again', async () => {
  let refusals = 2;
  server.refuseHandshake = () => ((refusals -= 1) >= 0 ? 503 : undefined);
  server.on('GET /v1/me/capabilities', () => refusal(404, 'path_not_found'));
  const client = await signIn();
  await client.caughtUp();
  assert.deepEqual(await client.capabilities(), { known: false });
  assert.equal(server.handshakes.length, 3);
});

test('VER-04 a server ahead of the client makes it behind, once', async () => {
  const { client, heard } = await inRoom();
  const headers = { 'x-service-protocol': '2', 'x-service-protocol-min': '0' };
  server.on('GET /v1/inbox', () => ({ ...inboxOf(), headers }));
  await client.inbox();
  await client.inbox();
  assert.deepEqual(heard, ['standing behind']);
});

test('the other calls ask what they say', async () => {
  const { client } = await inRoom();
  const message = wireMessage(1, { sender: 'alice' });
  for (const route of [
    'PATCH /v1/conversations/:id/messages/:seq',
    'DELETE /v1/conversations/:id/messages/:seq',
    'PUT /v1/conversations/:id/messages/:seq/reactions/:emoji',
    'DELETE /v1/conversations/:id/messages/:seq/reactions/:emoji',
    'DELETE /v1/conversations/:id/messages/:seq/preview',
  ]) {
    server.on(route, () => ({ body: message }));
  }
  server.on('POST /v1/conversations', ({ body }) => ({
    status: 201,
    body: wireConversation({ id: `c_${String(body['kind'])}` }),
  }));
  server.on('GET /v1/conversations/:id/rights', () => ({ body: { rights: ['message.post', 'later.right'] } }));
  server.on('PUT /v1/conversations/:id/draft', () => ({ body: { body: 'half', updated_at: '2026-11-21T08:00:00Z' } }));
  const before = server.asked.length;
  assert.equal((await client.createDirect('bob')).id, 'c_direct');
  assert.equal((await client.createRoom({ title: 'Plans', participants: ['bob'] })).id, 'c_room');
  assert.equal((await client.edit(CONV, 1, 'new')).seq, 1);
  assert.equal((await client.react(CONV, 1, '👍')).seq, 1);
  assert.equal((await client.react(CONV, 1, '👍', false)).seq, 1);
  assert.equal((await client.delete(CONV, 1)).seq, 1);
  assert.equal((await client.removePreview(CONV, 1)).seq, 1);
  assert.deepEqual(await client.rights(CONV), { known: true, granted: new Set(['message.post']) });
  await client.call('putDraft', { params: { id: CONV }, body: { body: 'half' } });
  assert.deepEqual(
    // Who is there is asked for by itself.
    server.asked
      .slice(before)
      .filter(({ name }) => name !== 'GET /v1/presence')
      .map(({ name, body }) => `${name} ${JSON.stringify(body)}`),
    [
      'POST /v1/conversations {"kind":"direct","participants":["bob"]}',
      'POST /v1/conversations {"kind":"room","participants":["bob"],"title":"Plans"}',
      'PATCH /v1/conversations/c_room/messages/1 {"body":"new"}',
      'PUT /v1/conversations/c_room/messages/1/reactions/👍 {}',
      'DELETE /v1/conversations/c_room/messages/1/reactions/👍 {}',
      'DELETE /v1/conversations/c_room/messages/1 {}',
      'DELETE /v1/conversations/c_room/messages/1/preview {}',
      'GET /v1/conversations/c_room/rights {}',
      'PUT /v1/conversations/c_room/draft {"body":"half"}',
    ],
  );
  assert.ok(client.conversations.has('c_direct'));
});

test('CRD-02 a kept session goes on without a password; one that ran out is renewed', async () => {
  const old = { ...sessionOf('alice'), iat: 1_000, exp: 1_900 };
  server.on('POST /v1/auth/renew', () => ({ body: sessionOf('alice', 2) }));
  const client = ParleyClient.resume({ ...optionsFor(server), session: old });
  clients.push(client);
  await until('it was renewed', () => client.session.token === 'alice-2');
  await client.caughtUp();
  assert.equal(server.count('/v1/auth/login'), 0);
});

test('signing out tells the server and closes; closing keeps the session', async () => {
  const client = await signIn();
  await client.caughtUp();
  await client.signOut();
  assert.equal(server.count('/v1/auth/logout'), 1);
  await assert.rejects(client.caughtUp(), { code: 'client_closed' });
  await assert.rejects(client.post(CONV, 'late'), { code: 'client_closed' });
  const other = await signIn();
  await other.caughtUp();
  other.close();
  await until('the socket is closed', () => server.sockets.every((socket) => socket.readyState === socket.CLOSED));
  assert.equal(server.count('/v1/auth/logout'), 1);
});

test('CRD-02 a sign-out is answered although the socket is closed by it first, and the client with that', async () => {
  const client = await signIn();
  await client.caughtUp();
  client.on('signed-out', () => client.close());
  server.on('POST /v1/auth/logout', async () => {
    server.closeSockets(4401);
    await until('the client is closed', () => !client.isConnected);
    return { body: { status: 'ok' } };
  });
  await client.signOut();
});
