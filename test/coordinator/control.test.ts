import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CONTROL_FORMS, makeControlHandlers } from '#src/server/control/control-commands.ts';
import { CONTROL_CONNECTIONS_MAX, listenForControl } from '#src/server/control/control-server.ts';
import { CONTROL_REQUEST_BYTES_MAX, controlAddress } from '#src/server/control/control-wire.ts';
import { Seeder, type RoomPlan } from '#src/server/seed.ts';
import { FactorRemovals } from '#src/directory/factor-removals.ts';
import { systemClock } from '#src/base/clock.ts';
import { PASSWORD, startCoordinator } from './coordinator-fixture.ts';
import { until } from '#test/support/waiting.ts';

async function startControl(context: TestContext, lineMillis?: number) {
  const coordinator = await startCoordinator(context);
  const { accounts, announcer, folder, invitations, log, passwordResets, passwords, people, tokens } = coordinator;
  const plans: RoomPlan[] = [];
  const seeder = new Seeder({
    accounts,
    passwords,
    tokens,
    announcer,
    clock: systemClock,
    makeRooms: async (rooms) => rooms.map((room) => `c_${plans.push(room)}`),
  });
  const handlers = makeControlHandlers({
    cluster: undefined,
    people,
    invitations,
    passwordResets,
    factorRemovals: new FactorRemovals({ accounts, announcer, clock: systemClock, secrets: { remove: () => {} } }),
    seeder,
    coordinatorBase: () => 'https://chat.example.org',
    status: async () => ({ state: 'running', sockets: 3 }),
    exportAudit: async () => ({ entries: 0 }),
    rotateKeys: async () => ({ session_key: 'k1', link_key: 'k2', sessions_until: '', links_until: '' }),
    backup: async (out) => ({ folder: out }),
  });
  const control = await listenForControl(folder, handlers, log, lineMillis);
  context.after(async () => await control.close());
  return { ...coordinator, plans };
}

/** Sends lines, and answers what came back, a value a line, when `count` lines have come or the socket was closed. */
async function talk(folder: string, bytes: string | Buffer, count = 1): Promise<unknown[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(controlAddress(folder));
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
    if (received.split('\n').length > count) resolve(received);
  });
  socket
    .on('close', () => resolve(received))
    .on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
    });
  socket.write(bytes);
  const lines = (await promise).split('\n').filter(Boolean);
  socket.destroy();
  return lines.map((line) => JSON.parse(line) as unknown);
}

const line = (command: string, form: unknown = {}) => `${JSON.stringify({ command, form })}\n`;

test('the socket is open to the owner of the folder alone', async (context) => {
  const { folder } = await startControl(context);
  assert.equal(statSync(join(folder, 'control.sock')).mode & 0o777, 0o600);
});

test('people are added, listed, blocked and let in again', async (context) => {
  const { folder, login, post } = await startControl(context);
  const alice = { username: 'alice', password: PASSWORD, role: 'person' };
  assert.deepEqual(await talk(folder, line('user.add', alice)), [{ ok: true, result: { username: 'alice' } }]);
  assert.deepEqual(await talk(folder, line('user.add', alice)), [
    { ok: false, code: 'username_taken', error: 'The username is taken.' },
  ]);
  await login('alice');
  assert.deepEqual(await talk(folder, line('user.block', { username: 'alice' })), [
    { ok: true, result: { username: 'alice' } },
  ]);
  assert.equal((await post('/v1/auth/login', { username: 'alice', password: PASSWORD })).json.code, 'login_failed');
  const created_at = '2026-11-21T08:00:00.000Z';
  assert.deepEqual(await talk(folder, line('user.list', { after: '', limit: 10 })), [
    {
      ok: true,
      result: { items: [{ username: 'alice', state: 'blocked', role: 'person', created_at, devices: 1 }], next: null },
    },
  ]);
  await talk(folder, line('user.unblock', { username: 'alice' }));
  assert.equal((await login('alice')).user, 'alice');
});

test('the owner’s link is given until there is an owner', async (context) => {
  const { folder, post } = await startControl(context);
  const [{ result }] = (await talk(folder, line('invite.owner'))) as [{ result: { url: string } }];
  assert.match(result.url, /^https:\/\/chat\.example\.org\/v1\/enroll\/inv_/);
  assert.equal((await post(new URL(result.url).pathname, { username: 'root', password: PASSWORD })).status, 201);
  assert.deepEqual(await talk(folder, line('invite.owner')), [{ ok: true, result: { url: null } }]);
  const owner = { username: 'other', password: PASSWORD, role: 'owner' };
  assert.deepEqual(await talk(folder, line('user.add', owner)), [
    { ok: false, code: 'owner_exists', error: 'This installation has an owner already.' },
  ]);
});

test('a seed makes people who are signed in, and rooms of them', async (context) => {
  const { folder, plans, tokens, login, withToken, passwords } = await startControl(context);
  let hashes = 0;
  const hash = passwords.hash.bind(passwords);
  passwords.hash = async (password) => {
    hashes += 1;
    return await hash(password);
  };
  const [first] = (await talk(folder, line('seed', { people: 3, rooms: 2, members: 2 }))) as [
    { result: Record<'people' | 'rooms', never[]> },
  ];
  const { people, rooms } = first.result as unknown as { people: Record<string, string>[]; rooms: unknown[] };
  assert.equal(hashes, 1);
  assert.deepEqual(
    people.map(({ username }) => username),
    ['load-00001', 'load-00002', 'load-00003'],
  );
  assert.deepEqual(rooms, [
    { id: 'c_1', members: ['load-00001', 'load-00002'] },
    { id: 'c_2', members: ['load-00003', 'load-00001'] },
  ]);
  assert.deepEqual(
    plans.map(({ members }) => members),
    rooms.map((room) => (room as { members: string[] }).members),
  );
  const person = people[0] as Record<'username' | 'password' | 'token' | 'device_id', string>;
  const { claims } = tokens.verify(person.token, Math.floor(systemClock.now() / 1000) + 29 * 86_400);
  assert.deepEqual([claims?.sub, claims?.dev, claims?.exp], ['load-00001', person.device_id, claims?.rnw]);
  assert.equal((await withToken('/v1/auth/renew', person.token)).status, 200);
  assert.equal((await login('load-00001', { password: person.password })).user, 'load-00001');
  const [again] = (await talk(folder, line('seed', { people: 1, rooms: 0, members: 1 }))) as [
    { result: { people: { username: string }[] } },
  ];
  assert.equal(again.result.people[0]?.username, 'load-00004');
});

test('several commands go over one connection, in order', async (context) => {
  const { folder } = await startControl(context);
  const lines = line('status') + line('user.list', { after: '', limit: 1 }) + line('backup', { out: '/somewhere' });
  assert.deepEqual(await talk(folder, lines, 3), [
    { ok: true, result: { state: 'running', sockets: 3 } },
    { ok: true, result: { items: [], next: null } },
    { ok: true, result: { folder: '/somewhere' } },
  ]);
});

const REFUSED: [string, string, string][] = [
  ['not JSON', 'hello\n', 'request_malformed'],
  ['not a request', '{"command":"status"}\n'.replace('}', ',"more":1}'), 'request_malformed'],
  ['a command that is not there', line('stop'), 'command_unknown'],
  ['a command of Object', line('constructor'), 'command_unknown'],
  ['a person that is not there', line('user.block', { username: 'nobody' }), 'person_unknown'],
  ['no username', line('user.block', {}), 'field_invalid'],
  ['a field too many', line('user.block', { username: 'alice', role: 'owner' }), 'field_invalid'],
  [
    'a short password',
    line('user.add', { username: 'alice', password: 'short', role: 'person' }),
    'password_too_short',
  ],
  ['rooms of more than there are', line('seed', { people: 2, rooms: 1, members: 3 }), 'field_invalid'],
  ['a relative path', line('backup', { out: 'here' }), 'field_invalid'],
];

test('what a command refuses has a code', async (context) => {
  const { folder } = await startControl(context);
  for (const [what, bytes, code] of REFUSED) {
    const [answer] = (await talk(folder, bytes)) as [{ ok: boolean; code: string }];
    assert.deepEqual([what, answer.ok, answer.code], [what, false, code]);
  }
});

test('a line of the largest size is read, one byte more closes the connection', async (context) => {
  const { folder } = await startControl(context);
  const fill = (length: number) => {
    const [head, tail] = line('status', { x: '?' }).trimEnd().split('?') as [string, string];
    return `${head}${'x'.repeat(length - head.length - tail.length)}${tail}\n`;
  };
  assert.deepEqual(await talk(folder, fill(CONTROL_REQUEST_BYTES_MAX)), [
    { ok: false, code: 'field_invalid', error: 'A field is missing or has a value that is not allowed.' },
  ]);
  const tooLong = [{ ok: false, code: 'line_too_long', error: 'The line is too long.' }];
  assert.deepEqual(await talk(folder, fill(CONTROL_REQUEST_BYTES_MAX + 1), 2), tooLong);
  assert.deepEqual(await talk(folder, 'x'.repeat(CONTROL_REQUEST_BYTES_MAX * 4), 2), tooLong);
});

test('a socket left by a server that died is replaced', async (context) => {
  const { folder, log } = await startCoordinator(context);
  writeFileSync(join(folder, 'control.sock'), '');
  const nothing = Object.fromEntries(Object.keys(CONTROL_FORMS).map((name) => [name, async () => ({})]));
  const control = await listenForControl(folder, nothing as never, log);
  assert.deepEqual(await talk(folder, line('status')), [{ ok: true, result: {} }]);
  await control.close();
});

test('a folder too deep for a socket is refused in words', async () => {
  const deep = `/${'deep/'.repeat(40)}`;
  assert.throws(() => controlAddress(deep), /lies too deep/);
});

test('a connection that sends no whole line is closed at the deadline', async (context) => {
  const { folder } = await startControl(context, 50);
  assert.deepEqual(await talk(folder, '{"command":'), []);
});

test('one connection more than there may be is closed, and the others are served', async (context) => {
  const { folder } = await startControl(context);
  const open = await Promise.all(
    Array.from({ length: CONTROL_CONNECTIONS_MAX }, async () => {
      const socket = connect(controlAddress(folder));
      await new Promise((resolve) => socket.once('connect', resolve));
      return socket;
    }),
  );
  assert.deepEqual(await talk(folder, line('status')), []);
  open.pop()?.destroy();
  // The server learns of the end of a connection a moment later.
  const served = await until(async () => {
    const answers = await talk(folder, line('status'));
    return answers.length > 0 && answers;
  }, 'the place to be free');
  assert.deepEqual(served, [{ ok: true, result: { state: 'running', sockets: 3 } }]);
  for (const socket of open) socket.destroy();
});
