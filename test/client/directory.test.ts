/** What the client keeps of the directory: bounded, asked for in batches, forgotten where it may have changed (NAM-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Directory, DIRECTORY_GATHER_MILLIS, DIRECTORY_KEPT_MAX } from '#src/client/directory.ts';
import { clientError, type ParleyError } from '#src/client/parley-error.ts';
import { ManualTimers, settle } from './manual-timers.ts';

function setStage() {
  const timers = new ManualTimers();
  const asked: string[] = [];
  const state = { scope: 'one', name: 'Name', hold: Promise.resolve(), fails: false };
  const request = async (query: Readonly<Record<string, string | number | undefined>>) => {
    const users = String(query['users'] ?? query['q']).split(',');
    asked.push(
      query['users'] === undefined ? `q=${query['q']}` : users.length > 3 ? `${users.length}` : users.join(','),
    );
    const name = state.name;
    await state.hold;
    if (state.fails) throw clientError('network_failed');
    const seen = users.filter((user) => user !== 'hidden');
    const items = seen.map((user) => ({
      user,
      display_name: `${name} ${user}`,
      kind: 'person',
      state: 'active',
      rev: 1,
    }));
    return { items, next: null, rev: 1, scope: state.scope };
  };
  const directory = new Directory({ request, timers });
  const read = async (...users: string[]) => {
    const all = Promise.all(users.map(async (user) => (await directory.read(user))?.display_name));
    await timers.pass(DIRECTORY_GATHER_MILLIS);
    return await all;
  };
  return { asked, directory, read, state, timers };
}

test('NAM-01 misses are gathered into one question, and what is known is not asked again', async () => {
  const { asked, directory, read } = setStage();
  assert.equal(directory.nameOf('ann'), 'ann');
  assert.deepEqual(await read('ann', 'ben', 'ann', 'hidden'), ['Name ann', 'Name ben', 'Name ann', undefined]);
  assert.deepEqual(
    [directory.nameOf('ann'), directory.peek('hidden'), directory.peek('cas')],
    ['Name ann', null, undefined],
  );
  assert.deepEqual(await read('ben', 'hidden', 'ann'), ['Name ben', undefined, 'Name ann']);
  assert.deepEqual(asked, ['ann,ben,hidden']);
  await read(...Array.from({ length: 101 }, (_, at) => `user${at}`));
  assert.deepEqual(asked.slice(1), ['100', 'user100']);
});

test('NAM-01 directory.changed and a break of the socket let it ask again, and an answer under way is not kept', async () => {
  const { asked, directory, read, state, timers } = setStage();
  await read('ann', 'ben');
  state.name = 'New';
  directory.observe('ann');
  assert.deepEqual(await read('ann', 'ben'), ['New ann', 'Name ben']);
  directory.forget();
  assert.deepEqual(await read('ben'), ['New ben']);
  const held = Promise.withResolvers<void>();
  state.hold = held.promise;
  const late = directory.read('cas');
  await timers.pass(DIRECTORY_GATHER_MILLIS);
  directory.observe('cas');
  held.resolve();
  assert.equal((await late)?.display_name, 'New cas');
  await settle();
  assert.equal(directory.peek('cas'), undefined);
  state.name = 'Newest';
  assert.deepEqual(await read('cas'), ['Newest cas']);
  assert.deepEqual(asked, ['ann,ben', 'ann', 'ben', 'cas', 'cas']);
});

test('NAM-01 so many people are kept, another scope forgets them, and a search teaches names', async () => {
  const { asked, directory, read, state } = setStage();
  const users = Array.from({ length: DIRECTORY_KEPT_MAX }, (_, at) => `user${at}`);
  await read(...users);
  await read('user0');
  // One step beyond: who was looked at longest ago goes.
  assert.deepEqual(
    (await directory.search('ann')).items.map(({ user }) => user),
    ['ann'],
  );
  assert.deepEqual([directory.nameOf('user0'), directory.nameOf('user1')], ['Name user0', 'user1']);
  assert.equal(directory.nameOf('ann'), 'Name ann');
  state.scope = 'two';
  await directory.search('ben');
  assert.deepEqual([directory.nameOf('user0'), directory.nameOf('ben')], ['user0', 'Name ben']);
  assert.deepEqual(asked.slice(-2), ['q=ann', 'q=ben']);
});

test('a question that fails fails for all who asked, and is asked again', async () => {
  const { directory, state, timers, read } = setStage();
  state.fails = true;
  const waiting = [directory.read('ann'), directory.read('ben')].map(
    async (one) => await one.catch((thrown: unknown) => (thrown as ParleyError).code),
  );
  await timers.pass(DIRECTORY_GATHER_MILLIS);
  assert.deepEqual(await Promise.all(waiting), ['network_failed', 'network_failed']);
  state.fails = false;
  assert.deepEqual(await read('ann'), ['Name ann']);
});
