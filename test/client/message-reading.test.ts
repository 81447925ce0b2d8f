/** Threads, mentions and who read what, through the SDK against a real server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParleyClient } from '#src/client/parley-client.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob'], { shards: 2 });

async function signIn({ username, password }: { username: string; password: string }): Promise<ParleyClient> {
  const urls = { coordinatorUrl: server.coordinator, messagingUrl: server.messaging };
  const client = await ParleyClient.signIn({ ...urls, username, password });
  await client.caughtUp();
  return client;
}

test('a thread, mentions, readers and a forward are what the other client made of them', async () => {
  const [hers, his] = [await signIn(alice), await signIn(bob)];
  try {
    const { id } = await hers.createRoom({ participants: ['bob'] });
    const mentions = [{ username: 'bob', offset: 0, length: 4 }];
    const root = await hers.post(id, { kind: 'text', body: '@bob, look', mentions });
    const mirror = await his.open(id);
    const first = await his.post(id, { kind: 'text', body: 'I do', reply_to: root.seq });
    const second = await hers.post(id, { kind: 'text', body: 'well', reply_to: first.seq });
    assert.deepEqual(await his.reading.replies(id, root.seq), { items: [first, second], next: null });
    const { next } = await his.reading.replies(id, root.seq, { limit: 1 });
    assert.equal(next, first.seq);
    await until(() => mirror.messages.find(({ seq }) => seq === root.seq)?.last_reply_seq === second.seq, 'the count');
    assert.equal(mirror.messages.find(({ seq }) => seq === root.seq)?.reply_count, 2);

    const mentioned = await his.reading.mentions();
    assert.deepEqual(
      mentioned.items.map(({ message, unread }) => [message.seq, unread, typeof message.createdAt]),
      [[root.seq, true, 'number']],
    );
    assert.equal(mentioned.next, null);
    const entries = (await his.inbox()).items.flatMap((item) => ('gone' in item ? [] : [item.mentions]));
    assert.deepEqual(entries, [1]);
    const edited = await hers.edit(id, root.seq, 'nobody any more');
    assert.equal(edited.mentions, undefined);
    assert.deepEqual((await his.reading.mentions()).items, []);

    his.receipt(id, 'read', second.seq);
    await until(async () => (await hers.reading.lastCommonRead(id)) === second.seq, 'the receipt');
    assert.deepEqual(await hers.reading.readBy(id, second.seq), { items: ['bob'], next: null, count: 1 });
    const forward = await his.post(id, { forward: { conversation_id: id, seq: second.seq } });
    assert.deepEqual(forward.forward, { sender: 'alice', createdAt: second.createdAt });
  } finally {
    hers.close();
    his.close();
  }
});
