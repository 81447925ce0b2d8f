/** Threads and who read what, as clients see them over HTTP and the socket (MSG, RCP). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { addPeople, assertRefused, post, say, start } from './conversing.ts';

const { server, alice, bob, carol, mallory } = await shareServer(['alice', 'bob', 'carol', 'mallory'], { shards: 2 });

const room = async (people: readonly string[] = ['bob', 'carol']) => (await start(server, alice, 'room', people)).id;
const reply = (who: Person, id: string, to: number, body = 'reply') =>
  post(server, who, id, { kind: 'text', body, reply_to: to });

interface Page<T = Message> {
  readonly items: T[];
  readonly next: string | null;
}

async function replies(who: Person, id: string, seq: number, query = ''): Promise<Page> {
  const answer = await server.api<Page>(who, 'GET', `/v1/conversations/${id}/messages/${seq}/replies${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function message(who: Person, id: string, seq: number): Promise<Message> {
  return (await server.api<Message>(who, 'GET', `/v1/conversations/${id}/messages/${seq}`)).body;
}

const remove = (who: Person, id: string, seq: number) =>
  server.api<Message>(who, 'DELETE', `/v1/conversations/${id}/messages/${seq}`);

test('MSG-01 a reply joins the thread of what it answers, and history counts the replies of its root', async () => {
  const id = await room();
  const socket = await connect(server, carol);
  await say(server, alice, id, 'root');
  await say(server, alice, id, 'beside');
  const first = await reply(bob, id, 1);
  assert.deepEqual([first.status, first.body.reply_to, first.body.root_seq], [201, 1, 1]);
  const event = await socket.event((one) => one.conv === id && one.seq === 3);
  assert.deepEqual([event.type, event.data], ['message.new', first.body]);
  const second = await reply(carol, id, 3, 'a reply to the reply');
  assert.deepEqual([second.body.reply_to, second.body.root_seq], [3, 1]);
  assert.deepEqual(await replies(bob, id, 1), { items: [first.body, second.body], next: null });
  assert.deepEqual(await replies(bob, id, 2), { items: [], next: null });
  assert.deepEqual(await replies(bob, id, 3), { items: [], next: null });
  const root = await message(bob, id, 1);
  assert.deepEqual([root.reply_count, root.last_reply_seq], [2, 4]);
  const history = await server.api<Page>(bob, 'GET', `/v1/conversations/${id}/messages`);
  assert.deepEqual(
    history.body.items.map((item) => [item.seq, item.reply_count, item.last_reply_seq]),
    [
      [1, 2, 4],
      [2, undefined, undefined],
      [3, undefined, undefined],
      [4, undefined, undefined],
    ],
  );
  await socket.close();
});

test('every kind of message may be a reply', async () => {
  const id = await room();
  await say(server, alice, id, 'root');
  const outcome = { outcome: { result: 'missed', duration: 0, flags: [] } };
  const forms = [
    { kind: 'location', body: { latitude: 1, longitude: 2 } },
    { kind: 'contact', body: { name: 'Carol' } },
    { kind: 'call', body: outcome },
    { forward: { conversation_id: id, seq: 1 } },
  ];
  for (const form of forms) assert.equal((await post(server, bob, id, { ...form, reply_to: 1 })).body.root_seq, 1);
  assert.deepEqual(
    (await replies(bob, id, 1)).items.map(({ kind }) => kind),
    ['location', 'contact', 'call', 'text'],
  );
});

test('a reply to what is not there is refused, and stores nothing', async () => {
  const id = await room();
  const other = await room();
  for (let n = 0; n < 3; n += 1) await say(server, alice, other, 'elsewhere');
  await say(server, alice, id, 'root');
  for (const to of [2, 3, Number.MAX_SAFE_INTEGER]) {
    assertRefused(await reply(bob, id, to), 404, 'message_not_found', 'reply_to');
  }
  for (const to of [0, -1, 1.5, '1', null]) {
    assertRefused(await reply(bob, id, to as number), 400, 'field_invalid', 'reply_to');
  }
  assert.equal((await say(server, alice, id, 'next')).seq, 2);
  assertRefused(await server.api(bob, 'GET', `/v1/conversations/${id}/messages/3/replies`), 404, 'message_not_found');
});

test('a deleted message is answered no more; a thread that began with it goes on, with a stub as its root', async () => {
  const id = await room();
  await say(server, alice, id, 'root');
  await say(server, alice, id, 'alone');
  const first = await reply(bob, id, 1);
  await remove(alice, id, 2);
  assertRefused(await reply(bob, id, 2), 409, 'message_deleted', 'reply_to');
  const stub = await remove(alice, id, 1);
  assert.deepEqual([stub.body.body, stub.body.reply_count, stub.body.last_reply_seq], [undefined, 1, 3]);
  assert.equal((await reply(carol, id, 1)).body.root_seq, 1);
  assert.equal((await message(bob, id, 1)).reply_count, 2);
  const gone = await remove(bob, id, 3);
  assert.deepEqual([gone.body.reply_to, gone.body.root_seq], [1, 1]);
  assertRefused(await reply(carol, id, 3), 409, 'message_deleted', 'reply_to');
  const page = await replies(carol, id, 1);
  assert.deepEqual(
    page.items.map(({ seq, body }) => [seq, body]),
    [
      [first.body.seq, undefined],
      [4, 'reply'],
    ],
  );
  assert.equal((await message(bob, id, 1)).reply_count, 2, 'a stub still stands in its thread');
});

test('a thread is read in pages, and its root keeps reactions and edits beside the count', async () => {
  const id = await room();
  await say(server, alice, id, 'root');
  for (let n = 0; n < 5; n += 1) await reply(bob, id, 1, `reply ${n}`);
  const seqs = async (query: string) => {
    const { items, next } = await replies(carol, id, 1, query);
    return [items.map(({ seq }) => seq), next];
  };
  assert.deepEqual(await seqs('?limit=2'), [[2, 3], '3']);
  assert.deepEqual(await seqs('?limit=2&after_seq=3'), [[4, 5], '5']);
  assert.deepEqual(await seqs('?limit=2&after_seq=5'), [[6], null]);
  assert.deepEqual(await seqs('?after_seq=9007199254740991'), [[], null]);
  const path = `/v1/conversations/${id}/messages/1`;
  const reacted = await server.api<Message>(carol, 'PUT', `${path}/reactions/${encodeURIComponent('👍')}`);
  assert.deepEqual([reacted.body.reactions?.length, reacted.body.reply_count], [1, 5]);
  const edited = await server.api<Message>(alice, 'PATCH', path, { body: 'new root' });
  assert.deepEqual([edited.body.reactions?.length, edited.body.reply_count], [1, 5]);
  assert.deepEqual(await message(bob, id, 1), edited.body);
  const reply2 = await server.api<Message>(bob, 'PATCH', `/v1/conversations/${id}/messages/2`, { body: 'changed' });
  assert.deepEqual([reply2.body.reply_to, reply2.body.root_seq], [1, 1]);
  for (const query of ['?limit=0', '?limit=201', '?after_seq=-1', '?before_seq=3']) {
    const refused = await server.api(bob, 'GET', `${path}/replies${query}`);
    assert.deepEqual([refused.status, refused.body['code']], [400, 'query_invalid'], query);
  }
});

test('MSG-03 a repeated reply is counted once, also when 32 of it arrive at once', async () => {
  const id = await room();
  await say(server, alice, id, 'root');
  const form = { kind: 'text', body: 'once', reply_to: 1, client_msg_id: 'once' };
  const answers = await Promise.all(Array.from({ length: 32 }, () => post(server, bob, id, form)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.deepEqual([(await message(bob, id, 1)).reply_count, (await replies(bob, id, 1)).items.length], [1, 1]);
});

test('MSG-11 neither a stranger nor who was removed reads a thread or who read a message', async () => {
  const id = await room();
  await say(server, alice, id, 'root');
  await reply(bob, id, 1);
  const paths = [`/v1/conversations/${id}/messages/1/replies`, `/v1/conversations/${id}/messages/1/read-by`];
  for (const path of paths) {
    assertRefused(await server.api(mallory, 'GET', path), 403, 'conversation_forbidden');
    assert.equal((await server.api(bob, 'GET', path)).status, 200);
  }
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/participants/bob`);
  for (const path of paths) assertRefused(await server.api(bob, 'GET', path), 403, 'conversation_forbidden');
});

const read = (who: Person, id: string, seq: number) =>
  server.api(who, 'POST', `/v1/conversations/${id}/receipts`, { state: 'read', seq });

async function readBy(who: Person, id: string, seq: number, query = ''): Promise<[string[], string | null]> {
  const path = `/v1/conversations/${id}/messages/${seq}/read-by${query}`;
  const answer = await server.api<Page<{ user: string }>>(who, 'GET', path);
  assert.equal(answer.status, 200, answer.text);
  return [answer.body.items.map(({ user }) => user), answer.body.next];
}

test('RCP-01 who has read a message is told by username, without its sender, in pages', async () => {
  const id = await room();
  for (let n = 0; n < 3; n += 1) await say(server, alice, id, `${n}`);
  assert.deepEqual(await readBy(alice, id, 2), [[], null]);
  await read(carol, id, 2);
  await read(bob, id, 3);
  await read(alice, id, 3);
  await server.api(carol, 'POST', `/v1/conversations/${id}/receipts`, { state: 'delivered', seq: 3 });
  assert.deepEqual(await readBy(alice, id, 2), [['bob', 'carol'], null]);
  assert.deepEqual(await readBy(alice, id, 3), [['bob'], null]);
  assert.deepEqual(await readBy(bob, id, 1, '?limit=1'), [['bob'], 'bob']);
  assert.deepEqual(await readBy(bob, id, 1, '?limit=1&after=bob'), [['carol'], null]);
  const path = `/v1/conversations/${id}/messages`;
  assertRefused(await server.api(bob, 'GET', `${path}/4/read-by`), 404, 'message_not_found');
  assertRefused(await server.api(bob, 'GET', `${path}/1/read-by?after=B%20b`), 400, 'cursor_invalid', 'after');
  assertRefused(await server.api(bob, 'GET', `${path}/1/read-by?limit=201`), 400, 'query_invalid', 'limit');
});

async function lastCommonRead(who: Person, id: string): Promise<number | undefined> {
  const { body } = await server.api<{ last_common_read?: number }>(who, 'GET', `/v1/conversations/${id}`);
  return body.last_common_read;
}

test('RCP-01 the last common read is the lowest watermark of the others, from where each of them came', async () => {
  const id = await room();
  for (let n = 0; n < 4; n += 1) await say(server, alice, id, `${n}`);
  assert.equal(await lastCommonRead(alice, id), 0);
  await read(bob, id, 3);
  assert.equal(await lastCommonRead(alice, id), 0);
  await read(carol, id, 2);
  assert.equal(await lastCommonRead(alice, id), 2);
  assert.equal(await lastCommonRead(bob, id), 0, 'alice has read nothing yet');
  await server.api(alice, 'POST', `/v1/conversations/${id}/participants`, { participants: ['mallory'] });
  assert.equal(await lastCommonRead(alice, id), 2, 'who came later had nothing to read before');
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/participants/carol`);
  assert.equal(await lastCommonRead(alice, id), 3);
  const alone = await start(server, alice, 'room', []);
  assert.equal(await lastCommonRead(alice, alone.id), undefined);
});

test('RCP-02 FRM-01 a room of more than 256 tells who read and who types in one frame a second, and whoever asks how many read', async () => {
  const crowd = Array.from({ length: HINT_PARTICIPANTS_MAX }, (_, n) => `crowd${n}`);
  await addPeople(server, crowd);
  const id = await room(['bob', 'carol', ...crowd]);
  const [hers, his, carols] = await Promise.all([alice, bob, carol].map(async (who) => await connect(server, who)));
  assert.ok(hers !== undefined && his !== undefined && carols !== undefined);
  await say(server, alice, id, 'hello');
  await read(bob, id, 1);
  await read(carol, id, 1);
  const ofRoom = (socket: TestSocket, type: string) =>
    socket.events.filter((event) => event.type === type && event.conv === id).map(({ data }) => data);
  const readers = () => ofRoom(hers, 'receipt').flatMap(({ sample }) => sample as { user: string }[]);
  await until(() => readers().length === 2, 'both receipts');
  const byUser = (one: { user: string }, other: { user: string }) => (one.user < other.user ? -1 : 1);
  assert.deepEqual(readers().toSorted(byUser), [
    { user: 'bob', seq: 1, state: 'read' },
    { user: 'carol', seq: 1, state: 'read' },
  ]);
  const total = ofRoom(hers, 'receipt').reduce((sum, { count }) => sum + (count as number), 0);
  assert.equal(total, 2);
  for (const { user, seq, state } of ofRoom(hers, 'receipt')) {
    assert.deepEqual([['bob', 'carol'].includes(user as string), seq, state], [true, 1, 'read']);
  }
  const page = await server.api(alice, 'GET', `/v1/conversations/${id}/messages/1/read-by?limit=1`);
  assert.deepEqual(page.body, { items: [{ user: 'bob' }], next: 'bob', count: 2 });
  assert.deepEqual(await readBy(alice, id, 1), [['bob', 'carol'], null]);
  for (const socket of [his, carols]) socket.send({ kind: 'typing', conv: id });
  const typers = () => ofRoom(hers, 'typing').flatMap(({ sample }) => sample as string[]);
  await until(() => typers().length === 2, 'both who type');
  assert.deepEqual(typers().toSorted(), ['bob', 'carol']);
  assert.ok(
    ofRoom(hers, 'typing').every(({ user, count }) => typers().includes(user as string) && (count as number) > 0),
  );
  await say(server, alice, id, 'behind');
  for (const [socket, own] of [
    [his, 'bob'],
    [carols, 'carol'],
  ] as const) {
    await socket.event((event) => event.type === 'message.new' && event.seq === 2);
    assert.ok(!JSON.stringify(ofRoom(socket, 'typing')).includes(own));
  }
  await Promise.all([hers, his, carols].map(async (socket) => await socket.close()));
});

test('MSG-12 a seq beyond every message is a message that is not there, however large it is', async () => {
  const id = await room();
  const path = `/v1/conversations/${id}/messages/${Number.MAX_SAFE_INTEGER}`;
  const asks: [string, string, unknown?][] = [
    ['GET', ''],
    ['GET', '/replies'],
    ['GET', '/read-by'],
    ['PATCH', '', { body: 'x' }],
    ['DELETE', ''],
    ['PUT', `/reactions/${encodeURIComponent('👍')}`],
  ];
  for (const [method, rest, body] of asks) {
    assertRefused(await server.api(alice, method, `${path}${rest}`, body), 404, 'message_not_found');
  }
});
