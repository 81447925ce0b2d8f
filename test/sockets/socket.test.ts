/** The socket over the real server: who gets one, which one stays, and what it hears. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import { AccountsReader } from '#storage/accounts/accounts.ts';
import { callControl } from '#test/support/control.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { connect, refusedUpgrade, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { anotherDevice, assertRefused, say, start } from '#test/messaging/conversing.ts';

let server: TestServer;
let ann: Person;
let ben: Person;

before(async () => {
  // The last test reads what it wrote of all of them.
  const environment = { PARLEY_LOG_LEVEL: 'debug', PARLEY_DEBUG_HOOKS: '1' };
  server = await startServer({ shards: 2, environment });
  ({ ann, ben } = await server.people('ann', 'ben'));
});
after(async () => {
  await server.stop();
});

const queryOf = ({ session }: Person) => `?token=${session.token}&device=${session.device_id}`;

test('SOC-01 a missing or bad token gets 401 before the upgrade', async () => {
  const device = ann.session.device_id;
  assertRefused(await refusedUpgrade(server, `?device=${device}`), 401, 'token_missing');
  assertRefused(await refusedUpgrade(server, `?token=&device=${device}`), 401, 'token_missing');
  const named = (token: string) => ({ 'sec-websocket-protocol': `parley.1, parley-token.${token}` });
  assertRefused(await refusedUpgrade(server, `?device=${device}`, named('')), 401, 'token_missing');
  assertRefused(await refusedUpgrade(server, `?device=${device}`, named('nonsense')), 401, 'token_invalid');
  assertRefused(await refusedUpgrade(server, `?token=nonsense&device=${device}`), 401, 'token_invalid');
  const forged = `${ann.session.token.slice(0, -10)}AAAAAAAAAA`;
  assertRefused(await refusedUpgrade(server, `?token=${forged}&device=${device}`), 401, 'token_invalid');
});

test('SOC-01 a token as a subprotocol opens the socket, in any place among them, and is not the one that is chosen', async () => {
  const { device_id: device, token } = ben.session;
  const shown = `parley-token.${token}`;
  for (const protocols of [
    ['parley.1', shown],
    [shown, 'parley.1'],
  ]) {
    const socket = await connect(server, ben, { query: `device=${device}`, protocols });
    assert.equal(socket.raw.protocol, 'parley.1');
    await socket.close();
  }
});

test('SOC-01 an expired token gets 401 before the upgrade', async () => {
  const dora = await server.person('dora');
  const accounts = new AccountsReader(server.folder);
  const tokens = new SessionTokens(accounts.signingKeys('session_keys'));
  await accounts.close();
  // Her own, as the server signs it, but for its times.
  const claims = JSON.parse(
    Buffer.from(dora.session.token.split('.')[1] as string, 'base64url').toString(),
  ) as SessionClaims;
  const tokenUntil = (exp: number) => tokens.sign({ ...claims, iat: exp - 60, exp });
  const now = Math.floor(Date.now() / 1_000);
  const past = { ...dora, session: { ...dora.session, token: tokenUntil(now - 1) } };
  assertRefused(await refusedUpgrade(server, queryOf(past)), 401, 'token_expired');
  const good = { ...dora, session: { ...dora.session, token: tokenUntil(now + 60) } };
  await (await connect(server, good)).close();
});

test('SOC-01 CRD-08 a revoked session gets 401 before the upgrade', async () => {
  const eve = await server.person('eve');
  await callControl(server.folder, 'user.block', { username: 'eve' });
  assertRefused(await refusedUpgrade(server, queryOf(eve)), 401, 'session_revoked');
});

test('SOC-01 the device must be the one of the session', async () => {
  const { token } = ann.session;
  assertRefused(await refusedUpgrade(server, `?token=${token}`), 400, 'device_required', 'device');
  assertRefused(await refusedUpgrade(server, `?token=${token}&device=`), 400, 'device_required', 'device');
  const other = `?token=${token}&device=${ben.session.device_id}`;
  assertRefused(await refusedUpgrade(server, other), 403, 'device_forbidden', 'device');
  assertRefused(await refusedUpgrade(server, `?token=${token}&device=d_%00`), 403, 'device_forbidden', 'device');
});

test('GOV-03 SOC-01 a handshake that says more than a token and a device, or one of them twice, is refused', async () => {
  const own = queryOf(ann);
  for (const field of ['user', 'conv', 'version']) {
    assertRefused(await refusedUpgrade(server, `${own}&${field}=ben`), 400, 'query_invalid', field);
  }
  const twice = `${own}&device=${ben.session.device_id}`;
  assertRefused(await refusedUpgrade(server, twice), 400, 'query_invalid', 'device');
  assertRefused(await refusedUpgrade(server, `${own}&token=${ben.session.token}`), 400, 'query_invalid', 'token');
});

test('SOC-01 the Authorization header carries the credential as well', async () => {
  const headers = { authorization: `Bearer ${ann.session.token}` };
  const socket = await connect(server, ann, { query: `device=${ann.session.device_id}`, headers });
  const { id } = await start(server, ann, 'direct', ['ben']);
  assert.equal((await socket.event((event) => event.conv === id || event.data['id'] === id)).type, 'inbox');
  await socket.close();
});

test('SOC-01 the path without an upgrade is refused', async () => {
  assertRefused(await server.api(ann, 'GET', '/v1/ws'), 400, 'socket_upgrade_required');
});

test('SOC-02 of one device the newest socket stays, on whichever shard it is', async () => {
  const { id } = await start(server, ann, 'direct', ['ben']);
  // Where the kernel puts a connection is chance: twelve in a row are not all on one shard.
  let current = await connect(server, ann);
  for (let round = 0; round < 12; round += 1) {
    const next = await connect(server, ann);
    assert.deepEqual(await current.closing(), { code: 4001, reason: 'replaced' });
    assert.equal(next.closed, undefined);
    current = next;
  }
  await say(server, ben, id, 'to the one that stays');
  assert.equal((await current.event('message.new')).data['body'], 'to the one that stays');
  await current.close();
});

test('SOC-02 devices of one person have a socket each', async () => {
  const other = await anotherDevice(server, ann);
  const sockets = [await connect(server, ann), await connect(server, other)];
  const { id } = await start(server, ann, 'direct', ['ben']);
  await say(server, ben, id, 'to both');
  for (const socket of sockets) {
    assert.equal((await socket.event('message.new')).data['body'], 'to both');
    assert.equal(socket.closed, undefined);
    await socket.close();
  }
});

test('SOC-03 an event has exactly the fields of the envelope and ts in whole Unix seconds', async () => {
  const socket = await connect(server, ben);
  const { id } = await start(server, ann, 'room', ['ben'], 'Envelope');
  const earlier = Math.floor(Date.now() / 1000);
  const posted = await say(server, ann, id, 'hello');
  const event = await socket.event('message.new');
  const now = Math.floor(Date.now() / 1000);
  assert.deepEqual(Object.keys(event), ['type', 'conv', 'seq', 'ts', 'data', 'rev', 'rev_count']);
  assert.equal(event.conv, id);
  assert.equal(event.seq, 1);
  assert.equal(event.rev_count, 1);
  assert.ok(Number.isInteger(event.ts) && event.ts >= earlier && event.ts <= now);
  assert.deepEqual(event.data, posted);
  assert.equal(event.data['sender'], 'ann');
  await socket.close();
});

test('SOC-05 everybody hears a conversation in seq order without gaps while many post', async () => {
  const names = ['pia', 'quin', 'rolf', 'sara', 'tom', 'uma'] as const;
  const people = Object.values(await server.people(...names));
  const { id } = await start(server, ann, 'room', names);
  const rooms = [id, (await start(server, ann, 'room', names)).id];
  const each = 25;
  const sockets = await Promise.all(people.map((person) => connect(server, person)));
  const posting = people.flatMap((person) =>
    rooms.map(async (room) => {
      for (let count = 0; count < each; count += 1) await say(server, person, room, `${person.username} ${count}`);
    }),
  );
  // One that comes in the middle hears on from where it came in.
  await sockets[0]?.eventsOf('message.new', 20);
  const late = await connect(server, await anotherDevice(server, people[1] as Person));
  await Promise.all(posting);
  const last = people.length * each;
  for (const room of rooms) {
    for (const socket of [...sockets, late]) await heard(socket, room, last);
    for (const socket of sockets) assert.deepEqual(seqsOf(socket, room), range(1, last));
    const [first = 0] = seqsOf(late, room);
    assert.deepEqual(seqsOf(late, room), range(first, last));
  }
  for (const socket of [...sockets, late]) await socket.close();
});

// The last one: it ends the server of all.
test('SOC-01 neither a token nor the query of an upgrade is in anything the server writes', async () => {
  const person = await server.person('zoe');
  const socket = await connect(server, person);
  await refusedUpgrade(server, `?token=${person.session.token}x&device=${person.session.device_id}`);
  await refusedUpgrade(server, `?token=very-secret-thing&device=${person.session.device_id}`);
  await server.api(person, 'GET', '/v1/inbox?token=other-secret-thing');
  socket.send({ kind: 'typing', conv: 'no', token: person.session.token });
  await socket.event('error');
  process.kill(server.pid, 'SIGUSR2');
  await until(() => server.output.some((line) => line.includes('a shard died')), 'the log of the crash');
  assert.equal(await server.end('SIGTERM'), 0);
  const written = server.output.join('\n');
  assert.ok(written.includes('the server has stopped'));
  const own = [ann, ben, person].flatMap(({ password, session: { token } }) => [
    ...[token, token.split('.')[2] as string, password],
  ]);
  for (const secret of [...own, '/v1/ws?', 'very-secret-thing', 'other-secret-thing']) {
    assert.ok(!written.includes(secret), `${secret} was written`);
  }
});

async function heard(socket: TestSocket, room: string, seq: number): Promise<void> {
  await socket.event((event) => event.type === 'message.new' && event.conv === room && event.seq === seq, `seq ${seq}`);
}

function seqsOf(socket: TestSocket, room: string): (number | undefined)[] {
  return socket.events.filter((event) => event.type === 'message.new' && event.conv === room).map(({ seq }) => seq);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
