/** The count of holds that ended, which tells what waits for one to look again. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Answer } from '#actors/runtime/actor.ts';
import { systemClock } from '#src/base/clock.ts';
import { readHoldEndings, Retention } from '#src/compliance/retention.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const BY = { actor: 'user:root', address: null } as const;

async function retention(t: TestContext, ask: () => Promise<Answer>) {
  const accounts = await Accounts.open(temporaryFolder(t));
  t.after(async () => await accounts.close());
  const ended: number[] = [];
  const holds = new Retention({
    accounts,
    ask,
    clock: systemClock,
    countExpiring: () => Promise.reject(new Error('Nobody counts here.')),
    log: { warn: () => undefined } as never,
    settings: { follow: () => undefined, judge: () => undefined, put: () => undefined, read: () => undefined },
    announceRetention: () => Promise.resolve(),
    holdEnded: () => void ended.push(readHoldEndings(accounts)),
  });
  return { accounts, ended, holds };
}

test('an ending is counted before its conversation is told, so that a crash behind that is no ending overlooked', async (t) => {
  const { accounts, ended, holds } = await retention(t, () => Promise.reject(new Error('The process is gone.')));
  await assert.rejects(holds.holdConversation('c_one', false, BY), /The process is gone/);
  assert.equal(readHoldEndings(accounts), 1);
  assert.deepEqual(ended, []);
});

test('an ending is counted again behind it, for what looked meanwhile; a beginning is none', async (t) => {
  const { accounts, ended, holds } = await retention(t, () => Promise.resolve({ ok: true, value: undefined }));
  await holds.holdConversation('c_one', true, BY);
  await holds.hold(true, BY);
  assert.deepEqual([readHoldEndings(accounts), ended], [0, []]);
  await holds.holdConversation('c_one', false, BY);
  assert.deepEqual([readHoldEndings(accounts), ended], [2, [2]]);
  await holds.hold(false, BY);
  assert.deepEqual([readHoldEndings(accounts), ended], [4, [2, 4]]);
});

test('a conversation that refuses or does not answer may have ended its hold all the same', async (t) => {
  const { ended, holds } = await retention(t, () => Promise.resolve({ ok: false, code: 'busy' }));
  await assert.rejects(holds.holdConversation('c_one', false, BY), { code: 'busy' });
  assert.deepEqual(ended, [2]);
});
