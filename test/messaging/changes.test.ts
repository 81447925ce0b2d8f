/** Catching up: everything after a rev in order and whole, or a fresh start, never a silent hole (SOC-11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect, type TestEvent } from '#test/support/socket.ts';
import { assertRefused, post, say, start } from './conversing.ts';

interface Changes {
  complete: boolean;
  items: TestEvent[];
  rev: number;
  head_seq: number;
  epoch: string;
  watermarks: { user: string; delivered: number; read: number }[];
}

const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2 });

async function changes(who: Person, id: string, afterRev: number): Promise<Changes> {
  const reply = await server.api<Changes>(who, 'GET', `/v1/conversations/${id}/changes?after_rev=${afterRev}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

test('SOC-11 the changes after a rev are the events a socket got, in order, each standing for one', async () => {
  const { id, rev } = await start(server, alice, 'room', ['bob'], 'before');
  const socket = await connect(server, bob);
  const path = `/v1/conversations/${id}`;
  await say(server, alice, id, 'one');
  await say(server, bob, id, 'two');
  await server.api(bob, 'PUT', `${path}/messages/1/reactions/${encodeURIComponent('👍')}`);
  await server.api(alice, 'PUT', `${path}/pins/2`);
  await server.api(alice, 'PATCH', path, { title: 'after' });
  await server.api(alice, 'POST', `${path}/participants`, { participants: ['mallory'] });
  await server.api(alice, 'DELETE', `${path}/participants/mallory`);
  await server.api(alice, 'DELETE', `${path}/messages/1`);
  await socket.event((event) => event.type === 'message.delete' && event.conv === id);
  const reply = await changes(bob, id, rev);
  assert.deepEqual(
    reply.items.map((item) => item.type),
    [
      'message.new',
      'message.new',
      'reaction',
      'pin',
      'conversation.updated',
      'membership',
      'membership',
      'message.delete',
    ],
  );
  assert.deepEqual(
    reply.items.map((item) => [item.rev, item.rev_count, item.conv]),
    Array.from({ length: 8 }, (_, n) => [rev + 1 + n, 1, id]),
  );
  assert.deepEqual([reply.complete, reply.rev, reply.head_seq], [true, rev + 8, 2]);
  const heard = socket.events.filter((event) => event.conv === id && event.rev !== undefined);
  assert.deepEqual(
    heard.map((event) => [event.type, event.seq, event.rev]),
    reply.items.map((item) => [item.type, item.seq, item.rev]),
  );
  // The log keeps a reference to a message, so what was deleted since is read as it stands now.
  assert.equal(reply.items[0]?.data['body'], undefined);
  assert.deepEqual(reply.items[0]?.data, reply.items[7]?.data);
  assert.deepEqual(reply.items[1]?.data, heard[1]?.data);
  assert.deepEqual((await changes(bob, id, rev + 6)).items, reply.items.slice(6));
  await socket.close();
});

test('SOC-11 who has everything gets an empty and complete answer; who claims to know the future starts afresh', async () => {
  const { id, rev, epoch } = await start(server, alice, 'room', ['bob']);
  assert.deepEqual(await changes(bob, id, rev), {
    complete: true,
    items: [],
    rev,
    head_seq: 0,
    epoch,
    watermarks: [],
  });
  const ahead = await changes(bob, id, rev + 1);
  assert.deepEqual([ahead.complete, ahead.items, ahead.rev], [false, [], rev]);
});

test('SOC-11 1,000 changes come whole; from 1,001 on the answer says where to start afresh', async () => {
  const { id, rev, epoch } = await start(server, alice, 'room', ['bob']);
  const postMany = async (count: number) => {
    for (let done = 0; done < count; done += 50) {
      const texts = Array.from({ length: Math.min(50, count - done) }, (_, n) => ({
        kind: 'text',
        body: `${done + n}`,
      }));
      const replies = await Promise.all(texts.map((form) => post(server, alice, id, form)));
      for (const reply of replies) assert.equal(reply.status, 201, reply.text);
    }
  };
  await postMany(1_000);
  await server.api(bob, 'POST', `/v1/conversations/${id}/receipts`, { state: 'read', seq: 700 });
  const whole = await changes(bob, id, rev);
  assert.equal(whole.complete, true);
  assert.deepEqual(
    whole.items.map((item) => [item.rev, item.seq]),
    Array.from({ length: 1_000 }, (_, n) => [rev + 1 + n, n + 1]),
  );
  await postMany(1);
  const watermarks = [{ user: 'bob', delivered: 700, read: 700 }];
  assert.deepEqual(await changes(bob, id, rev), {
    complete: false,
    items: [],
    rev: rev + 1_001,
    head_seq: 1_001,
    epoch,
    watermarks,
  });
  const within = await changes(bob, id, rev + 1);
  assert.deepEqual([within.complete, within.items.length, within.watermarks], [true, 1_000, watermarks]);
});

test('SOC-11 the epoch of changes, conversations and inbox is one, and it is the same for every reader', async () => {
  const { id, epoch } = await start(server, alice, 'direct', ['bob']);
  assert.match(epoch, /^\S+$/);
  assert.equal((await changes(alice, id, 0)).epoch, epoch);
  assert.equal((await changes(bob, id, 0)).epoch, epoch);
  const inbox = await server.api<{ items: { conversation: { epoch: string } }[] }>(bob, 'GET', '/v1/inbox');
  assert.deepEqual([...new Set(inbox.body.items.map((item) => item.conversation.epoch))], [epoch]);
});

test('MSG-11 changes are the members’ alone, and the query says exactly one thing', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  const path = `/v1/conversations/${id}/changes`;
  assertRefused(await server.api(mallory, 'GET', `${path}?after_rev=0`), 403, 'conversation_forbidden');
  for (const query of [
    '',
    '?after_rev=',
    '?after_rev=-1',
    '?after_rev=1.5',
    '?after_rev=x',
    '?after_rev=99999999999999999',
  ]) {
    assertRefused(await server.api(bob, 'GET', `${path}${query}`), 400, 'query_invalid', 'after_rev');
  }
  assertRefused(await server.api(bob, 'GET', `${path}?after_rev=0&limit=3`), 400, 'query_invalid', 'limit');
});
