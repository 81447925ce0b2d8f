/** Conversations: creating, joining, leaving, roles, renaming, deleting, and what their events carry (CAP, SOC). */
import assert from 'node:assert/strict';
import { ACCOUNT_RIGHTS } from '#src/protocol/directory/account-rights.ts';
import { GRANTING_SCREENS } from '#src/settings/granted-rights.ts';
import { test } from 'node:test';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { addPeople, assertRefused, allHeardUpTo, heardUpTo, post, say, start } from './conversing.ts';

const { server, alice, bob, carol, mallory } = await shareServer(['alice', 'bob', 'carol', 'mallory'], { shards: 2 });
await addPeople(
  server,
  Array.from({ length: 20 }, (_, n) => `p${n + 1}`),
);

const path = (id: string, rest = '') => `/v1/conversations/${id}${rest}`;

/** A room that alice owns, with bob as a moderator, carol as a member, p1 as a guest. */
async function mixedRoom(): Promise<string> {
  const { id } = await start(server, alice, 'room', ['carol'], 'mixed');
  await server.api(alice, 'POST', path(id, '/participants'), { participants: ['bob'], role: 'moderator' });
  await server.api(alice, 'POST', path(id, '/participants'), { participants: ['p1'], role: 'guest' });
  return id;
}

async function rolesIn(id: string, who = alice): Promise<Record<string, string>> {
  const reply = await server.api<Conversation>(who, 'GET', path(id));
  return Object.fromEntries((reply.body.participants ?? []).map(({ user, role }) => [user, role]));
}

test('GOV-01 a direct conversation is one per pair, whoever asks, also when both ask at once', async () => {
  const create = (who: Person, other: string) =>
    server.api<Conversation>(who, 'POST', '/v1/conversations', { kind: 'direct', participants: [other] });
  const replies = await Promise.all(
    Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? create(alice, 'bob') : create(bob, 'alice'))),
  );
  assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
  assert.equal(replies.filter((reply) => reply.status === 200).length, 15);
  assert.equal(new Set(replies.map((reply) => reply.body.id)).size, 1);
  assert.deepEqual(replies[0]?.body.participants, [
    { user: 'alice', role: 'member' },
    { user: 'bob', role: 'member' },
  ]);
  const withCarol = await create(alice, 'carol');
  assert.notEqual(withCarol.body.id, replies[0]?.body.id);
});

test('GOV-01 secret chats and rooms are new each time, with an id that the server makes', async () => {
  const secrets = [await start(server, alice, 'secret', ['bob']), await start(server, alice, 'secret', ['bob'])];
  const rooms = [
    await start(server, alice, 'room', [], '  Title  '),
    await start(server, alice, 'room', ['bob', 'bob', 'alice']),
  ];
  assert.equal(new Set([...secrets, ...rooms].map((one) => one.id)).size, 4);
  for (const one of [...secrets, ...rooms]) assert.match(one.id, /^c_[0-9a-z]{22}$/);
  assert.deepEqual([rooms[0]?.title, rooms[0]?.participants], ['Title', [{ user: 'alice', role: 'owner' }]]);
  assert.deepEqual(rooms[1]?.participants, [
    { user: 'alice', role: 'owner' },
    { user: 'bob', role: 'member' },
  ]);
  const claimed = { kind: 'room', id: 'c_0000000000000000000000' };
  assertRefused(await server.api(alice, 'POST', '/v1/conversations', claimed), 400, 'field_unknown', 'id');
});

test('ERR-05 nobody talks to themselves or to somebody unknown, and the answer tells no more', async () => {
  const create = (kind: string, participants: string[]) =>
    server.api(alice, 'POST', '/v1/conversations', { kind, participants });
  assertRefused(await create('direct', ['alice']), 400, 'participant_unknown', 'participants.0');
  assertRefused(await create('secret', ['alice']), 400, 'participant_unknown', 'participants.0');
  assertRefused(await create('direct', ['nobody']), 400, 'participant_unknown', 'participants.0');
  assertRefused(await create('room', ['bob', 'nobody']), 400, 'participant_unknown', 'participants.1');
  assertRefused(await create('direct', ['bob', 'carol']), 400, 'field_invalid', 'participants');
  assertRefused(await create('direct', []), 400, 'field_invalid', 'participants');
  assertRefused(await create('direct', ['Bob']), 400, 'field_invalid', 'participants.0');
  assertRefused(await create('channel', ['bob']), 400, 'field_invalid', 'kind');
});

test('SOC-04 whoever is put into a conversation hears inbox with it, and the conversation from then on', async () => {
  const socket = await connect(server, bob);
  const created = await start(server, alice, 'room', ['bob'], 'news');
  const event = await socket.event((one) => one.type === 'inbox' && one.conv === created.id);
  assert.deepEqual(event.data, { ...created });
  assert.deepEqual(await allHeardUpTo(server, socket, alice, created.id), ['inbox']);
  await socket.close();
});

test('SOC-09 a room’s events carry its participants up to 16, and none from 17 on; a direct chat’s always', async () => {
  const socket = await connect(server, bob);
  const people = Array.from({ length: 14 }, (_, n) => `p${n + 1}`);
  const sixteen = await start(server, alice, 'room', ['bob', ...people], 'full');
  assert.equal(sixteen.participants?.length, 16);
  await server.api(alice, 'PATCH', path(sixteen.id), { title: 'renamed at 16' });
  await server.api(alice, 'POST', path(sixteen.id, '/participants'), { participants: ['p15'] });
  await server.api(alice, 'PATCH', path(sixteen.id), { title: 'renamed at 17' });
  const updates = await socket.eventsOf('conversation.updated', 2);
  assert.deepEqual(
    updates.map(({ data }) => [
      data['title'],
      data['participant_count'],
      (data['participants'] as [] | undefined)?.length,
    ]),
    [
      ['renamed at 16', 16, 16],
      ['renamed at 17', 17, undefined],
    ],
  );
  const seventeen = await start(server, alice, 'room', ['bob', ...people, 'p15'], 'too full');
  assert.deepEqual([seventeen.participant_count, seventeen.participants], [17, undefined]);
  const { id } = await start(server, alice, 'secret', ['bob']);
  const inbox = (conv: string) => socket.event((event) => event.type === 'inbox' && event.conv === conv);
  assert.equal((await inbox(seventeen.id)).data['participants'], undefined);
  assert.equal(((await inbox(sixteen.id)).data['participants'] as []).length, 16);
  assert.equal(((await inbox(id)).data['participants'] as []).length, 2);
  await socket.close();
});

test('SOC-10 SOC-04 counters, mutes and the list of pins are in no event, and mutes raise none', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'quiet');
  const [ofAlice, ofBob] = [await connect(server, alice), await connect(server, bob)];
  await say(server, alice, id, 'one');
  await server.api(alice, 'PUT', path(id, '/pins/1'));
  await server.api(bob, 'PUT', path(id, '/mute'), { until: '2030-01-01T00:00:00Z' });
  await server.api(alice, 'PATCH', path(id), { title: 'quieter' });
  await server.api(alice, 'POST', path(id, '/participants'), { participants: ['carol'] });
  for (const socket of [ofAlice, ofBob]) {
    assert.deepEqual(await heardUpTo(server, socket, alice, id), [
      ...['message.new', 'pin', 'conversation.updated', 'membership'],
      // The mark of the first look is a message to the second.
      ...(socket === ofBob ? ['message.new'] : []),
    ]);
    const keys = socket.events.flatMap((event) => Object.keys(event.data));
    for (const key of ['unread', 'unread_count', 'muted', 'muted_until', 'pins', 'pin_count', 'draft']) {
      assert.equal(keys.includes(key), false, key);
    }
    await socket.close();
  }
});

test('NAM-01 GOV-02 people on the wire are usernames: in records, events, receipts, reactions and memberships', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  const socket = await connect(server, bob);
  await say(server, alice, id, 'x');
  await server.api(alice, 'PUT', path(id, `/messages/1/reactions/${encodeURIComponent('🎉')}`));
  await server.api(alice, 'POST', path(id, '/receipts'), { state: 'read', seq: 1 });
  await server.api(alice, 'PATCH', path(id, '/participants/bob'), { role: 'moderator' });
  await heardUpTo(server, socket, alice, id);
  const by = (type: string) => socket.events.find((event) => event.type === type && event.conv === id)?.data;
  assert.equal(by('message.new')?.['sender'], 'alice');
  assert.equal(by('reaction')?.['user'], 'alice');
  assert.equal(by('receipt')?.['user'], 'alice');
  assert.deepEqual(by('membership'), {
    action: 'role',
    user: 'alice',
    participants: [{ user: 'bob', role: 'moderator' }],
    participant_count: 2,
  });
  for (const text of socket.texts) assert.doesNotMatch(text, /display_name|"name"|phone/);
  await socket.close();
});

test('CAP-02 each role’s rights are told, and exactly those are granted', async () => {
  const id = await mixedRoom();
  const p1 = { username: 'p1', password: 'password of p1', session: await server.signIn('p1', 'password of p1') };
  const rights = async (who: Person) =>
    (await server.api<{ rights: string[] }>(who, 'GET', path(id, '/rights'))).body.rights.toSorted();
  const guest = [
    'call.start',
    'conversation.leave',
    // By everybody in a room as small as this one.
    'mention.all',
    'message.delete.own',
    'message.edit.own',
    'message.post',
    'reaction.add',
  ];
  const member = [...guest, 'participant.add', 'pin.change'];
  const moderator = [...member, 'message.delete.any', 'participant.remove', 'title.change', 'webhook.manage'];
  const own = ['conversation.archive', 'conversation.delete', 'retention.change', 'role.change', 'visibility.change'];
  const owner = [...moderator, ...own];
  assert.deepEqual(await rights(p1), guest.toSorted());
  assert.deepEqual(await rights(carol), member.toSorted());
  assert.deepEqual(await rights(bob), moderator.toSorted());
  assert.deepEqual(await rights(alice), owner.toSorted());

  await say(server, alice, id, 'of alice');
  const refusals: [Person, string, string, unknown?][] = [
    [p1, 'PUT', '/pins/1'],
    [p1, 'POST', '/participants', { participants: ['p2'] }],
    [p1, 'PATCH', '', { title: 'x' }],
    [p1, 'DELETE', '/messages/1'],
    [carol, 'PATCH', '', { title: 'x' }],
    [carol, 'DELETE', '/messages/1'],
    [carol, 'DELETE', '/participants/p1'],
    [carol, 'PATCH', '/participants/p1', { role: 'member' }],
    [bob, 'PATCH', '/participants/carol', { role: 'guest' }],
    [bob, 'DELETE', '/participants/alice'],
    [bob, 'PATCH', '', { visibility: 'organisation' }],
    [bob, 'PATCH', '', { archived: true }],
    [bob, 'DELETE', ''],
    [carol, 'DELETE', ''],
  ];
  for (const [who, method, rest, body] of refusals) {
    assertRefused(await server.api(who, method, path(id, rest), body), 403, 'right_missing');
  }
  const handsOut = { participants: ['p2'], role: 'owner' };
  assertRefused(await server.api(bob, 'POST', path(id, '/participants'), handsOut), 403, 'right_missing', 'role');
  assert.deepEqual(await rolesIn(id), { alice: 'owner', bob: 'moderator', carol: 'member', p1: 'guest' });
  assert.equal((await post(server, p1, id, { kind: 'text', body: 'hi' })).status, 201);
  assert.equal((await server.api(bob, 'PATCH', path(id), { title: 'by bob' })).status, 200);
  assert.equal((await server.api(bob, 'DELETE', path(id, '/participants/carol'))).status, 204);
});

test('CAP-01 the account’s rights are told to whoever is signed in', async () => {
  const reply = await server.api(alice, 'GET', '/v1/me/capabilities');
  // What a setting has to give is nobody's without it.
  const usual = ACCOUNT_RIGHTS.filter((right) => !Object.hasOwn(GRANTING_SCREENS, right));
  assert.deepEqual([reply.status, reply.body], [200, { rights: usual }]);
  assertRefused(await server.api(undefined, 'GET', '/v1/me/capabilities'), 401, 'token_missing');
});

test('MSG-11 ERR-05 a stranger is answered alike on every path of a conversation, existing or not', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  await say(server, alice, id, 'inside');
  const requests: [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { title: 'x' }],
    ['DELETE', ''],
    ['GET', '/participants'],
    ['POST', '/participants', { participants: ['carol'] }],
    ['POST', '/participants', { participants: ['nobody'] }],
    ['PATCH', '/participants/bob', { role: 'owner' }],
    ['DELETE', '/participants/bob'],
    ['DELETE', '/participants/mallory'],
    ['POST', '/messages', { kind: 'text', body: 'x' }],
    ['GET', '/messages'],
    ['GET', '/messages/1'],
    ['PATCH', '/messages/1', { body: 'x' }],
    ['DELETE', '/messages/1'],
    ['PUT', `/messages/1/reactions/${encodeURIComponent('👍')}`],
    ['DELETE', `/messages/1/reactions/${encodeURIComponent('👍')}`],
    ['GET', '/pins'],
    ['PUT', '/pins/1'],
    ['DELETE', '/pins/1'],
    ['PUT', '/draft', { body: 'x' }],
    ['GET', '/draft'],
    ['DELETE', '/draft'],
    ['PUT', '/mute', { until: null }],
    ['POST', '/receipts', { state: 'read', seq: 1 }],
    ['GET', '/rights'],
    ['GET', '/changes?after_rev=0'],
  ];
  for (const [method, rest, body] of requests) {
    const replies = await Promise.all(
      [id, 'c_0000000000000000000000', 'no-id-at-all'].map((one) => server.api(mallory, method, path(one, rest), body)),
    );
    for (const reply of replies) {
      assertRefused(reply, 403, 'conversation_forbidden');
      assert.equal(reply.text, replies[0]?.text, `${method} ${rest}`);
    }
  }
  assert.deepEqual(await rolesIn(id), { alice: 'owner', bob: 'member' });
});

test('MSG-11 whoever left or was removed is a stranger from then on, also on an open socket', async () => {
  const { id } = await start(server, alice, 'room', ['bob', 'carol']);
  const [ofBob, ofCarol] = [await connect(server, bob), await connect(server, carol)];
  assert.equal((await server.api(bob, 'DELETE', path(id, '/participants/bob'))).status, 204);
  assert.equal((await server.api(alice, 'DELETE', path(id, '/participants/carol'))).status, 204);
  const left = await ofCarol.event((event) => event.type === 'membership' && event.data['action'] === 'left');
  assert.deepEqual(left.data, {
    action: 'left',
    user: 'bob',
    participants: [{ user: 'bob', role: 'member' }],
    participant_count: 2,
  });
  const removed = await ofCarol.event((event) => event.type === 'membership' && event.data['action'] === 'removed');
  assert.deepEqual(removed.data['participants'], [{ user: 'carol', role: 'member' }]);
  for (const who of [bob, carol]) {
    assertRefused(await server.api(who, 'GET', path(id)), 403, 'conversation_forbidden');
    assertRefused(await post(server, who, id, { kind: 'text', body: 'x' }), 403, 'conversation_forbidden');
  }
  await say(server, alice, id, 'among ourselves');
  // Another conversation's message comes after anything that this one could have sent.
  const other = await start(server, alice, 'room', ['bob', 'carol']);
  await heardUpTo(server, ofBob, alice, other.id);
  await heardUpTo(server, ofCarol, alice, other.id);
  for (const socket of [ofBob, ofCarol]) {
    assert.equal(
      socket.texts.some((text) => text.includes('among ourselves')),
      false,
    );
    await socket.close();
  }
});

test('CAP-02 a room keeps an owner; the last one out takes it along', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  assertRefused(await server.api(alice, 'DELETE', path(id, '/participants/alice')), 409, 'owner_required');
  assertRefused(
    await server.api(alice, 'PATCH', path(id, '/participants/alice'), { role: 'member' }),
    409,
    'owner_required',
  );
  assertRefused(await server.api(alice, 'DELETE', path(id, '/participants/nobody')), 404, 'participant_not_found');
  assertRefused(
    await server.api(alice, 'DELETE', path(id, '/participants/Not%20A%20Name')),
    404,
    'participant_not_found',
  );
  assert.equal((await server.api(alice, 'PATCH', path(id, '/participants/bob'), { role: 'owner' })).status, 200);
  assert.equal((await server.api(alice, 'DELETE', path(id, '/participants/alice'))).status, 204);
  assert.deepEqual(await rolesIn(id, bob), { bob: 'owner' });
  assert.equal((await server.api(bob, 'DELETE', path(id, '/participants/bob'))).status, 204);
  assertRefused(await server.api(bob, 'GET', path(id)), 403, 'conversation_forbidden');
});

test('CAP-02 the participants of a pair do not change, and its chat has no title', async () => {
  for (const kind of ['direct', 'secret'] as const) {
    const { id } = await start(server, alice, kind, ['carol']);
    const add = await server.api(alice, 'POST', path(id, '/participants'), { participants: ['bob'] });
    assertRefused(add, 409, 'participants_fixed');
    for (const name of ['alice', 'carol']) {
      assertRefused(await server.api(alice, 'DELETE', path(id, `/participants/${name}`)), 409, 'participants_fixed');
    }
    const role = await server.api(alice, 'PATCH', path(id, '/participants/carol'), { role: 'owner' });
    assertRefused(role, 409, 'participants_fixed');
    assertRefused(await server.api(alice, 'PATCH', path(id), { title: 'us' }), 403, 'right_missing');
  }
});

test('GOV-01 participants come page by page in the order of their names', async () => {
  const { id } = await start(server, alice, 'room', ['bob', 'carol', 'mallory']);
  const page = async (query: string) => {
    const reply = await server.api<{ items: { user: string }[]; next: string | null }>(
      alice,
      'GET',
      path(id, `/participants?${query}`),
    );
    return [reply.body.items.map((item) => item.user), reply.body.next];
  };
  assert.deepEqual(await page('limit=3'), [['alice', 'bob', 'carol'], 'carol']);
  assert.deepEqual(await page('limit=3&after=carol'), [['mallory'], null]);
  assert.deepEqual(await page('limit=4'), [['alice', 'bob', 'carol', 'mallory'], null]);
  assertRefused(await server.api(alice, 'GET', path(id, '/participants?limit=1001')), 400, 'query_invalid', 'limit');
  assertRefused(await server.api(alice, 'GET', path(id, '/participants?after=%F0%9F')), 400, 'cursor_invalid', 'after');
});

test('SOC-04 either of two deletes their secret chat: the other hears of it, and it is there for neither', async () => {
  const { id } = await start(server, bob, 'secret', ['carol']);
  const socket = await connect(server, carol);
  await say(server, bob, id, 'first');
  assert.equal((await server.api(bob, 'DELETE', path(id))).status, 204);
  const event = await socket.event('conversation.deleted');
  assert.deepEqual([event.conv, event.data], [id, { conversation_id: id }]);
  for (const who of [bob, carol]) assertRefused(await server.api(who, 'GET', path(id)), 403, 'conversation_forbidden');
  await socket.close();
});
