/** Turns of a thread: how much of one person begins in each, and when whoever has more to do than one thing rests. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import fastify from 'fastify';
import { TimeSlicer } from '#src/calendar/time-slicer.ts';
import { WorkBudgets } from '#src/calendar/work-budget.ts';
import { REST_MILLIS_MAX, REST_TIMES, RoundRobin } from '#src/limits/round-robin.ts';
import { addClientRoutes } from '#src/http/client-routes.ts';
import { makeLimiterMemory } from '#src/limits/bucket-table.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { makePolicies } from '#src/limits/policies.ts';
import { SESSION_ROUTES } from '#src/protocol/routes.ts';
import { startServer, type Person } from '#test/support/server.ts';

/** Notes who began, in the order in which they did. */
function noted(roundRobin: RoundRobin): { begun: string[]; begin: (user: string) => void } {
  const begun: string[] = [];
  return { begun, begin: (user) => void roundRobin.begin(user).then(() => begun.push(user)) };
}

/** All that is ready to go on without another turn of the event loop has done so. */
async function settled(): Promise<void> {
  for (let step = 0; step < 10; step += 1) await Promise.resolve();
}

test('of one person one thing begins in a turn, and of others at once', async () => {
  const roundRobin = new RoundRobin();
  const { begin, begun } = noted(roundRobin);
  for (let at = 0; at < 3; at += 1) begin('eve');
  begin('ben');
  await settled();
  assert.deepEqual(begun, ['eve', 'ben']);
  await nextTurn();
  assert.deepEqual(begun, ['eve', 'ben', 'eve']);
  begin('cleo');
  await settled();
  assert.deepEqual(begun.at(-1), 'cleo', 'whoever comes meanwhile waits for nobody');
  await nextTurn();
  assert.deepEqual(begun, ['eve', 'ben', 'eve', 'cleo', 'eve']);
  await nextTurn();
  begin('eve');
  await settled();
  assert.equal(begun.length, 6, 'and at once again when nothing of theirs began in this turn');
});

test('slices of one person follow each other, those of two questions too', async () => {
  const budgets = new WorkBudgets();
  const slices: string[] = [];
  const question = async (name: string) => {
    const slicer = new TimeSlicer({ budgets, user: 'eve' });
    for (let at = 0; at < 3; at += 1) {
      while (!slicer.isOver);
      await slicer.pass();
      slices.push(name);
    }
  };
  const both = Promise.all([question('a'), question('b')]);
  for (let before = 0; slices.length < 6; before = slices.length) {
    await nextTurn();
    assert.ok(slices.length - before <= 1, `${slices.length - before} slices in a turn`);
  }
  await both;
  assert.deepEqual(slices.toSorted(), ['a', 'a', 'a', 'b', 'b', 'b']);
});

/** Turns of a thread whose clock and timers stand still until they are moved. */
function still(t: TestContext): {
  roundRobin: RoundRobin;
  press: (isPressed: boolean) => void;
  work: (millis: number) => void;
} {
  let now = 0;
  let pressed = false;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setImmediate', 'setTimeout'] });
  const roundRobin = new RoundRobin();
  roundRobin.restWhile(() => pressed);
  return {
    roundRobin,
    press: (isPressed) => (pressed = isPressed),
    work: (millis) => {
      now += millis;
    },
  };
}

test('while somebody waits for the core, whoever has more to do than one thing rests three times as long as a turn took', async (t) => {
  assert.deepEqual([REST_TIMES, REST_MILLIS_MAX], [3, 20]);
  const { press, roundRobin, work } = still(t);
  const { begin, begun } = noted(roundRobin);
  press(true);
  for (const took of [5, 30]) {
    begun.length = 0;
    begin('eve');
    begin('eve');
    work(took);
    t.mock.timers.tick(0);
    await settled();
    assert.deepEqual(begun, ['eve'], 'the turn is over, and the next one rests');
    begin('ben');
    await settled();
    assert.deepEqual(begun, ['eve', 'ben'], 'others do not');
    const rest = Math.min(REST_TIMES * took, REST_MILLIS_MAX);
    t.mock.timers.tick(rest - 1);
    await settled();
    assert.deepEqual(begun, ['eve', 'ben']);
    t.mock.timers.tick(1);
    await settled();
    assert.deepEqual(begun, ['eve', 'ben', 'eve']);
    t.mock.timers.tick(0);
  }
});

test('they rest until everybody who is on their way in has their answer, or is gone', async (t) => {
  const { roundRobin, work } = still(t);
  const { begin, begun } = noted(roundRobin);
  const answers = [new EventEmitter(), new EventEmitter()];
  for (const answer of answers) roundRobin.enterUntilClosed(answer as ServerResponse);
  for (const answer of [undefined, ...answers]) {
    answer?.emit('close');
    begun.length = 0;
    begin('eve');
    begin('eve');
    work(5);
    t.mock.timers.tick(0);
    await settled();
    assert.deepEqual(begun, answer === answers[1] ? ['eve', 'eve'] : ['eve']);
    t.mock.timers.tick(REST_TIMES * 5);
    await settled();
    assert.deepEqual(begun, ['eve', 'eve']);
    t.mock.timers.tick(REST_TIMES * 5);
  }
});

test('on their way in is whoever asks without a session, from when all of their request is here', async (t) => {
  const limiter = new Limiter(
    makeLimiterMemory(),
    makePolicies({ rateLimits: 1, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 }),
  );
  const entered = t.mock.method(limiter.roundRobin, 'enterUntilClosed');
  const app = fastify();
  t.after(async () => await app.close());
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  const { login, logout } = SESSION_ROUTES;
  const answer = () => ({ status: 200, body: {} });
  addClientRoutes(app, { login, logout }, { login: answer, logout: answer }, () => 'eve', limiter);
  for (const { path } of [login, logout])
    assert.equal((await app.inject({ method: 'POST', url: path, payload: {} })).statusCode, 200);
  assert.equal(entered.mock.callCount(), 1);
  const headers = { 'content-type': 'application/json' };
  assert.equal((await app.inject({ method: 'POST', url: login.path, headers, payload: '{' })).statusCode, 400);
  assert.equal(entered.mock.callCount(), 1, 'of a request that never came whole');
});

test('nobody rests who has one thing to do, nor anybody while no one waits for the core', async (t) => {
  const { press, roundRobin, work } = still(t);
  const { begin, begun } = noted(roundRobin);
  press(true);
  begin('eve');
  work(5);
  t.mock.timers.tick(0);
  begin('eve');
  await settled();
  assert.deepEqual(begun, ['eve', 'eve']);
  press(false);
  begin('eve');
  work(5);
  t.mock.timers.tick(0);
  await settled();
  assert.deepEqual(begun, ['eve', 'eve', 'eve']);
});

for (const [door, path] of [
  ['coordinator', '/v1/directory'],
  ['calendar', '/v1/calendars'],
] as const)
  test(`requests of others to the ${door} are answered among those that one person sent beside them`, async () => {
    const server = await startServer({ shards: 2 });
    try {
      const names = Array.from({ length: 8 }, (_, at) => `other-${at}`);
      const people: Readonly<Record<string, Person>> = await server.people('eve', ...names);
      const tokenOf = (name: string) => people[name]?.session.token ?? assert.fail(name);
      const { hostname, port } = new URL(server[door]);
      const answered: string[] = [];
      const prepare = async (name: string, token: string) => {
        const socket = connect(Number(port), hostname);
        // Connections are accepted one in a turn: one that was answered is in.
        socket.write('GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n');
        await once(socket, 'data');
        return async () => {
          socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
          const [bytes] = (await once(socket, 'data')) as [Buffer];
          assert.equal(bytes.toString('latin1').slice(9, 12), '200');
          answered.push(name);
          socket.destroy();
        };
      };
      const sends: (() => Promise<void>)[] = [];
      for (const name of names) {
        for (let at = 0; at < 8; at += 1) sends.push(await prepare('eve', tokenOf('eve')));
        sends.push(await prepare(name, tokenOf(name)));
      }
      // All of them lie before it when it goes on, in whatever order it looks at them.
      await server.pause();
      const answers = sends.map(async (send) => await send());
      server.resume();
      await Promise.all(answers);
      const last = Math.max(...names.map((name) => answered.indexOf(name)));
      assert.deepEqual([answered.length, answered.filter((name) => name === 'eve').length], [72, 64]);
      assert.ok(last < 36, `the last of the others was answered as number ${last} of 72`);
    } finally {
      await server.stop();
    }
  });
