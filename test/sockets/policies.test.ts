/** The access policies in every surface of a server with two shards (POL-01), and guests at the end of their terms. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { NO_POLICIES } from '#src/protocol/directory/policy-decision.ts';
import { AccessChecks, SEATS_LOOKED_AT_MAX } from '#src/messaging/access/access-checks.ts';
import { writeConversation, writeMember } from '#storage/conversations/conversation-writes.ts';
import { openLane } from '#storage/engine/lane.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const ROOM_RECORD: Omit<ConversationRecord, 'id' | 'participantCount'> = {
  ...{ kind: 'room', title: 'Room', createdAt: '2026-11-22T08:00:00Z', createdBy: 'yan', headSeq: 0, rev: 1 },
  ...{ ownerCount: 0, pinCount: 0, stamp: 1, activeAt: 0, deleted: false, floorSeq: 0, floorRev: 0 },
  ...{ retention: undefined, isHeld: false, emptiedSeq: 0 },
};

let running: ConsoleServer;
let people: Record<'alice' | 'bob' | 'carol' | 'dave', Person>;
let boardId = '';

before(async () => {
  const environment = { PARLEY_DEBUG_HOOKS: '1', PARLEY_LOG_LEVEL: 'silent' };
  running = await startConsoleServer({ shards: 2, environment });
  people = await running.server.people('alice', 'bob', 'carol', 'dave');
  const board = await running.console<{ id: string }>('POST', '/groups', { name: 'Board', members: ['carol'] });
  assert.equal(board.status, 201);
  boardId = board.body.id;
});
after(async () => await running.stop());

const id = (reply: { body: Record<string, unknown> }) => reply.body['id'] as string;

/** What is done while a rule is in force. */
async function under(rule: object, work: () => Promise<void>): Promise<void> {
  const made = await running.console('POST', '/policies', rule);
  assert.equal(made.status, 201, made.text);
  try {
    await work();
  } finally {
    assert.equal((await running.console('DELETE', `/policies/${id(made)}`)).status, 204);
  }
}

async function direct(one: Person, other: string) {
  return await running.server.api(one, 'POST', '/v1/conversations', { kind: 'direct', participants: [other] });
}

async function enrolGuest(username: string, phone: string, seconds: number): Promise<Person> {
  const { server } = running;
  const invited = await running.console<{ url: string }>('POST', '/enroll', {
    kind: 'guest',
    phone,
    guest_until: formatInstant(Math.floor(Date.now() / 1000 + seconds) * 1000),
  });
  assert.equal(invited.status, 201, invited.text);
  const password = `password of ${username}`;
  assert.equal((await request('POST', invited.body.url, { body: { username, password } })).status, 201);
  assert.equal((await request('POST', invited.body.url, { body: { username, password } })).status, 410);
  return { username, password, session: await server.signIn(username, password) };
}

const invite = (to: string, call: string) => ({
  to,
  kind: 'call',
  step: 'invite',
  call,
  seq: 1,
  body: { video: false, room: 'r' },
});

test('POL-01 message: a direct conversation is begun, and posted and edited in, by whom the rules let', async () => {
  const { server } = running;
  const { alice, carol, dave } = people;
  const pair = id(await direct(alice, 'carol'));
  const post = async (who: Person, client: string) =>
    await server.api(who, 'POST', `/v1/conversations/${pair}/messages`, {
      kind: 'text',
      body: 'hello',
      client_msg_id: client,
    });
  assert.equal((await post(alice, 'before')).status, 201);
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    const denied = await post(alice, 'during');
    assert.deepEqual([denied.status, denied.body['code']], [403, 'right_missing']);
    const edited = await server.api(alice, 'PATCH', `/v1/conversations/${pair}/messages/1`, { body: 'again' });
    assert.equal(edited.body['code'], 'right_missing');
    assert.equal((await post(carol, 'back')).status, 201);
    const [begun, nobody] = [await direct(dave, 'carol'), await direct(dave, 'nobody')];
    assert.equal(begun.status, 400);
    assert.equal(begun.text, nobody.text);
    assert.equal((await direct(dave, 'bob')).status, 201);
  });
  assert.equal((await post(alice, 'after')).status, 201);
  assert.equal((await direct(dave, 'carol')).status, 201);
});

test('CAP-02 POL-01 the rights in a direct conversation are those that the rules leave', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const pair = id(await direct(alice, 'carol'));
  const rights = async (who: Person) =>
    (await server.api<{ rights: string[] }>(who, 'GET', `/v1/conversations/${pair}/rights`)).body.rights;
  const all = await rights(alice);
  const posting = ['message.post', 'message.edit.own', 'mention.all', 'reaction.add', 'pin.change'];
  const calling = ['call.start'];
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    assert.deepEqual(
      await rights(alice),
      all.filter((right) => !posting.includes(right)),
    );
    assert.deepEqual(await rights(carol), all);
  });
  await under({ action: 'call', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    assert.deepEqual(
      await rights(alice),
      all.filter((right) => !calling.includes(right)),
    );
  });
  assert.deepEqual(await rights(alice), all);
  for (const right of [...posting, ...calling]) assert.ok(all.includes(right));
});

test('POL-01 message: reactions and typing are words, too, to somebody who may not be messaged', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const pair = id(await direct(alice, 'carol'));
  const said = await server.api(carol, 'POST', `/v1/conversations/${pair}/messages`, { kind: 'text', body: 'said' });
  const reaction = `/v1/conversations/${pair}/messages/${said.body['seq'] as number}/reactions/${encodeURIComponent('👍')}`;
  const [atAlice, atCarol] = [await connect(server, alice), await connect(server, carol)];
  const typing = { kind: 'typing', conv: pair };
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    const denied = await server.api(alice, 'PUT', reaction);
    assert.deepEqual([denied.status, denied.body['code']], [403, 'right_missing']);
    atAlice.send(typing);
    atCarol.send(typing);
    await atAlice.event('typing');
    // What comes later on the same socket shows that nothing came before it.
    const signal = { to: pair, kind: 'sub', step: 'subscribe' };
    assert.equal((await server.api(alice, 'POST', '/v1/signal', signal)).status, 202);
    await atCarol.event('signal');
    assert.deepEqual([atCarol.events.some(({ type }) => type === 'typing'), atAlice.closed], [false, undefined]);
  });
  assert.equal((await server.api(alice, 'PUT', reaction)).status, 200);
  atAlice.send(typing);
  await atCarol.event('typing');
  await Promise.all([atAlice.close(), atCarol.close()]);
});

test('POL-01 SIG-04 a stanza outside of calls reaches nobody who may neither be messaged nor called', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const pair = id(await direct(alice, 'carol'));
  const send = async (who: Person, to: string) =>
    await server.api(who, 'POST', '/v1/signal', { to, kind: 'sub', step: 'subscribe', body: { text: 'words' } });
  const heard = await connect(server, carol);
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    assert.equal((await send(alice, 'carol')).status, 202);
    await under({ action: 'call', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
      const [denied, nobody] = [await send(alice, 'carol'), await send(alice, 'nobody')];
      assert.deepEqual([denied.status, denied.body['code']], [403, 'recipient_forbidden']);
      assert.equal(denied.text, nobody.text);
      assert.equal((await send(alice, pair)).text, nobody.text);
      assert.equal((await send(carol, 'alice')).status, 202);
    });
  });
  assert.equal((await send(alice, pair)).status, 202);
  await heard.event((event) => event.type === 'signal' && event.data['to'] === pair);
  assert.equal(heard.events.filter(({ type }) => type === 'signal').length, 2);
  await heard.close();
});

test('POL-01 invite: rooms are made with, and filled by, those whom the rules let be invited', async () => {
  const { server } = running;
  const { alice } = people;
  const make = async (...participants: string[]) =>
    await server.api(alice, 'POST', '/v1/conversations', { kind: 'room', title: 'Room', participants });
  const room = id(await make('bob'));
  const add = async (user: string) =>
    await server.api(alice, 'POST', `/v1/conversations/${room}/participants`, { participants: [user] });
  await under({ action: 'invite', from: 'people', to: boardId, effect: 'deny' }, async () => {
    const [denied, nobody] = [await make('bob', 'carol'), await make('bob', 'nobody')];
    assert.deepEqual([denied.status, denied.body['field']], [400, 'participants.1']);
    assert.equal(denied.text, nobody.text);
    assert.equal((await add('carol')).text, (await add('nobody')).text);
    assert.equal((await add('dave')).status, 200);
  });
  assert.equal((await add('carol')).status, 200);
});

test('POL-01 call: an invite to a person or into a direct conversation is for whom the rules let call', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const pair = id(await direct(alice, 'carol'));
  await direct(alice, 'bob');
  const call = async (who: Person, to: string, name: string) =>
    await server.api(who, 'POST', '/v1/signal', invite(to, name));
  await under({ action: 'call', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    const denied = await call(alice, 'carol', 'one');
    assert.deepEqual([denied.status, denied.body['code']], [403, 'recipient_forbidden']);
    assert.equal(denied.text, (await call(alice, 'nobody', 'one')).text);
    assert.equal((await call(alice, pair, 'two')).body['code'], 'recipient_forbidden');
    assert.equal((await call(alice, 'bob', 'three')).status, 202);
    assert.equal((await call(carol, 'alice', 'four')).status, 202);
    const decline = { to: 'carol', kind: 'call', step: 'decline', call: 'four', seq: 2, body: {} };
    assert.equal((await server.api(alice, 'POST', '/v1/signal', decline)).status, 202);
  });
  assert.equal((await call(alice, 'carol', 'five')).status, 202);
});

test('POL-01 message: two people in a room are two people; nobody makes or fills a room to reach whom they may not', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const make = async (...participants: string[]) =>
    await server.api(alice, 'POST', '/v1/conversations', { kind: 'room', title: 'Two', participants });
  const room = `/v1/conversations/${id(await make('carol'))}`;
  const wide = `/v1/conversations/${id(await make('carol', 'bob'))}`;
  const words = { kind: 'text', body: 'words' };
  assert.equal((await server.api(carol, 'POST', `${room}/messages`, words)).status, 201);
  // A webhook has a seat of its own in the room, and is nobody.
  assert.equal((await server.api(alice, 'POST', `${room}/webhooks`, { name: 'Hook' })).status, 201);
  const emoji = `${room}/messages/1/reactions/${encodeURIComponent('👍')}`;
  const writes: [method: string, path: string, body?: object][] = [
    ['POST', `${room}/messages`, words],
    ['PUT', emoji],
    ['PUT', `${room}/pins/1`],
    ['DELETE', `${room}/messages/1`],
    ['PUT', `${room}/retention`, { seconds: 60 }],
    ['DELETE', `${room}/messages?before_seq=2`],
    ['PATCH', room, { title: 'Words of another kind' }],
    ['PATCH', room, { topic: 'Words of another kind' }],
    ['POST', `${room}/webhooks`, { name: 'Another' }],
    ['PATCH', room, { archived: true }],
    ['DELETE', room],
  ];
  const rights = async (who: Person) =>
    (await server.api<{ rights: string[] }>(who, 'GET', `${room}/rights`)).body.rights;
  const all = await rights(alice);
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    const nobody = await make('nobody');
    const made = await make('carol');
    assert.deepEqual([made.status, made.text], [400, nobody.text]);
    const other = `/v1/conversations/${id(await make('bob'))}`;
    const added = await server.api(alice, 'POST', `${other}/participants`, { participants: ['carol'] });
    assert.deepEqual([added.status, added.body['code']], [400, 'participant_unknown']);
    for (const [method, path, body] of writes) {
      const denied = await server.api(alice, method, path, body);
      assert.deepEqual([denied.status, denied.body['code']], [403, 'right_missing'], `${method} ${path}`);
    }
    const left = [
      'message.delete.own',
      'participant.add',
      'participant.remove',
      'role.change',
      'conversation.leave',
      'call.start',
    ];
    assert.deepEqual((await rights(alice)).toSorted(), left.toSorted());
    assert.equal((await server.api(carol, 'POST', `${room}/messages`, words)).status, 201);
    assert.equal((await server.api(alice, 'POST', `${wide}/messages`, words)).status, 201);
    assert.equal((await server.api(people.bob, 'DELETE', `${wide}/participants/bob`)).status, 204);
    assert.equal((await server.api(alice, 'POST', `${wide}/messages`, words)).body['code'], 'right_missing');
  });
  assert.deepEqual(await rights(alice), all);
  for (const [method, path, body] of writes) {
    assert.ok((await server.api(alice, method, path, body)).status < 300, `${method} ${path}`);
  }
});

test('POL-01 call: in a room of two a call calls the other one, also one that is opened by joining', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const room = id(
    await server.api(alice, 'POST', '/v1/conversations', { kind: 'room', title: 'Two', participants: ['carol'] }),
  );
  const step = async (who: Person, name: 'invite' | 'join' | 'end', call: string, seq = 1) =>
    await server.api(who, 'POST', '/v1/signal', {
      ...invite(room, call),
      step: name,
      seq,
      body: name === 'invite' ? { video: false, room: 'r' } : {},
    });
  await under({ action: 'call', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    for (const name of ['invite', 'join'] as const) {
      const denied = await step(alice, name, `rung-by-${name}`);
      assert.deepEqual([denied.status, denied.body['code']], [403, 'recipient_forbidden'], name);
    }
    const { items } = (await server.api<{ items: { to: string }[] }>(carol, 'GET', '/v1/calls')).body;
    assert.ok(items.every(({ to }) => to !== room));
    assert.equal((await step(carol, 'invite', 'rung-back')).status, 202);
    assert.equal((await step(alice, 'join', 'rung-back')).status, 202);
    assert.equal((await step(alice, 'end', 'rung-back', 2)).status, 202);
  });
  assert.equal((await step(alice, 'join', 'opened')).status, 202);
  assert.equal((await step(alice, 'end', 'opened', 2)).status, 202);
});

test('POL-01 in a direct chat nobody takes away what the other said, and who may not message pins nothing', async () => {
  const { server } = running;
  const { alice, carol } = people;
  const pair = `/v1/conversations/${id(await direct(alice, 'carol'))}`;
  const said = await server.api(carol, 'POST', `${pair}/messages`, { kind: 'text', body: 'of carol' });
  const seq = said.body['seq'] as number;
  const code = async (who: Person, method: string, path: string, body?: object) =>
    (await server.api(who, method, path, body)).body['code'];
  for (const who of [alice, carol]) {
    assert.equal(await code(who, 'PUT', `${pair}/retention`, { seconds: 60 }), 'right_missing');
    assert.equal(await code(who, 'DELETE', `${pair}/messages?before_seq=${seq + 1}`), 'right_missing');
    assert.equal(await code(who, 'DELETE', pair), 'right_missing');
  }
  assert.equal((await server.api(alice, 'PUT', `${pair}/pins/${seq}`)).status, 204);
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    assert.equal(await code(alice, 'PUT', `${pair}/pins/${seq}`), 'right_missing');
    assert.equal(await code(alice, 'DELETE', `${pair}/pins/${seq}`), 'right_missing');
    assert.equal((await server.api(carol, 'DELETE', `${pair}/pins/${seq}`)).status, 204);
  });
  assert.equal((await server.api(alice, 'GET', `${pair}/messages/${seq}`)).body['body'], 'of carol');
});

test('POL-01 see: the directory and presence are for whom the rules let see', async () => {
  const { server } = running;
  const { alice, bob } = people;
  await direct(alice, 'carol');
  await direct(alice, 'bob');
  await direct(bob, 'carol');
  const present = async (who: Person) =>
    (await server.api<{ items: { user: string }[] }>(who, 'GET', '/v1/presence')).body.items.map(({ user }) => user);
  const read = async (who: Person, user: string) =>
    await request('GET', `${server.coordinator}/v1/directory/${user}`, { token: who.session.token });
  const rule = { action: 'see', from: boardId, to: 'everyone', effect: 'deny' };
  const [atCarol, atBob] = [await connect(server, people.carol), await connect(server, bob)];
  await under(rule, async () => {
    assert.equal((await read(people.carol, 'alice')).status, 403);
    assert.equal((await read(people.carol, 'alice')).text, (await read(people.carol, 'nobody')).text);
    assert.equal((await read(bob, 'alice')).status, 200);
    const socket = await connect(server, alice);
    const isAlice = (event: { type: string; data: Record<string, unknown> }) =>
      event.type === 'presence' && event.data['user'] === 'alice';
    await atBob.event(isAlice);
    // What comes later on the same socket shows that nothing came before it.
    await running.console('PATCH', '/users/dave', { title: 'Cook' });
    await atCarol.event((event) => event.type === 'directory.changed' && event.data['user'] === 'dave');
    assert.equal(atCarol.events.some(isAlice), false);
    assert.deepEqual(
      [(await present(people.carol)).includes('alice'), (await present(bob)).includes('alice')],
      [false, true],
    );
    await socket.close();
  });
  assert.equal((await read(people.carol, 'alice')).status, 200);
  await Promise.all([atCarol.close(), atBob.close()]);
});

test('POL-01 a guest reaches those it shares a conversation with, and others as the rules let', async () => {
  const { server } = running;
  const { alice } = people;
  const guest = await enrolGuest('visitor', '+79161234567', 3600);
  const see = async (user: string) =>
    (await request('GET', `${server.coordinator}/v1/directory/${user}`, { token: guest.session.token })).status;
  assert.equal((await direct(guest, 'alice')).body['code'], 'participant_unknown');
  assert.equal(await see('alice'), 403);
  const pair = await direct(alice, 'visitor');
  assert.equal(pair.status, 201);
  assert.deepEqual([await see('alice'), await see('bob')], [200, 403]);
  assert.equal((await direct(guest, 'alice')).status, 200);
  assert.equal((await direct(guest, 'bob')).body['code'], 'participant_unknown');
  await under({ action: 'message', from: 'guests', to: 'people', effect: 'allow' }, async () => {
    assert.equal((await direct(guest, 'bob')).status, 201);
  });
});

test('GST-06 a guest is a guest wherever they are: nobody makes them more, and they make no room, webhook or meeting', async () => {
  const { server } = running;
  const { alice } = people;
  const guest = await enrolGuest('caller', '+79161234570', 3600);
  const ask = async (who: Person, method: string, path: string, body?: object) =>
    await server.api<Record<string, unknown> & { participants?: unknown; items?: unknown }>(who, method, path, body);
  const pair = await ask(alice, 'POST', '/v1/conversations', { kind: 'direct', participants: ['caller'] });
  const roles = [
    { user: 'alice', role: 'owner' },
    { user: 'caller', role: 'guest' },
  ];
  assert.deepEqual(pair.body.participants, [{ user: 'alice', role: 'member' }, roles[1]]);
  const made = await ask(alice, 'POST', '/v1/conversations', { kind: 'room', title: 'Talk', participants: ['caller'] });
  assert.deepEqual(made.body.participants, roles);
  const room = `/v1/conversations/${id(made)}`;
  const later = await ask(alice, 'POST', '/v1/conversations', { kind: 'room', title: 'Later', participants: [] });
  const at = `/v1/conversations/${id(later)}/participants`;
  const more = await ask(alice, 'POST', at, { participants: ['caller'], role: 'moderator' });
  assert.deepEqual([more.status, more.body['code'], more.body['field']], [400, 'field_invalid', 'role']);
  assert.deepEqual((await ask(alice, 'POST', at, { participants: ['caller'] })).body.participants, roles);
  for (const role of ['member', 'moderator', 'owner']) {
    const raised = await ask(alice, 'PATCH', `${room}/participants/caller`, { role });
    assert.deepEqual([raised.status, raised.body['code'], raised.body['field']], [400, 'field_invalid', 'role'], role);
  }
  assert.deepEqual((await ask(alice, 'GET', `${room}/participants`)).body.items, roles);
  const rights = (await ask(guest, 'GET', `${room}/rights`)).body['rights'] as string[];
  assert.deepEqual(
    ['participant.add', 'webhook.manage', 'pin.change', 'message.post'].map((right) => rights.includes(right)),
    [false, false, false, true],
  );
  const denied: [method: string, path: string, body: object][] = [
    ['POST', '/v1/conversations', { kind: 'room', title: 'Of a guest', participants: [] }],
    ['POST', `${room}/participants`, { participants: ['alice'] }],
    ['POST', `${room}/webhooks`, { name: 'Hook' }],
  ];
  for (const [method, path, body] of denied) {
    const answer = await ask(guest, method, path, body);
    assert.deepEqual([answer.status, answer.body['code']], [403, 'right_missing'], `${method} ${path}`);
  }
  const { token } = guest.session;
  const hosted = await request('POST', `${server.coordinator}/v1/meetings`, { body: { title: 'Mine' }, token });
  assert.deepEqual([hosted.status, hosted.body['code']], [403, 'right_missing']);
});

test('GST-01 GST-06 a guest over term is shown as such, and nothing of theirs is served', async () => {
  const { server } = running;
  const { alice } = people;
  const guest = await enrolGuest('parting', '+79161234571', 3600);
  await direct(alice, 'parting');
  const calendar = async (who: Person, method: string, path: string, body?: object) =>
    await request(method, `${server.calendar}${path}`, { body, token: who.session.token });
  const [own] = (await calendar(guest, 'GET', '/v1/calendars')).body['items'] as { id: string }[];
  const shared = `/v1/calendars/${own?.id}`;
  assert.equal((await calendar(guest, 'PUT', `${shared}/shares/alice`, { access: 'read' })).status, 200);
  const feed = (await calendar(guest, 'POST', `${shared}/feeds`, {})).body['path'] as string;
  const state = async () =>
    (await request('GET', `${server.coordinator}/v1/directory/parting`, { token: alice.session.token })).body['state'];
  const served = async () => {
    const { items } = (await calendar(alice, 'GET', '/v1/calendars')).body as { items: { id: string }[] };
    const [read, fed] = [await calendar(alice, 'GET', shared), await fetch(`${server.calendar}${feed}`)];
    await fed.text();
    return [await state(), items.some((one) => one.id === own?.id), read.status, fed.status];
  };
  assert.deepEqual(await served(), ['active', true, 200, 200]);
  assert.equal((await running.console('POST', '/guests/parting/end')).status, 200);
  assert.deepEqual(await served(), ['over', false, 404, 404]);
  assert.equal((await running.console('GET', '/users/parting')).body['state'], 'over');
  const expires_at = formatInstant(Math.floor(Date.now() / 1000 + 3600) * 1000);
  assert.equal((await running.console('PATCH', '/guests/parting', { expires_at })).status, 200);
  assert.deepEqual(await served(), ['active', true, 200, 200]);
});

test('GST-01 when the term ends the socket closes, the token is over, and nobody adds the guest', async () => {
  const { server } = running;
  const { alice } = people;
  const guest = await enrolGuest('brief', '+79161234568', 4);
  await direct(alice, 'brief');
  const socket = await connect(server, guest);
  assert.ok([4401, 4004].includes((await socket.closing()).code));
  const read = await server.api(guest, 'GET', '/v1/inbox');
  assert.equal(read.status, 401);
  const room = { kind: 'room', title: 'Late', participants: ['brief'] };
  assert.equal((await server.api(alice, 'POST', '/v1/conversations', room)).body['code'], 'participant_unknown');
  const body = { username: 'brief', password: guest.password };
  assert.equal((await request('POST', `${server.coordinator}/v1/auth/login`, { body })).status, 401);
});

test('GST-05 the inviter hears that a guest asked for recovery, and nothing else; an administrator reads the code', async () => {
  const { server } = running;
  const guest = await enrolGuest('forgetful', '+79161234569', 3600);
  const session = await server.signIn('root', 'password of root');
  const inviter = await connect(server, { username: 'root', password: '', session });
  const bystander = await connect(server, people.alice);
  const reply = await request('POST', `${server.coordinator}/v1/auth/recover`, { body: { phone: '+79161234569' } });
  assert.equal(reply.text, '{"status":"ok"}');
  assert.deepEqual((await inviter.event('guest.recovery.requested')).data, {});
  const codes = await running.console<{ items: { user: string; code: string }[] }>('GET', '/recovery');
  const code = codes.body.items.find(({ user }) => user === 'forgetful')?.code;
  const socket = await connect(server, guest);
  const body = { phone: '+79161234569', code, new_password: 'quite another password' };
  const confirmed = await request('POST', `${server.coordinator}/v1/auth/recover/confirm`, { body });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal((await socket.closing()).code, 4401);
  assert.ok((await server.signIn('forgetful', 'quite another password')).token);
  assert.equal(
    bystander.events.some(({ type }) => type === 'guest.recovery.requested'),
    false,
  );
  await Promise.all([inviter.close(), bystander.close()]);
});

test('MTG-01 a meeting’s room is a conversation in which its people call', async () => {
  const { server } = running;
  const { alice, bob } = people;
  const as = async (who: Person, method: string, path: string, body?: unknown) =>
    await request(method, `${server.coordinator}/v1/meetings${path}`, { body, token: who.session.token });
  const made = await as(alice, 'POST', '', { title: 'Standup' });
  assert.equal(made.status, 201, made.text);
  const { link, conversation_id: room } = made.body as { link: string; conversation_id: string };
  assert.equal((await server.api(bob, 'GET', `/v1/conversations/${room}`)).status, 403);
  assert.equal((await as(bob, 'POST', `/join/${link}`)).body['status'], 'admitted');
  const socket = await connect(server, bob);
  assert.equal((await server.api(alice, 'POST', '/v1/signal', invite(room, 'standup'))).status, 202);
  assert.equal((await socket.event('signal')).data['sender'], 'alice');
  await socket.close();
  const listed = await running.console<{ items: object[] }>('GET', '/meetings');
  assert.deepEqual([listed.body.items.length, listed.text.includes(link)], [1, false]);
});

test('people, sessions and groups are managed in the console, and every write is in the audit trail', async () => {
  const ask = running.console;
  const created = await ask('POST', '/users', { username: 'eve', password: 'a long enough password', title: 'Cook' });
  assert.deepEqual([created.status, created.body['title'], created.body['groups']], [201, 'Cook', []]);
  await ask('PATCH', `/groups/${boardId}`, { add: ['eve'] });
  assert.deepEqual((await ask('GET', '/users/eve')).body['groups'], [{ id: boardId, name: 'Board' }]);
  const session = await running.server.signIn('eve', 'a long enough password');
  const sessions = await ask<{ items: { id: string }[] }>('GET', '/users/eve/sessions');
  const socket = await connect(running.server, { username: 'eve', password: '', session });
  assert.equal((await ask('DELETE', `/users/eve/sessions/${sessions.body.items[0]?.id}`)).status, 204);
  assert.equal((await socket.closing()).code, 4401);
  assert.equal((await ask('POST', '/users/eve/block')).body['state'], 'blocked');
  assert.equal((await ask('POST', '/users/eve/unblock')).body['state'], 'active');
  assert.equal((await ask('POST', '/users/eve/leave')).body['state'], 'left');
  assert.equal((await ask('POST', '/users/eve/unblock')).body['code'], 'person_left');
  assert.equal((await ask('POST', '/users/root/leave')).body['code'], 'last_owner_required');
  assert.equal((await ask('POST', '/users/nobody/block')).body['code'], 'person_not_found');
  const audit = await ask<{ items: { event: string; actor: string }[] }>('GET', '/audit');
  const events = audit.body.items.filter(({ actor }) => actor === 'user:root').map(({ event }) => event);
  assert.deepEqual(events.slice(0, 6), [
    'user.left',
    'user.unblocked',
    'user.blocked',
    'user.session_ended',
    'group.changed',
    'user.created',
  ]);
});

test('bad forms of the console name their field', async () => {
  const cases: [method: string, path: string, body: object, field: string][] = [
    ['POST', '/users', { username: 'UPPER', password: 'a long enough password' }, 'username'],
    ['POST', '/users', { username: 'fay', password: 'short' }, 'password'],
    ['PATCH', '/users/alice', { phone: '12' }, 'phone'],
    ['PATCH', '/users/alice', { role: 'owner' }, 'role'],
    ['POST', '/groups', { name: '', members: [] }, 'name'],
    ['PATCH', `/groups/${boardId}`, { add: ['nobody'] }, 'add.0'],
    ['POST', '/policies', { action: 'read', from: 'people', to: 'guests', effect: 'deny' }, 'action'],
    ['POST', '/policies', { action: 'see', from: 'nobody', to: 'guests', effect: 'deny' }, 'from'],
    ['POST', '/enroll', { kind: 'robot' }, 'kind'],
    ['POST', '/enroll', { kind: 'guest', phone: '+79161234000', guest_until: '2020-01-01T00:00:00Z' }, 'guest_until'],
    ['POST', '/enroll', { kind: 'guest', guest_until: '2030-01-01T00:00:00Z' }, 'phone'],
    ['PATCH', '/guests/visitor', { expires_at: 'tomorrow' }, 'expires_at'],
  ];
  for (const [method, path, body, field] of cases) {
    const reply = await running.console(method, path, body);
    assert.deepEqual([reply.status, reply.body['field']], [400, field], `${method} ${path} ${reply.text}`);
  }
});

test('POL-01 a room of two is one behind 254 seats of nobody, and a room behind one more', async (context) => {
  const lane = openLane(join(temporaryFolder(context), 'lane'), 2 ** 26);
  context.after(async () => await lane.close());
  const make = async (name: string, seats: number) => {
    const gone = Array.from({ length: seats }, (_, n) => `gone${n}`);
    const members = [...gone, 'yan', 'zoe'];
    const writes = members.flatMap((user) => writeMember(name, user, { role: 'member', joinedSeq: 0 }, 1));
    await lane.commit([writeConversation({ ...ROOM_RECORD, id: name, participantCount: members.length }), ...writes]);
  };
  await make('c_two', SEATS_LOOKED_AT_MAX - 2);
  await make('c_many', SEATS_LOOKED_AT_MAX - 1);
  lane.refresh();
  const rules = [{ action: 'message', from: 'everyone', to: 'everyone', effect: 'deny' }] as const;
  const checks = new AccessChecks({
    snapshot: { ...NO_POLICIES, rules },
    lanes: { environments: [lane], read: () => lane },
    now: () => 0,
    isPerson: (user) => !user.startsWith('gone'),
  });
  assert.deepEqual([checks.mayMessageIn('c_two', 'yan'), checks.mayMessageIn('c_many', 'yan')], [false, true]);
});

test('POL-01 a shard that comes back decides by the rules as they are then', async () => {
  const { server } = running;
  await under({ action: 'message', from: 'everyone', to: boardId, effect: 'deny' }, async () => {
    for (const shard of ['shard-0', 'shard-1']) {
      process.kill(server.pid, 'SIGUSR2');
      await until(async () => (await restarts())[shard] === 1, `${shard} to be back`);
    }
    // Enough connections that each shard answers some of them.
    const replies = await Promise.all(Array.from({ length: 16 }, () => direct(people.bob, 'carol')));
    assert.deepEqual(
      replies.map(({ body }) => body['code']),
      replies.map(() => 'participant_unknown'),
    );
  });
});

/** How often each thread was started again, from the health report. */
async function restarts(): Promise<Record<string, number>> {
  const url = `${running.server.coordinator}/healthz`;
  const health = await request<{ status: string; threads: { restarts: Record<string, number> } }>('GET', url);
  return health.body.status === 'ok' ? health.body.threads.restarts : {};
}
