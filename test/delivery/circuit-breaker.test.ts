/** Breakers: opened by failures in a row, half-open for one probe, open for longer each time, and bounded in number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BREAKER_FAILURES,
  BREAKER_MILLIS,
  BREAKER_MILLIS_MAX,
  BREAKERS_MAX,
  CircuitBreaker,
  CircuitBreakers,
} from '#src/delivery/circuit-breaker.ts';

const DOWN = { isDown: true };
const UP = { isDown: false };

function makeClock() {
  const clock = { millis: 1_000, now: () => clock.millis };
  return clock;
}

/** Asks so many times, with the same answer each. */
async function ask(breaker: CircuitBreaker, answer: object, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) await breaker.ask(async () => answer);
}

test('a breaker opens at so many failures in a row and not before; an answer in between counts anew', async () => {
  const clock = makeClock();
  const breaker = new CircuitBreaker(clock);
  await ask(breaker, DOWN, BREAKER_FAILURES - 1);
  assert.deepEqual([breaker.waitMillis, breaker.isOpen], [0, false]);
  await ask(breaker, UP);
  await ask(breaker, DOWN, BREAKER_FAILURES - 1);
  assert.equal(breaker.waitMillis, 0);
  await ask(breaker, DOWN);
  assert.deepEqual([breaker.waitMillis, breaker.isOpen], [BREAKER_MILLIS, true]);
  clock.millis += 1;
  assert.equal(breaker.waitMillis, BREAKER_MILLIS - 1);
});

test('a breaker that is half-open lets one probe through, and closes where that is answered', async () => {
  const clock = makeClock();
  const breaker = new CircuitBreaker(clock);
  await ask(breaker, DOWN, BREAKER_FAILURES);
  clock.millis += BREAKER_MILLIS - 1;
  assert.equal(breaker.waitMillis, 1);
  clock.millis += 1;
  assert.deepEqual([breaker.waitMillis, breaker.isOpen], [0, false]);
  const answer = Promise.withResolvers<object>();
  const probe = breaker.ask(async () => await answer.promise);
  assert.equal(breaker.waitMillis, BREAKER_MILLIS);
  answer.resolve(UP);
  await probe;
  assert.equal(breaker.waitMillis, 0);
  await ask(breaker, DOWN, BREAKER_FAILURES - 1);
  assert.equal(breaker.waitMillis, 0);
});

test('a breaker whose probe fails stays open twice as long each time, up to the most', async () => {
  const clock = makeClock();
  const breaker = new CircuitBreaker(clock);
  await ask(breaker, DOWN, BREAKER_FAILURES);
  const waits: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    waits.push(breaker.waitMillis);
    clock.millis += breaker.waitMillis;
    await ask(breaker, DOWN);
  }
  const doubled = [1, 2, 4, 8, 16].map((times) => times * BREAKER_MILLIS);
  assert.deepEqual(waits, [...doubled, BREAKER_MILLIS_MAX, BREAKER_MILLIS_MAX]);
});

test('what was under way when a breaker opened, and fails behind that, says nothing new', async () => {
  const clock = makeClock();
  const breaker = new CircuitBreaker(clock);
  const late = Promise.withResolvers<object>();
  const asked = breaker.ask(async () => await late.promise);
  await ask(breaker, DOWN, BREAKER_FAILURES);
  clock.millis += 5;
  late.resolve(DOWN);
  await asked;
  assert.equal(breaker.waitMillis, BREAKER_MILLIS - 5);
});

test('each receiver has a breaker of its own, and one more than are kept costs the oldest its memory', async () => {
  const breakers = new CircuitBreakers(makeClock());
  for (let at = 0; at < BREAKERS_MAX; at += 1)
    await ask(breakers.of(`host-${at}`), DOWN, at < 2 ? BREAKER_FAILURES : 1);
  assert.deepEqual(breakers.open, ['host-0', 'host-1']);
  await ask(breakers.of('one-more'), UP);
  assert.deepEqual(breakers.open, ['host-1']);
});
