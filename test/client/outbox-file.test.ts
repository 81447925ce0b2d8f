/** A bot's outbox in a file: what was not sent is there after a restart, whole, and for nobody else to read. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { outboxFile } from '#src/client/bot/outbox-file.ts';
import type { OutboxEntry } from '#src/client/conversations/outbox.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const entry = (clientMsgId: string): OutboxEntry => ({
  user: 'bot.x',
  conv: 'c_1',
  clientMsgId,
  form: { kind: 'text', body: 'hello' },
  postedAt: 1,
});

test('MSG-01 what was saved last is loaded by the next process; without a file there is nothing', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'outbox.json');
  assert.deepEqual(await outboxFile(path).load(), []);
  const store = outboxFile(path);
  await store.save([entry('a'), entry('b')]);
  await store.save([entry('b')]);
  assert.deepEqual(await outboxFile(path).load(), [entry('b')]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ['outbox.json']);
});

test('MSG-01 a state that cannot be written leaves the one before, and is told of', async (t) => {
  const path = join(temporaryFolder(t), 'outbox.json');
  await outboxFile(path).save([entry('a')]);
  const missing = outboxFile(join(path, 'no', 'folder.json'));
  await assert.rejects(async () => await missing.save([]), { code: 'ENOTDIR' });
  await assert.rejects(async () => await missing.load(), { code: 'ENOTDIR' });
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), [entry('a')]);
  writeFileSync(path, '[{"cut');
  await assert.rejects(async () => await outboxFile(path).load(), { name: 'SyntaxError' });
});
