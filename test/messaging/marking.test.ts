/** What people put on messages and conversations: reactions, pins, drafts, mutes (SOC-04, SOC-10, TIM-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Person, Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { anotherDevice, assertRefused, heardUpTo, post, say, start } from './conversing.ts';

const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2 });

const room = async () => (await start(server, alice, 'room', ['bob'])).id;
const path = (id: string, rest: string) => `/v1/conversations/${id}${rest}`;

async function react(who: Person, id: string, seq: number, emoji: string, method = 'PUT'): Promise<Reply<Message>> {
  return await server.api<Message>(who, method, path(id, `/messages/${seq}/reactions/${encodeURIComponent(emoji)}`));
}

test('SOC-04 a reaction is on the message and in an event that says how the emoji stands', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  await say(server, alice, id, 'x');
  await react(alice, id, 1, '👍');
  const both = await react(bob, id, 1, '👍');
  assert.deepEqual([both.status, both.body.reactions], [200, [{ emoji: '👍', count: 2, users: ['alice', 'bob'] }]]);
  const less = await react(alice, id, 1, '👍', 'DELETE');
  assert.deepEqual(less.body.reactions, [{ emoji: '👍', count: 1, users: ['bob'] }]);
  const none = await react(bob, id, 1, '👍', 'DELETE');
  assert.equal(none.body.reactions, undefined);
  const events = await socket.eventsOf('reaction', 4);
  assert.deepEqual(
    events.map((event) => event.data),
    [
      { seq: 1, user: 'alice', emoji: '👍', added: true, count: 1, users: ['alice'] },
      { seq: 1, user: 'bob', emoji: '👍', added: true, count: 2, users: ['alice', 'bob'] },
      { seq: 1, user: 'alice', emoji: '👍', added: false, count: 1, users: ['bob'] },
      { seq: 1, user: 'bob', emoji: '👍', added: false, count: 0, users: [] },
    ],
  );
  await socket.close();
});

test('SOC-04 a reaction given twice or taken back twice changes nothing and raises no second event', async () => {
  const id = await room();
  await say(server, alice, id, 'x');
  const socket = await connect(server, bob);
  await react(alice, id, 1, '👨‍👩‍👧');
  assert.deepEqual((await react(alice, id, 1, '👨‍👩‍👧')).body.reactions, [{ emoji: '👨‍👩‍👧', count: 1, users: ['alice'] }]);
  await react(alice, id, 1, '👨‍👩‍👧', 'DELETE');
  assert.equal((await react(alice, id, 1, '👨‍👩‍👧', 'DELETE')).status, 200);
  assert.deepEqual(await heardUpTo(server, socket, alice, id), ['reaction', 'reaction']);
  await socket.close();
});

test('GOV-05 a reaction is one emoji and carries no text', async () => {
  const id = await room();
  await say(server, alice, id, 'x');
  for (const text of ['a', '1', '👍👍', '👍 ', 'alice', '<b>', '👍'.repeat(30), '‍']) {
    assertRefused(await react(bob, id, 1, text), 400, 'field_invalid', 'emoji');
  }
  assertRefused(await react(bob, id, 2, '👍'), 404, 'message_not_found');
  await server.api(alice, 'DELETE', path(id, '/messages/1'));
  assertRefused(await react(bob, id, 1, '👍'), 409, 'message_deleted');
});

test('ERR-04 a message takes 50 different reactions and refuses the 51st, but more of those it has', async () => {
  const id = await room();
  await say(server, alice, id, 'x');
  const emojis = Array.from({ length: 51 }, (_, n) => String.fromCodePoint(0x1f400 + (n < 41 ? n : n + 40)));
  const last = emojis[50] as string;
  for (const emoji of emojis.slice(0, 50)) {
    const reply = await react(alice, id, 1, emoji);
    assert.equal(reply.status, 200, `${emoji} ${reply.text}`);
  }
  assertRefused(await react(alice, id, 1, last), 409, 'reactions_full');
  assert.equal((await react(bob, id, 1, emojis[0] as string)).body.reactions?.[0]?.count, 2);
  await react(alice, id, 1, emojis[49] as string, 'DELETE');
  assert.equal((await react(alice, id, 1, last)).body.reactions?.length, 50);
});

test('SOC-04 pins are told to everyone, listed in seq order, idempotent, and gone with their message', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  for (const body of ['one', 'two', 'three']) await say(server, alice, id, body);
  const pin = (seq: number, method = 'PUT') => server.api(bob, method, path(id, `/pins/${seq}`));
  const pinned = async () => {
    const reply = await server.api<{ items: Message[]; next: null }>(alice, 'GET', path(id, '/pins'));
    return [reply.body.items.map((item) => item.seq), reply.body.next];
  };
  assert.equal((await pin(3)).status, 204);
  assert.equal((await pin(3)).status, 204);
  assert.equal((await pin(1)).status, 204);
  assert.equal((await pin(2, 'DELETE')).status, 204);
  assert.deepEqual(await pinned(), [[1, 3], null]);
  await pin(1, 'DELETE');
  await server.api(alice, 'DELETE', path(id, '/messages/3'));
  assert.deepEqual(await pinned(), [[], null]);
  assertRefused(await pin(3), 409, 'message_deleted');
  assertRefused(await pin(4), 404, 'message_not_found');
  await heardUpTo(server, socket, alice, id);
  assert.deepEqual(
    socket.events.filter((event) => event.type === 'pin').map((event) => event.data),
    [
      { seq: 3, user: 'bob', pinned: true },
      { seq: 1, user: 'bob', pinned: true },
      { seq: 1, user: 'bob', pinned: false },
    ],
  );
  await socket.close();
});

test('ERR-04 a conversation takes 100 pins and refuses the 101st', async () => {
  const id = await room();
  await Promise.all(Array.from({ length: 101 }, (_, n) => post(server, alice, id, { kind: 'text', body: `${n}` })));
  const pin = (seq: number) => server.api(alice, 'PUT', path(id, `/pins/${seq}`));
  const replies = await Promise.all(Array.from({ length: 100 }, (_, n) => pin(n + 1)));
  assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [204]);
  assertRefused(await pin(101), 409, 'pins_full');
  await server.api(alice, 'DELETE', path(id, '/messages/7'));
  assert.equal((await pin(101)).status, 204);
});

test('SOC-04 a draft reaches the person’s other devices only, and nobody else can read it', async () => {
  const id = await room();
  const phone = await anotherDevice(server, alice);
  const [desk, pocket, ofBob] = [
    await connect(server, alice),
    await connect(server, phone),
    await connect(server, bob),
  ];
  const kept = await server.api<{ body: string; updated_at: string }>(alice, 'PUT', path(id, '/draft'), {
    body: 'unsent',
  });
  assert.equal(kept.status, 200, kept.text);
  const event = await pocket.event('draft');
  assert.deepEqual(event.data, { conversation_id: id, body: 'unsent', updated_at: kept.body.updated_at });
  assert.deepEqual((await server.api(phone, 'GET', path(id, '/draft'))).body, kept.body);
  assertRefused(await server.api(bob, 'GET', path(id, '/draft')), 404, 'draft_not_found');
  assert.equal((await server.api(phone, 'DELETE', path(id, '/draft'))).status, 204);
  assert.equal((await desk.event('draft')).data['body'], null);
  assertRefused(await server.api(alice, 'GET', path(id, '/draft')), 404, 'draft_not_found');
  assert.equal((await server.api(alice, 'DELETE', path(id, '/draft'))).status, 204);
  assert.deepEqual(await heardUpTo(server, desk, bob, id), ['draft']);
  assert.deepEqual(
    (await heardUpTo(server, pocket, bob, id)).filter((type) => type === 'draft'),
    ['draft'],
  );
  await heardUpTo(server, ofBob, alice, id);
  assert.equal(
    ofBob.texts.some((text) => text.includes('unsent')),
    false,
  );
  for (const socket of [desk, pocket, ofBob]) await socket.close();
});

test('TIM-01 a mute takes whole and fractional seconds, and nothing that is no instant in UTC', async () => {
  const id = await room();
  const mute = (until: unknown) => server.api(bob, 'PUT', path(id, '/mute'), { until });
  const mutedUntil = async () => {
    const reply = await server.api<{ items: { conversation: { id: string }; muted_until: string | null }[] }>(
      bob,
      'GET',
      '/v1/inbox?limit=200',
    );
    const value = reply.body.items.find((item) => item.conversation.id === id)?.muted_until;
    return typeof value === 'string' ? Date.parse(value) : value;
  };
  const instants: [string, number][] = [
    ['2030-01-02T03:04:05Z', 1_893_553_445_000],
    ['2030-01-02T03:04:05.5Z', 1_893_553_445_500],
    ['2030-01-02T03:04:05.250Z', 1_893_553_445_250],
    ['2030-01-02T03:04:05.123456Z', 1_893_553_445_123],
  ];
  for (const [until, millis] of instants) {
    const reply = await mute(until);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(await mutedUntil(), millis);
  }
  const refused = [
    '2030-01-02T03:04:05+00:00',
    '2030-01-02T03:04:05+03:00',
    '2030-01-02T03:04:05',
    '2030-01-02T03:04Z',
    '2030-01-02 03:04:05Z',
    '2030-02-30T00:00:00Z',
    '2030-01-02T24:00:00Z',
    '2030-01-02',
    '9999-01-01T00:00:00Z',
    '',
    1_893_553_445,
    true,
    undefined,
  ];
  for (const until of refused) assertRefused(await mute(until), 400, 'field_invalid', 'until');
  assert.equal(await mutedUntil(), 1_893_553_445_123);
  assert.deepEqual((await mute(null)).body, { until: null });
  assert.equal(await mutedUntil(), null);
});

test('TIM-01 every instant in a message and a conversation is RFC 3339 in UTC, and events carry Unix seconds', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  const message = await say(server, alice, id, 'x');
  const event = await socket.event((one) => one.type === 'message.new' && one.conv === id);
  assert.match(message.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.equal(event.ts, Math.floor(Date.parse(message.created_at) / 1000));
  await socket.close();
});

test('GOV-03 MSG-11 marks name nobody and belong to members', async () => {
  const id = await room();
  await say(server, alice, id, 'x');
  for (const field of ['user', 'sender', 'from']) {
    const draft = await server.api(bob, 'PUT', path(id, '/draft'), { body: 'x', [field]: 'alice' });
    assertRefused(draft, 400, 'field_unknown', field);
    const mute = await server.api(bob, 'PUT', path(id, '/mute'), { until: null, [field]: 'alice' });
    assertRefused(mute, 400, 'field_unknown', field);
  }
  assertRefused(await react(mallory, id, 1, '👍'), 403, 'conversation_forbidden');
  assertRefused(await server.api(mallory, 'PUT', path(id, '/pins/1')), 403, 'conversation_forbidden');
});
