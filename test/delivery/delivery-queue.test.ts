/** The queue: order within a key, slots and groups, what is put off and for how long, what is written down, and its end. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BREAKER_FAILURES, BREAKER_MILLIS } from '#src/delivery/circuit-breaker.ts';
import {
  DeliveryQueue,
  FAULT_MILLIS,
  type Attempt,
  type AttemptContext,
  type DeliveryQueueOptions,
} from '#src/delivery/delivery-queue.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { until } from '#test/support/waiting.ts';

interface Item {
  readonly name: string;
  readonly key: string;
}

type Options = DeliveryQueueOptions<Item, string>;

const TAKEN: Attempt<string> = { result: 'over', answer: 'taken' };
const FAILED: Attempt<string> = { result: 'failed', answer: 'not now' };
const DOWN: Attempt<string> = { ...FAILED, isDown: true };

/** A queue with a clock that stands, and what happened to it. Items are `key` and a number: `a1`. */
function makeQueue(t: TestContext, more: Partial<Options> = {}) {
  // The median of every wait, so that it can be stated.
  t.mock.method(Math, 'random', () => 0.5);
  const clock = { millis: 1_000_000, now: () => clock.millis };
  const attempted: string[] = [];
  const over: string[] = [];
  const putOff: string[] = [];
  const warnings: unknown[] = [];
  const { attempt = async () => TAKEN, ...others } = more;
  const queue = new DeliveryQueue<Item, string>({
    ...{ name: 'test', clock, atOnce: 8, backoff: { firstMillis: 1_000, mostMillis: 60_000 } },
    log: { warn: (_message, fields) => void warnings.push(fields?.['error']) },
    orderingKeyOf: ({ key }) => key,
    over: ({ name }, answer = 'expired') => void over.push(`${name} ${answer}`),
    putOff: ({ name }, at, answer = 'nobody asked') =>
      void putOff.push(`${name} ${Math.round(at - clock.millis)} ${answer}`),
    ...others,
    attempt: async (item, context) => {
      attempted.push(item.name);
      return await attempt(item, context);
    },
  });
  t.after(async () => await queue.close());
  const add = (...names: string[]) => names.map((name) => queue.add({ name, key: name.charAt(0) }));
  const later = async (millis: number) => {
    clock.millis += millis;
    queue.wake();
    await settled();
  };
  return { add, attempted, clock, later, over, putOff, queue, warnings };
}

/** Whatever has nothing to wait for was done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

/** Attempts that end when the test says so. */
function makeGates() {
  const gates = new Map<string, (attempt: Attempt<string>) => void>();
  return {
    attempt: async ({ name }: Item, { signal }: AttemptContext<string>) => {
      const { promise, resolve } = Promise.withResolvers<Attempt<string>>();
      gates.set(name, resolve);
      signal.addEventListener('abort', () => resolve(TAKEN));
      return await promise;
    },
    open: async (name: string, attempt: Attempt<string> = TAKEN) => {
      (gates.get(name) ?? assert.fail(`${name} is not under way`))(attempt);
      await settled();
    },
  };
}

test('what has one key goes in order and one at a time, and a slow one holds up nobody else', async (t) => {
  const { attempt, open } = makeGates();
  const { add, attempted, over, queue } = makeQueue(t, { attempt });
  add('a1', 'a2', 'b1', 'b2', 'c1');
  assert.deepEqual(attempted, ['a1', 'b1', 'c1']);
  assert.deepEqual(queue.inSequence('a'), [
    { name: 'a1', key: 'a' },
    { name: 'a2', key: 'a' },
  ]);
  await open('b1');
  await open('b2');
  assert.deepEqual(
    [attempted, over],
    [
      ['a1', 'b1', 'c1', 'b2'],
      ['b1 taken', 'b2 taken'],
    ],
  );
  await open('a1');
  assert.equal(attempted.at(-1), 'a2');
  await open('a2');
  await open('c1');
  assert.equal(queue.waiting, 0);
});

test('what failed waits with all of its key that is behind it, and the others go on', async (t) => {
  let isUp = false;
  const attempt = async ({ key }: Item) => (key === 'a' && !isUp ? FAILED : TAKEN);
  const { add, attempted, later, over, putOff } = makeQueue(t, { attempt });
  add('a1', 'a2', 'b1');
  await settled();
  assert.deepEqual([attempted, over], [['a1', 'b1'], ['b1 taken']]);
  await later(897);
  assert.deepEqual(attempted, ['a1', 'b1']);
  isUp = true;
  await later(1);
  assert.deepEqual(over, ['b1 taken', 'a1 taken', 'a2 taken']);
  assert.deepEqual(putOff, ['a1 898 not now']);
});

test('a queue wakes by itself when something is due', async (t) => {
  const attempts: number[] = [];
  const { add, over } = makeQueue(t, {
    clock: { now: () => performance.now() },
    backoff: { firstMillis: 5, mostMillis: 10 },
    attempt: async (_item, context) => {
      attempts.push(context.attempts);
      return attempts.length < 4 ? FAILED : TAKEN;
    },
  });
  add('a1');
  await until(() => over.length === 1, 'the fourth attempt');
  assert.deepEqual(attempts, [0, 1, 2, 3]);
});

test('so many are under way at once and no more, and of one group fewer', async (t) => {
  const { attempt, open } = makeGates();
  const of = ({ name }: Item) => (name.endsWith('x') ? 'x' : 'y');
  const { add, attempted, queue } = makeQueue(t, { attempt, atOnce: 4, group: { of, atOnce: 2 } });
  add('ax', 'bx', 'cx', 'dy', 'ey', 'fy');
  assert.deepEqual(attempted, ['ax', 'bx', 'dy', 'ey']);
  assert.deepEqual([queue.countOf('x'), queue.countOf('y')], [3, 3]);
  await open('dy');
  assert.equal(attempted.at(-1), 'fy');
  await open('ax');
  assert.equal(attempted.at(-1), 'cx');
  assert.equal(queue.countOf('x'), 2);
});

test('what the receiver asks for counts where it is longer than the backoff', async (t) => {
  const waits: Record<string, number> = { a1: 5_000_000, b1: 1 };
  const { add, putOff } = makeQueue(t, { attempt: async ({ name }) => ({ ...FAILED, retryMillis: waits[name] }) });
  add('a1', 'b1');
  await settled();
  assert.deepEqual(putOff, ['a1 5000000 not now', 'b1 898 not now']);
});

test('attempts end, counted by the queue or by the noun', async (t) => {
  const { add, attempted, later, over } = makeQueue(t, {
    attemptsMax: 3,
    attempt: async ({ key }, { attempts }) => (key === 'b' ? { ...FAILED, attempts: attempts + 2 } : FAILED),
  });
  add('a1', 'b1');
  await settled();
  await later(60_000);
  assert.deepEqual([attempted, over], [['a1', 'b1', 'a1', 'b1'], ['b1 not now']]);
  await later(60_000);
  assert.deepEqual(over, ['b1 not now', 'a1 not now']);
});

test('beyond its age a delivery is over without another attempt, and not a millisecond before', async (t) => {
  const { add, attempted, later, over } = makeQueue(t, {
    expiresAt: () => 1_060_000,
    attempt: async () => ({ result: 'putOff', millis: 30_000 }),
  });
  add('a1');
  await settled();
  await later(30_000);
  await later(30_000);
  assert.deepEqual([attempted.length, over], [3, []]);
  await later(30_000);
  assert.deepEqual([attempted.length, over], [3, ['a1 expired']]);
});

test('a receiver that is down is left alone, asked once, and then served', async (t) => {
  let answer: Attempt<string> = DOWN;
  const asked: string[] = [];
  const { add, later, over, putOff, queue } = makeQueue(t, {
    receiver: ({ key }) => `host ${key}`,
    orderingKeyOf: ({ name }) => name,
    attempt: async ({ key, name }, { ask }) =>
      await ask(async () => {
        asked.push(name);
        return key === 'a' ? answer : TAKEN;
      }),
  });
  for (let at = 1; at <= BREAKER_FAILURES; at += 1) add(`a${at}`);
  await settled();
  assert.deepEqual(queue.openBreakers, ['host a']);
  add('a6', 'b1');
  await settled();
  assert.deepEqual([putOff.at(-1), over], [`a6 ${BREAKER_MILLIS} nobody asked`, ['b1 taken']]);
  assert.equal(asked.includes('a6'), false);
  asked.length = 0;
  await later(BREAKER_MILLIS);
  // One probe alone; whoever else is due waits for what becomes of it.
  assert.deepEqual([asked.length, queue.openBreakers], [1, ['host a']]);
  answer = TAKEN;
  await later(2 * BREAKER_MILLIS);
  await later(BREAKER_MILLIS);
  assert.equal(over.length, BREAKER_FAILURES + 2);
});

test('where all is for one receiver that is down, nothing is attempted until it is asked again', async (t) => {
  let answer: Attempt<string> = DOWN;
  const { add, attempted, later, over } = makeQueue(t, {
    ...{ receiver: 'the only one', breaker: { failures: 1, millis: 2_000, millisMax: 2_000 } },
    attempt: async (_item, { ask }) => await ask(async () => answer),
  });
  add('a1');
  await settled();
  add('b1', 'c1', 'd1');
  await later(1_999);
  assert.deepEqual(attempted, ['a1']);
  answer = TAKEN;
  await later(1);
  await later(2_000);
  assert.deepEqual(over.toSorted(), ['a1 taken', 'b1 taken', 'c1 taken', 'd1 taken']);
});

test('one more than may wait is not taken, and room that was kept is given back', async (t) => {
  const { attempt, open } = makeGates();
  const { add, queue } = makeQueue(t, { attempt, waitingMax: 4 });
  assert.deepEqual(add('a1', 'a2', 'a3', 'a4', 'a5'), [true, true, true, true, false]);
  await open('a1');
  assert.equal(queue.waiting, 3);
  queue.reserve(1);
  assert.deepEqual([queue.waiting, ...add('a6')], [4, false]);
  assert.throws(() => queue.reserve(1), { code: 'busy' });
  // Nothing came of what was reserved: whoever looks what is due finds the room again.
  queue.reserve(1);
  queue.wake();
  assert.deepEqual([queue.waiting, ...add('a6'), ...add('a7')], [3, true, false]);
});

test('what its noun finds due is taken in order, once', async (t) => {
  const written = ['a1', 'b1', 'a2'];
  const due = () => written.splice(0).map((name) => ({ name, key: name.charAt(0) }));
  const { over, queue } = makeQueue(t, { due });
  queue.reserve(3);
  queue.wake();
  await settled();
  queue.wake();
  await settled();
  assert.deepEqual([over, queue.waiting], [['a1 taken', 'b1 taken', 'a2 taken'], 0]);
});

test('what cannot be written down is written down later, and not attempted again', async (t) => {
  let isFull = true;
  const noted: string[] = [];
  const { add, attempted, later, warnings } = makeQueue(t, {
    over: ({ name }) => {
      if (isFull) throw name === 'a1' ? new Refusal('storage_full') : new Error('broken');
      noted.push(name);
    },
  });
  add('a1', 'b1');
  await settled();
  assert.deepEqual([attempted, noted, warnings], [['a1', 'b1'], [], [new Error('broken')]]);
  isFull = false;
  await later(FAULT_MILLIS - 1);
  assert.deepEqual(noted, []);
  await later(1);
  assert.deepEqual(
    [attempted, noted],
    [
      ['a1', 'b1'],
      ['a1', 'b1'],
    ],
  );
});

test('a defect of an attempt is logged, and it is attempted again', async (t) => {
  let times = 0;
  const { add, later, over, warnings } = makeQueue(t, {
    attempt: async () => {
      times += 1;
      if (times === 1) throw new Error('broken');
      return TAKEN;
    },
  });
  add('a1');
  await settled();
  assert.equal(warnings.length, 1);
  await later(FAULT_MILLIS);
  assert.deepEqual(over, ['a1 taken']);
});

test('what waits can be forgotten; what is under way comes to its end', async (t) => {
  const { attempt, open } = makeGates();
  const { add, attempted, over, queue } = makeQueue(t, { attempt, atOnce: 2 });
  add('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
  queue.remove(({ name }) => ['a1', 'a2', 'c1'].includes(name));
  assert.equal(queue.waiting, 4);
  await open('a1');
  assert.deepEqual([attempted, over], [['a1', 'b1', 'c2'], ['a1 taken']]);
  assert.deepEqual([queue.waitsIn('a'), queue.waitsIn('b'), queue.waitsIn('c')], [true, false, false]);
});

test('what was behind a delivery that waits and is forgotten goes at once', async (t) => {
  const attempt = async ({ name }: Item) => (name === 'a1' ? FAILED : TAKEN);
  const { add, over, queue } = makeQueue(t, { attempt });
  add('a1', 'a2');
  await settled();
  queue.remove(({ name }) => name === 'a1');
  await settled();
  assert.deepEqual(over, ['a2 taken']);
});

test('a turn may be asked for until it has come', async (t) => {
  const { attempt, open } = makeGates();
  const { add, attempted, over } = makeQueue(t, {
    attempt,
    mayGo: ({ name }) => name !== 'b1' || over.includes('a1 taken'),
  });
  add('b1', 'a1', 'c1');
  assert.deepEqual(attempted, ['a1', 'c1']);
  await open('c1');
  assert.deepEqual(attempted, ['a1', 'c1']);
  await open('a1');
  assert.deepEqual(attempted, ['a1', 'c1', 'b1']);
});

test('what its noun adds again leaves the queue when it is put off', async (t) => {
  const { add, putOff, queue } = makeQueue(t, { attempt: async () => FAILED, leavesWhenPutOff: true });
  add('a1', 'a2');
  await settled();
  assert.deepEqual([putOff, queue.waiting], [['a1 898 not now', 'a2 898 not now'], 0]);
});

test('a queue that closes while its deliveries wait leaves them to their noun, and settles nothing more', async (t) => {
  const ended = Promise.withResolvers<Attempt<string>>();
  const attempt = async ({ key }: Item, { signal }: AttemptContext<string>): Promise<Attempt<string>> => {
    if (key === 'a') return FAILED;
    signal.addEventListener('abort', () => ended.resolve(TAKEN));
    return await ended.promise;
  };
  const { add, attempted, later, over, putOff, queue } = makeQueue(t, { attempt });
  add('a1', 'b1', 'b2');
  await settled();
  await queue.close();
  await later(60_000);
  assert.deepEqual([attempted, over, putOff], [['a1', 'b1'], [], ['a1 898 not now']]);
  assert.deepEqual(add('c1'), [false]);
});

test('what is under way may come to its end within the time that a closing queue gives', async (t) => {
  const { attempt, open } = makeGates();
  const { add, attempted, over, queue } = makeQueue(t, { attempt });
  add('a1', 'a2');
  const closed = queue.close(60_000);
  await open('a1');
  await closed;
  assert.deepEqual([attempted, over], [['a1'], ['a1 taken']]);
});
