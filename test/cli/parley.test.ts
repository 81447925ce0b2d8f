import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CommandError, UsageError } from '#src/cli/command-error.ts';
import { readCommandLine } from '#src/cli/command-line.ts';
import { openOffline } from '#src/cli/offline.ts';
import { readConfig } from '#src/config.ts';
import { FactorRemovals } from '#src/directory/factor-removals.ts';
import { systemClock } from '#src/base/clock.ts';
import { makeControlHandlers, type ControlCommand, type ControlForm } from '#src/server/control/control-commands.ts';
import { listenForControl } from '#src/server/control/control-server.ts';
import { Seeder } from '#src/server/seed.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { lockFolder, openFolder } from '#storage/engine/folder.ts';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';
import { PASSWORD, startCoordinator, temporaryFolder } from '../coordinator/coordinator-fixture.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly said: string;
}

/** Runs the command with that standard input, and answers its exit status and what it wrote. */
async function parley(words: readonly string[], input = '', environment: Record<string, string> = {}): Promise<Ran> {
  const env = { ...BARE_ENVIRONMENT, PARLEY_PASSWORD_MEMORY_KIB: '64', ...environment };
  const child = spawn(process.execPath, [...PARLEY, ...words], { env, stdio: 'pipe' });
  let [out, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // A command that reads no password may be gone before it was offered one.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, out, said };
}

/** A server as far as the command sees one: the folder's lock, its people, and the control socket. */
async function startServer(context: TestContext) {
  const coordinator = await startCoordinator(context);
  const { accounts, announcer, folder, invitations, log, passwordResets, passwords, people, tokens } = coordinator;
  const lock = await lockFolder(folder);
  const seeder = new Seeder({
    accounts,
    passwords,
    tokens,
    announcer,
    clock: systemClock,
    makeRooms: async (rooms) => rooms.map((_, at) => `c_${at}`),
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
  const control = await listenForControl(folder, handlers, log);
  context.after(async () => {
    await control.close();
    lock.release();
  });
  return coordinator;
}

test('on a stopped server: init, add, block, list, status', async (context) => {
  const data = join(temporaryFolder(context), 'data');
  const at = ['--data', data];
  assert.deepEqual(await parley(['init', '--owner', 'root', ...at], `${PASSWORD}\n`), {
    status: 0,
    out: 'root owns this installation.\n',
    said: '',
  });
  assert.equal(statSync(data).mode & 0o777, 0o700);
  assert.deepEqual(await parley(['user', 'add', 'alice', ...at], `${PASSWORD}\r\n`), {
    status: 0,
    out: 'alice was added.\n',
    said: '',
  });
  assert.deepEqual(await parley(['user', 'block', 'alice', ...at]), {
    status: 0,
    out: 'alice is blocked.\n',
    said: '',
  });
  assert.deepEqual(await parley(['user', 'list', ...at]), {
    status: 0,
    out: 'alice\tblocked\tperson\t0\nroot\tactive\towner\t0\n',
    said: '',
  });
  assert.deepEqual(await parley(['user', 'unblock', 'alice'], '', { PARLEY_DATA: data }), {
    status: 0,
    out: 'alice may sign in again.\n',
    said: '',
  });
  const lines = /^session_key: (\w{8})\nlink_key: \w{8}\nsessions_until: 2\S+Z\nlinks_until: 2\S+Z\n$/;
  const [rotated, atOnce] = [
    await parley(['keys', 'rotate', ...at]),
    await parley(['keys', 'rotate', '--at-once', ...at]),
  ];
  for (const { out, said } of [rotated, atOnce]) assert.match(out, lines, said);
  const accounts = await Accounts.open(data);
  assert.deepEqual(
    accounts.signingKeys('session_keys').map(({ id }) => id),
    [lines.exec(atOnce.out)?.[1]],
  );
  await accounts.close();
  const status = await parley(['status', ...at]);
  assert.equal(status.status, 1);
  assert.match(status.out, /^state: stopped\n/);
  assert.match(status.out, /^people: 2$/m);
});

test('what is refused says why on standard error and exits with 1', async (context) => {
  const folder = temporaryFolder(context);
  const data = join(folder, 'data');
  const at = ['--data', data];
  await parley(['init', '--owner', 'root', ...at], PASSWORD);
  const refused = async (words: string[], input: string, said: string) =>
    assert.deepEqual(await parley([...words, ...at], input), { status: 1, out: '', said: `parley: ${said}\n` });
  await refused(['init', '--owner', 'other'], PASSWORD, 'This installation has an owner already.');
  await refused(['invite', 'owner'], '', 'This installation has an owner already.');
  await refused(['user', 'add', 'root'], PASSWORD, 'The username is taken.');
  await refused(['user', 'add', 'alice'], '', 'There is no password on standard input.');
  await refused(['user', 'add', 'alice'], 'x'.repeat(2000), 'Standard input holds more than a password.');
  // What the command is told, it says: the rest is asked as it asks.
  const connection = await openOffline(readConfig({ PARLEY_DATA: data, PARLEY_PASSWORD_MEMORY_KIB: '64' }), false);
  const told = async <C extends ControlCommand>(command: C, form: ControlForm<C>, message: string) =>
    await assert.rejects(
      connection.call(command, form),
      (error) => error instanceof CommandError && error.message === message,
    );
  const person = { password: PASSWORD, role: 'person' } as const;
  await told(
    'user.add',
    { ...person, username: 'Alice' },
    'A field is missing or has a value that is not allowed. (username)',
  );
  await told(
    'user.add',
    { ...person, username: 'alice', password: 'short' },
    'This password is too short; take 8 characters or more. (password)',
  );
  await told('user.block', { username: 'nobody' }, 'There is no person nobody.');
  await told('user.reset', { username: 'nobody' }, 'There is no person nobody.');
  await told('owner.reset', { username: 'bob' }, 'Name one of the owners with --name. Owners: root.');
  await told(
    'user.reset',
    { username: 'root' },
    'The password of an owner is reset on the host of the server, by the command parley owner reset.',
  );
  await connection.close();
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const nothing = await parley(['user', 'add', 'alice', '--data', empty], PASSWORD);
  assert.deepEqual(
    [nothing.status, nothing.said],
    [1, `parley: ${empty} has no readable manifest.json: it is not a data folder of Parley.\n`],
  );
  const wrong = await parley(['user', 'list', ...at], '', { PARLEY_SHARDS: 'many' });
  assert.equal(wrong.status, 1);
  assert.match(wrong.said, /^parley: PARLEY_SHARDS is "many"/);
});

test('CRD-12 a link to reset a password is printed alone, on a running and on a stopped server', async (context) => {
  const { folder, people } = await startServer(context);
  await people.addOwner('root', PASSWORD);
  await people.add('alice', PASSWORD);
  const at = ['--data', folder];
  const person = await parley(['user', 'reset', 'alice', ...at]);
  assert.match(person.out, /^https:\/\/chat\.example\.org\/v1\/password-reset\/rst_[0-9a-z]{32}\n$/, person.said);
  assert.match(person.said, /^Whoever opens this link sets the password of alice, once, until \S+Z:\n$/);
  const data = join(temporaryFolder(context), 'data');
  await parley(['init', '--owner', 'olga', '--data', data], PASSWORD);
  const owner = await parley(['owner', 'reset', '--data', data]);
  assert.match(owner.out, /^http:\/\/127\.0\.0\.1:8080\/v1\/password-reset\/rst_[0-9a-z]{32}\n$/, owner.said);
  assert.match(owner.said, /the password of olga/);
});

test('a folder that a process without a control socket has is refused', async (context) => {
  const data = temporaryFolder(context);
  openFolder(data, 4, '2026-11-21T08:00:00.000Z');
  const lock = await lockFolder(data);
  context.after(() => lock.release());
  const { status, said } = await parley(['user', 'list', '--data', data]);
  assert.deepEqual([status, said], [1, `parley: ${data} is in use by another process.\n`]);
});

test('wrong usage exits with 2 and says what is right', async () => {
  const dance = await parley(['dance']);
  const said = 'parley: There is no command "dance". See: parley help\n';
  assert.deepEqual(dance, { status: 2, out: '', said });
  const usage = (words: string[], message: RegExp) =>
    assert.throws(
      () => readCommandLine(words),
      (error) => error instanceof UsageError && message.test(error.message),
      words.join(' '),
    );
  usage(['dance'], /^There is no command "dance"\. See: parley help$/);
  usage(['user'], /There is no command "user"/);
  usage(['user', 'add'], /^Usage: parley user add NAME \[--data FOLDER\]$/);
  usage(['user', 'add', 'a', 'b'], /Usage: parley user add NAME/);
  usage(['init'], /Usage: parley init --owner NAME/);
  usage(['user', 'add', 'alice', '--password', 'x'], /Unknown option '--password'/);
  usage(['backup', '--out'], /argument missing/);
  const invite = await parley(['invite', 'guest']);
  assert.deepEqual([invite.status, invite.out], [2, '']);
  assert.match(invite.said, /Usage: parley invite owner/);
  const seed = await parley(['seed', '--people', 'many', '--rooms', '1', '--members', '1', '--out', 'x']);
  assert.deepEqual([seed.status, seed.out], [2, '']);
  assert.match(seed.said, /--people takes a whole number, not "many"/);
});

test('help names every command', async () => {
  const { status, out } = await parley(['help']);
  assert.equal(status, 0);
  for (const command of [
    'init',
    'invite',
    'user add',
    'user block',
    'user unblock',
    'user list',
    'seed',
    'status',
    'backup',
    'restore',
    'audit export',
    'audit verify',
    'keys rotate',
    'check',
    'help',
  ]) {
    assert.match(out, new RegExp(`^  parley ${command} `, 'm'));
  }
  assert.deepEqual(readCommandLine([]), readCommandLine(['help']));
});

test('on a running server: add, sign in, block, and the session ends', async (context) => {
  const { folder, login, withToken, announced } = await startServer(context);
  const at = ['--data', folder];
  assert.equal((await parley(['user', 'add', 'alice', ...at], PASSWORD)).status, 0);
  const { token } = await login('alice');
  assert.deepEqual(await parley(['user', 'block', 'alice', ...at]), {
    status: 0,
    out: 'alice is blocked.\n',
    said: '',
  });
  assert.deepEqual(
    announced.map(({ what }) => what),
    ['directory', 'revoked', 'directory'],
  );
  assert.equal((await withToken('/v1/auth/renew', token)).json.code, 'session_revoked');
  assert.deepEqual(await parley(['user', 'block', 'bob', ...at]), {
    status: 1,
    out: '',
    said: 'parley: There is no person bob.\n',
  });
  assert.deepEqual(await parley(['status', ...at]), { status: 0, out: 'state: running\nsockets: 3\n', said: '' });
  assert.match(
    (await parley(['invite', 'owner', ...at])).out,
    /^https:\/\/chat\.example\.org\/v1\/enroll\/inv_[0-9a-z]{32}\n$/,
  );
  for (const words of [['check'], ['restore', '--from', '/nowhere']]) {
    const { status, said } = await parley([...words, ...at]);
    assert.deepEqual([status, said], [1, `parley: A server is running on ${folder}: stop it first.\n`]);
  }
});

test('a seed writes a file for its owner alone, and never over another', async (context) => {
  const { folder, withToken } = await startServer(context);
  const out = join(temporaryFolder(context), 'seed.json');
  const words = ['seed', '--people', '3', '--rooms', '1', '--members', '2', '--out', out, '--data', folder];
  const { status, out: text } = await parley(words);
  assert.deepEqual([status, text], [0, `3 people and 1 rooms were added; ${out} has their tokens.\n`]);
  assert.equal(statSync(out).mode & 0o777, 0o600);
  const seeded = JSON.parse(readFileSync(out, 'utf8')) as { people: Record<string, string>[]; rooms: unknown[] };
  assert.equal(seeded.people.length, 3);
  for (const person of seeded.people)
    assert.deepEqual(Object.keys(person).toSorted(), ['device_id', 'password', 'token', 'username']);
  assert.deepEqual(seeded.rooms, [{ id: 'c_0', members: ['load-00001', 'load-00002'] }]);
  const answer = await withToken('/v1/auth/renew', seeded.people[0]?.['token'] as string);
  assert.equal(answer.status, 200);
  writeFileSync(out, 'mine');
  assert.equal((await parley(words)).status, 1);
  assert.equal(readFileSync(out, 'utf8'), 'mine');
});

test('a seed that is refused leaves no file', async (context) => {
  const { folder } = await startServer(context);
  const out = join(temporaryFolder(context), 'seed.json');
  const { status } = await parley([
    'seed',
    '--people',
    '1',
    '--rooms',
    '1',
    '--members',
    '2',
    '--out',
    out,
    '--data',
    folder,
  ]);
  assert.equal(status, 1);
  assert.throws(() => statSync(out), { code: 'ENOENT' });
});
