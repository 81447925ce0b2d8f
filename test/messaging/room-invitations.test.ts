/**
 * Who is asked before they are added to a room (POL-01), over the running server: what the default asks of whom, what
 * the invited person and the room see, and what ends it. The folder is checked at each end of the server.
 */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import { INVITATIONS_OF_ONE_MAX } from '#src/protocol/limits.ts';
import type { PendingInvitation, RoomInvitation } from '#src/protocol/conversations/room-invitation-routes.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, say, start } from './conversing.ts';

// As an operator has it who set nothing.
const scene = await shareRestartedServer(
  { PARLEY_ADD_UNASKED: undefined, PARLEY_ADD_GUESTS: undefined },
  { shards: 2 },
);
const { ask } = scene;
const { alice, bob, carol, dave, eve } = await scene.server.people('alice', 'bob', 'carol', 'dave', 'eve');
const clients: ParleyClient[] = [];
after(() => clients.forEach((client) => client.close()));

async function set(values: { unasked_up_to?: number; guests?: 'asked' | 'unasked' }): Promise<void> {
  const form = { unasked_up_to: null, guests: null, ...values };
  const reply = await ask('administrator', 'PUT', '/settings/room-invitations', form);
  assert.equal(reply.status, 200, reply.text);
}
beforeEach(async () => await set({}));

/** A room is larger than this at two. */
const ALWAYS = { unasked_up_to: 1 };

interface Room {
  readonly id: string;
  readonly participant_count: number;
  readonly participants?: readonly { user: string; role: string }[];
  readonly invited?: readonly string[];
}

const api = async <T = Room>(who: Person, method: string, path: string, body?: unknown): Promise<Reply<T>> =>
  await scene.server.api<T>(who, method, `/v1${path}`, body);
const add = async (who: Person, room: string, participants: readonly string[], role = 'member') =>
  await api(who, 'POST', `/conversations/${room}/participants`, { participants, role });
const accept = async (who: Person, room: string) => await api(who, 'POST', `/room-invitations/${room}/accept`);
const decline = async (who: Person, room: string) => await api(who, 'POST', `/room-invitations/${room}/decline`);

async function invitationsOf(who: Person): Promise<RoomInvitation[]> {
  const reply = await api<{ items: RoomInvitation[] }>(who, 'GET', '/room-invitations');
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items;
}

const isInvited = async (who: Person, room: string) =>
  (await invitationsOf(who)).some(({ conversation_id: id }) => id === room);

async function enrolGuest(username: string, phone: string): Promise<Person> {
  const guest_until = formatInstant(Math.floor(Date.now() / 1000 + 3_600) * 1000);
  const { body } = await ask<{ url: string }>('administrator', 'POST', '/enroll', {
    kind: 'guest',
    phone,
    guest_until,
  });
  const password = `password of ${username}`;
  assert.equal((await request('POST', body.url, { body: { username, password } })).status, 201);
  return { username, password, session: await scene.server.signIn(username, password) };
}

/** What is done while a rule is in force. */
async function under(rule: object, work: () => Promise<void>): Promise<void> {
  const made = await ask<{ id: string }>('administrator', 'POST', '/policies', rule);
  assert.equal(made.status, 201, made.text);
  await work();
  assert.equal((await ask('administrator', 'DELETE', `/policies/${made.body.id}`)).status, 204);
}

test('POL-01 by default 255 colleagues are added to a room at once; the 256th and all with them are asked', async () => {
  const seeded = await callControl(scene.folder, 'seed', { people: 255, rooms: 0, members: 1 });
  const crowd = seeded.people.map(({ username }) => username);
  const room = await api(alice, 'POST', '/conversations', { kind: 'room', title: 'All', participants: crowd });
  assert.deepEqual([room.status, room.body.participant_count, room.body.invited], [201, 256, undefined]);
  const more = await add(alice, room.body.id, ['bob']);
  assert.deepEqual([more.status, more.body.participant_count, more.body.invited], [200, 256, ['bob']]);
  const larger = await api(alice, 'POST', '/conversations', { kind: 'room', participants: [...crowd, 'bob'] });
  assert.deepEqual([larger.status, larger.body.participant_count], [201, 1]);
  assert.deepEqual(larger.body.invited, [...crowd, 'bob']);
  assert.deepEqual((await api(bob, 'GET', '/inbox')).text.includes(larger.body.id), false);
});

test('POL-01 a guest is asked by default whatever the size, colleagues beside them are not, and the setting decides', async () => {
  const guest = await enrolGuest('gwen', '+79161230001');
  const room = await start(scene.server, alice, 'room', ['bob', 'gwen'], 'Talk');
  assert.deepEqual([room.participants?.map(({ user }) => user), (room as Room).invited], [['alice', 'bob'], ['gwen']]);
  const [invitation] = await invitationsOf(guest);
  assert.deepEqual([invitation?.conversation_id, invitation?.role], [room.id, 'guest']);
  const accepted = await accept(guest, room.id);
  assert.deepEqual(accepted.body.participants?.find(({ user }) => user === 'gwen')?.role, 'guest');
  await set({ guests: 'unasked' });
  const open = await start(scene.server, alice, 'room', ['gwen']);
  assert.deepEqual([open.participant_count, (open as Room).invited], [2, undefined]);
});

test('POL-01 who wants to be asked is asked by everybody and in every room, and others beside them are not', async () => {
  const me = async (form: object) => {
    const path = `${scene.server.coordinator}/v1/me`;
    return await request<{ asked_first?: boolean }>('PATCH', path, { token: dave.session.token, body: form });
  };
  assert.equal((await me({ asked_first: true })).body.asked_first, true);
  // Another change leaves the wish as it is.
  assert.equal((await me({ title: 'Fitter' })).body.asked_first, true);
  await set({ guests: 'unasked' });
  const made = await start(scene.server, alice, 'room', ['bob', 'dave'], 'Small');
  assert.deepEqual([made.participants?.map(({ user }) => user), (made as Room).invited], [['alice', 'bob'], ['dave']]);
  assert.deepEqual((await add(bob, made.id, ['carol', 'dave'])).body.invited, ['dave']);
  assert.equal(
    (await accept(dave, made.id)).body.participants?.some(({ user }) => user === 'dave'),
    true,
  );
  // It is the person's own, and shown to nobody.
  const entry = await request('GET', `${scene.server.coordinator}/v1/directory/dave`, { token: bob.session.token });
  assert.equal(entry.text.includes('asked_first'), false);
  const wrong = await me({ asked_first: 'always' });
  assertRefused(wrong, 400, 'field_invalid', 'asked_first');
  assert.equal((await me({ asked_first: false })).body.asked_first, undefined);
  const open = await start(scene.server, alice, 'room', ['dave']);
  assert.deepEqual([open.participant_count, (open as Room).invited], [2, undefined]);
});

test('POL-01 the setting is an administrator’s, within its bounds, audited, and read with its explanation', async () => {
  const put = async (body: object) => await ask('administrator', 'PUT', '/settings/room-invitations', body);
  const viewer = await ask('viewer', 'PUT', '/settings/room-invitations', ALWAYS);
  assert.equal(viewer.body['code'], 'right_missing');
  for (const wrong of [0, 20_001, 1.5, '5'])
    assert.equal((await put({ unasked_up_to: wrong })).body['field'], 'unasked_up_to');
  assert.equal((await put({ guests: 'never' })).body['field'], 'guests');
  assert.equal((await put(ALWAYS)).status, 200);
  const { body } = await ask<{ items: { event: string; about: string }[] }>('owner', 'GET', '/audit?limit=20');
  assert.ok(
    body.items.some(({ about, event }) => event === 'settings.changed' && about === 'settings:room-invitations'),
  );
  const shown = await ask<{ values: object; say: string }>('viewer', 'GET', '/settings/room-invitations');
  assert.deepEqual(shown.body.values, { unasked_up_to: 1, guests: null });
  assert.match(shown.body.say, /asked first/);
});

test('POL-01 whoever is asked sees title, inviter and size and nothing else, and hears and calls nothing before they accept', async () => {
  await set(ALWAYS);
  const [hers, theirs, others] = [
    await connect(scene.server, alice),
    await connect(scene.server, bob),
    await connect(scene.server, carol),
  ];
  const room = await start(scene.server, alice, 'room', ['bob', 'carol'], 'Plans');
  const event = await theirs.event(({ conv, type }) => type === 'membership' && conv === room.id);
  const told = { action: 'invited', user: 'alice', participants: [], participant_count: 1, title: 'Plans' };
  assert.deepEqual([event.data, event.rev], [told, undefined]);
  const [invitation] = await invitationsOf(bob);
  const { created_at: made, expires_at: over, ...rest } = invitation as RoomInvitation;
  const seen = { conversation_id: room.id, title: 'Plans', participant_count: 1, by: 'alice', role: 'member' };
  assert.deepEqual(rest, seen);
  assert.equal(Date.parse(over) - Date.parse(made), 14 * 86_400_000);
  for (const path of ['', '/messages', '/participants', '/rights', '/invitations']) {
    assertRefused(await api(bob, 'GET', `/conversations/${room.id}${path}`), 403, 'conversation_forbidden');
  }
  const signal = { kind: 'call', step: 'invite', call: 'one', seq: 1, body: { video: false, room: 'r' } };
  assertRefused(await api(bob, 'POST', '/signal', { ...signal, to: room.id }), 403, 'recipient_forbidden', 'to');
  theirs.send({ kind: 'typing', conv: room.id });
  await say(scene.server, alice, room.id, 'for members');
  assert.equal((await accept(bob, room.id)).status, 200);
  assert.equal((await accept(bob, room.id)).status, 200, 'a repeat is answered with the room');
  await say(scene.server, alice, room.id, 'hello bob');
  await theirs.event(({ data }) => data['body'] === 'hello bob');
  assert.ok(!theirs.texts.some((text) => text.includes('for members')));
  assert.ok(!hers.events.some(({ type }) => type === 'typing'));
  assert.ok(!others.texts.some((text) => text.includes('hello bob')));
  const joined = await hers.event(({ data, type }) => type === 'membership' && data['action'] === 'joined');
  assert.deepEqual([joined.data['user'], joined.data['participant_count']], ['bob', 2]);
  assert.equal((await decline(carol, room.id)).status, 204);
  const declined = await hers.event(({ data }) => data['action'] === 'declined');
  assert.deepEqual([declined.data['user'], declined.rev], ['carol', undefined]);
  assertRefused(await decline(carol, room.id), 404, 'invitation_not_found');
  assertRefused(await add(alice, room.id, ['carol']), 409, 'invitation_declined', 'participants.0');
  await Promise.all([hers, theirs, others].map(async (socket) => await socket.close()));
});

test('POL-01 the room’s members see who is asked, who asked withdraws it, and a stranger’s path finds nothing', async () => {
  await set({ unasked_up_to: 2 });
  const room = await start(scene.server, alice, 'room', ['bob'], 'Two');
  assert.deepEqual((await add(bob, room.id, ['carol', 'dave'])).body.invited, ['carol', 'dave']);
  const path = `/conversations/${room.id}/invitations`;
  const { body } = await api<{ items: PendingInvitation[] }>(alice, 'GET', path);
  assert.deepEqual(
    body.items.map(({ by, role, user }) => [user, by, role]),
    [
      ['carol', 'bob', 'member'],
      ['dave', 'bob', 'member'],
    ],
  );
  assertRefused(await api(eve, 'GET', path), 403, 'conversation_forbidden');
  assertRefused(await api(eve, 'DELETE', `${path}/carol`), 403, 'conversation_forbidden');
  const socket = await connect(scene.server, carol);
  assert.equal((await api(bob, 'DELETE', `${path}/carol`)).status, 204);
  await socket.event(({ conv, data }) => conv === room.id && data['action'] === 'withdrawn');
  assert.equal((await api(alice, 'DELETE', `${path}/dave`)).status, 204, 'an owner may remove people');
  assertRefused(await api(alice, 'DELETE', `${path}/dave`), 404, 'invitation_not_found');
  assertRefused(await api(alice, 'DELETE', `${path}/No Name`), 404, 'invitation_not_found');
  for (const id of [room.id, 'c_0000000000000000000000', 'nothing']) {
    assertRefused(await accept(eve, id), 404, 'invitation_not_found');
    assertRefused(await decline(eve, id), 404, 'invitation_not_found');
  }
  const guests = await start(scene.server, alice, 'room', [], 'Guests');
  await set({});
  await add(alice, guests.id, ['dave'], 'guest');
  assertRefused(await api(dave, 'GET', `/conversations/${guests.id}/invitations`), 403, 'right_missing');
  await socket.close();
});

test('POL-01 an invitation does not outlive what lets its inviter ask: their seat, their account, the policies, the room', async () => {
  await set({ unasked_up_to: 2 });
  const room = await start(scene.server, alice, 'room', ['bob'], 'Ends');
  await add(bob, room.id, ['carol']);
  await under({ action: 'invite', from: 'everyone', to: 'people', effect: 'deny' }, async () => {
    assert.equal(await isInvited(carol, room.id), false);
    assertRefused(await accept(carol, room.id), 404, 'invitation_not_found');
  });
  assert.equal(await isInvited(carol, room.id), true);
  await callControl(scene.folder, 'user.block', { username: 'bob' });
  assert.equal(await isInvited(carol, room.id), false);
  assertRefused(await accept(carol, room.id), 404, 'invitation_not_found');
  await callControl(scene.folder, 'user.unblock', { username: 'bob' });
  bob.session = await scene.server.signIn('bob', bob.password);
  assert.equal(await isInvited(carol, room.id), true);
  assert.equal((await api(alice, 'DELETE', `/conversations/${room.id}/participants/bob`)).status, 204);
  assert.equal(await isInvited(carol, room.id), false);
  assertRefused(await accept(carol, room.id), 404, 'invitation_not_found');
  await set(ALWAYS);
  await add(alice, room.id, ['dave']);
  assert.equal((await api(alice, 'DELETE', `/conversations/${room.id}`)).status, 204);
  assert.equal(await isInvited(dave, room.id), false);
  assertRefused(await accept(dave, room.id), 404, 'invitation_not_found');
});

test('POL-01 an invitation that nobody can accept any more does not keep others from asking', async () => {
  await set({ unasked_up_to: 2 });
  const room = await start(scene.server, alice, 'room', ['bob'], 'Anew');
  const asked = async () => (await invitationsOf(carol)).find(({ conversation_id: id }) => id === room.id)?.by;
  await add(bob, room.id, ['carol']);
  await callControl(scene.folder, 'user.block', { username: 'bob' });
  assert.deepEqual((await add(alice, room.id, ['carol'])).body.invited, ['carol']);
  assert.equal(await asked(), 'alice');
  assert.equal((await api(alice, 'DELETE', `/conversations/${room.id}/invitations/carol`)).status, 204);
  await callControl(scene.folder, 'user.unblock', { username: 'bob' });
  bob.session = await scene.server.signIn('bob', bob.password);
  // What was asked before the block was given up for that of alice.
  assert.equal(await asked(), undefined);
  await add(bob, room.id, ['carol']);
  assert.equal(await asked(), 'bob');
  assert.equal((await api(alice, 'DELETE', `/conversations/${room.id}/participants/bob`)).status, 204);
  await set(ALWAYS);
  assert.deepEqual((await add(alice, room.id, ['carol'])).body.invited, ['carol']);
  assert.equal(await asked(), 'alice');
  assert.equal((await accept(carol, room.id)).body.participant_count, 2);
});

test('POL-01 MSG-03 an archived room takes nobody in, whatever way they come, and answers a repeat with the first', async () => {
  await set(ALWAYS);
  const meetings = `${scene.server.coordinator}/v1/meetings`;
  const form = { title: 'Shut', participants: ['bob'], lobby: 'open' };
  const { body } = await request<{ conversation_id: string; link: string }>('POST', meetings, {
    token: alice.session.token,
    body: form,
  });
  const path = `/conversations/${body.conversation_id}`;
  const come = async () => await request('POST', `${meetings}/join/${body.link}`, { token: dave.session.token });
  const text = { kind: 'text', body: 'before', client_msg_id: 'before' };
  assert.equal((await api(alice, 'POST', `${path}/messages`, text)).status, 201);
  for (const mark of ['messages/1/reactions/%F0%9F%91%8D', 'pins/1']) await api(alice, 'PUT', `${path}/${mark}`);
  assert.equal((await api(alice, 'PATCH', path, { archived: true })).status, 200);
  assertRefused(await accept(bob, body.conversation_id), 409, 'conversation_archived');
  assertRefused(await come(), 409, 'conversation_archived');
  assertRefused(await api(alice, 'POST', `${path}/webhooks`, { name: 'Hook' }), 409, 'conversation_archived');
  assert.deepEqual((await api<{ items: [] }>(alice, 'GET', `${path}/webhooks`)).body.items, []);
  const signal = { to: body.conversation_id, kind: 'call', call: 'shut', seq: 1 };
  const ring = await api(alice, 'POST', '/signal', { ...signal, step: 'invite', body: { video: false, room: 'r' } });
  assertRefused(ring, 409, 'conversation_archived');
  const begin = await api(alice, 'POST', '/signal', { ...signal, step: 'join', body: {} });
  assertRefused(begin, 403, 'recipient_forbidden', 'to');
  assert.equal((await api(alice, 'GET', path)).body.participant_count, 1);
  assert.equal((await api(alice, 'POST', `${path}/messages`, text)).status, 200, 'it was acknowledged');
  const more = { ...text, client_msg_id: 'after' };
  assertRefused(await api(alice, 'POST', `${path}/messages`, more), 409, 'conversation_archived');
  assert.equal((await api(alice, 'DELETE', `${path}/messages/1/reactions/%F0%9F%91%8D`)).status, 200);
  assert.equal((await api(alice, 'DELETE', `${path}/pins/1`)).status, 204);
  assert.equal(await isInvited(bob, body.conversation_id), true);
  assert.equal((await api(alice, 'PATCH', path, { archived: false })).status, 200);
  assert.equal((await accept(bob, body.conversation_id)).status, 200);
  assert.equal((await come()).status, 200);
});

test('POL-01 one person has ten invitations of another waiting for them, and the eleventh is refused', async () => {
  await set(ALWAYS);
  const ids: string[] = [];
  for (let number = 0; number < INVITATIONS_OF_ONE_MAX; number += 1) {
    ids.push((await start(scene.server, dave, 'room', ['eve'], `Room ${number}`)).id);
  }
  const room = { kind: 'room', participants: ['eve'] };
  assertRefused(await api(dave, 'POST', '/conversations', room), 409, 'invitations_full', 'participants.0');
  assert.equal((await add(dave, ids[0] as string, ['eve'])).status, 200, 'one that waits already is no more');
  assert.equal((await api(alice, 'POST', '/conversations', room)).status, 201, 'others ask as before');
  const mine = (await invitationsOf(eve)).filter(({ by }) => by === 'dave');
  assert.deepEqual(
    mine.map(({ conversation_id: id }) => id),
    ids.toReversed(),
  );
  assert.equal((await decline(eve, ids[0] as string)).status, 204);
  assert.equal((await api(dave, 'POST', '/conversations', room)).status, 201);
});

test('POL-01 what was acknowledged is there after a kill: invitations, answers and what was withdrawn', async () => {
  await set(ALWAYS);
  const room = await start(scene.server, alice, 'room', ['bob', 'carol', 'dave'], 'Kept');
  assert.equal((await decline(carol, room.id)).status, 204);
  assert.equal((await api(alice, 'DELETE', `/conversations/${room.id}/invitations/dave`)).status, 204);
  await scene.restart('SIGKILL');
  assert.deepEqual(await Promise.all([bob, carol, dave].map(async (who) => await isInvited(who, room.id))), [
    true,
    false,
    false,
  ]);
  assertRefused(await add(alice, room.id, ['carol']), 409, 'invitation_declined', 'participants.0');
  assert.equal((await accept(bob, room.id)).body.participant_count, 2);
});

test('POL-01 bots are put into rooms as before, and what a bot adds people to asks them', async () => {
  await set(ALWAYS);
  const form = { name: 'usher', display_name: 'Usher', scopes: ['conversations:write'], conversations: [] };
  const made = await ask<{ user: string; token: string; id: string }>('administrator', 'POST', '/bots', form);
  assert.equal(made.status, 201, made.text);
  const room = await start(scene.server, alice, 'room', [made.body.user], 'Ushered');
  assert.deepEqual([room.participant_count, (room as Room).invited], [2, undefined]);
  assert.equal(
    (await ask('administrator', 'PATCH', `/bots/${made.body.id}`, { conversations: [room.id] })).status,
    200,
  );
  const headers = { authorization: `Bearer ${made.body.token}` };
  const path = `/v1/conversations/${room.id}/participants`;
  const added = await until(async () => {
    const reply = await scene.server.api<Room>(undefined, 'POST', path, { participants: ['bob'] }, headers);
    return reply.status === 200 ? reply : undefined;
  }, 'the bot to be let in');
  assert.deepEqual(added.body.invited, ['bob']);
  assert.equal((await accept(bob, room.id)).status, 200);
});

test('POL-01 MTG-01 whom a host names for a meeting is asked into its room as into any other; its link is an answer', async () => {
  await set(ALWAYS);
  const meetings = `${scene.server.coordinator}/v1/meetings`;
  const as = (who: Person, body?: unknown) => ({ token: who.session.token, ...(body === undefined ? {} : { body }) });
  const made = await request<{ conversation_id: string; link: string; id: string }>(
    'POST',
    meetings,
    as(alice, { title: 'Weekly', participants: ['bob'], lobby: 'people' }),
  );
  assert.equal(made.status, 201, made.text);
  const { conversation_id: id, link } = made.body;
  assert.equal(await isInvited(bob, id), true);
  assertRefused(await api(bob, 'GET', `/conversations/${id}`), 403, 'conversation_forbidden');
  const changed = await request('PATCH', `${meetings}/${made.body.id}`, as(alice, { add: ['carol'] }));
  assert.equal(changed.status, 200, changed.text);
  assert.equal(await isInvited(carol, id), true);
  for (const who of [bob, dave]) {
    const joined = await request<{ status: string }>('POST', `${meetings}/join/${link}`, as(who));
    assert.equal(joined.body.status, 'admitted', joined.text);
  }
  assert.equal((await api(bob, 'GET', `/conversations/${id}`)).body.participant_count, 3);
  assert.equal(await isInvited(bob, id), false);
});

test('POL-01 an erased person takes along what they were asked, and what they asked', async () => {
  await set(ALWAYS);
  const gone = await scene.server.person('gone');
  const theirs = await start(scene.server, alice, 'room', ['gone'], 'To gone');
  const own = await start(scene.server, gone, 'room', ['bob'], 'By gone');
  const begun = await ask<{ id: string }>('owner', 'POST', '/users/gone/erase');
  assert.ok(begun.status < 300, begun.text);
  await until(
    async () => (await ask('owner', 'GET', `/erasures/${begun.body.id}`)).body['state'] === 'done',
    'the erasure',
  );
  const { body } = await api<{ items: unknown[] }>(alice, 'GET', `/conversations/${theirs.id}/invitations`);
  assert.deepEqual(body.items, []);
  assert.equal(await isInvited(bob, own.id), false);
});

test('POL-01 the SDK lists, accepts and declines, and tells of an invitation as it comes', async () => {
  await set(ALWAYS);
  const signIn = async ({ username, password }: Person) => {
    const { coordinator: coordinatorUrl, messaging: messagingUrl } = scene.server;
    const device = { name: 'test', platform: 'node' as const };
    const client = await ParleyClient.signIn({ coordinatorUrl, messagingUrl, username, password, device });
    clients.push(client);
    await client.caughtUp();
    return client;
  };
  const [hers, his] = [await signIn(alice), await signIn(bob)];
  const heard: string[] = [];
  his.on('membership', ({ data }) => void heard.push(`${data.action} ${('title' in data && data.title) || ''}`));
  const room = await hers.createRoom({ title: 'By hand', participants: ['bob', 'carol'] });
  await until(() => heard.includes('invited By hand'), 'the event');
  const [invitation] = await his.invitations.list();
  assert.deepEqual([invitation?.conversation_id, invitation?.by], [room.id, 'alice']);
  assert.equal((invitation?.expiresAt ?? 0) - (invitation?.createdAt ?? 0), 14 * 86_400_000);
  assert.deepEqual(
    (await hers.invitations.pending(room.id)).map(({ user }) => user),
    ['bob', 'carol'],
  );
  await hers.invitations.withdraw(room.id, 'carol');
  assert.equal((await his.invitations.accept(room.id)).participant_count, 2);
  await assert.rejects(his.invitations.decline(room.id), { code: 'invitation_not_found' });
});
