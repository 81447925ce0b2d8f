/** The vault: its states, what it refuses in each, and what it says of itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '#src/protocol/errors.ts';
import { VAULT_SECRET_BYTES_MAX } from '#storage/vault/vault.ts';
import { vaultSecrets } from '#storage/vault/vault-secrets.ts';
import { eventsOf, MASTER, open, OTHER, OWNER, put, refusal, textOf } from './vault-fixture.ts';

test('while encryption is off, a secret is stored as it is, marked so', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  assert.equal(vault.state, 'off');
  assert.equal(vault.get('pseudonym_key'), undefined);
  assert.equal(vault.isSet('pseudonym_key'), false);
  await put(opened, 'pseudonym_key', 'sesame');
  assert.equal(textOf(vault, 'pseudonym_key'), 'sesame');
  assert.equal(accounts.document(vaultSecrets, 'pseudonym_key')?.sealed, false);
  assert.equal(vault.has('pseudonym_key'), true);
  await accounts.change((draft) => vault.remove(draft, 'pseudonym_key'));
  assert.equal(vault.get('pseudonym_key'), undefined);
});

test('enabling seals what there was and what comes, and no stored value holds the secret', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  await put(opened, 'totp:alice', 'before');
  await vault.enable(MASTER, OWNER);
  await put(opened, 'totp:bob', 'behind');
  assert.equal(vault.state, 'unlocked');
  assert.equal(textOf(vault, 'totp:alice'), 'before');
  assert.equal(textOf(vault, 'totp:bob'), 'behind');
  for (const [name, text] of [
    ['totp:alice', 'before'],
    ['totp:bob', 'behind'],
  ] as const) {
    const stored = accounts.document(vaultSecrets, name);
    assert.equal(stored?.sealed, true);
    assert.equal(Buffer.from(stored.value).includes(text), false);
  }
  assert.equal(vault.ring?.isSealing, false);
  assert.deepEqual(eventsOf(accounts), [['encryption.enabled', 'user:alice', '10.0.0.7']]);
});

test('a second enabling is refused and takes no key away', async (t) => {
  const opened = await open(t);
  const { vault } = opened;
  const [first, second] = await Promise.allSettled([vault.enable(MASTER, OWNER), vault.enable(OTHER, OWNER)]);
  assert.equal(first.status, 'fulfilled');
  assert.ok(second.status === 'rejected' && refusal('encryption_on')(second.reason));
  await put(opened, 'a', 'x');
  assert.equal(textOf(vault, 'a'), 'x');
});

test('locked, nothing is read or put, and what is set can still be seen and removed', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  await put(opened, 'totp:alice', 'x');
  await vault.enable(MASTER, OWNER);
  await vault.lock(OWNER);
  assert.equal(vault.state, 'locked');
  assert.throws(() => vault.get('totp:alice'), refusal('encryption_locked'));
  await assert.rejects(put(opened, 'totp:bob', 'y'), refusal('encryption_locked'));
  await assert.rejects(vault.rotateMasterKey(OTHER, OWNER), refusal('encryption_locked'));
  await assert.rejects(vault.rotateDataKey(OWNER), refusal('encryption_locked'));
  assert.equal(vault.get('totp:bob'), undefined);
  assert.equal(vault.isSet('totp:alice'), true);
  assert.equal(vault.has('totp:alice'), false);
  await accounts.change((draft) => vault.remove(draft, 'totp:alice'));
  assert.equal(vault.isSet('totp:alice'), false);
  await assert.rejects(
    vault.lock(OWNER).then(() => vault.enable(MASTER, OWNER)),
    refusal('encryption_on'),
  );
});

test('a locked refusal tells a client to come back after a minute', async (t) => {
  const opened = await open(t);
  await put(opened, 'a', 'x');
  await opened.vault.enable(MASTER, OWNER);
  await opened.vault.lock(OWNER);
  assert.throws(
    () => opened.vault.get('a'),
    (error) => error instanceof Refusal && error.retryAfter === 60,
  );
});

test('another process starts locked, and the wrong master key opens nothing', async (t) => {
  const first = await open(t);
  await put(first, 'a', 'x');
  await first.vault.enable(MASTER, OWNER);
  await first.accounts.close();
  const { accounts, vault } = await open(t, first.folder);
  assert.equal(vault.state, 'locked');
  await assert.rejects(vault.unlock(OTHER, OWNER), refusal('master_key_wrong'));
  assert.equal(vault.state, 'locked');
  await vault.unlock(MASTER, OWNER);
  assert.equal(textOf(vault, 'a'), 'x');
  await assert.rejects(vault.unlock(OTHER, OWNER), refusal('master_key_wrong'));
  assert.equal(vault.state, 'unlocked');
  assert.deepEqual(
    eventsOf(accounts).map(([event]) => event),
    ['encryption.enabled', 'encryption.unlock_failed', 'encryption.unlocked', 'encryption.unlock_failed'],
  );
});

test('where encryption is off there is nothing to unlock, lock, rotate or print', async (t) => {
  const { vault } = await open(t);
  for (const refused of [
    () => vault.unlock(MASTER, OWNER),
    () => vault.lock(OWNER),
    () => vault.rotateMasterKey(MASTER, OWNER),
    () => vault.rotateDataKey(OWNER),
    async () => vault.recoverySheet(),
  ]) {
    await assert.rejects(refused(), refusal('encryption_off'));
  }
});

test('a master key of another length is refused', async (t) => {
  const { vault } = await open(t);
  for (const bytes of [0, 31, 33]) {
    await assert.rejects(vault.enable(Buffer.alloc(bytes), OWNER), refusal('field_invalid'));
  }
  assert.equal(vault.state, 'off');
});

test('a secret at the limit is kept, one byte more is refused', async (t) => {
  const { accounts, vault } = await open(t);
  await vault.enable(MASTER, OWNER);
  const store = (bytes: number) => accounts.change((draft) => vault.put(draft, 'tls', Buffer.alloc(bytes, 7)));
  await store(VAULT_SECRET_BYTES_MAX);
  await assert.rejects(store(VAULT_SECRET_BYTES_MAX + 1), refusal('field_invalid'));
  assert.equal(vault.get('tls')?.length, 65_536);
});

test('what enters in the same commit behind the enabling is sealed', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  const enabling = vault.enable(MASTER, OWNER);
  await Promise.resolve();
  await Promise.all([enabling, put(opened, 'a', 'x')]);
  assert.equal(accounts.document(vaultSecrets, 'a')?.sealed, true);
  assert.equal(textOf(vault, 'a'), 'x');
});

test('a lock that comes behind an unlock leaves the vault locked', async (t) => {
  const { vault } = await open(t);
  await vault.enable(MASTER, OWNER);
  await vault.lock(OWNER);
  await Promise.all([vault.unlock(MASTER, OWNER), vault.lock(OWNER)]);
  assert.equal(vault.state, 'locked');
});

test('the configured master key enables at the first start and unlocks at the next', async (t) => {
  const first = await open(t);
  await first.vault.loadConfigured(MASTER);
  assert.equal(first.vault.state, 'unlocked');
  await put(first, 'a', 'x');
  await first.accounts.close();
  const second = await open(t, first.folder);
  await assert.rejects(second.vault.loadConfigured(OTHER), refusal('master_key_wrong'));
  assert.equal(second.vault.state, 'locked');
  await second.vault.loadConfigured(MASTER);
  assert.equal(textOf(second.vault, 'a'), 'x');
  assert.deepEqual(eventsOf(second.accounts), [
    ['encryption.enabled', 'server', null],
    ['encryption.unlock_failed', 'server', null],
    ['encryption.unlocked', 'server', null],
  ]);
});

test('the coverage counts by purpose and key, locked too', async (t) => {
  const opened = await open(t);
  const { vault } = opened;
  await put(opened, 'totp:alice', 'x');
  await put(opened, 'totp:bob', 'x');
  await put(opened, 'sso_secret', 'x');
  const off = await vault.coverage();
  assert.deepEqual([off.state, off.sealed, off.plain, off.keys], ['off', 0, 3, []]);
  assert.deepEqual(off.purposes, [
    { purpose: 'sso_secret', sealed: 0, plain: 1 },
    { purpose: 'totp', sealed: 0, plain: 2 },
  ]);
  await vault.enable(MASTER, OWNER);
  await vault.lock(OWNER);
  const locked = await vault.coverage();
  assert.deepEqual([locked.state, locked.sealed, locked.plain], ['locked', 3, 0]);
  assert.deepEqual(
    locked.keys.map(({ isCurrent, secrets, createdAt }) => [isCurrent, secrets, createdAt]),
    [[true, 3, '2026-11-21T08:00:00.000Z']],
  );
});

test('the recovery sheet names keys and a check value, and the master key only to who brings it', async (t) => {
  const { vault } = await open(t);
  await vault.enable(MASTER, OWNER);
  const sheet = vault.recoverySheet();
  assert.equal(sheet.checkValue, vault.ring?.master.checkValue);
  assert.match(sheet.checkValue, /^[0-9a-f]{16}$/);
  assert.equal(sheet.masterKey, undefined);
  assert.equal(sheet.dataKeys.length, 1);
  assert.equal(JSON.stringify(sheet).includes('01010101'), false);
  assert.equal(vault.recoverySheet(MASTER).masterKey, '01'.repeat(32));
  assert.throws(() => vault.recoverySheet(OTHER), refusal('master_key_wrong'));
  await vault.lock(OWNER);
  assert.equal(vault.recoverySheet().checkValue, sheet.checkValue);
  // Another installation with the same master key shows the same check value: it follows from the key alone.
  const other = await open(t);
  await other.vault.enable(MASTER, OWNER);
  assert.equal(other.vault.recoverySheet().checkValue, sheet.checkValue);
  assert.notEqual(other.vault.recoverySheet().masterKeyId, sheet.masterKeyId);
});
