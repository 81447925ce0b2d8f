/** Typing frames of the client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Typing } from '#src/client/conversations/typing.ts';
import { TYPING_INTERVAL_MILLIS } from '#src/protocol/limits.ts';
import { ManualTimers } from './manual-timers.ts';

test('one frame per interval and conversation goes out, and the next at its end', async () => {
  const timers = new ManualTimers();
  const sent: string[] = [];
  const typing = new Typing((conv) => sent.push(conv) > 0, timers);
  assert.equal(typing.type('c_1'), true);
  assert.equal(typing.type('c_1'), false);
  assert.equal(typing.type('c_2'), true);
  await timers.pass(TYPING_INTERVAL_MILLIS - 1);
  assert.equal(typing.type('c_1'), false);
  await timers.pass(1);
  assert.equal(typing.type('c_1'), true);
  assert.deepEqual(sent, ['c_1', 'c_2', 'c_1']);
});

test('a frame that could not be sent does not count', () => {
  let isOpen = false;
  const typing = new Typing(() => isOpen, new ManualTimers());
  assert.equal(typing.type('c_1'), false);
  isOpen = true;
  assert.equal(typing.type('c_1'), true);
});

test('a clock set back does not silence typing', async () => {
  const timers = new ManualTimers();
  const typing = new Typing(() => true, timers);
  assert.equal(typing.type('c_1'), true);
  await timers.pass(-60_000);
  assert.equal(typing.type('c_1'), true);
});
