/** The delay of the event loop: counted from the lateness of a timer, with the worst of the last minute. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOf } from '#src/telemetry/histogram.ts';
import { EventLoopDelay } from '#src/telemetry/event-loop-delay.ts';
import { PATIENCE_MILLIS } from '#test/support/waiting.ts';

test('a timer that is on time or early counts as no delay, a late one as its lateness', () => {
  const delay = new EventLoopDelay();
  delay.tick(1_000);
  delay.tick(1_050);
  delay.tick(1_099);
  delay.tick(1_449);
  const { counts, sum } = delay.sample(['main']);
  assert.equal(sum, 0.3);
  assert.equal(counts[0], 2, 'up to 1 ms');
  assert.equal(counts[8], 1, 'from 200 to 500 ms');
  assert.equal(countOf({ counts }), 3);
});

test('reading takes nothing away from the next reader', () => {
  const delay = new EventLoopDelay();
  delay.tick(0);
  delay.tick(250);
  assert.deepEqual(delay.sample(['main']), delay.sample(['main']));
  assert.equal(delay.recentMax(250), 0.2);
  assert.equal(delay.recentMax(250), 0.2);
});

test('the worst delay is forgotten a minute later and not before', () => {
  const delay = new EventLoopDelay();
  delay.tick(0);
  delay.tick(1_050);
  for (let now = 1_100; now < 55_000; now += 50) delay.tick(now);
  assert.equal(delay.recentMax(59_999), 1);
  assert.equal(delay.recentMax(60_000), 0);
});

test('a reader who comes after a long silence finds nothing of before it', () => {
  const delay = new EventLoopDelay();
  delay.tick(24_000);
  delay.tick(25_050);
  assert.equal(delay.recentMax(25_050), 1);
  assert.equal(delay.recentMax(170_000), 0);
});

test('a stall longer than a minute is the worst of the window in which it ended', () => {
  const delay = new EventLoopDelay();
  delay.tick(0);
  delay.tick(200_050);
  assert.equal(delay.recentMax(200_050), 200);
});

test('a running watch sees a loop that is held up', async () => {
  const delay = new EventLoopDelay();
  delay.start();
  // Its timer does not hold the process, so this one does until the stall is seen.
  const held = Promise.withResolvers<void>();
  const deadline = performance.now() + PATIENCE_MILLIS;
  const check = setInterval(() => {
    const until = performance.now() + 60;
    while (performance.now() < until);
    if (delay.recentMax(performance.now()) > 0.03) held.resolve();
    else if (performance.now() > deadline) held.reject(new Error('The stall was not seen.'));
  }, 1);
  await held.promise.finally(() => clearInterval(check));
  delay.stop();
});
