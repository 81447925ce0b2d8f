/** Services between threads: what a handler returns or throws becomes an answer, and both ends are held to one map. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused } from '#actors/runtime/actor.ts';
import { ServiceTable, valueOf, valuesOf, type ServiceHandlers } from '#actors/runtime/thread-services.ts';
import type { ThreadRuntime } from '#actors/runtime/thread-runtime.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { refusal } from '#test/coordinator/console-fixture.ts';

type Services = {
  readonly 'sum.read': { readonly ask: { readonly numbers: readonly number[] }; readonly answer: number };
  readonly 'door.close': { readonly ask: null; readonly answer: null };
  readonly 'bell.rung': { readonly tell: { readonly times: number } };
};

const handlers: ServiceHandlers<Services> = {
  'sum.read': ({ numbers }) => {
    if (numbers.length === 0) throw new Refusal('field_invalid', { field: 'numbers', retryAfter: 3 });
    return numbers.reduce((sum, number) => sum + number, 0);
  },
  'door.close': async () => await Promise.resolve(),
  'bell.rung': ({ times }) => {
    if (times > 3) throw new RangeError('The bell broke.');
  },
};

function tableWith(failures: [string, unknown][]): ServiceTable {
  return new ServiceTable([handlers], (name, error) => failures.push([name, error]));
}

test('what a handler returns is the answer, and nothing is null', async () => {
  const table = tableWith([]);
  assert.deepEqual(await table.ask('sum.read', { numbers: [3, 4] }), { ok: true, value: 7 });
  assert.deepEqual(await table.ask('door.close', null), { ok: true, value: null });
});

test('a Refusal is an answer; what else is thrown is internal, and told of', async () => {
  const failures: [string, unknown][] = [];
  const table = tableWith(failures);
  assert.deepEqual(await table.ask('sum.read', { numbers: [] }), refused('field_invalid', 'numbers', 3));
  assert.equal(failures.length, 0);
  assert.deepEqual(await table.ask('sum.read', {}), refused('internal'));
  assert.deepEqual(await table.ask('sum.write', {}), refused('internal'));
  assert.deepEqual(
    failures.map(([name, error]) => [name, (error as Error).message]),
    [
      ['sum.read', "Cannot read properties of undefined (reading 'length')"],
      ['sum.write', 'No service is called sum.write.'],
    ],
  );
});

test('a tell that fails is a bug of the thread that it came to', () => {
  const table = tableWith([]);
  table.tell('bell.rung', { times: 3 });
  assert.throws(() => table.tell('bell.rung', { times: 4 }), RangeError);
  assert.throws(() => table.tell('bell.broken', null), /No service is called bell\.broken/);
});

test('a name is served once', () => {
  const twice = [handlers, { 'bell.rung': () => undefined }];
  assert.throws(() => new ServiceTable(twice, () => undefined), /Two services are called bell\.rung/);
});

test('an answer is its value or a Refusal; of several, those that are none are left out', () => {
  const answers = [{ ok: true, value: 1 }, refused('busy'), { ok: true, value: 2 }] as const;
  assert.deepEqual(valuesOf<number>(answers), [1, 2]);
  assert.equal(valueOf(answers[0]), 1);
  assert.throws(() => valueOf(refused('rate_limited', 'name', 9)), {
    ...refusal('rate_limited'),
    field: 'name',
    retryAfter: 9,
  });
});

/** Never called: `npm run types` fails where one of these compiles, or the first lines do not. */
export async function mustNotCompile(runtime: ThreadRuntime<{ main: Services; shard: Services }>): Promise<void> {
  const answer = await runtime.askMain('sum.read', { numbers: [1] }, 1);
  valueOf(answer).toFixed();
  runtime.tellMain('bell.rung', { times: 1 });
  // @ts-expect-error -- A body of another shape.
  await runtime.askMain('sum.read', { numbers: ['1'] }, 1);
  // @ts-expect-error -- A name that is told is not asked.
  await runtime.askShard(0, 'bell.rung', { times: 1 }, 1);
  // @ts-expect-error -- A name that is asked is not told.
  runtime.tellShard(0, 'door.close', null);
  // @ts-expect-error -- A name that is not in the map.
  runtime.tellMain('bell.broken', null);
  // @ts-expect-error -- A service that nobody serves.
  const incomplete: ServiceHandlers<Services> = { 'sum.read': () => 0, 'door.close': () => undefined };
  // @ts-expect-error -- An answer of another type.
  const wrong: ServiceHandlers<Services> = { ...handlers, 'sum.read': () => 'seven' };
  void [incomplete, wrong];
}
