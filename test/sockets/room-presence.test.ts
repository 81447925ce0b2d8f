/** Presence in rooms of more than 256 people: one frame a second with how many are there, whatever shard they are on (FRM-03). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LOOKED_AT_ONCE, LOOKED_AT_PER_SECOND_MAX, RoomPresence } from '#src/messaging/conversations/room-presence.ts';
import { HINT_PARTICIPANTS_MAX, HINT_SAMPLE_MAX } from '#src/protocol/limits.ts';
import { writeConversation, writeMember } from '#storage/conversations/conversation-writes.ts';
import { openLane } from '#storage/engine/lane.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { addPeople, assertRefused, start } from '#test/messaging/conversing.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

type Told = { count: number; sample: { user: string; state: string }[] };

const NAMES = ['anna', 'boris', 'clara', 'denis', 'elena', 'fedor', 'galina', 'harald'] as const;
let running: ConsoleServer;
let people: Record<(typeof NAMES)[number], Person>;
let room = '';
const sockets = new Map<string, TestSocket>();

before(async () => {
  running = await startConsoleServer({
    shards: 2,
    environment: { PARLEY_DEBUG_HOOKS: '1', PARLEY_LOG_LEVEL: 'silent' },
  });
  const { server } = running;
  people = await server.people(...NAMES);
  const crowd = Array.from({ length: HINT_PARTICIPANTS_MAX }, (_, n) => `crowd${n}`);
  await addPeople(server, crowd);
  ({ id: room } = await start(server, people.anna, 'room', [...NAMES.slice(1, -1), ...crowd]));
});
after(async () => await running.stop());

async function open(name: (typeof NAMES)[number]): Promise<TestSocket> {
  const socket = await connect(running.server, people[name]);
  sockets.set(name, socket);
  return socket;
}

const framesOf = (socket: TestSocket): Told[] =>
  socket.events.filter(({ conv, type }) => type === 'presence' && conv === room).map(({ data }) => data as Told);
const lastOf = (socket: TestSocket): Told | undefined => framesOf(socket).at(-1);
const ask = async (who: Person): Promise<Told> => {
  const reply = await running.server.api<Told>(who, 'GET', `/v1/conversations/${room}/presence`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};

test('FRM-03 a room of more than 256 is told how many are there, and the newest of who came, went or fell asleep', async () => {
  const atAnna = await open('anna');
  for (const name of NAMES.slice(1, 6)) await open(name);
  await until(() => lastOf(atAnna)?.count === 6, 'all six to be counted');
  const told = framesOf(atAnna).flatMap(({ sample }) => sample);
  assert.deepEqual(
    new Set(told.map(({ user, state }) => `${user} ${state}`)),
    new Set(NAMES.slice(0, 6).map((user) => `${user} online`)),
  );
  const answer = await ask(people.boris);
  assert.deepEqual([answer.count, answer.sample.map(({ user }) => user).toSorted()], [6, NAMES.slice(0, 6)]);
  // Nobody is told of anybody one by one on account of the room.
  assert.deepEqual(
    atAnna.events.filter(({ conv, type }) => type === 'presence' && conv === undefined).map(({ data }) => data['user']),
    [],
  );
  sockets.get('boris')?.send({ kind: 'presence', awake: false });
  await until(
    () => lastOf(atAnna)?.sample.some(({ state, user }) => user === 'boris' && state === 'away'),
    'boris asleep',
  );
  assert.equal(lastOf(atAnna)?.count, 6);
  await sockets.get('clara')?.close();
  await until(() => lastOf(atAnna)?.count === 5, 'clara gone');
  assert.deepEqual(lastOf(atAnna)?.sample, [{ user: 'clara', state: 'offline' }]);
  assertRefused(
    await running.server.api(people.harald, 'GET', `/v1/conversations/${room}/presence`),
    403,
    'conversation_forbidden',
  );
});

test('FRM-03 who leaves the room, is blocked, or reconnects is counted as they are', async () => {
  const [atAnna] = [sockets.get('anna') as TestSocket];
  assert.equal(
    (await running.server.api(people.denis, 'DELETE', `/v1/conversations/${room}/participants/denis`)).status,
    204,
  );
  assert.equal((await running.console('POST', '/users/elena/block')).status, 200);
  await until(async () => (await ask(people.anna)).count === 3, 'anna, boris and fedor to be left');
  await until(() => lastOf(atAnna)?.count === 3, 'the room to hear of it');
  await open('clara');
  await until(() => lastOf(atAnna)?.count === 4, 'clara back');
  // What was announced before a socket opened is asked for.
  assert.equal((await ask(people.clara)).count, 4);
});

test('FRM-03 a shard that comes back counts who is there, as do the others', async () => {
  for (const shard of [0, 1]) {
    process.kill(running.server.pid, 'SIGUSR2');
    await until(async () => {
      const { status, threads } = (await (await fetch(`${running.server.coordinator}/healthz`)).json()) as {
        status: string;
        threads: { restarts: Record<string, number> };
      };
      return status === 'ok' && (threads.restarts[`shard-${shard}`] ?? 0) > 0;
    }, 'the shard to be back');
    for (const name of ['anna', 'boris', 'clara', 'fedor'] as const) {
      if (sockets.get(name)?.closed !== undefined) await open(name);
    }
    await until(async () => (await ask(people.anna)).count === 4, 'the four to be counted again');
    const atGalina = await open('galina');
    await until(() => lastOf(atGalina)?.count === 5, 'five with galina');
    for (const name of ['anna', 'boris', 'clara', 'fedor'] as const) {
      const socket = sockets.get(name) as TestSocket;
      await until(() => lastOf(socket)?.count === 5, `${name} to hear of five`);
    }
    await atGalina.close();
    await until(async () => (await ask(people.anna)).count === 4, 'galina gone');
  }
});

test('POL-01 while a rule hides somebody, frames for all name nobody, and whoever asks is named those they may see', async () => {
  const group = await running.console<{ id: string }>('POST', '/groups', { name: 'Hidden', members: ['fedor'] });
  const rule = { action: 'see', from: 'everyone', to: group.body.id, effect: 'deny' };
  assert.equal((await running.console('POST', '/policies', rule)).status, 201);
  const atAnna = sockets.get('anna') as TestSocket;
  const seen = framesOf(atAnna).length;
  const atGalina = await open('galina');
  await until(() => framesOf(atAnna).length > seen && lastOf(atAnna)?.count === 5, 'galina to be counted');
  assert.deepEqual(lastOf(atAnna)?.sample, []);
  // The frame counts all of the room; whoever asks is told how many they may see, and themselves among them.
  const seenBy = async (who: Person) => {
    const { count, sample } = await ask(who);
    return `${count} ${sample
      .map(({ user }) => user)
      .toSorted()
      .join(' ')}`;
  };
  await until(async () => (await seenBy(people.anna)) === '4 anna boris clara galina', 'four whom anna may see');
  await until(async () => (await seenBy(people.fedor)).startsWith('5 '), 'five with fedor, who sees himself');
  await atGalina.close();
});

test('POL-01 in a small room the count leaves out whom the caller may not see: of one other person it would be their state', async () => {
  const { anna, fedor } = people;
  const { id } = await start(running.server, anna, 'room', ['boris', 'fedor']);
  const counted = async (who: Person) => {
    const reply = await running.server.api<Told>(who, 'GET', `/v1/conversations/${id}/presence`);
    return [reply.body.count, reply.body.sample.map(({ user }) => user).toSorted()];
  };
  assert.deepEqual(await counted(anna), [2, ['anna', 'boris']]);
  assert.deepEqual(await counted(fedor), [3, ['anna', 'boris', 'fedor']]);
});

test('rooms wait for the next second when more people were looked for than a second allows, the longest waiting first', async (t) => {
  const lane = openLane(join(temporaryFolder(t), 'lane'), 2 ** 28);
  t.after(async () => await lane.close());
  const record: Omit<ConversationRecord, 'id' | 'participantCount'> = {
    ...{ kind: 'room', title: 'Room', createdAt: '2026-11-22T08:00:00Z', createdBy: 'p0', headSeq: 0, rev: 1 },
    ...{ ownerCount: 1, pinCount: 0, stamp: 1, activeAt: 0, deleted: false, floorSeq: 0, floorRev: 0 },
    ...{ retention: undefined, isHeld: false, emptiedSeq: 0 },
  };
  const size = 2 * LOOKED_AT_ONCE + 1;
  const users = Array.from({ length: size }, (_, n) => `p${n}`);
  const rooms = Array.from({ length: Math.ceil(LOOKED_AT_PER_SECOND_MAX / size) + 1 }, (_, n) => `c_${n}`);
  await lane.commit(
    rooms.flatMap((id) => [
      writeConversation({ ...record, id, participantCount: size }),
      ...users.flatMap((user) => writeMember(id, user, { role: 'member', joinedSeq: 0 }, 1)),
    ]),
  );
  const told: [room: string, data: Told][] = [];
  const presence = new RoomPresence({
    hub: {
      hearers: () => 1,
      publish: (id, _type, event) => void told.push([id, (JSON.parse(event) as { data: Told }).data]),
    },
    lanes: { read: () => lane },
    log: { error: (message) => assert.fail(message) },
    now: () => Date.now(),
    hidesSomebody: () => false,
  });
  t.after(() => presence.stop());
  presence.note(
    users.map((user) => ({ user, state: 'online' as const })),
    rooms,
  );
  await until(() => told.length === rooms.length - 1, 'all rooms but one to be told');
  await until(() => told.length === rooms.length, 'the last room to be told a second later');
  assert.deepEqual(
    told.map(([id]) => id),
    rooms,
  );
  for (const [, { count, sample }] of told)
    assert.deepEqual([count, sample.length, sample[0]?.user], [size, HINT_SAMPLE_MAX, users.at(-1)]);
});
