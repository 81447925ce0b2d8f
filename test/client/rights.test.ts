/** Rights as the client reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParleyError } from '#src/client/parley-error.ts';
import { readAccountRights, readConversationRights } from '#src/client/conversations/rights.ts';
import { CONVERSATION_RIGHTS } from '#src/protocol/conversations/rights.ts';
import { ACCOUNT_RIGHTS } from '#src/protocol/directory/account-rights.ts';

const answers = (rights: readonly string[]) => async () => ({ rights: [...rights] });
const fails = (error: Error) => async () => {
  throw error;
};

test('CAP-02 every right of the protocol is known', async () => {
  const account = await readAccountRights(answers(ACCOUNT_RIGHTS));
  assert.deepEqual(account, { known: true, granted: new Set(ACCOUNT_RIGHTS) });
  const conversation = await readConversationRights(answers(CONVERSATION_RIGHTS));
  assert.deepEqual(conversation, { known: true, granted: new Set(CONVERSATION_RIGHTS) });
});

test('CAP-02 an unknown name grants nothing, and neither does a missing one', async () => {
  const rights = await readAccountRights(answers(['call.start', 'universe.rule', 'toString']));
  assert.deepEqual(rights, { known: true, granted: new Set(['call.start']) });
});

test('CAP-02 a 404 is an older installation, not an empty set', async () => {
  const missing = new ParleyError('path_not_found', 'There is no such path.', { status: 404 });
  assert.deepEqual(await readAccountRights(fails(missing)), { known: false });
  assert.deepEqual(await readConversationRights(fails(missing)), { known: false });
  assert.deepEqual(await readAccountRights(answers([])), { known: true, granted: new Set() });
});

test('CAP-02 any other failure stays a failure', async () => {
  const refused = new ParleyError('conversation_forbidden', 'No.', { status: 403 });
  await assert.rejects(readConversationRights(fails(refused)), { code: 'conversation_forbidden' });
  await assert.rejects(
    readAccountRights(async () => ({}) as never),
    { code: 'answer_unreadable' },
  );
});
