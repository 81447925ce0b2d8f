/** The count of refused frames with a clock in hand (SOC-08). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countRefusedFrame } from '#src/messaging/sockets/refused-frames.ts';

/** Refuses this many frames at that moment; which of them were one too many. */
function refuse(frames: { refused: number; refusedSince: number }, count: number, now: number): boolean[] {
  return Array.from({ length: count }, () => countRefusedFrame(frames, now));
}

const EIGHT = Array.from({ length: 8 }, () => false);

test('SOC-08 eight refused frames a minute pass, and the ninth is one too many', () => {
  const frames = { refused: 0, refusedSince: 0 };
  assert.deepEqual(refuse(frames, 8, 5_000), EIGHT);
  assert.equal(countRefusedFrame(frames, 64_999), true);
});

test('SOC-08 the minute begins with the first refused frame, and after it the count begins anew', () => {
  const frames = { refused: 0, refusedSince: 0 };
  assert.equal(countRefusedFrame(frames, 59_000), false);
  assert.deepEqual(refuse(frames, 7, 118_999), EIGHT.slice(1));
  assert.deepEqual(refuse(frames, 8, 119_000), EIGHT);
  assert.equal(countRefusedFrame(frames, 178_999), true);
  assert.deepEqual(refuse(frames, 8, 179_000), EIGHT);
});

test('SOC-08 eight in every minute never close, however long it goes on', () => {
  const frames = { refused: 0, refusedSince: 0 };
  for (let minute = 1; minute <= 100; minute += 1) assert.deepEqual(refuse(frames, 8, minute * 60_000), EIGHT);
});
