/** Any history of a vault leaves every secret readable with the right key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { MASTER, open, OTHER, OWNER, put, textOf } from './vault-fixture.ts';

const NAMES = ['pseudonym_key', 'totp:alice', 'totp:bob', 'sso_secret'];
const MASTERS = [MASTER, OTHER, Buffer.alloc(32, 3)];
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('put'), name: fc.constantFrom(...NAMES), text: fc.string() }) },
  fc.record({ kind: fc.constant('remove'), name: fc.constantFrom(...NAMES), text: fc.constant('') }),
  fc.record({
    kind: fc.constantFrom('enable', 'unlock', 'lock', 'rotateMasterKey', 'rotateDataKey', 'restart'),
    name: fc.constantFrom('0', '1', '2'),
    text: fc.constant(''),
  }),
);

/** Does one operation; answers the code it was refused with. */
async function perform(
  vault: Vault,
  accounts: Accounts,
  { kind, name, text }: { kind: string; name: string; text: string },
) {
  const master = MASTERS[Number(name)] ?? MASTER;
  try {
    if (kind === 'put') await put({ accounts, vault }, name, text);
    else if (kind === 'remove') await accounts.change((draft) => vault.remove(draft, name));
    else if (kind === 'enable') await vault.enable(master, OWNER);
    else if (kind === 'unlock') await vault.unlock(master, OWNER);
    else if (kind === 'lock') await vault.lock(OWNER);
    else if (kind === 'rotateMasterKey') await vault.rotateMasterKey(master, OWNER);
    else if (kind === 'rotateDataKey') await vault.rotateDataKey(OWNER);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
}

test('after any sequence of operations every secret is readable with the right key', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
      let { folder, accounts, vault } = await open(t);
      const secrets = new Map<string, string>();
      let master: Buffer | undefined;
      for (const done of operations) {
        if (done.kind === 'restart') {
          await accounts.close();
          ({ folder, accounts, vault } = await open(t, folder));
          continue;
        }
        const state = vault.state;
        const code = await perform(vault, accounts, done);
        if (done.kind === 'put') assert.equal(code, state === 'locked' ? 'encryption_locked' : undefined);
        if (code !== undefined) continue;
        if (done.kind === 'put') secrets.set(done.name, done.text);
        if (done.kind === 'remove') secrets.delete(done.name);
        if (done.kind === 'enable' || done.kind === 'rotateMasterKey') master = MASTERS[Number(done.name)];
      }
      if (master !== undefined) await vault.unlock(master, OWNER);
      for (const name of NAMES) assert.equal(textOf(vault, name), secrets.get(name));
      const { sealed, plain, keys } = await vault.coverage();
      assert.deepEqual([sealed, plain], master === undefined ? [0, secrets.size] : [secrets.size, 0]);
      assert.equal(keys.length, master === undefined ? 0 : 1);
      await accounts.close();
    }),
    { numRuns: 25 },
  );
});
