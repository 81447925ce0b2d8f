/** Receipts: watermarks that only rise, over the real server (RCP). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Person, Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { assertRefused, heardUpTo, say, start } from './conversing.ts';

interface Watermark {
  user: string;
  delivered: number;
  read: number;
}

const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2 });

/** A room of alice and bob in which alice has posted this many messages. */
async function roomWith(messages: number): Promise<string> {
  const { id } = await start(server, alice, 'room', ['bob']);
  for (let n = 1; n <= messages; n += 1) await say(server, alice, id, `m ${n}`);
  return id;
}

async function receipt(who: Person, id: string, state: string, seq: unknown): Promise<Reply<Watermark>> {
  return await server.api<Watermark>(who, 'POST', `/v1/conversations/${id}/receipts`, { state, seq });
}

async function watermarks(who: Person, id: string): Promise<Watermark[]> {
  const reply = await server.api<{ watermarks: Watermark[] }>(
    who,
    'GET',
    `/v1/conversations/${id}/changes?after_rev=0`,
  );
  return reply.body.watermarks;
}

test('RCP-01 a receipt covers everything up to its seq, never moves back, and read implies delivered', async () => {
  const id = await roomWith(6);
  const steps: [string, number, number, number][] = [
    ['delivered', 3, 3, 0],
    ['delivered', 2, 3, 0],
    ['read', 2, 3, 2],
    ['read', 5, 5, 5],
    ['read', 1, 5, 5],
    ['delivered', 4, 5, 5],
    ['delivered', 6, 6, 5],
  ];
  for (const [state, seq, delivered, read] of steps) {
    const reply = await receipt(bob, id, state, seq);
    assert.deepEqual([reply.status, reply.body], [200, { user: 'bob', delivered, read }], `${state} ${seq}`);
  }
  assert.deepEqual(await watermarks(alice, id), [{ user: 'bob', delivered: 6, read: 5 }]);
});

test('RCP-01 a receipt never passes the last seq', async () => {
  const id = await roomWith(2);
  assertRefused(await receipt(bob, id, 'read', 3), 409, 'receipt_beyond_head', 'seq');
  assertRefused(await receipt(bob, id, 'delivered', Number.MAX_SAFE_INTEGER), 409, 'receipt_beyond_head', 'seq');
  assert.deepEqual(await watermarks(alice, id), []);
  assert.equal((await receipt(bob, id, 'read', 2)).status, 200);
});

test('RCP-02 a receipt event carries user, conversation_id, seq and state, and nothing else', async () => {
  const id = await roomWith(3);
  const socket = await connect(server, alice);
  await receipt(bob, id, 'delivered', 2);
  await receipt(bob, id, 'read', 3);
  const events = await socket.eventsOf('receipt', 2);
  assert.deepEqual(
    events.map(({ ts, ...rest }) => ({ ...rest, whole: Number.isInteger(ts) })),
    [
      {
        type: 'receipt',
        conv: id,
        seq: 2,
        data: { user: 'bob', conversation_id: id, seq: 2, state: 'delivered' },
        whole: true,
      },
      {
        type: 'receipt',
        conv: id,
        seq: 3,
        data: { user: 'bob', conversation_id: id, seq: 3, state: 'read' },
        whole: true,
      },
    ],
  );
  await socket.close();
});

test('RCP-03 a repeated or lower receipt raises no event', async () => {
  const id = await roomWith(3);
  const socket = await connect(server, alice);
  await receipt(bob, id, 'read', 3);
  await receipt(bob, id, 'read', 3);
  await receipt(bob, id, 'read', 1);
  await receipt(bob, id, 'delivered', 3);
  await receipt(bob, id, 'delivered', 2);
  assertRefused(await receipt(bob, id, 'read', 9), 409, 'receipt_beyond_head', 'seq');
  // The last of the messages may have been on its way to this socket's thread when the socket came.
  const heard = await heardUpTo(server, socket, alice, id);
  assert.deepEqual(
    heard.filter((type) => type !== 'message.new'),
    ['receipt'],
  );
  await socket.close();
});

test('RCP-01 RCP-03 of receipts sent at once the highest stands', async () => {
  const id = await roomWith(20);
  await Promise.all(Array.from({ length: 40 }, (_, n) => receipt(bob, id, n % 2 ? 'read' : 'delivered', (n % 20) + 1)));
  assert.deepEqual(await watermarks(alice, id), [{ user: 'bob', delivered: 20, read: 20 }]);
});

test('GOV-03 RCP-01 a receipt names nobody, and only members send one', async () => {
  const id = await roomWith(1);
  const path = `/v1/conversations/${id}/receipts`;
  for (const field of ['user', 'sender', 'from']) {
    const reply = await server.api(bob, 'POST', path, { state: 'read', seq: 1, [field]: 'alice' });
    assertRefused(reply, 400, 'field_unknown', field);
  }
  assertRefused(await receipt(mallory, id, 'read', 1), 403, 'conversation_forbidden');
  assertRefused(await receipt(bob, id, 'seen', 1), 400, 'field_invalid', 'state');
  for (const seq of [0, -1, 1.5, '1', null, 2 ** 53]) {
    assertRefused(await receipt(bob, id, 'read', seq), 400, 'field_invalid', 'seq');
  }
  assert.deepEqual(await watermarks(alice, id), []);
});
