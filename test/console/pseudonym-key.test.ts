/** The key of pseudonyms: made once, kept in the vault, temporary while the vault is locked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PseudonymKey } from '#src/console/pseudonym-key.ts';
import { vaultSecrets } from '#storage/vault/vault-secrets.ts';
import { clock, eventsOf, MASTER, open, OWNER, type Opened } from '#test/storage/vault-fixture.ts';

const keyOf = ({ accounts, vault }: Opened) => new PseudonymKey({ accounts, vault, clock });
const read = async (key: PseudonymKey): Promise<string> => Buffer.from(await key.read()).toString('hex');

test('RED-08 the key is made at the first read, and is the same at every other', async (t) => {
  const first = await open(t);
  const key = keyOf(first);
  assert.equal(first.vault.isSet('pseudonym_key'), false);
  const [one, two] = await Promise.all([read(key), read(key)]);
  assert.match(one, /^[0-9a-f]{64}$/);
  assert.equal(two, one);
  assert.deepEqual(eventsOf(first.accounts), [['pseudonym_key.made', 'server', null]]);
  await first.accounts.close();
  const second = await open(t, first.folder);
  assert.equal(await read(keyOf(second)), one);
  assert.deepEqual(eventsOf(second.accounts), [['pseudonym_key.made', 'server', null]]);
});

test('RED-08 the key is sealed under the master key when encryption at rest is on', async (t) => {
  const opened = await open(t);
  const before = await read(keyOf(opened));
  await opened.vault.enable(MASTER, OWNER);
  assert.equal(await read(keyOf(opened)), before);
  const stored = opened.accounts.document(vaultSecrets, 'pseudonym_key');
  assert.equal(stored?.sealed, true);
  assert.equal(Buffer.from(stored.value).includes(Buffer.from(before, 'hex')), false);
});

test('RED-09 while locked a temporary key is used, another one after a restart, and the true one after unlocking', async (t) => {
  const first = await open(t);
  await first.vault.enable(MASTER, OWNER);
  const key = keyOf(first);
  const kept = await read(key);
  await first.vault.lock(OWNER);
  const temporary = await read(key);
  assert.notEqual(temporary, kept);
  assert.equal(await read(key), temporary);
  await first.accounts.close();
  const second = await open(t, first.folder);
  const later = keyOf(second);
  const otherTemporary = await read(later);
  assert.notEqual(otherTemporary, temporary);
  assert.notEqual(otherTemporary, kept);
  await second.vault.unlock(MASTER, OWNER);
  assert.equal(await read(later), kept);
});

test('RED-09 a first read while locked makes no key', async (t) => {
  const opened = await open(t);
  await opened.vault.enable(MASTER, OWNER);
  await opened.vault.lock(OWNER);
  const temporary = await read(keyOf(opened));
  assert.equal(opened.vault.isSet('pseudonym_key'), false);
  await opened.vault.unlock(MASTER, OWNER);
  assert.notEqual(await read(keyOf(opened)), temporary);
});

test('RED-09 a lock that comes behind the first read leaves no raw answer and no error', async (t) => {
  const opened = await open(t);
  await opened.vault.enable(MASTER, OWNER);
  const key = keyOf(opened);
  const [made] = await Promise.all([read(key), opened.vault.lock(OWNER)]);
  const temporary = await read(key);
  // The lock was first: the key of this process served both.
  assert.equal(made, temporary);
  assert.equal(opened.vault.isSet('pseudonym_key'), false);
});
