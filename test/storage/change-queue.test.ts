/** Changes in turn: what gathers commits together, what is too much is refused, what fails is told to everybody in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeQueue } from '#storage/engine/change-queue.ts';
import type { Write } from '#storage/engine/environment.ts';
import { refusal } from './vault-fixture.ts';

type Writes = Map<string, Write<'t'>>;

function makeQueue(waitingMax: number, commit: (writes: readonly Write<'t'>[]) => Promise<void>) {
  const draft = (before: ReadonlyMap<string, Write<'t'>>) => ({ before, writes: new Map() as Writes });
  return new ChangeQueue({ waitingMax, draft, commit });
}

function write(name: string): Write<'t'> {
  return { table: 't', key: Buffer.from(name), value: Buffer.from(name) };
}

test('changes of one turn are one commit, each sees those before it, and a refused one leaves nothing', async () => {
  const commits: string[][] = [];
  const queue = makeQueue(10, async (writes) => void commits.push(writes.map(({ key }) => key.toString())));
  const seen = await Promise.allSettled([
    queue.change(({ before, writes }) => (writes.set('a', write('a')), [...before.keys()])),
    queue.change(({ writes }) => {
      writes.set('b', write('b'));
      throw new Error('no');
    }),
    queue.change(({ before, writes }) => (writes.set('c', write('c')), [...before.keys()])),
  ]);
  assert.deepEqual(
    seen.map((one) => (one.status === 'fulfilled' ? one.value : 'refused')),
    [[], 'refused', ['a']],
  );
  assert.deepEqual(commits, [['a', 'c']]);
});

test('one change more than may wait is refused with busy', async () => {
  const queue = makeQueue(2, async () => undefined);
  const waiting = [queue.change(() => 1), queue.change(() => 2)];
  await assert.rejects(
    queue.change(() => 3),
    refusal('busy'),
  );
  assert.deepEqual(await Promise.all(waiting), [1, 2]);
});

test('a commit that fails is storage_full to all in it, and the next one is tried', async () => {
  let isFull = true;
  const queue = makeQueue(10, async () => {
    if (isFull) throw new Error('ENOSPC');
  });
  const both = await Promise.allSettled([queue.change(() => 1), queue.change(() => 2)]);
  assert.ok(both.every((one) => one.status === 'rejected' && refusal('storage_full')(one.reason)));
  isFull = false;
  assert.equal(await queue.change(() => 3), 3);
});

test('without room for more urgent changes alone are taken, and each of them alone where all together do not fit', async () => {
  const commits: string[][] = [];
  let [hasRoom, most] = [false, Infinity];
  const queue = new ChangeQueue({
    waitingMax: 10,
    draft: (before: ReadonlyMap<string, Write<'t'>>) => ({ before, writes: new Map() as Writes }),
    hasRoom: async () => hasRoom,
    commit: async (writes) => {
      if (writes.length > most) throw new Error('ENOSPC');
      commits.push(writes.map(({ key }) => key.toString()));
    },
  });
  const put = async (name: string, isUrgent: boolean) => {
    await queue.change(({ writes }) => void writes.set(name, write(name)), { isUrgent });
    return name;
  };
  const outcomes = async (changes: readonly Promise<string>[]) =>
    (await Promise.allSettled(changes)).map((one) =>
      one.status === 'fulfilled' ? one.value : refusal('storage_full')(one.reason),
    );
  assert.deepEqual(await outcomes([put('a', false), put('b', true), put('c', false)]), [true, 'b', true]);
  assert.deepEqual(commits.splice(0), [['b']]);
  [hasRoom, most] = [true, 1];
  assert.deepEqual(await outcomes([put('d', true), put('e', false)]), ['d', true]);
  assert.deepEqual(commits.splice(0), [['d']]);
  most = 0;
  assert.deepEqual(await outcomes([put('f', true), put('g', false)]), [true, true]);
  assert.deepEqual(commits, []);
});
