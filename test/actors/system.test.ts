/** The runtime of a shard's actors: turns, refusals, restarts, quarantine, wake-ups and passivation. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { refuse, type Actor, type Answer, type Effect, type Tell } from '#actors/runtime/actor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { QUARANTINE_MILLIS } from '#actors/runtime/supervision.ts';
import { LANE_BACKLOG_MAX, PASSIVATE_MILLIS } from '#actors/runtime/system.ts';
import { until } from '#test/support/waiting.ts';
import { openHost, type ActorHost } from './actor-host.ts';

interface Probe extends Tell {
  readonly kind:
    | 'count'
    | 'slow'
    | 'ring'
    | 'hint'
    | 'boom'
    | 'refuse'
    | 'later'
    | 'late'
    | 'hold'
    | 'release'
    | 'tell';
}

interface Seen {
  readonly key: string;
  readonly kinds: string[];
  count: number;
}

const MAILBOX_MAX = 4;

/** An actor that notes what it got; `lives` are the states it ever had. */
function makeProbe(lives: Seen[], isIdle = true): Actor<Seen, Probe> {
  return {
    name: 'probe',
    mailboxMax: MAILBOX_MAX,
    urgent: ['ring'],
    lossy: ['hint'],
    start: (key) => {
      const seen: Seen = { key, kinds: [], count: 0 };
      lives.push(seen);
      return seen;
    },
    receive: (state, { kind }): readonly Effect[] => {
      state.kinds.push(kind);
      state.count += 1;
      if (kind === 'boom') throw new Error('a planted bug');
      if (kind === 'refuse') return refuse('right_missing', 'x');
      if (kind === 'later') return [{ kind: 'wake', after: 0, message: { kind: 'late' } }];
      if (kind === 'hold') return [{ kind: 'hold', token: 't' }];
      if (kind === 'tell') return [{ kind: 'tell', to: 'probe:other', message: { kind: 'count' } }];
      if (kind === 'release')
        return [{ kind: 'answerHeld', token: 't', answer: { ok: true, value: 'held' } }, ...value('done')];
      return value(state.count);
    },
    isIdle: () => isIdle,
    inspect: (state) => ({ count: state.count }),
  };
}

const value = (answer: unknown): readonly Effect[] => [{ kind: 'answer', value: answer }];

function openProbe(t: TestContext, isIdle = true): { host: ActorHost; lives: Seen[] } {
  const lives: Seen[] = [];
  return { host: openHost(t, { actors: [makeProbe(lives, isIdle)] }), lives };
}

const ask = (host: ActorHost, kind: Probe['kind'], more: { due?: number; cancelled?: boolean } = {}) =>
  host.ask('probe:a', { kind }, more);

const codeOf = (answer: Answer) => (answer.ok ? answer.value : answer.code);

test('an ask is answered with what the actor says, or its refusal with code and field', async (t) => {
  const { host } = openProbe(t);
  assert.deepEqual(await ask(host, 'count'), { ok: true, value: 1 });
  assert.deepEqual(await ask(host, 'refuse'), { ok: false, code: 'right_missing', field: 'x', retryAfter: undefined });
});

test('what is urgent goes ahead of what waits', async (t) => {
  const { host, lives } = openProbe(t);
  await Promise.all([ask(host, 'count'), ask(host, 'count'), ask(host, 'ring')]);
  assert.deepEqual(lives[0]?.kinds, ['ring', 'count', 'count']);
});

test('a full mailbox takes its limit, answers busy with retryAfter beyond it, and drops tells', async (t) => {
  const { host } = openProbe(t);
  const answers = Promise.all(Array.from({ length: MAILBOX_MAX + 1 }, () => ask(host, 'count')));
  host.system.deliver('probe:a', { kind: 'count' });
  assert.deepEqual((await answers).map(codeOf), [1, 2, 3, 4, 'busy']);
  assert.deepEqual((await answers).at(-1), { ok: false, code: 'busy', field: undefined, retryAfter: 1 });
  assert.deepEqual(host.reports, [{ what: 'dropped', detail: 'count' }]);
});

test('a full mailbox drops the oldest hint for the newest and counts it', async (t) => {
  const { host, lives } = openProbe(t);
  for (let i = 0; i < MAILBOX_MAX; i += 1) host.system.deliver('probe:a', { kind: i === 0 ? 'hint' : 'count' });
  host.system.deliver('probe:a', { kind: 'hint' });
  await until(() => lives[0]?.kinds.length === MAILBOX_MAX, 'the messages');
  assert.deepEqual(lives[0]?.kinds, ['count', 'count', 'count', 'hint']);
  assert.deepEqual(host.reports, [{ what: 'dropped', detail: 'hint' }]);
});

test('an ask that was cancelled or is past its deadline is not worked on', async (t) => {
  const { host, lives } = openProbe(t);
  const late = await ask(host, 'count', { due: monotonicMillis() - 1 });
  const cancelled = await ask(host, 'count', { cancelled: true });
  assert.deepEqual([codeOf(late), codeOf(cancelled)], ['unavailable', 'unavailable']);
  assert.equal(lives.length, 0);
});

test('ready actors take turns, so that a busy one does not hold up a quiet one', async (t) => {
  const { host } = openProbe(t);
  const order: string[] = [];
  const told = (key: 'a' | 'b') => host.ask(`probe:${key}`, { kind: 'count' }).then(() => void order.push(key));
  await Promise.all([told('a'), told('a'), told('a'), told('b')]);
  assert.deepEqual(order, ['a', 'b', 'a', 'a']);
});

test('an actor that throws answers internal, loses its state, and goes on', async (t) => {
  const { host, lives } = openProbe(t);
  await ask(host, 'count');
  assert.equal(codeOf(await ask(host, 'boom')), 'internal');
  assert.equal(codeOf(await ask(host, 'count')), 1);
  assert.equal(lives.length, 2);
  assert.deepEqual(host.reports, [{ what: 'restarted', detail: 'a planted bug' }]);
});

/** Takes hold of the monotonic clock. */
function holdClock(t: TestContext): { forward(millis: number): void } {
  let millis = 1_000_000;
  t.mock.method(process, 'hrtime', () => [Math.floor(millis / 1000), (millis % 1000) * 1e6]);
  return { forward: (by) => (millis += by) };
}

test('an actor that fails a sixth time in five seconds is set aside for half a minute, and nobody else', async (t) => {
  const clock = holdClock(t);
  const { host } = openProbe(t);
  for (let i = 0; i < 5; i += 1) assert.equal(codeOf(await ask(host, 'boom')), 'internal');
  assert.equal(codeOf(await ask(host, 'count')), 1);
  const waiting = [ask(host, 'boom'), ask(host, 'count')];
  host.system.deliver('probe:a', { kind: 'count' });
  assert.deepEqual((await Promise.all(waiting)).map(codeOf), ['internal', 'unavailable']);
  assert.deepEqual(host.reports.slice(-2), [
    { what: 'quarantined', detail: 'probe:a' },
    { what: 'dropped', detail: 'count' },
  ]);
  clock.forward(QUARANTINE_MILLIS - 1);
  assert.equal(codeOf(await ask(host, 'count')), 'unavailable');
  assert.equal(codeOf(await host.ask('probe:b', { kind: 'count' })), 1);
  clock.forward(1);
  assert.equal(codeOf(await ask(host, 'count')), 1);
});

test('five failures spread over more than five seconds set nobody aside', async (t) => {
  const clock = holdClock(t);
  const { host } = openProbe(t);
  for (let i = 0; i < 12; i += 1) {
    assert.equal(codeOf(await ask(host, 'boom')), 'internal');
    clock.forward(1_000);
  }
  assert.deepEqual(new Set(host.reports.map(({ what }) => what)), new Set(['restarted']));
});

test('a wake-up finds the life that set it, and no later one', async (t) => {
  const { host, lives } = openProbe(t);
  host.system.deliver('probe:a', { kind: 'later' });
  await until(() => lives[0]?.kinds.includes('late'), 'the wake-up');
  host.system.deliver('probe:a', { kind: 'later' });
  host.system.deliver('probe:a', { kind: 'boom' });
  await until(() => host.reports.length === 1, 'the restart');
  // A wake-up of another actor set after it has come: its own would have come before.
  host.system.deliver('probe:b', { kind: 'later' });
  await until(() => lives.some(({ key, kinds }) => key === 'b' && kinds.includes('late')), 'the other wake-up');
  await nextTurn();
  assert.deepEqual(
    lives.filter(({ key }) => key === 'a').map(({ kinds }) => kinds),
    [['later', 'late', 'later', 'boom']],
  );
});

test('an ask kept open is answered by a later message, or unavailable when the actor restarts', async (t) => {
  const { host } = openProbe(t);
  const first = ask(host, 'hold');
  assert.deepEqual(await ask(host, 'release'), { ok: true, value: 'done' });
  assert.deepEqual(await first, { ok: true, value: 'held' });
  const second = ask(host, 'hold');
  await ask(host, 'boom');
  assert.equal(codeOf(await second), 'unavailable');
});

test('what an actor tells another leaves by the outlet', async (t) => {
  const { host } = openProbe(t);
  host.system.deliver('probe:a', { kind: 'tell' });
  await until(() => host.said.length === 1, 'the tell');
  assert.deepEqual(host.said, [{ kind: 'tell', to: 'probe:other', message: { kind: 'count' } }]);
});

test('a broadcast reaches every living actor of the name', async (t) => {
  const { host, lives } = openProbe(t);
  await Promise.all([host.ask('probe:a', { kind: 'count' }), host.ask('probe:b', { kind: 'count' })]);
  host.system.broadcast('probe', { kind: 'ring' });
  await until(() => lives.every(({ kinds }) => kinds.at(-1) === 'ring'), 'the broadcast');
  assert.equal(lives.length, 2);
});

test('an address of no actor is a fault of the caller', (t) => {
  const { host } = openProbe(t);
  assert.throws(() => host.system.deliver('nobody:x', { kind: 'count' }), /There is no actor for nobody\./);
});

test('a lane takes its backlog, and one record beyond it asks are answered busy', async (t) => {
  const { host } = openProbe(t);
  host.environment.isHolding = true;
  const fill = (from: number, to: number) =>
    host.lane.append(
      Array.from({ length: to - from }, (_, i) => ({
        table: 'meta' as const,
        key: Buffer.from(`x${from + i}`),
        value: Buffer.of(1),
      })),
    );
  fill(0, LANE_BACKLOG_MAX);
  const taken = host.converse('c_1', { kind: 'describe', form: { title: 'x' }, user: 'alice', device: 'd' });
  assert.equal(codeOf(await taken), 'conversation_forbidden');
  fill(LANE_BACKLOG_MAX, LANE_BACKLOG_MAX + 1);
  const refused = await host.converse('c_1', { kind: 'describe', form: { title: 'x' }, user: 'alice', device: 'd' });
  assert.deepEqual(refused, { ok: false, code: 'busy', field: undefined, retryAfter: 1 });
  host.environment.letGo();
});

test('figures and inspect tell what lives and what waits', async (t) => {
  const { host } = openProbe(t);
  await ask(host, 'count');
  host.system.deliver('probe:a', { kind: 'count' });
  host.system.deliver('probe:a', { kind: 'ring' });
  assert.deepEqual(host.system.metrics, {
    active: { probe: 1 },
    mailboxes: { system: 0, urgent: 1, main: 1, deepest: 2 },
  });
  assert.deepEqual(host.system.inspect(5), [{ address: 'probe:a', waiting: 2, gated: false, metrics: { count: 1 } }]);
  assert.deepEqual(host.system.inspect(0), []);
});

for (const isIdle of [true, false]) {
  test(`an actor that heard nothing for a minute ${isIdle ? 'leaves memory' : 'stays while it has something at stake'}`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const clock = holdClock(t);
    const { host, lives } = openProbe(t, isIdle);
    await ask(host, 'count');
    clock.forward(PASSIVATE_MILLIS - 1);
    t.mock.timers.tick(PASSIVATE_MILLIS / 4);
    assert.deepEqual(host.system.metrics.active, { probe: 1 });
    clock.forward(1);
    t.mock.timers.tick(PASSIVATE_MILLIS / 4);
    assert.deepEqual(host.system.metrics.active, isIdle ? {} : { probe: 1 });
    assert.equal(codeOf(await ask(host, 'count')), isIdle ? 1 : 2);
    assert.equal(lives.length, isIdle ? 2 : 1);
  });
}

test('an actor with an ask kept open stays in memory', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const clock = holdClock(t);
  const { host } = openProbe(t);
  const held = ask(host, 'hold', { due: Number.MAX_SAFE_INTEGER });
  await nextTurn();
  await nextTurn();
  clock.forward(PASSIVATE_MILLIS);
  t.mock.timers.tick(PASSIVATE_MILLIS / 4);
  assert.deepEqual(host.system.metrics.active, { probe: 1 });
  await ask(host, 'release', { due: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(await held, { ok: true, value: 'held' });
});
