/** What others wrote of somebody who is erased: forwards of their words, mentions, contact cards (over a kill, too). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { blobPath } from '#storage/attachments/blobs.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { openLane } from '#storage/engine/lane.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import type { Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { attach, upload } from './attaching.ts';
import { post, say, start } from './conversing.ts';
import { searchAll } from './searching.ts';

const LANES = 4;
const byText = (one: string, other: string) => (one < other ? -1 : Number(one > other));

const scene = await shareRestartedServer({}, { shards: 2 });
const { ask, folder } = scene;
let { server } = scene;
const { alice, bob, carol } = await server.people('alice', 'bob', 'carol');

const forward = (conversation: string, seq: number) => ({ forward: { conversation_id: conversation, seq } });

async function send(who: Person, conversation: string, form: object): Promise<Message> {
  const { body, status, text } = await post(server, who, conversation, form);
  assert.equal(status, 201, text);
  return body;
}

async function read(who: Person, id: string): Promise<Message[]> {
  const { body, text } = await server.api<{ items: Message[] }>(who, 'GET', `/v1/conversations/${id}/messages`);
  assert.ok(Array.isArray(body.items), text);
  return body.items;
}

/** Messages in the lanes of a stopped server that hold a text. */
async function holding(text: string): Promise<number> {
  let found = 0;
  for (let lane = 0; lane < LANES; lane += 1) {
    const environment = openLane(lanePath(folder, lane), 1024 ** 3);
    for (const { value } of environment.tables.messages.getRange()) found += Number(value.includes(text));
    await environment.close();
  }
  return found;
}

interface Erased {
  readonly id: string;
  readonly state: string;
  readonly forwards: number;
  readonly names: number;
  readonly kept: number;
}

test('forwards of an erased person’s words become stubs, and a stand-in takes the place of their name', async () => {
  const shared = (await start(server, alice, 'room', ['bob', 'carol'], 'Shared')).id;
  const apart = (await start(server, alice, 'room', ['bob'], 'Without carol')).id;
  const held = (await start(server, alice, 'room', ['bob'], 'Held')).id;
  await say(server, carol, shared, 'gudgeon by carol');
  await say(server, bob, shared, 'gudgeon by bob');
  const file = Buffer.from('the file of carol');
  const sent = await attach(server, carol, shared, await upload(server, carol, file, 'carol.txt'));
  await send(alice, apart, forward(shared, 1));
  await send(bob, apart, forward(apart, 1));
  await send(alice, apart, forward(shared, 2));
  await send(alice, apart, forward(shared, sent.body.seq));
  const hold = await ask('owner', 'PUT', `/conversations/${held}/hold`, { held: true });
  assert.equal(hold.status, 204);
  await send(alice, held, forward(shared, 1));
  const mentions = [
    { username: 'carol', offset: 3, length: 13 },
    { username: 'bob', offset: 21, length: 4 },
  ];
  const text = 'To Carol Petrova and @bob: @carol, @Carol. But not @carol.b, x@carol.org or carolina';
  await send(alice, shared, { kind: 'text', body: text, mentions, client_msg_id: 'named' });
  await send(bob, apart, { kind: 'contact', body: { name: 'Carol Petrova', username: 'carol', phones: ['+4420'] } });
  // In a whole block of the search index, which checkFolder holds against the text.
  for (let n = 0; n < 40; n += 1) await say(server, bob, apart, `loach ${n} for @carol`);
  const rev = (await server.api(bob, 'GET', `/v1/conversations/${apart}`)).body['rev'] as number;
  const socket = await connect(server, bob);

  const begun = await ask<Erased>('owner', 'POST', '/users/carol/erase');
  assert.equal(begun.status, 202, begun.text);
  await socket.event((event) => event.type === 'message.delete' && event.conv === apart && event.seq === 1);
  server = await scene.restart('SIGKILL');
  for (const who of [alice, bob]) who.session = await server.signIn(who.username, who.password);
  const reached = async (state: string) =>
    await until(async () => {
      const { body } = await ask<Erased>('owner', 'GET', `/erasures/${begun.body.id}`);
      return body.state === state && body;
    }, `the erasure to be ${state}`);
  const waiting = await reached('waiting');
  assert.equal(waiting.kept, 1);
  // What was done and not written down before the kill is found done.
  assert.ok(waiting.forwards <= 3 && waiting.names <= 42);

  const items = await read(bob, apart);
  assert.deepEqual(
    items.map(({ seq }) => seq),
    Array.from({ length: 45 }, (_, at) => at + 1),
  );
  for (const { body, deleted_at: deletedAt, forward: whose, sender, seq } of items.slice(0, 4)) {
    if (seq === 3) {
      assert.deepEqual([body, whose?.sender, deletedAt], ['gudgeon by bob', 'bob', undefined]);
      continue;
    }
    assert.deepEqual([sender, body, whose], [seq === 2 ? 'bob' : 'alice', undefined, undefined]);
    assert.ok(deletedAt !== undefined);
  }
  const [card, loach] = items.slice(4);
  assert.deepEqual([card?.kind, card?.body, card?.edited_at], ['contact', { name: '[erased]' }, undefined]);
  assert.deepEqual([loach?.body, loach?.edited_at], ['loach 0 for @[erased]', undefined]);
  const changes = await server.api<{ complete: boolean; items: { type: string }[] }>(
    bob,
    'GET',
    `/v1/conversations/${apart}/changes?after_rev=${rev}`,
  );
  const types = changes.body.items.map(({ type }) => type);
  assert.deepEqual(
    [changes.body.complete, types.filter((type) => type === 'message.delete').length, types.length],
    [true, 3, 44],
  );

  const named = (await read(bob, shared)).find(({ client_msg_id: key }) => key === 'named');
  const renamed = 'To @[erased] and @bob: @[erased], @[erased]. But not @carol.b, x@carol.org or carolina';
  assert.deepEqual([named?.body, named?.mentions], [renamed, [{ username: 'bob', offset: 17, length: 4 }]]);
  const called = await server.api<{ items: { message: Message }[] }>(bob, 'GET', '/v1/mentions');
  assert.deepEqual(
    called.body.items.map(({ message }) => message.body),
    [renamed],
  );
  const found = await searchAll(server, bob, { q: 'gudgeon' });
  assert.deepEqual(
    found.map(({ body }) => (typeof body === 'string' ? body : '')).toSorted(byText),
    ['gudgeon by bob', 'gudgeon by bob', 'gudgeon by carol'],
    'under the hold it stays',
  );
  await until(() => !existsSync(blobPath(folder, contentHashOf(file))), 'the file that alice passed on to go');

  assert.equal((await ask('owner', 'PUT', `/conversations/${held}/hold`, { held: false })).status, 204);
  await reached('done');
  const trail = await ask<{ items: { details: Record<string, unknown> }[] }>(
    'owner',
    'GET',
    '/audit?event=user.erasure_waits',
  );
  assert.deepEqual(
    trail.body.items.map(({ details }) => details['kept']),
    [1],
  );
  server = await scene.restart('SIGTERM', async () => {
    const left = [await holding('gudgeon by carol'), await holding('Petrova'), await holding('"name":"carol.txt"')];
    assert.deepEqual(left, [0, 0, 0]);
  });
});

/** Whoever passes on as fast as they can is overtaken by the search at some time, and late on a machine under load. */
const RACE_MILLIS = 120_000;

test('a forward that is passed on while the search goes by is found all the same', async () => {
  for (const who of [alice, bob]) who.session = await server.signIn(who.username, who.password);
  const dave = await server.person('dave');
  const source = (await start(server, dave, 'room', ['alice', 'bob'], 'Source')).id;
  await say(server, dave, source, 'barbel by dave');
  const rooms: string[] = [];
  for (let n = 0; n < 12; n += 1) rooms.push((await start(server, alice, 'room', ['bob'], `Room ${n}`)).id);
  const first = rooms[0] as string;
  await send(alice, first, forward(source, 1));
  let [from, passed] = [first, 1];
  const begun = await ask<Erased>('owner', 'POST', '/users/dave/erase');
  // The last forward that is still there goes round, until none is left to pass on.
  await until(
    async () => {
      const to = rooms[passed % rooms.length] as string;
      const reply = await post(server, alice, to, forward(from, (await read(alice, from)).length));
      if (reply.status !== 201) return true;
      [from, passed] = [to, passed + 1];
      return false;
    },
    'every forward to be gone',
    RACE_MILLIS,
  );
  await until(async () => {
    const { body } = await ask<Erased>('owner', 'GET', `/erasures/${begun.body.id}`);
    return body.state === 'done';
  }, 'the erasure to be done');
  for (const id of rooms) {
    for (const { deleted_at: at, forward: whose } of await read(alice, id)) {
      assert.ok(at !== undefined && whose === undefined);
    }
  }
});
