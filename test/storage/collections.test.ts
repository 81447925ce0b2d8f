/** Collections: documents of one noun, in order, in versions, and checked whatever their noun. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openEnvironment } from '#storage/accounts/accounts-reader.ts';
import { checkFolder } from '#storage/check/check.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { RING, vaultKeys } from '#storage/vault/key-ring.ts';
import { key } from '#storage/engine/keys.ts';
import { Vault } from '#storage/vault/vault.ts';
import { vaultSecrets } from '#storage/vault/vault-secrets.ts';
import { ActorHost } from '#test/actors/actor-host.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

interface Ship {
  readonly name: string;
  readonly masts: number;
}
const ships = defineCollection<Ship>('ships', { version: 1 });
const shipsLater = defineCollection<Ship & { readonly flag: string }>('ships', {
  version: 3,
  upgrade: (document, version) => ({ ...(document as Ship), flag: `from ${version}` }),
});
const shipyards = defineCollection<Ship>('shipyards', { version: 1 });

async function open(t: TestContext): Promise<Accounts> {
  const accounts = await Accounts.open(temporaryFolder(t));
  t.after(() => accounts.close());
  return accounts;
}

test('documents come back as they were put, and are gone when removed', async (t) => {
  const accounts = await open(t);
  const whole = { name: 'Ёлка', masts: 2.5, list: [1, null, 'x'], bytes: Buffer.of(1, 2), deep: { a: { b: false } } };
  const wholes = defineCollection<typeof whole>('wholes', { version: 1 });
  await accounts.change((draft) => draft.putDocument(wholes, 'w:1', whole));
  assert.deepEqual(accounts.document(wholes, 'w:1'), whole);
  await accounts.change((draft) => draft.removeDocument(wholes, 'w:1'));
  assert.equal(accounts.document(wholes, 'w:1'), undefined);
});

test('a collection is read in the order of its ids, page by page, and holds nobody else’s documents', async (t) => {
  const accounts = await open(t);
  await accounts.change((draft) => {
    for (const id of ['b', 'a', 'a:1', 'a1', 'c']) draft.putDocument(ships, id, { name: id, masts: 1 });
    draft.putDocument(shipyards, 'a', { name: 'other', masts: 0 });
  });
  const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);
  assert.deepEqual(ids(accounts.documents(ships)), ['a', 'a1', 'a:1', 'b', 'c']);
  assert.deepEqual(ids(accounts.documents(ships, { limit: 2 })), ['a', 'a1']);
  assert.deepEqual(ids(accounts.documents(ships, { after: 'a1', limit: 2 })), ['a:1', 'b']);
  assert.deepEqual(ids(accounts.documents(ships, { after: 'c' })), []);
  assert.deepEqual(ids(accounts.documents(shipyards)), ['a']);
});

test('a document of an earlier version is upgraded, one of a later version is refused', async (t) => {
  const accounts = await open(t);
  await accounts.change((draft) => draft.putDocument(ships, 's', { name: 'old', masts: 1 }));
  assert.deepEqual(accounts.document(shipsLater, 's'), { name: 'old', masts: 1, flag: 'from 1' });
  await accounts.change((draft) => draft.putDocument(shipsLater, 's', { name: 'new', masts: 1, flag: 'x' }));
  assert.throws(() => accounts.document(ships, 's'), /A document of ships has version 3; 1 is known\./);
});

test('an id that names nothing reads as nothing and cannot be put', async (t) => {
  const accounts = await open(t);
  const longest = 'x'.repeat(200);
  await accounts.change((draft) => draft.putDocument(ships, longest, { name: 'x', masts: 0 }));
  assert.equal(accounts.document(ships, longest)?.name, 'x');
  for (const id of ['', 'a\0b', 'a/b', 'ы', 'x'.repeat(201)]) {
    assert.equal(accounts.document(ships, id), undefined);
    await assert.rejects(
      accounts.change((draft) => draft.putDocument(ships, id, { name: 'x', masts: 0 })),
      /cannot name a document of ships/,
    );
    await accounts.change((draft) => draft.removeDocument(ships, id));
  }
});

test('a draft sees what the changes before it in the same commit did', async (t) => {
  const accounts = await open(t);
  const [, seen] = await Promise.all([
    accounts.change((draft) => draft.putDocument(ships, 's', { name: 'first', masts: 1 })),
    accounts.change((draft) => draft.document(ships, 's')?.name),
    accounts.change((draft) => draft.removeDocument(ships, 's')),
  ]);
  assert.equal(seen, 'first');
  assert.equal(accounts.document(ships, 's'), undefined);
});

/** A folder of a stopped server with a ship, an unlocked vault's two secrets, and what was planted. */
async function planted(t: TestContext, id: string, value: Buffer | null, collection = 'ships'): Promise<string[]> {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await host.close();
  const accounts = await Accounts.open(folder);
  const vault = new Vault({ accounts, clock: { now: () => 1_795_248_000_000 }, warn: assert.ifError });
  await vault.enable(Buffer.alloc(32, 1), { actor: 'user:alice', address: null });
  await accounts.change((draft) => {
    draft.putDocument(ships, 's', { name: 'x', masts: 1 });
    vault.put(draft, 'totp:alice', Buffer.from('one'));
  });
  await accounts.close();
  const environment = openEnvironment(folder, 'write');
  await environment.commit([{ table: 'documents', key: key(collection, id), value }]);
  await environment.close();
  return (await checkFolder(folder)).problems.map((problem) => problem.replace('In the accounts, ', ''));
}

test('sound documents and a sound vault have no problems', async (t) => {
  assert.deepEqual(await planted(t, 't', ships.encode({ name: 'y', masts: 2 })), []);
});

test('a document that cannot be read is found, whatever its noun', async (t) => {
  const cases: readonly [Buffer, RegExp][] = [
    [Buffer.alloc(0), /^documents \[ships, s\] cannot be read \(no version\)\.$/],
    [Buffer.of(0, 0x80), /^documents \[ships, s\] cannot be read \(no version\)\.$/],
    [Buffer.of(1), /^documents \[ships, s\] cannot be read \(.+\)\.$/],
    [Buffer.of(1, 0x92, 1), /^documents \[ships, s\] cannot be read \(.+\)\.$/],
    [Buffer.of(1, 0x80, 0x80), /^documents \[ships, s\] cannot be read \(.+\)\.$/],
  ];
  for (const [value, sentence] of cases) {
    const problems = await planted(t, 's', value);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', sentence);
  }
});

test('a document under a key that none has is found', async (t) => {
  const problems = await planted(t, 'a/b', ships.encode({ name: 'y', masts: 2 }));
  assert.deepEqual(problems, ['documents [ships, a/b] has a key that no document has.']);
});

test('secrets that disagree with the key ring are found', async (t) => {
  const name = vaultSecrets.name;
  const stored = (sealed: boolean, value: Buffer) => vaultSecrets.encode({ sealed, value });
  assert.deepEqual(await planted(t, 'totp:alice', stored(false, Buffer.from('plain')), name), [
    'documents [vault_secrets, totp:alice] is not sealed, and encryption at rest is on.',
  ]);
  assert.deepEqual(await planted(t, 'totp:alice', stored(true, Buffer.alloc(36, 1)), name), [
    'documents [vault_secrets, totp:alice] is marked as sealed and is not.',
  ]);
  assert.deepEqual(await planted(t, 'totp:alice', stored(true, Buffer.alloc(37, 1)), name), [
    'documents [vault_secrets, totp:alice] is sealed under the key 0101010101010101, which is not there.',
  ]);
  const [withoutRing = '', ...more] = await planted(t, RING, null, vaultKeys.name);
  assert.match(
    withoutRing,
    /^documents \[vault_secrets, totp:alice\] is sealed under the key [0-9a-f]{16}, which is not/,
  );
  assert.deepEqual(more, []);
});
