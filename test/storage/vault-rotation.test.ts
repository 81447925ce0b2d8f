/** Sealing everything, and sealing it anew: bounded commits that a crash, a lock or damage may stop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RING, vaultKeys } from '#storage/vault/key-ring.ts';
import { SEAL_STEP, Vault, type VaultStore } from '#storage/vault/vault.ts';
import { vaultSecrets } from '#storage/vault/vault-secrets.ts';
import { clock, crashing, MASTER, open, OTHER, OWNER, put, refusal, textOf, type Opened } from './vault-fixture.ts';

const MANY = SEAL_STEP * 2 + 10;
async function putMany({ accounts, vault }: Pick<Opened, 'accounts' | 'vault'>): Promise<void> {
  await accounts.change((draft) => {
    for (let i = 0; i < MANY; i += 1) vault.put(draft, `totp:p${i}`, Buffer.from(`secret ${i}`));
  });
}

test('an enabling that could not be stored leaves encryption off', async (t) => {
  const { accounts } = await open(t);
  const store = crashing(accounts, 0);
  const vault = new Vault({ accounts: store, clock, warn: () => undefined });
  await assert.rejects(vault.enable(MASTER, OWNER), /crash/);
  assert.equal(vault.state, 'off');
  await put({ accounts, vault }, 'a', 'x');
  assert.equal(textOf(vault, 'a'), 'x');
});

for (const changes of [1, 2, 3, 4]) {
  test(`enabling that a crash stops after ${changes} of its 5 commits goes on at the next unlock`, async (t) => {
    const first = await open(t);
    const warnings: Error[] = [];
    const store = crashing(first.accounts, changes);
    const dying = new Vault({ accounts: store, clock, warn: (error) => warnings.push(error) });
    await putMany({ accounts: first.accounts, vault: dying });
    await dying.enable(MASTER, OWNER);
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['crash'],
    );
    const sealedBefore = (await dying.coverage()).sealed;
    assert.equal(sealedBefore, Math.min((changes - 1) * SEAL_STEP, MANY));
    await first.accounts.close();

    const second = await open(t, first.folder);
    assert.equal(second.vault.ring?.isSealing, true);
    assert.throws(() => second.vault.get('totp:p0'), refusal('encryption_locked'));
    await second.vault.unlock(MASTER, OWNER);
    const { sealed, plain, isSealing, damaged } = await second.vault.coverage();
    assert.deepEqual(
      { sealed, plain, isSealing, damaged: damaged.count },
      { sealed: MANY, plain: 0, isSealing: false, damaged: 0 },
    );
    assert.equal(textOf(second.vault, `totp:p${MANY - 1}`), `secret ${MANY - 1}`);
  });

  test(`a new data key that a crash stops after ${changes} of its 5 commits replaces the old one later`, async (t) => {
    const first = await open(t);
    await putMany(first);
    await first.vault.enable(MASTER, OWNER);
    const old = first.vault.ring?.current ?? '';
    await first.vault.close();
    const dying = new Vault({ accounts: crashing(first.accounts, changes + 1), clock, warn: () => undefined });
    await dying.unlock(MASTER, OWNER);
    await dying.rotateDataKey(OWNER);
    assert.equal(textOf(dying, 'totp:p0'), 'secret 0');
    assert.equal(textOf(dying, `totp:p${MANY - 1}`), `secret ${MANY - 1}`);
    await first.accounts.close();

    const second = await open(t, first.folder);
    assert.equal(second.vault.ring?.keys.length, 2);
    await second.vault.unlock(MASTER, OWNER);
    const { keys, sealed, damaged } = await second.vault.coverage();
    assert.deepEqual([keys.length, keys[0]?.secrets, sealed, damaged.count], [1, MANY, MANY, 0]);
    assert.notEqual(keys[0]?.id, old);
  });
}

test('a lock that comes while sealing goes on stops it, and nothing is lost', async (t) => {
  const opened = await open(t);
  const { vault, warnings } = opened;
  await putMany(opened);
  const enabling = vault.enable(MASTER, OWNER);
  while (vault.state !== 'unlocked') await new Promise(setImmediate);
  await vault.lock(OWNER);
  await enabling;
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['encryption_locked'],
  );
  assert.equal(vault.state, 'locked');
  await vault.unlock(MASTER, OWNER);
  const { sealed, plain } = await vault.coverage();
  assert.deepEqual([sealed, plain], [MANY, 0]);
});

test('another master key wraps the keys anew: the old one opens no more, and no secret changes', async (t) => {
  const first = await open(t);
  const { accounts, vault } = first;
  await put(first, 'a', 'x');
  await vault.enable(MASTER, OWNER);
  const before = Buffer.from(accounts.document(vaultSecrets, 'a')?.value ?? []);
  await assert.rejects(vault.rotateMasterKey(MASTER, OWNER), refusal('field_invalid'));
  await vault.rotateMasterKey(OTHER, OWNER);
  assert.deepEqual(Buffer.from(accounts.document(vaultSecrets, 'a')?.value ?? []), before);
  assert.equal(textOf(vault, 'a'), 'x');
  // The new wrapping key is the one that a new data key is wrapped under.
  await vault.rotateDataKey(OWNER);
  await accounts.close();
  const second = await open(t, first.folder);
  await assert.rejects(second.vault.unlock(MASTER, OWNER), refusal('master_key_wrong'));
  await second.vault.unlock(OTHER, OWNER);
  assert.equal(textOf(second.vault, 'a'), 'x');
});

test('a rotation of the master key that is not stored leaves the old one in force', async (t) => {
  const { accounts } = await open(t);
  const vault = new Vault({ accounts: crashing(accounts, 2), clock, warn: () => undefined });
  await vault.enable(MASTER, OWNER);
  await assert.rejects(vault.rotateMasterKey(OTHER, OWNER), /crash/);
  const again = new Vault({ accounts, clock, warn: () => undefined });
  await again.unlock(MASTER, OWNER);
  await again.rotateDataKey(OWNER);
  assert.equal(again.state, 'unlocked');
});

test('values put in each other’s place do not open', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  await vault.enable(MASTER, OWNER);
  await put(opened, 'totp:alice', 'a');
  await put(opened, 'totp:bob', 'b');
  await accounts.change((draft) => {
    const stored = draft.document(vaultSecrets, 'totp:bob');
    assert.ok(stored);
    draft.putDocument(vaultSecrets, 'totp:alice', stored);
  });
  assert.throws(() => vault.get('totp:alice'), /totp:alice does not open: what is stored was changed/);
  assert.equal(textOf(vault, 'totp:bob'), 'b');
  assert.deepEqual((await vault.coverage()).damaged, { count: 1, names: ['totp:alice'] });
});

test('a value that is changed in any byte, cut off at any byte or unmarked does not open', async (t) => {
  const opened = await open(t);
  const { accounts, vault } = opened;
  await vault.enable(MASTER, OWNER);
  await put(opened, 'a', 'sesame');
  const whole = Buffer.from(accounts.document(vaultSecrets, 'a')?.value ?? []);
  assert.equal(whole.length, 1 + 8 + 12 + 6 + 16);
  const store = (value: Buffer, sealed = true) =>
    accounts.change((draft) => draft.putDocument(vaultSecrets, 'a', { sealed, value }));
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await store(changed);
    assert.throws(() => vault.get('a'), /does not open|sealed under a key that there is not/, `byte ${at}`);
    await store(whole.subarray(0, at));
    assert.throws(() => vault.get('a'), /does not open|sealed under a key that there is not/, `${at} bytes`);
  }
  await store(Buffer.from('planted'), false);
  assert.throws(() => vault.get('a'), /The secret a is not sealed/);
  await store(whole);
  assert.equal(textOf(vault, 'a'), 'sesame');
});

test('a damaged secret keeps its key in the ring, and everything else is sealed anew', async (t) => {
  const opened = await open(t);
  const { accounts, vault, warnings } = opened;
  await vault.enable(MASTER, OWNER);
  await put(opened, 'a', 'x');
  await put(opened, 'b', 'y');
  const whole = Buffer.from(accounts.document(vaultSecrets, 'a')?.value ?? []);
  const cut = Buffer.from(whole);
  cut[cut.length - 1] = (cut.at(-1) ?? 0) ^ 1;
  await accounts.change((draft) => draft.putDocument(vaultSecrets, 'a', { sealed: true, value: cut }));
  await vault.rotateDataKey(OWNER);
  const { keys, damaged } = await vault.coverage();
  assert.deepEqual(
    keys.map(({ isCurrent, secrets }) => [isCurrent, secrets]),
    [
      [false, 1],
      [true, 1],
    ],
  );
  assert.deepEqual(damaged, { count: 1, names: ['a'] });
  assert.equal(textOf(vault, 'b'), 'y');
  // The value comes back, from a backup perhaps: its key is still there.
  await accounts.change((draft) => draft.putDocument(vaultSecrets, 'a', { sealed: true, value: whole }));
  assert.equal(textOf(vault, 'a'), 'x');
  assert.deepEqual(warnings, []);
});

test('a key ring that was changed on disk opens nothing', async (t) => {
  const { accounts, vault } = await open(t);
  await vault.enable(MASTER, OWNER);
  await vault.lock(OWNER);
  await accounts.change((draft) => {
    const ring = draft.document(vaultKeys, RING);
    assert.ok(ring);
    const keys = ring.keys.map((dataKey) => ({ ...dataKey, wrapped: Buffer.from(dataKey.wrapped).fill(7, 30) }));
    draft.putDocument(vaultKeys, RING, { ...ring, keys });
  });
  await assert.rejects(vault.unlock(MASTER, OWNER), /The data key [0-9a-f]{16} does not unwrap/);
  assert.equal(vault.state, 'locked');
});

test('a lock that comes while a rotation is written leaves the new keys in force', async (t) => {
  const { accounts } = await open(t);
  const warnings: Error[] = [];
  let decided: () => void = () => undefined;
  const store: VaultStore = {
    ...crashing(accounts, Infinity),
    change: async (decide) =>
      await accounts.change((draft) => {
        const result = decide(draft);
        decided();
        return result;
      }),
  };
  const vault = new Vault({ accounts: store, clock, warn: (error) => warnings.push(error) });
  await vault.enable(MASTER, OWNER);
  await put({ accounts, vault }, 'a', 'x');
  const locks: Promise<void>[] = [];
  const lockOnce = () => {
    decided = () => undefined;
    locks.push(vault.lock(OWNER));
  };
  decided = lockOnce;
  await vault.rotateMasterKey(OTHER, OWNER);
  await Promise.all(locks);
  assert.equal(vault.state, 'locked');
  await assert.rejects(vault.unlock(MASTER, OWNER), refusal('master_key_wrong'));
  await vault.unlock(OTHER, OWNER);
  decided = lockOnce;
  await vault.rotateDataKey(OWNER);
  await Promise.all(locks);
  assert.equal(locks.length, 2);
  assert.deepEqual([vault.state, vault.ring?.keys.length, vault.ring?.isSealing], ['locked', 2, true]);
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['encryption_locked'],
  );
  await vault.unlock(OTHER, OWNER);
  assert.equal(textOf(vault, 'a'), 'x');
  assert.deepEqual([vault.ring?.keys.length, vault.ring?.isSealing], [1, false]);
});
