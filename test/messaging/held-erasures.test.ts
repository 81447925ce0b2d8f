/** Erasures that a legal hold stops: they wait, say so, and are finished when the hold ends, over restarts and kills. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import type { Person } from '#test/support/server.ts';
import { tablesWithWords } from '#test/support/stored-words.ts';
import { until } from '#test/support/waiting.ts';
import { post, say, start } from './conversing.ts';

const scene = await shareRestartedServer({}, { shards: 2 });
const { ask, folder } = scene;
let { server } = scene;
const { alice, bob } = await server.people('alice', 'bob');

async function again(signal?: NodeJS.Signals, meanwhile?: () => Promise<void>): Promise<void> {
  server = await scene.restart(signal, meanwhile);
  for (const who of [alice, bob]) who.session = await server.signIn(who.username, who.password);
}

interface Erasure {
  readonly id: string;
  readonly state: 'running' | 'waiting' | 'done';
  readonly done_at: string | null;
  readonly conversations: number;
  readonly messages: number;
  readonly held: number;
  readonly forwards: number;
  readonly names: number;
  readonly kept: number;
}

async function erase(user: string): Promise<string> {
  const { body, status, text } = await ask<Erasure>('owner', 'POST', `/users/${user}/erase`);
  assert.equal(status, 202, text);
  return body.id;
}

const read = async (id: string) => (await ask<Erasure>('owner', 'GET', `/erasures/${id}`)).body;

/** The erasure in that state, with so many conversations and messages of others that a hold keeps. */
async function reached(id: string, state: Erasure['state'], held = 0, kept = 0): Promise<Erasure> {
  return await until(async () => {
    const found = await read(id);
    return found.state === state && found.held === held && found.kept === kept && found;
  }, `the erasure to be ${state}`);
}

async function hold(conversation: string, held: boolean): Promise<void> {
  const { status, text } = await ask('owner', 'PUT', `/conversations/${conversation}/hold`, { held });
  assert.equal(status, 204, text);
}

async function holdAll(held: boolean): Promise<void> {
  assert.equal((await ask('owner', 'PUT', '/retention/hold', { held })).status, 200);
}

async function forward(who: Person, to: string, from: string, seq: number): Promise<void> {
  const reply = await post(server, who, to, { forward: { conversation_id: from, seq } });
  assert.equal(reply.status, 201, reply.text);
}

async function messagesOf(id: string): Promise<Message[]> {
  const path = `/v1/conversations/${id}/messages`;
  return (await server.api<{ items: Message[] }>(bob, 'GET', path)).body.items;
}

async function trailOf(user: string): Promise<string[]> {
  const path = `/audit?about=${encodeURIComponent(`user:${user}`)}&limit=50`;
  const { body } = await ask<{ items: { about: string; event: string }[] }>('owner', 'GET', path);
  return body.items.flatMap(({ about, event }) => (about === `user:${user}` ? [event] : []));
}

const wordsOfCarol = async () => await tablesWithWords(folder, ['dace by carol', '@carol']);

test('what conversations on hold kept of an erased person goes as their holds end, over a restart and a kill', async () => {
  const carol = await server.person('carol');
  const [first, second, free] = await Promise.all(
    ['First', 'Second', 'Free'].map(async (title) => (await start(server, alice, 'room', ['bob', 'carol'], title)).id),
  );
  assert.ok(first !== undefined && second !== undefined && free !== undefined);
  for (const id of [first, second, free]) await say(server, carol, id, `dace by carol in ${id}`);
  const apart = (await start(server, alice, 'room', ['bob'], 'Apart')).id;
  await forward(alice, apart, first, 1);
  await say(server, alice, apart, 'ask @carol');
  for (const id of [first, second, apart]) await hold(id, true);

  const id = await erase('carol');
  const waiting = await reached(id, 'waiting', 2, 2);
  assert.deepEqual([waiting.conversations, waiting.messages, waiting.done_at], [3, 1, null]);
  assert.deepEqual(await trailOf('carol'), ['user.erasure_waits', 'user.erasure_started', 'user.created']);
  // What a hold keeps can be passed on meanwhile, to where nothing is held.
  await forward(bob, free, second, 1);
  await again('SIGTERM');
  assert.equal((await read(id)).state, 'waiting', 'the holds stand');

  await hold(first, false);
  const left = await reached(id, 'waiting', 1, 2);
  assert.deepEqual([left.messages, left.forwards], [2, 1]);
  assert.deepEqual(
    (await messagesOf(first)).map(({ body }) => body),
    [undefined],
  );
  await hold(apart, false);
  await reached(id, 'waiting', 1);
  assert.deepEqual(
    (await messagesOf(apart)).map(({ body }) => body),
    [undefined, 'ask @[erased]'],
  );
  await hold(second, false);
  // Whatever of it was done before the kill.
  await again('SIGKILL');
  const done = await reached(id, 'done');
  assert.equal(done.conversations, 3);
  assert.notEqual(done.done_at, null);
  // A pass for each hold that ended, and none for the restart in between.
  assert.deepEqual(await trailOf('carol'), [
    'user.erased',
    ...['user.erasure_waits', 'user.erasure_waits', 'user.erasure_waits'],
    ...['user.erasure_started', 'user.created'],
  ]);
  await until(async () => (await wordsOfCarol()).length === 0, 'the words to be off the disk');
});

test('an erasure under the installation’s hold is finished when that ends, and not by another hold’s end', async () => {
  const dave = await server.person('dave');
  const one = (await start(server, alice, 'room', ['bob', 'dave'], 'One')).id;
  const other = (await start(server, alice, 'room', ['bob'], 'Other')).id;
  await say(server, dave, one, 'roach by dave');
  await forward(alice, other, one, 1);
  await hold(one, true);
  await holdAll(true);
  const id = await erase('dave');
  await reached(id, 'waiting', 1, 1);
  await hold(one, false);
  await hold(other, true);
  await holdAll(false);
  assert.equal((await reached(id, 'waiting', 0, 1)).messages, 1);
  await hold(other, false);
  assert.deepEqual([(await reached(id, 'done')).forwards], [1]);
  assert.deepEqual(
    (await messagesOf(other)).map(({ body }) => body),
    [undefined],
  );
});

test('a hold whose end meets a kill is not forgotten', async () => {
  const erin = await server.person('erin');
  const room = (await start(server, alice, 'room', ['bob', 'erin'], 'Killed')).id;
  await say(server, erin, room, 'tench by erin');
  await holdAll(true);
  const id = await erase('erin');
  await reached(id, 'waiting', 1);
  const ended = holdAll(false).catch(() => undefined);
  await again('SIGKILL', async () =>
    assert.deepEqual(await wordsOfCarol(), [], 'nor are those of the first test back'),
  );
  await ended;
  const { body } = await ask<{ held: boolean }>('owner', 'GET', '/retention');
  if (body.held) await holdAll(false);
  assert.deepEqual([(await reached(id, 'done')).messages], [1]);
});
