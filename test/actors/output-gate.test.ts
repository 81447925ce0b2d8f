/** The output gate: nothing an actor says leaves before what it rests on is on disk (MSG-08). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer } from '#actors/runtime/actor.ts';
import { PASSIVATE_MILLIS } from '#actors/runtime/system.ts';
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import { readConversation, readHistory } from '#storage/conversations/conversation-reader.ts';
import { key } from '#storage/engine/keys.ts';
import { until } from '#test/support/waiting.ts';
import { makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const OTHER = 'c_0000000000000000000002';

async function openRoom(t: TestContext): Promise<ActorHost> {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  host.said.splice(0);
  return host;
}

/** Notes an answer when it comes. */
function noted(answer: Promise<Answer>, name: string, log: string[]): void {
  void answer.then((one) => log.push(`${name} ${one.ok ? (one.value as Reply).status : one.code}`));
}

const held = (host: ActorHost, count = 1) => until(() => host.environment.held.length === count, 'a commit');
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await nextTurn();
}

const bodies = (host: ActorHost, id = ROOM) => {
  const record = readConversation(host.tables, id);
  const { items } = record === undefined ? { items: [] } : readHistory(host.tables, record, { limit: 100 });
  return items.map((json) => (JSON.parse(json) as { body: string }).body);
};

test('MSG-08 answer and event leave after the commit, in order, and not before', async (t) => {
  const host = await openRoom(t);
  const log: string[] = [];
  host.environment.isHolding = true;
  noted(host.converse(ROOM, post('alice', 'one')), 'one', log);
  noted(host.converse(ROOM, post('bob', 'two')), 'two', log);
  await held(host);
  await turns();
  assert.deepEqual(log, []);
  assert.deepEqual(host.said, []);
  assert.deepEqual(bodies(host), []);
  host.environment.letGo();
  await until(() => log.length === 2, 'the answers');
  assert.deepEqual(log, ['one 201', 'two 201']);
  assert.deepEqual(
    host.events(ROOM).map(({ type, seq }) => `${type as string} ${seq as number}`),
    ['message.new 1', 'message.new 2'],
  );
  assert.deepEqual(bodies(host), ['one', 'two']);
});

test('MSG-03 a repeat of a post that is not on disk yet waits for it, stores nothing and gets its seq', async (t) => {
  const host = await openRoom(t);
  host.environment.isHolding = true;
  const first = host.reply(ROOM, post('alice', 'one', 'm1'));
  await held(host);
  const log: string[] = [];
  const repeat = host.converse(ROOM, post('alice', 'another body', 'm1'));
  noted(repeat, 'repeat', log);
  await turns();
  assert.deepEqual(log, []);
  host.environment.letGo();
  const { body } = await first;
  const answer = await repeat;
  assert.ok(answer.ok);
  assert.equal((answer.value as Reply).status, 200);
  assert.deepEqual(JSON.parse((answer.value as Reply).json), body);
  assert.deepEqual(bodies(host), ['one']);
});

test('a refusal decided on what is not on disk waits for it too', async (t) => {
  const host = await openRoom(t);
  const log: string[] = [];
  host.environment.isHolding = true;
  noted(host.converse(ROOM, { kind: 'remove', participant: 'bob', user: 'alice', device: 'd' }), 'remove', log);
  await held(host);
  noted(host.converse(ROOM, post('bob', 'too late')), 'post', log);
  await turns();
  assert.deepEqual(log, []);
  host.environment.letGo();
  await until(() => log.length === 2, 'the answers');
  assert.deepEqual(log, ['remove 204', 'post conversation_forbidden']);
});

test('a conversation that appended nothing is not held up by another one’s commit', async (t) => {
  const host = await openRoom(t);
  host.environment.isHolding = true;
  void host.converse(ROOM, post('alice', 'one'));
  await held(host);
  assert.deepEqual(await host.converse(OTHER, post('alice', 'x')), {
    ok: false,
    code: 'conversation_forbidden',
    field: undefined,
    retryAfter: undefined,
  });
  host.environment.letGo();
});

for (const [message, code] of [
  ['No space left on device', 'storage_full'],
  ['Disk quota exceeded', 'storage_full'],
  ['Input/output error', 'storage_full'],
  ['MDB_MAP_FULL: Environment mapsize limit reached', 'storage_full'],
  ['MDB_CORRUPTED: Located page was wrong type', 'internal'],
] as const) {
  test(`when a commit fails with “${message}” nothing is said, everybody gets ${code}, and the actor starts again from the disk`, async (t) => {
    const host = await openRoom(t);
    await host.reply(ROOM, post('alice', 'kept', 'm1'));
    host.said.splice(0);
    const log: string[] = [];
    host.environment.isHolding = true;
    noted(host.converse(ROOM, post('alice', 'lost', 'm2')), 'in flight', log);
    await held(host);
    noted(host.converse(ROOM, post('bob', 'behind')), 'behind', log);
    noted(host.converse(ROOM, post('alice', 'again', 'm2')), 'repeat', log);
    await turns();
    host.environment.isHolding = false;
    host.environment.held.shift()?.fail(new Error(message));
    await until(() => log.length === 3, 'the refusals');
    assert.deepEqual(log, [`in flight ${code}`, `behind ${code}`, `repeat ${code}`]);
    assert.deepEqual(host.said, []);
    assert.deepEqual(host.reports, [{ what: 'storageFailed', detail: message }]);
    assert.deepEqual(bodies(host), ['kept']);
    // The seq and the key of what was lost are free again.
    const { status, body } = await host.reply(ROOM, post('alice', 'at last', 'm2'));
    assert.deepEqual([status, body['seq']], [201, 2]);
    assert.deepEqual(bodies(host), ['kept', 'at last']);
  });
}

test('a failed commit takes along every actor that had written to the lane', async (t) => {
  const host = await openRoom(t);
  await makeRoom(host, OTHER, ['bob']);
  host.said.splice(0);
  const log: string[] = [];
  host.environment.isHolding = true;
  noted(host.converse(ROOM, post('alice', 'one')), 'room', log);
  await held(host);
  noted(host.converse(OTHER, post('alice', 'two')), 'other', log);
  await turns();
  host.environment.isHolding = false;
  host.environment.held.shift()?.fail(new Error('No space left on device'));
  await until(() => log.length === 2, 'the refusals');
  assert.deepEqual(log, ['room storage_full', 'other storage_full']);
  assert.equal(host.reports.length, 2);
  for (const id of [ROOM, OTHER]) assert.equal((await host.reply(id, post('bob', 'on'))).body['seq'], 1);
});

test('an actor that only wrote and said nothing starts again too when the commit fails', async (t) => {
  const host = await openRoom(t);
  await host.reply(ROOM, { kind: 'delete', user: 'alice', device: 'd' });
  await until(() => host.tables.meta.get(key('purge', ROOM)) === undefined, 'the purge');
  host.environment.isHolding = true;
  // With nothing left to purge, all it does is to take the mark away.
  host.system.deliver(`conversation:${ROOM}`, { kind: 'purge' });
  await held(host);
  host.environment.isHolding = false;
  host.environment.held.shift()?.fail(new Error('No space left on device'));
  await until(() => host.reports.length > 0, 'the report');
  assert.deepEqual(host.reports, [{ what: 'storageFailed', detail: 'No space left on device' }]);
});

test('an actor whose writes are not on disk yet stays in memory', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const host = await openRoom(t);
  host.environment.isHolding = true;
  void host.ask(`conversation:${ROOM}`, post('alice', 'one'), { due: Number.MAX_SAFE_INTEGER });
  await held(host);
  t.mock.method(process, 'hrtime', () => [10_000_000, 0]);
  t.mock.timers.tick(PASSIVATE_MILLIS);
  assert.deepEqual(host.system.metrics.active, { conversation: 1 });
  host.environment.letGo();
  await host.lane.settle();
  t.mock.timers.tick(PASSIVATE_MILLIS);
  assert.deepEqual(host.system.metrics.active, {});
});
