/** Mentions, as people make and read them: over HTTP and the socket, in commits with their messages (MSG, CAP). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MENTION_ALL_PARTICIPANTS_MAX, MENTIONS_PER_MESSAGE_MAX, UNREAD_COUNT_MAX } from '#src/protocol/limits.ts';
import type { Mention, Message } from '#src/protocol/conversations/messages.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { addPeople, assertRefused, post, say, start } from './conversing.ts';

const { server, alice, bob, carol, mallory } = await shareServer(['alice', 'bob', 'carol', 'mallory'], { shards: 2 });

const room = async (people: readonly string[] = ['bob', 'carol']) => (await start(server, alice, 'room', people)).id;
const at = (username: string, offset: number): Mention => ({ username, offset, length: username.length + 1 });
const all: Mention = { all: true, offset: 0, length: 4 };
const mention = (body: string, ...mentions: Mention[]) => ({ kind: 'text', body, mentions });

interface Page {
  readonly items: { readonly message: Message; readonly unread: boolean }[];
  readonly next: string | null;
}

async function page(who: Person, query = ''): Promise<Page> {
  const reply = await server.api<Page>(who, 'GET', `/v1/mentions${query}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** The seqs of a person's mentions in one conversation, the newest mention first. */
async function mentionsIn(who: Person, conversation: string): Promise<number[]> {
  const { items } = await page(who, '?limit=200');
  return items.filter(({ message }) => message.conversation_id === conversation).map(({ message }) => message.seq);
}

interface Item {
  readonly conversation?: { readonly id: string };
  readonly unread: number;
  readonly mention_count: number;
}

async function counts(who: Person, conversation: string): Promise<[unread: number, mentions: number]> {
  const { body } = await server.api<{ items: Item[] }>(who, 'GET', '/v1/inbox?limit=200');
  const item = body.items.find((one) => one.conversation?.id === conversation);
  return [item?.unread ?? -1, item?.mention_count ?? -1];
}

const read = (who: Person, conversation: string, seq: number) =>
  server.api(who, 'POST', `/v1/conversations/${conversation}/receipts`, { state: 'read', seq });
const edit = (who: Person, conversation: string, seq: number, form: unknown) =>
  server.api<Message>(who, 'PATCH', `/v1/conversations/${conversation}/messages/${seq}`, form);

test('MSG-01 a mention is delivered, listed newest first, and counted while it is unread', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  const first = await post(server, alice, id, mention('@bob and @carol, look', at('bob', 0), at('carol', 9)));
  assert.equal(first.status, 201, first.text);
  assert.deepEqual(first.body.mentions, [at('bob', 0), at('carol', 9)]);
  const event = await socket.event((one) => one.conv === id && one.type === 'message.new');
  assert.deepEqual(event.data, first.body);
  await say(server, alice, id, 'nothing for bob');
  await post(server, carol, id, mention('@bob', at('bob', 0)));
  assert.deepEqual(await mentionsIn(bob, id), [3, 1]);
  assert.deepEqual(await mentionsIn(carol, id), [1]);
  assert.deepEqual(await mentionsIn(alice, id), []);
  assert.deepEqual(await counts(bob, id), [3, 2]);
  await read(bob, id, 2);
  assert.deepEqual(await counts(bob, id), [1, 1]);
  const listed = (await page(bob, '?limit=200')).items.filter(({ message }) => message.conversation_id === id);
  assert.deepEqual(
    listed.map(({ message, unread }) => [message.seq, unread]),
    [
      [3, true],
      [1, false],
    ],
  );
  assert.deepEqual(listed[1]?.message, first.body);
  await socket.close();
});

test('a mention is unread until it is read, however much was said since', async () => {
  const id = await room();
  await post(server, alice, id, mention('@bob', at('bob', 0)));
  for (let posted = 0; posted < UNREAD_COUNT_MAX; posted += 50) {
    await Promise.all(Array.from({ length: 50 }, () => say(server, carol, id, 'on and on')));
  }
  // Unread messages are counted up to here; the mention is one more behind.
  assert.deepEqual(await counts(bob, id), [UNREAD_COUNT_MAX, 1]);
  const { items } = await page(bob, '?limit=200');
  const found = items.filter(({ message }) => message.conversation_id === id);
  assert.deepEqual(
    found.map(({ message, unread }) => [message.seq, unread]),
    [[1, true]],
  );
  await read(bob, id, 1);
  assert.deepEqual(await counts(bob, id), [UNREAD_COUNT_MAX, 0]);
});

test('a mention counts UTF-16 units, stays inside the text and takes no character apart', async () => {
  const id = await room();
  const body = '👩‍👩‍👧 @bob';
  const offset = body.indexOf('@');
  assert.equal(offset, 9);
  assert.equal((await post(server, alice, id, mention(body, at('bob', offset)))).status, 201);
  const wrong: Mention[][] = [
    [at('bob', offset + 1)],
    [{ username: 'bob', offset: 1, length: 3 }],
    [{ username: 'bob', offset: 0, length: 1 }],
    [at('bob', offset), at('carol', 0)],
    [at('bob', offset), at('bob', offset)],
  ];
  for (const mentions of wrong) {
    const field = `mentions.${mentions.length - 1}`;
    assertRefused(await post(server, alice, id, mention(body, ...mentions)), 400, 'field_invalid', field);
  }
  const odd = [
    [{ username: 'bob', offset: -1, length: 1 }, 'mentions.0.offset'],
    [{ username: 'bob', offset: 0, length: 0 }, 'mentions.0.length'],
    [{ username: 'bob', offset: 0.5, length: 1 }, 'mentions.0.offset'],
    [{ username: 'Bob', offset: 0, length: 1 }, 'mentions.0.username'],
  ] as const;
  for (const [one, field] of odd) {
    assertRefused(await post(server, alice, id, mention(body, one)), 400, 'field_invalid', field);
  }
  assert.equal((await post(server, alice, id, mention('@bob'))).status, 400);
  assertRefused(
    await post(server, alice, id, { kind: 'text', body, mentions: [{ user: 'bob', offset: 9, length: 4 }] }),
    400,
    'field_unknown',
    'mentions.0.user',
  );
  const place = { kind: 'location', body: { latitude: 1, longitude: 2 }, mentions: [at('bob', 0)] };
  assertRefused(await post(server, alice, id, place), 400, 'field_unknown', 'mentions');
});

test('a message has at most 50 mentions', async () => {
  const id = await room();
  const many = (count: number) =>
    mention('@bob '.repeat(count), ...Array.from({ length: count }, (_, n) => at('bob', 5 * n)));
  assert.equal((await post(server, alice, id, many(MENTIONS_PER_MESSAGE_MAX))).status, 201);
  const beyond = await post(server, alice, id, many(MENTIONS_PER_MESSAGE_MAX + 1));
  assertRefused(beyond, 400, 'field_invalid', 'mentions');
  assert.deepEqual(await mentionsIn(bob, id), [1]);
});

test('somebody who does not take part is not mentioned, whether they exist or not', async () => {
  const id = await room();
  for (const name of ['mallory', 'nobody-there']) {
    const form = mention(`@bob @${name}`, at('bob', 0), at(name, 5));
    assertRefused(await post(server, alice, id, form), 400, 'mention_unknown', 'mentions.1.username');
  }
  assert.deepEqual(await mentionsIn(mallory, id), []);
  assert.deepEqual(await mentionsIn(bob, id), []);
});

test('CAP-02 everybody is mentioned by anybody among few, and by owners and moderators among many', async () => {
  const id = await room();
  await post(server, bob, id, mention('@all hello', all));
  assert.deepEqual(await mentionsIn(carol, id), [1]);
  assert.deepEqual(await mentionsIn(alice, id), [1]);
  assert.deepEqual(await mentionsIn(bob, id), [], 'one does not call oneself');
  assert.deepEqual(await counts(carol, id), [1, 1]);
  assert.deepEqual(await counts(bob, id), [0, 0]);

  const crowd = Array.from({ length: MENTION_ALL_PARTICIPANTS_MAX - 3 }, (_, n) => `crowd${n}`);
  await addPeople(server, [...crowd, 'one-more']);
  await server.api(alice, 'POST', `/v1/conversations/${id}/participants`, { participants: crowd });
  const rights = async () => {
    const { body } = await server.api<{ rights: string[] }>(bob, 'GET', `/v1/conversations/${id}/rights`);
    return body.rights.includes('mention.all');
  };
  assert.equal(await rights(), true);
  assert.equal((await post(server, bob, id, mention('@all', all))).status, 201);
  await server.api(alice, 'POST', `/v1/conversations/${id}/participants`, { participants: ['one-more'] });
  assert.equal(await rights(), false);
  assertRefused(await post(server, bob, id, mention('@all', all)), 403, 'right_missing', 'mentions.0.all');
  assert.equal((await post(server, alice, id, mention('@all', all))).status, 201);
  await server.api(alice, 'PATCH', `/v1/conversations/${id}/participants/bob`, { role: 'moderator' });
  assert.equal(await rights(), true);
  assert.equal((await post(server, bob, id, mention('@all', all))).status, 201);
  assert.deepEqual(await mentionsIn(carol, id), [4, 3, 2, 1]);
});

test('MSG-10 an edit states the mentions anew: who is named newly is, who is left out is no more', async () => {
  const id = await room();
  const socket = await connect(server, carol);
  await post(server, alice, id, mention('@bob', at('bob', 0)));
  await post(server, alice, id, mention('@bob again', at('bob', 0)));
  const changed = await edit(alice, id, 1, { body: '@carol @bob', mentions: [at('carol', 0), at('bob', 7)] });
  assert.equal(changed.status, 200, changed.text);
  const event = await socket.event((one) => one.type === 'message.edit' && one.conv === id);
  assert.deepEqual(event.data, changed.body);
  assert.deepEqual(changed.body.mentions, [at('carol', 0), at('bob', 7)]);
  assert.deepEqual(await mentionsIn(carol, id), [1]);
  assert.deepEqual(await mentionsIn(bob, id), [2, 1], 'who was mentioned before keeps their place');
  await post(server, alice, id, mention('@carol', at('carol', 0)));
  const late = await edit(alice, id, 2, { body: '@all', mentions: [all] });
  assert.equal(late.status, 200, late.text);
  assert.deepEqual(await mentionsIn(carol, id), [2, 3, 1], 'a new mention is new, however old its message');
  assert.equal((await edit(alice, id, 1, { body: 'nobody' })).body.mentions, undefined);
  assert.deepEqual(await mentionsIn(carol, id), [2, 3]);
  assertRefused(
    await edit(alice, id, 1, { body: '@mallory', mentions: [at('mallory', 0)] }),
    400,
    'mention_unknown',
    'mentions.0.username',
  );
  assertRefused(
    await edit(alice, id, 1, { body: '@bob', mentions: [at('bob', 1)] }),
    400,
    'field_invalid',
    'mentions.0',
  );
  await socket.close();
});

test('an edit keeps the mention of somebody who has left since', async () => {
  const id = await room();
  await post(server, alice, id, mention('@bob', at('bob', 0)));
  await server.api(bob, 'DELETE', `/v1/conversations/${id}/participants/bob`);
  const kept = await edit(alice, id, 1, { body: '@bob was here', mentions: [at('bob', 0)] });
  assert.deepEqual([kept.status, kept.body.mentions], [200, [at('bob', 0)]]);
});

test('a deleted message mentions nobody, and its stub says nothing of whom it did', async () => {
  const id = await room();
  await post(server, alice, id, mention('@bob', at('bob', 0)));
  await post(server, alice, id, mention('@all', all));
  assert.deepEqual(await counts(bob, id), [2, 2]);
  for (const seq of [1, 2]) {
    const stub = await server.api<Message>(alice, 'DELETE', `/v1/conversations/${id}/messages/${seq}`);
    assert.equal(stub.body.mentions, undefined);
  }
  assert.deepEqual(await mentionsIn(bob, id), []);
  assert.deepEqual(await counts(bob, id), [0, 0]);
});

test('MSG-11 who is removed has no mentions of the conversation any more, at once', async () => {
  const id = await room();
  await post(server, alice, id, mention('@bob', at('bob', 0)));
  await post(server, alice, id, mention('@all', all));
  assert.deepEqual(await mentionsIn(bob, id), [2, 1]);
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/participants/bob`);
  assert.deepEqual(await mentionsIn(bob, id), []);
  await server.api(alice, 'DELETE', `/v1/conversations/${id}`);
  assert.deepEqual(await mentionsIn(carol, id), []);
});

test('pages of mentions neither lose nor repeat one, over all lanes, whatever comes meanwhile', async () => {
  const dave = await server.person('dave');
  const rooms = await Promise.all(Array.from({ length: 12 }, () => room(['dave', 'carol'])));
  for (const id of rooms) {
    await post(server, alice, id, mention('@dave', at('dave', 0)));
    await post(server, alice, id, mention('@all', all));
    await post(server, alice, id, mention('@carol', at('carol', 0)));
  }
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null && pages < 50; pages += 1) {
    const { items, next }: Page = await page(dave, `?limit=5${cursor === '' ? '' : `&after=${cursor}`}`);
    assert.ok(items.length <= 5);
    seen.push(...items.map(({ message }) => `${message.conversation_id} ${message.seq}`));
    cursor = next;
    if (pages === 1) await post(server, alice, rooms[0] as string, mention('@dave later', at('dave', 0)));
  }
  const expected = rooms.flatMap((id) => [`${id} 2`, `${id} 1`]);
  assert.deepEqual(seen.toSorted(), expected.toSorted());
  const newest = [...rooms].toReversed().flatMap((id) => [`${id} 2`, `${id} 1`]);
  assert.deepEqual(seen, newest);
  assert.equal((await page(dave, '?limit=1')).items[0]?.message.seq, 4);
});

test('a cursor that this server never gave is refused, and a limit beyond the largest', async () => {
  for (const cursor of ['x', Buffer.from('[]').toString('base64url'), Buffer.from('["e",[1]]').toString('base64url')]) {
    const reply = await server.api(bob, 'GET', `/v1/mentions?after=${cursor}`);
    assertRefused(reply, 400, 'cursor_invalid', 'after');
  }
  const inbox = await server.api<{ sync: string }>(bob, 'GET', '/v1/inbox?limit=1');
  const foreign = await server.api(bob, 'GET', `/v1/mentions?after=${inbox.body.sync}`);
  assertRefused(foreign, 400, 'cursor_invalid', 'after');
  assertRefused(await server.api(bob, 'GET', '/v1/mentions?limit=201'), 400, 'query_invalid', 'limit');
  assertRefused(await server.api(bob, 'GET', '/v1/mentions?user=alice'), 400, 'query_invalid', 'user');
});
