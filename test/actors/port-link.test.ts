/** The link between two threads: credits, deadlines, cancellation, the bounds of what waits, and its end. */
import assert from 'node:assert/strict';
import { Cancellation } from '#actors/runtime/cancellation.ts';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { Packr } from 'msgpackr';
import type { Answer } from '#actors/runtime/actor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import {
  ASKS_IN_FLIGHT_MAX,
  ASKS_WAITING_MAX,
  PortLink,
  READS_UNSENT_MAX,
  TELLS_UNREAD_MAX,
} from '#actors/runtime/port-link.ts';
import { until } from '#test/support/waiting.ts';

interface OtherSide {
  readonly held: number;
  readonly cancelled: number;
  readonly tells: number;
  readonly overruns: number;
  readonly last: unknown;
}

function openLink(t: TestContext) {
  const { port1, port2 } = new MessageChannel();
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const counts = { timedOut: 0, dropped: 0, closed: 0 };
  const worker = new Worker(new URL('link-worker.ts', import.meta.url), {
    workerData: { port: port2, gate },
    transferList: [port2],
  });
  worker.on('error', () => undefined);
  const link = new PortLink(port1, {
    ask: () => undefined,
    tell: () => undefined,
    overrun: () => undefined,
    timedOut: () => (counts.timedOut += 1),
    dropped: () => (counts.dropped += 1),
    closed: () => (counts.closed += 1),
  });
  const open = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  t.after(async () => {
    open();
    link.close();
    await worker.terminate();
  });
  const ask = (to: string, body: unknown = null, millis = 15_000, cancellation?: Cancellation) =>
    link.ask(to, body, monotonicMillis() + millis, cancellation);
  const state = async () => {
    const answer = await ask('@state');
    assert.ok(answer.ok);
    return answer.value as OtherSide;
  };
  return { link, counts, worker, open, ask, state };
}

const said = (answer: Answer) => (answer.ok ? answer.value : answer.code);
const tally = (answers: readonly Answer[]) => {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[String(said(answer))] = (counts[String(said(answer))] ?? 0) + 1;
  return counts;
};

test('asks, answers and refusals cross the threads whole', async (t) => {
  const { ask } = openLink(t);
  const body = { text: 'héllo 👋', list: [1, 2.5, -3], nested: { none: null, yes: true } };
  assert.deepEqual(await ask('@echo', body), { ok: true, value: body });
  assert.deepEqual(await ask('@refuse'), { ok: false, code: 'rate_limited', field: 'x', retryAfter: 7 });
});

test('answers find their asks, however many cross at once', async (t) => {
  const { ask, link } = openLink(t);
  const answers = await Promise.all(Array.from({ length: 5_000 }, (_, i) => ask('@echo', i)));
  assert.deepEqual(
    answers.map(said),
    Array.from({ length: 5_000 }, (_, i) => i),
  );
  assert.equal(link.pending, 0);
});

test('tells arrive in order and cost no answer', async (t) => {
  const { link, state } = openLink(t);
  for (let i = 0; i < 1_001; i += 1) assert.equal(link.tell('x', i), true);
  const { tells, last } = await state();
  assert.deepEqual([tells, last], [1_001, 1_000]);
});

test('as many asks as there are credits are under way; the others wait and follow', async (t) => {
  const { ask, link } = openLink(t);
  const first = Array.from({ length: ASKS_IN_FLIGHT_MAX - 1 }, () => ask('@hold'));
  const { value } = (await ask('@state')) as { value: OtherSide };
  assert.equal(value.held, ASKS_IN_FLIGHT_MAX - 1);
  const release = ask('@release');
  const behind = Array.from({ length: 10 }, () => ask('@echo', 'behind'));
  assert.equal(link.pending, ASKS_IN_FLIGHT_MAX + 10);
  await release;
  assert.deepEqual(tally(await Promise.all(first)), { released: ASKS_IN_FLIGHT_MAX - 1 });
  assert.deepEqual(tally(await Promise.all(behind)), { behind: 10 });
});

test('as many asks wait as may, and one more is busy at once', async (t) => {
  const { ask, link, open } = openLink(t);
  const blocked = ask('@block');
  const all = Array.from({ length: ASKS_IN_FLIGHT_MAX - 1 + ASKS_WAITING_MAX }, () => ask('@echo', 'taken'));
  assert.equal(link.pending, ASKS_IN_FLIGHT_MAX + ASKS_WAITING_MAX);
  assert.deepEqual(await ask('@echo'), { ok: false, code: 'busy', field: undefined, retryAfter: undefined });
  open();
  await blocked;
  assert.deepEqual(tally(await Promise.all(all)), { taken: ASKS_IN_FLIGHT_MAX - 1 + ASKS_WAITING_MAX });
});

test('an ask past its deadline is unavailable, is cancelled over there, and its late answer is nobody’s', async (t) => {
  const { ask, counts, state, link } = openLink(t);
  const late = ask('@hold', null, 1);
  assert.equal(said(await late), 'unavailable');
  assert.equal(counts.timedOut, 1);
  assert.deepEqual([(await state()).held, (await state()).cancelled], [1, 1]);
  await ask('@release');
  assert.equal(said(await ask('@echo', 'on')), 'on');
  assert.equal(link.pending, 0);
});

test('an ask that waits for a credit meets its deadline too, also behind a patient one', async (t) => {
  const { ask, counts, open } = openLink(t);
  const blocked = ask('@block');
  const inFlight = Array.from({ length: ASKS_IN_FLIGHT_MAX - 1 }, () => ask('@echo', 'done'));
  const patient = ask('@echo', 'patient');
  const hasty = ask('@echo', 'hasty', 1);
  assert.equal(said(await hasty), 'unavailable');
  assert.equal(counts.timedOut, 1);
  open();
  assert.deepEqual([said(await blocked), said(await patient)], [null, 'patient']);
  assert.deepEqual(tally(await Promise.all(inFlight)), { done: ASKS_IN_FLIGHT_MAX - 1 });
});

test('a cancelled ask is answered at once and told to the other side', async (t) => {
  const { ask, state } = openLink(t);
  const cancellation = new Cancellation();
  const given = ask('@hold', null, 15_000, cancellation);
  await until(async () => (await state()).held === 1, 'the ask over there');
  cancellation.cancel();
  assert.equal(said(await given), 'unavailable');
  await until(async () => (await state()).cancelled === 1, 'the cancellation over there');
});

test('an ask cancelled before it was made is never sent', async (t) => {
  const { ask, state } = openLink(t);
  const cancellation = new Cancellation();
  cancellation.cancel();
  assert.equal(said(await ask('@hold', null, 15_000, cancellation)), 'unavailable');
  assert.equal((await state()).held, 0);
});

test('a cancelled ask that waits for a credit is never sent', async (t) => {
  const { ask, state, open, link } = openLink(t);
  const blocked = ask('@block');
  const inFlight = Array.from({ length: ASKS_IN_FLIGHT_MAX - 1 }, () => ask('@echo', 'done'));
  const cancellation = new Cancellation();
  const waiting = ask('@hold', null, 15_000, cancellation);
  cancellation.cancel();
  assert.equal(said(await waiting), 'unavailable');
  assert.equal(link.pending, ASKS_IN_FLIGHT_MAX);
  open();
  await Promise.all([blocked, ...inFlight]);
  assert.equal((await state()).held, 0);
});

for (const [how, name] of [
  ['lets go', '@close'],
  ['dies', '@die'],
] as const) {
  test(`when the other side ${how}, every ask is unavailable, and so is every later one`, async (t) => {
    const { ask, counts, link } = openLink(t);
    const held = Array.from({ length: ASKS_IN_FLIGHT_MAX - 1 }, () => ask('@hold'));
    const last = ask(name);
    const waiting = Array.from({ length: 5 }, () => ask('@hold'));
    assert.deepEqual(tally(await Promise.all([...held, last, ...waiting])), { unavailable: ASKS_IN_FLIGHT_MAX + 5 });
    assert.equal(counts.closed, 1);
    assert.equal(link.pending, 0);
    assert.equal(said(await ask('@echo')), 'unavailable');
    assert.equal(link.tell('x', 1), false);
  });
}

test('closing settles what is under way and what waits, once', async (t) => {
  const { ask, counts, link } = openLink(t);
  const asks = Array.from({ length: ASKS_IN_FLIGHT_MAX + 5 }, () => ask('@hold'));
  link.close();
  link.close();
  assert.deepEqual(tally(await Promise.all(asks)), { unavailable: ASKS_IN_FLIGHT_MAX + 5 });
  assert.equal(counts.closed, 1);
});

test('unread tells have a bound: one more is dropped, and the other side learns that it missed some', async (t) => {
  const { ask, link, counts, open, state } = openLink(t);
  const blocked = ask('@block');
  await nextTurn();
  for (let i = 0; i < TELLS_UNREAD_MAX; i += 1) link.tell('x', i);
  assert.equal(counts.dropped, 0);
  assert.equal(link.tell('x', 'one too many'), false);
  assert.equal(counts.dropped, 1);
  open();
  await blocked;
  await until(async () => (await state()).overruns === 1, 'the overrun over there');
  assert.equal((await state()).tells, TELLS_UNREAD_MAX);
  // There is room again, and nothing more to be told about.
  assert.equal(link.tell('x', 'next'), true);
  assert.deepEqual([(await state()).tells, (await state()).overruns], [TELLS_UNREAD_MAX + 1, 1]);
});

test('tells that were read are told of with what is said next, and by themselves at a bound', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const packr = new Packr({ useRecords: false });
  const posts: unknown[] = [];
  port2.on('message', (packed: Uint8Array) => posts.push(packr.unpack(packed)));
  let tells = 0;
  const link = new PortLink(port1, {
    ask: (_to, body, incoming) => incoming.settle({ ok: true, value: body }),
    tell: () => (tells += 1),
    overrun: () => undefined,
    timedOut: () => undefined,
    dropped: () => undefined,
    closed: () => undefined,
  });
  t.after(() => {
    link.close();
    port2.close();
  });
  const tell = async (count: number) => {
    const before = tells;
    port2.postMessage(packr.pack(Array.from({ length: count }, (_, i) => ['tell', 'x', i])));
    await until(() => tells === before + count, 'the tells over there');
  };
  await tell(READS_UNSENT_MAX - 1);
  port2.postMessage(packr.pack([['ask', 1, 'x', monotonicMillis() + 60_000, 'hello']]));
  await until(() => posts.length === 1, 'the answer');
  await tell(READS_UNSENT_MAX);
  await until(() => posts.length === 2, 'what is told by itself');
  const alone = [['read', READS_UNSENT_MAX]];
  assert.deepEqual(posts, [
    [
      ['answer', 1, 'hello'],
      ['read', READS_UNSENT_MAX - 1],
    ],
    alone,
  ]);
});

test('a post carries what it says and no memory besides, also after a large one', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const sizes: [carried: number, meant: number][] = [];
  port2.on('message', (packed: Uint8Array) => sizes.push([packed.buffer.byteLength, packed.byteLength]));
  const link = new PortLink(port1, {
    ask: () => undefined,
    tell: () => undefined,
    overrun: () => undefined,
    timedOut: () => undefined,
    dropped: () => undefined,
    closed: () => undefined,
  });
  t.after(() => {
    link.close();
    port2.close();
  });
  for (const body of ['small', 'x'.repeat(1_000_000), 'small', 'small']) {
    const before = sizes.length;
    link.tell('somebody', body);
    await until(() => sizes.length > before, 'the post to arrive');
  }
  for (const [carried, meant] of sizes) assert.equal(carried, meant);
  assert.ok((sizes[3]?.[0] ?? 0) < 100);
});
