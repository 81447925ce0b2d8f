import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Refusal } from '#src/protocol/errors.ts';
import { personRecord } from '#storage/accounts/account-records.ts';
import {
  Accounts,
  AccountsReader,
  CHANGES_WAITING_MAX,
  RESERVE_BYTES,
  SECRET_NAMES,
} from '#storage/accounts/accounts.ts';
import { folderPaths } from '#storage/engine/folder.ts';
import { KEY_RINGS } from '#storage/accounts/signing-keys.ts';
import { until } from '#test/support/waiting.ts';
import { PASSWORD, START, startCoordinator, temporaryFolder } from './coordinator-fixture.ts';

const PERSON = {
  username: 'alice',
  state: 'active',
  role: 'person',
  passwordHash: '$argon2id$x',
  createdAt: '2026-11-21T08:00:00.000Z',
} as const;

test('CRD-09 no password, token, invitation or login form is in any byte of the data folder', async (context) => {
  const { folder, invitations, people, login, post, withToken, logged } = await startCoordinator(context);
  const path = (await invitations.ensureOwnerInvitation()) as string;
  await post(path, { username: 'root', password: 'the password of the owner' });
  await people.add('alice', PASSWORD);
  const { refresh_token, token } = await login('alice');
  const renewed = (await withToken('/v1/auth/renew', token)).json.token as string;
  const next = (await post('/v1/auth/renew', { refresh_token })).json.refresh_token as string;
  const secrets = [PASSWORD, 'the password of the owner', path.split('/').at(-1) as string, token, renewed];
  const refreshing = [refresh_token as string, next].flatMap((each) => each.split('~').slice(3));
  assert.equal(refreshing.length, 4);
  const signatures = [token, renewed].map((each) => each.split('.')[2] as string);
  const parts = [...secrets, ...refreshing, ...signatures];
  const hasHash = () => readFileSync(join(folder, 'accounts.mdb')).includes('$argon2id$');
  await until(hasHash, 'what was written is brought from the log to the file');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    const bytes = readFileSync(join(parentPath, name));
    for (const secret of parts) assert.ok(!bytes.includes(secret), `${name} holds a secret.`);
  }
  for (const secret of parts) assert.ok(!logged.join('\n').includes(secret));
});

test('secrets are made once and stay', async (context) => {
  const folder = temporaryFolder(context);
  const first = await Accounts.open(folder);
  const all = (accounts: Accounts) => [
    ...SECRET_NAMES.map((name) => accounts.secret(name)),
    ...KEY_RINGS.map((ring) => accounts.signingKeys(ring)[0].key),
  ];
  const keys = all(first);
  assert.deepEqual(
    keys.map(({ length }) => length),
    [32, 32, 32, 32, 32],
  );
  assert.equal(new Set(keys.map((one) => Buffer.from(one).toString('hex'))).size, keys.length);
  await first.close();
  const second = await Accounts.open(folder);
  assert.deepEqual(
    all(second).map((key) => [...key]),
    keys.map((key) => [...key]),
  );
  await second.close();
});

test('CRD-08 the room for a full disk is made once, by the first change, and is there after a restart', async (context) => {
  const folder = temporaryFolder(context);
  const sizes: number[] = [];
  for (let start = 0; start < 3; start += 1) {
    const accounts = await Accounts.open(folder);
    // Changes right behind each other: none of them waits for the log to be applied.
    for (let n = 0; n < 20; n += 1) await accounts.change((draft) => draft.putPerson({ ...PERSON, username: `u${n}` }));
    await accounts.close();
    sizes.push(statSync(folderPaths(folder).accounts).size);
  }
  for (const size of sizes) assert.ok(size > RESERVE_BYTES && size < 2 * RESERVE_BYTES, sizes.join());
});

test('changes made at once are decided one after the other, and each sees those before', async (context) => {
  const accounts = await Accounts.open(temporaryFolder(context));
  const revs = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      accounts.change((draft) => draft.putPerson({ ...PERSON, username: `user${at}` })),
    ),
  );
  assert.deepEqual(
    revs,
    Array.from({ length: 100 }, (_, at) => at + 1),
  );
  assert.equal(accounts.directoryRev, 100);
  assert.deepEqual(
    accounts.people('', 3).map(({ username }) => username),
    ['user0', 'user1', 'user10'],
  );
  assert.deepEqual(
    accounts.people('user10', 2).map(({ username }) => username),
    ['user11', 'user12'],
  );
  await accounts.close();
});

test('a change that throws stores nothing of itself, and those around it are stored', async (context) => {
  const accounts = await Accounts.open(temporaryFolder(context));
  const before = accounts.change((draft) => draft.putPerson({ ...PERSON, username: 'before' }));
  const refused = accounts.change((draft) => {
    draft.putPerson(PERSON);
    throw new Refusal('username_taken');
  });
  const after = accounts.change((draft) => draft.putPerson({ ...PERSON, username: 'after' }));
  await assert.rejects(refused, (error: Refusal) => error.code === 'username_taken');
  assert.deepEqual([await before, await after], [1, 2]);
  assert.equal(accounts.person('alice'), undefined);
  await accounts.close();
});

test('one change more than may wait is busy', async (context) => {
  const accounts = await Accounts.open(temporaryFolder(context));
  const waiting = Array.from({ length: CHANGES_WAITING_MAX }, () => accounts.change(() => 1));
  await assert.rejects(
    accounts.change(() => 1),
    (error: Refusal) => error.code === 'busy',
  );
  await Promise.all(waiting);
  assert.equal(await accounts.change(() => 2), 2);
  await accounts.close();
});

test('texts that are no usernames are nobody', async (context) => {
  const accounts = await Accounts.open(temporaryFolder(context));
  for (const text of ['', 'a\0b', 'Alice', 'x'.repeat(5000), '\u{1f600}'])
    assert.equal(accounts.person(text), undefined);
  await accounts.close();
});

test('another thread reads what was committed, and nothing before', async (context) => {
  const folder = temporaryFolder(context);
  const accounts = await Accounts.open(folder);
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { AccountsReader } = await import(workerData.module);
    const reader = new AccountsReader(workerData.folder);
    parentPort.on('message', async (username) => {
      if (username === null) { await reader.close(); parentPort.close(); return; }
      reader.refresh();
      parentPort.postMessage([reader.isActive(username), reader.person(username)?.state, reader.revocations()]);
    });
    parentPort.postMessage('ready');`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: { module: new URL('../../storage/accounts/accounts.ts', import.meta.url).href, folder },
  });
  const next = async () =>
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  assert.equal(await next(), 'ready');
  const ask = async (username: string) => {
    worker.postMessage(username);
    return await next();
  };
  assert.deepEqual(await ask('alice'), [false, undefined, []]);
  await accounts.change((draft) => draft.putPerson(PERSON));
  assert.deepEqual(await ask('alice'), [true, 'active', []]);
  await accounts.change((draft) => {
    draft.putPerson({ ...PERSON, state: 'blocked' });
    draft.putRevocation({ sid: 's_1', until: 5 });
  });
  assert.deepEqual(await ask('alice'), [false, 'blocked', [{ sid: 's_1', until: 5 }]]);
  worker.postMessage(null);
  await new Promise((resolve) => worker.once('exit', resolve));
  await accounts.close();
});

test('a sweep removes what is over and leaves the rest', async (context) => {
  const folder = temporaryFolder(context);
  const accounts = await Accounts.open(folder);
  await accounts.change((draft) => {
    for (let number = 0; number < 2500; number += 1)
      draft.putRevocation({ sid: `s_${number}`, until: number % 2 === 0 ? 10 : 20 });
    draft.putInvitation('old', { kind: 'owner', expiresAt: 10, usedBy: undefined });
    draft.putInvitation('new', { kind: 'owner', expiresAt: 20, usedBy: undefined });
  });
  await accounts.sweep(11);
  assert.equal(accounts.revocations().length, 1250);
  assert.ok(accounts.revocations().every((one) => one.until === 20));
  assert.deepEqual(accounts.invitationHashes(), ['new']);
  await accounts.close();
});

test('everything is there after the file was closed and opened', async (context) => {
  const folder = temporaryFolder(context);
  const accounts = await Accounts.open(folder);
  const device = {
    id: 'd_1',
    name: 'phone',
    platform: 'ios',
    createdAt: '2026-11-21T08:00:00.000Z',
    usedAt: START / 1000,
  };
  const devices = [
    { ...device, session: { sid: 's_1', iat: 1, rnw: 2 } },
    { ...device, id: 'd_2', session: undefined },
  ];
  await accounts.change((draft) => {
    draft.putPerson(PERSON);
    draft.putDevices('alice', devices);
    draft.putInvitation('hash', { kind: 'owner', expiresAt: 7, usedBy: 'alice' });
  });
  await accounts.close();
  const reader = new AccountsReader(folder);
  assert.deepEqual(reader.person('alice'), { ...PERSON, rev: 1 });
  assert.deepEqual(reader.devices('alice'), devices);
  assert.deepEqual(reader.invitation('hash'), { kind: 'owner', expiresAt: 7, usedBy: 'alice' });
  assert.equal(reader.hasOwner, false);
  await reader.close();
});

test('a record of a version that is not known is refused, not guessed at', () => {
  const value = personRecord.encode({ ...PERSON, rev: 1 });
  value[0] = 9;
  assert.throws(() => personRecord.decode(value), /version 9; 1 is known/);
});
