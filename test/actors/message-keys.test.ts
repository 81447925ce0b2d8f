/** client_msg_id: one key is one message, whatever is repeated and wherever the index of it stands (MSG-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { readConversation, readHistory } from '#storage/conversations/conversation-reader.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const as = (user: string) => ({ user, device: `d_${user}` });
const bodies = (host: ActorHost) => {
  const record = readConversation(host.tables, ROOM);
  assert.ok(record);
  const { items } = readHistory(host.tables, record, { limit: 100 });
  return items.map((json) => (JSON.parse(json) as { body?: string }).body);
};

test('MSG-03 one key is one message per sender and conversation, whatever the repeat says, also after a restart', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const first = await host.reply(ROOM, post('alice', 'one', 'm1'));
  const repeat = await host.reply(ROOM, post('alice', 'two', 'm1'));
  assert.deepEqual([first.status, repeat.status], [201, 200]);
  assert.deepEqual(repeat.body, first.body);
  assert.equal((await host.reply(ROOM, post('bob', 'three', 'm1'))).body['seq'], 2);
  await host.close();
  const again = openHost(t, { folder: host.folder });
  assert.deepEqual(await again.reply(ROOM, post('alice', 'four', 'm1')), { status: 200, body: first.body });
  assert.deepEqual(bodies(again), ['one', 'three']);
});

test('MSG-03 a key is known on either side of an indexed block, before and after a restart', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const seqs = Array.from({ length: 2 * POSTED_BLOCK + 1 }, (_, i) => i + 1);
  for (const seq of seqs) await host.reply(ROOM, post('alice', 'first', `m${seq}`));
  const repeats = async (one: ActorHost) =>
    await Promise.all(seqs.map(async (seq) => await one.reply(ROOM, post('alice', 'again', `m${seq}`))));
  const expected = seqs.map((seq) => [200, seq, 'first']);
  const read = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
    status,
    body['seq'],
    body['body'],
  ];
  assert.deepEqual((await repeats(host)).map(read), expected);
  await host.close();
  const again = openHost(t, { folder: host.folder });
  assert.deepEqual((await repeats(again)).map(read), expected);
  assert.equal((await again.reply(ROOM, post('bob', 'next', 'm1'))).body['seq'], seqs.length + 1);
  await again.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('MSG-03 posts of one turn that fill a block and repeat each other are one message each', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM);
  const keys = Array.from({ length: 3 * POSTED_BLOCK }, (_, i) => `m${i % POSTED_BLOCK}`);
  const answers = await Promise.all(keys.map((clientMsgId) => host.reply(ROOM, post('alice', 'x', clientMsgId))));
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body['seq']]),
    keys.map((_, i) => [i < POSTED_BLOCK ? 201 : 200, (i % POSTED_BLOCK) + 1]),
  );
});

test('MSG-03 a repeat answers with the message as it stands now', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'one', 'm1'));
  await host.reply(ROOM, { kind: 'edit', seq: 1, body: 'edited', ...as('alice') });
  await host.reply(ROOM, { kind: 'react', seq: 1, emoji: '👍', added: true, ...as('bob') });
  const { body } = await host.reply(ROOM, post('alice', 'one', 'm1'));
  assert.equal(body['body'], 'edited');
  assert.deepEqual(body['reactions'], [{ emoji: '👍', count: 1, users: ['bob'] }]);
});
