/** The order of an attempt's steps: they overtake each other, and what is missing is waited for, not for ever (SIG-07). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP_WAIT_MILLIS, STEPS_WAITING_MAX } from '#actors/call/step-order.ts';
import { Scene } from './call-scene.ts';

const pair = () => new Scene({ scope: 'ann|ben', devices: ['ann/1', 'ann/2', 'ben/1', 'ben/2'] });

test('SIG-07 steps overtake each other and are taken in order; what is missing is waited for, not for ever', async () => {
  const scene = pair();
  const candidate = { family: 'webrtc' } as const;
  scene.step('ann/1', 'invite');
  assert.equal(scene.step('ann/1', 'candidate', { ...candidate, seq: 3 }), 'held');
  assert.equal(scene.step('ann/1', 'candidate', { ...candidate, seq: 3 }), 'signal_out_of_order');
  assert.equal(scene.step('ann/1', 'offer', { ...candidate, seq: 2 }), 'ok');
  assert.deepEqual(scene.lines('ben/1'), ['ann invite', 'ann offer', 'ann candidate']);
  const late = scene.later('ann/1', 'candidate', { ...candidate, seq: 6 });
  scene.advance(STEP_WAIT_MILLIS - 1);
  assert.equal(scene.lines('ben/1').length, 3);
  scene.advance(10);
  assert.equal(await late, 'ok');
  assert.equal(scene.step('ann/1', 'candidate', { ...candidate, seq: 5 }), 'signal_out_of_order');
  assert.equal(scene.step('ann/2', 'candidate', { ...candidate, seq: 1 }), 'call_not_joined');
});

test('SIG-07 a step that arrives before its own invite waits for it', async () => {
  const scene = pair();
  const offer = scene.later('ann/1', 'offer', { family: 'webrtc', seq: 2 });
  assert.equal(scene.step('ann/1', 'invite', { seq: 1 }), 'ok');
  assert.equal(await offer, 'ok');
  assert.deepEqual(scene.lines('ben/1'), ['ann invite', 'ann offer']);
});

test('SIG-07 one step more than may wait gives the gap up at once', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  for (let seq = 3; seq < 3 + STEPS_WAITING_MAX; seq += 1) {
    assert.equal(scene.step('ann/1', 'candidate', { family: 'webrtc', seq }), 'held');
  }
  assert.equal(scene.step('ann/1', 'candidate', { family: 'webrtc', seq: 3 + STEPS_WAITING_MAX }), 'ok');
  assert.equal(scene.lines('ben/1').length, 2 + STEPS_WAITING_MAX);
});

test('steps that wait when the call ends are told so', async () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  const waiting = scene.later('ann/1', 'candidate', { family: 'webrtc', seq: 5 });
  scene.step('ben/1', 'decline');
  assert.equal(await waiting, 'call_over');
});

test('SIG-07 what begins or refuses something may come first under any number, an earlier one not any more', () => {
  const scene = pair();
  assert.equal(scene.step('ann/1', 'invite', { seq: 7 }), 'ok');
  assert.equal(scene.step('ann/1', 'hold', { seq: 6 }), 'signal_out_of_order');
  assert.equal(scene.step('ben/1', 'join', { seq: 8 }), 'ok');
  assert.equal(scene.step('ben/2', 'hold', { seq: 9 }), 'held');
});
