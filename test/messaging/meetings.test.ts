/** Meetings over their real rooms: who is kept out, who comes back, who hosts and who ends them, and who hears of it (MTG-01). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { anotherDevice, assertRefused } from './conversing.ts';

let running: ConsoleServer;
let people: Record<'anna' | 'boris' | 'clara' | 'denis', Person>;

before(async () => {
  running = await startConsoleServer({ shards: 2 });
  people = await running.server.people('anna', 'boris', 'clara', 'denis');
});
after(async () => await running.stop());

type Joined = { status: string; meeting: MeetingView };

async function ask<T = MeetingView>(who: Person, method: string, path: string, body?: object): Promise<Reply<T>> {
  const url = `${running.server.coordinator}/v1/meetings${path}`;
  return await request<T>(method, url, { body, token: who.session.token });
}

async function meet(who: Person, form: object = {}): Promise<MeetingView> {
  const reply = await ask(who, 'POST', '', { title: 'Standup', lobby: 'open', ...form });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

const join = async (who: Person, link: string) => await ask<Joined>(who, 'POST', `/join/${link}`);
const room = async (who: Person, method: string, id: string, rest = '', body?: object) =>
  await running.server.api(who, method, `/v1/conversations/${id}${rest}`, body);
const leave = async (who: Person, id: string) => {
  const reply = await room(who, 'DELETE', id, `/participants/${who.username}`);
  assert.equal(reply.status, 204, reply.text);
};
/** What somebody's socket was told of a meeting. */
const heard = async (socket: TestSocket, meeting: string, action: string) =>
  await socket.event(
    ({ data, type }) => type === 'membership' && data['meeting_id'] === meeting && data['action'] === action,
    `news that a meeting has ${action}`,
  );

test('MTG-01 whoever was taken out of the room stays out, whatever link they come by, until the host lets them in', async () => {
  const { anna, boris } = people;
  const { conversation_id: id, id: meeting, link } = await meet(anna, { participants: ['boris'] });
  assert.equal((await room(anna, 'DELETE', id, '/participants/boris')).status, 204);
  assertRefused(await ask(boris, 'GET', `/${meeting}`), 404, 'meeting_not_found');
  assert.ok(!(await ask<{ items: MeetingView[] }>(boris, 'GET', '')).text.includes(meeting));
  const renewed = (await ask(anna, 'POST', `/${meeting}/link`)).body.link;
  assertRefused(await join(boris, link), 404, 'meeting_not_found');
  assert.equal((await join(boris, renewed)).body.status, 'waiting');
  assertRefused(await room(boris, 'GET', id), 403, 'conversation_forbidden');
  const seen = (await ask(anna, 'GET', `/${meeting}`)).body;
  assert.deepEqual([seen.participants, seen.waiting], [['anna'], ['boris']]);
  assert.equal((await ask(anna, 'POST', `/${meeting}/waiting/boris/admit`)).status, 200);
  assert.equal((await join(boris, renewed)).body.status, 'admitted');
  assert.equal((await room(boris, 'GET', id)).status, 200);
  // Who was not on the list is kept out as well, also once everybody has left the room.
  const open = await meet(anna);
  await room(anna, 'POST', open.conversation_id, '/participants', { participants: ['boris'] });
  await room(anna, 'DELETE', open.conversation_id, '/participants/boris');
  await leave(anna, open.conversation_id);
  assert.equal((await join(boris, open.link)).body.status, 'waiting');
});

test('MTG-01 a meeting goes on without its host: the room is left, filled again by the link, and left by all', async () => {
  const { anna, boris, clara, denis } = people;
  const { conversation_id: id, id: meeting, link } = await meet(anna, { participants: ['boris'] });
  assert.equal((await room(anna, 'PATCH', id, '/participants/boris', { role: 'owner' })).status, 200);
  await leave(anna, id);
  assert.equal((await join(clara, link)).body.status, 'admitted');
  // Whoever left by themselves comes back as they went.
  await leave(clara, id);
  assert.equal((await join(clara, link)).body.status, 'admitted');
  const back = await join(anna, link);
  assert.equal(back.body.status, 'admitted');
  // Everybody leaves, which takes the room along; the meeting has it made anew.
  const alone = await meet(anna);
  await leave(anna, alone.conversation_id);
  assert.equal((await join(denis, alone.link)).body.meeting.conversation_id, alone.conversation_id);
  const participants = (await room(denis, 'GET', alone.conversation_id)).body['participants'];
  assert.deepEqual(participants, [
    { user: 'anna', role: 'owner' },
    { user: 'denis', role: 'member' },
  ]);
  // A room that somebody deleted is not made anew.
  const ended = await meet(anna, { participants: ['boris'] });
  assert.equal((await room(anna, 'DELETE', ended.conversation_id)).status, 204);
  assertRefused(await join(denis, ended.link), 409, 'meeting_over');
  assert.equal((await ask(boris, 'GET', `/${meeting}`)).status, 200);
});

test('MTG-01 who waits is told to every device of the host at once, and hears what the host decides', async () => {
  const { anna, boris, clara } = people;
  const { id: meeting, link } = await meet(anna, { lobby: 'everyone_waits' });
  const phone = await anotherDevice(running.server, anna);
  const sockets = await Promise.all([anna, phone, boris, clara].map(async (who) => await connect(running.server, who)));
  const [atAnna, atPhone, atBoris, atClara] = sockets as [TestSocket, TestSocket, TestSocket, TestSocket];
  for (const who of [boris, clara, boris]) assert.equal((await join(who, link)).body.status, 'waiting');
  for (const socket of [atAnna, atPhone]) {
    const event = await heard(socket, meeting, 'waiting');
    assert.deepEqual(event.data, { meeting_id: meeting, action: 'waiting', user: 'boris' });
    assert.deepEqual([event.conv, event.rev], [undefined, undefined]);
  }
  assert.equal((await ask(anna, 'POST', `/${meeting}/waiting/boris/admit`)).status, 200);
  assert.equal((await heard(atBoris, meeting, 'admitted')).data['user'], 'boris');
  await heard(atPhone, meeting, 'admitted');
  assert.equal((await ask(anna, 'POST', `/${meeting}/waiting/clara/deny`)).status, 200);
  assert.equal((await heard(atClara, meeting, 'denied')).data['user'], 'clara');
  assertRefused(await join(clara, link), 403, 'meeting_forbidden');
  // Nobody who is not the host heard who waits, and who waits twice is told once.
  const waiting = ({ data }: { data: Record<string, unknown> }) => data['action'] === 'waiting';
  assert.deepEqual(
    sockets.map(({ events }) => events.filter(waiting).map(({ data }) => data['user'])),
    [['boris', 'clara'], ['boris', 'clara'], [], []],
  );
  // What the host adds by hand is in, turned away or not.
  assert.equal((await ask(anna, 'PATCH', `/${meeting}`, { add: ['clara'] })).status, 200);
  assert.equal((await join(clara, link)).body.status, 'admitted');
  await Promise.all(sockets.map(async (socket) => await socket.close()));
});

test('MTG-01 a host hands over to a participant, who hosts, owns the room and is told', async () => {
  const { anna, boris, clara } = people;
  const { conversation_id: id, id: meeting, link } = await meet(anna, { participants: ['boris', 'clara'] });
  const give = async (who: Person, to: string) => await ask(who, 'POST', `/${meeting}/host`, { user: to });
  assertRefused(await give(boris, 'boris'), 403, 'right_missing');
  assertRefused(await give(people.denis, 'denis'), 404, 'meeting_not_found');
  assertRefused(await give(anna, 'denis'), 404, 'participant_not_found');
  assertRefused(await give(anna, 'nobody'), 404, 'participant_not_found');
  const atBoris = await connect(running.server, boris);
  assert.equal((await give(anna, 'boris')).body.host, 'boris');
  await heard(atBoris, meeting, 'host');
  assertRefused(await ask(anna, 'POST', `/${meeting}/link`), 403, 'right_missing');
  const renewed = await ask(boris, 'POST', `/${meeting}/link`);
  assert.deepEqual([renewed.status, renewed.body.waiting], [200, []]);
  const { participants } = (await room(clara, 'GET', id)).body as { participants: { user: string; role: string }[] };
  assert.deepEqual(
    participants.map(({ role, user }) => `${user} ${role}`),
    ['anna owner', 'boris owner', 'clara member'],
  );
  // An owner of the room may take it back, and end it.
  assert.equal((await give(anna, 'anna')).body.host, 'anna');
  assert.equal((await ask(boris, 'POST', `/${meeting}/cancel`)).body.state, 'cancelled');
  await heard(atBoris, meeting, 'ended');
  assertRefused(await give(anna, 'boris'), 409, 'meeting_over');
  assertRefused(await join(clara, renewed.body.link), 409, 'meeting_over');
  assertRefused(await join(clara, link), 404, 'meeting_not_found');
  await atBoris.close();
});

test('MTG-01 an administrator hands over the meeting of a host who is blocked, and ends it with its calls', async () => {
  const { anna, boris, clara } = people;
  const { server, console: manage } = running;
  const { gustav: gone } = await server.people('gustav');
  const { conversation_id: id, id: meeting, link } = await meet(gone, { participants: ['boris'] });
  const left = await meet(gone, { participants: ['boris'] });
  await leave(boris, left.conversation_id);
  await leave(gone, left.conversation_id);
  // Asked before the block: a second after it boris owns the room, and so may.
  assertRefused(await ask(boris, 'POST', `/${meeting}/host`, { user: 'boris' }), 403, 'right_missing');
  assert.equal((await manage('POST', '/users/gustav/block')).status, 200);
  // Nobody who may not sign in is given a room; whoever hosts it next is.
  assertRefused(await join(clara, left.link), 409, 'meeting_over');
  assert.equal((await manage('PUT', `/meetings/${left.id}/host`, { user: 'boris' })).status, 200);
  assert.equal((await join(clara, left.link)).body.status, 'admitted');
  const refused = await manage('PUT', `/meetings/${meeting}/host`, { user: 'clara' });
  assertRefused(refused, 404, 'participant_not_found');
  const given = await manage('PUT', `/meetings/${meeting}/host`, { user: 'boris' });
  assert.deepEqual([given.status, given.body['host']], [200, 'boris']);
  assert.equal((await join(clara, link)).body.status, 'admitted');
  const atClara = await connect(server, clara);
  const step = { to: id, kind: 'call', step: 'invite', call: 'talk', seq: 1, body: { video: false, room: 'r' } };
  assert.equal((await server.api(boris, 'POST', '/v1/signal', step)).status, 202);
  await atClara.event(({ data, type }) => type === 'signal' && data['step'] === 'invite', 'the call to ring');
  assert.equal((await manage('POST', `/meetings/${meeting}/cancel`)).body['state'], 'cancelled');
  await heard(atClara, meeting, 'ended');
  await atClara.event(({ data, type }) => type === 'signal' && data['step'] === 'end', 'the call to end');
  const { items } = (await server.api<{ items: LiveCallView[] }>(clara, 'GET', '/v1/calls')).body;
  assert.deepEqual(items, []);
  assert.equal((await manage('POST', `/meetings/${meeting}/cancel`)).status, 200);
  const trail = await manage<{ items: { event: string; about: string }[] }>('GET', '/audit');
  const ours = trail.body.items.filter(({ about }) => about === `meeting:${meeting}`);
  assert.deepEqual(ours.map(({ event }) => event).toSorted(), [
    'meeting.cancelled',
    'meeting.created',
    'meeting.host_changed',
  ]);
  await atClara.close();
  assert.equal((await ask(anna, 'GET', `/${meeting}`)).status, 404);
});

test('POL-01 a host names nobody whom the policies keep them from messaging: in the room they would speak to them', async () => {
  const { anna, boris } = people;
  const group = async (name: string) =>
    (await running.console<{ id: string }>('POST', '/groups', { name: `Of ${name}`, members: [name] })).body.id;
  const { id } = await meet(anna);
  const rule = { action: 'message', from: await group('anna'), to: await group('denis'), effect: 'deny' };
  const made = await running.console<{ id: string }>('POST', '/policies', rule);
  assert.equal(made.status, 201, made.text);
  const form = { title: 'Talk', participants: ['boris', 'denis'] };
  assertRefused(await ask(anna, 'POST', '', form), 400, 'participant_unknown', 'participants.1');
  assertRefused(await ask(anna, 'PATCH', `/${id}`, { add: ['denis'] }), 400, 'participant_unknown', 'add.0');
  assert.deepEqual((await meet(boris, { participants: ['denis'] })).participants, ['boris', 'denis']);
  assert.equal((await running.console('DELETE', `/policies/${made.body.id}`)).status, 204);
});
