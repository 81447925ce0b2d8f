/** The call actor: ringing, one winner, declines, holding, transfer, glare, time-outs, and who hears what (SIG-06…08). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTEMPTS_MAX, ENDED_MEMORY_MILLIS } from '#actors/call/call.ts';
import { CALL_PARTIES_MAX } from '#actors/call/attempt.ts';
import { stateOf, type CallRecord } from '#actors/call/call-record.ts';
import { STEP_WAIT_MILLIS } from '#actors/call/step-order.ts';
import { LOST_MILLIS, NOW, RING_MILLIS, Scene } from './call-scene.ts';

const pair = () => new Scene({ scope: 'ann|ben', devices: ['ann/1', 'ann/2', 'ben/1', 'ben/2'] });
const room = () => new Scene({ scope: 'c_1', devices: ['ann/1', 'ben/1', 'ben/2', 'cyn/1', 'dan/1'] });
const stateIn = (scene: Scene, call = 'k') => {
  const record = scene.record(call);
  return record === undefined ? 'over' : stateOf(record);
};
const partiesIn = (scene: Scene) => scene.record()?.parties.map(({ user, device }) => `${user} on ${device}`);

test('SIG-08 an invite rings every device of the other one, and the first join settles the rest', () => {
  const scene = pair();
  assert.equal(scene.step('ann/1', 'invite'), 'ok');
  assert.equal(stateIn(scene), 'ringing');
  assert.equal(scene.step('ben/2', 'join'), 'ok');
  assert.equal(stateIn(scene), 'joined');
  assert.deepEqual(scene.lines('ann/1'), ['ben join']);
  assert.deepEqual(scene.lines('ann/2'), ['ann invite', 'ben join']);
  assert.deepEqual(scene.lines('ben/1'), ['ann invite', '- cancel answered_elsewhere']);
  assert.deepEqual(scene.lines('ben/2'), ['ann invite']);
  assert.equal(scene.step('ben/1', 'join'), 'call_already_joined');
  assert.equal(scene.step('ben/2', 'join'), 'call_already_joined');
  assert.equal(scene.step('ann/1', 'join'), 'call_already_joined');
  assert.deepEqual(partiesIn(scene), ['ann on ann/1', 'ben on ben/2']);
});

test('SIG-06 a step carries its sender and what it was addressed to; the server speaks without a sender', () => {
  const scene = new Scene({ scope: 'ann|ben', devices: ['ann/1', 'ben/1'] });
  scene.step('ann/1', 'invite', { to: 'c_direct', conversation: 'c_direct' });
  scene.step('ann/1', 'cancel', { to: 'c_direct', conversation: 'c_direct' });
  const [invite, , end] = scene.heard.get('ben/1') ?? [];
  assert.deepEqual(invite, {
    to: 'c_direct',
    kind: 'call',
    step: 'invite',
    call: 'k',
    seq: 1,
    body: { video: false, room: 'r' },
    sender: 'ann',
    conv: 'c_direct',
  });
  assert.deepEqual(end, {
    to: 'c_direct',
    kind: 'call',
    step: 'end',
    call: 'k',
    body: { reason: 'cancelled' },
    conv: 'c_direct',
  });
});

test('SIG-08 a direct call ends with a decline, busy or not, and settles the other devices', () => {
  for (const [reason, result] of [
    [undefined, 'declined'],
    ['busy', 'busy'],
  ] as const) {
    const scene = pair();
    scene.step('ann/1', 'invite');
    assert.equal(scene.step('ben/1', 'decline', { body: reason === undefined ? {} : { reason } }), 'ok');
    assert.deepEqual(scene.lines('ben/2').slice(-2), ['- cancel declined_elsewhere', `- end ${result}`]);
    assert.equal(scene.lines('ann/1').at(-1), `- end ${result}`);
    assert.equal(scene.step('ben/2', 'join'), 'call_over');
    assert.deepEqual(scene.board.metrics.ended, { [result]: 1 });
  }
});

test('SIG-08 ringing ends by itself on the monotonic clock, whatever the wall clock does', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.wall = NOW + 365 * 86_400_000;
  scene.advance(RING_MILLIS - 1);
  assert.equal(stateIn(scene), 'ringing');
  scene.wall = NOW - 365 * 86_400_000;
  scene.advance(10);
  assert.equal(stateIn(scene), 'over');
  for (const device of ['ann/1', 'ann/2', 'ben/1', 'ben/2'] as const) {
    assert.equal(scene.lines(device).at(-1), '- end missed');
  }
});

test('a caller takes the invite back, or hangs up: both end it', () => {
  for (const step of ['cancel', 'end']) {
    const scene = pair();
    scene.step('ann/1', 'invite');
    assert.equal(scene.step('ann/2', step), 'call_not_joined');
    assert.equal(scene.step('ben/1', step), 'call_not_joined');
    assert.equal(scene.step('ann/1', step), 'ok');
    assert.deepEqual(scene.lines('ben/1'), ['ann invite', `ann ${step}`, '- end cancelled']);
  }
});

test('a cancel that crosses the join is a hang-up', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  assert.equal(scene.step('ann/1', 'cancel'), 'ok');
  assert.equal(scene.lines('ben/1').at(-1), '- end completed');
});

test('a call is held as soon as fewer than two could speak, and taken up again', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  assert.equal(scene.step('ben/1', 'hold'), 'call_not_joined');
  scene.step('ben/1', 'join');
  assert.equal(scene.step('ben/2', 'hold'), 'call_not_joined');
  assert.equal(scene.step('ben/1', 'hold', { body: { held: true } }), 'ok');
  assert.equal(stateIn(scene), 'held');
  assert.equal(scene.step('ben/1', 'hold', { body: { held: false } }), 'ok');
  assert.equal(stateIn(scene), 'joined');
  const three = room();
  three.step('ann/1', 'invite');
  three.step('ben/1', 'join');
  three.step('cyn/1', 'join');
  three.step('cyn/1', 'hold');
  assert.equal(stateIn(three), 'joined');
  three.step('ben/1', 'hold');
  assert.equal(stateIn(three), 'held');
});

test('in a room a decline is one person’s, the host may leave, and the call ends when one is left', () => {
  const scene = room();
  scene.step('ann/1', 'invite');
  assert.equal(scene.step('ben/1', 'decline'), 'ok');
  assert.equal(scene.lines('ben/2').at(-1), '- cancel declined_elsewhere');
  assert.equal(scene.step('ben/2', 'decline'), 'ok');
  assert.deepEqual(
    scene.lines('cyn/1').filter((line) => line.startsWith('ben')),
    ['ben decline'],
  );
  scene.step('cyn/1', 'join');
  scene.step('dan/1', 'join');
  assert.equal(scene.step('ann/1', 'end'), 'ok');
  assert.equal(stateIn(scene), 'joined');
  assert.equal(scene.step('ben/2', 'join'), 'ok');
  scene.step('ben/2', 'end');
  scene.step('dan/1', 'end');
  assert.equal(stateIn(scene), 'over');
  assert.equal(scene.lines('cyn/1').at(-1), '- end completed');
});

test('in a room that some have joined, the others stop ringing in time and may still come', () => {
  const scene = room();
  scene.step('ann/1', 'invite');
  scene.step('cyn/1', 'join');
  scene.advance(RING_MILLIS + 10);
  assert.equal(stateIn(scene), 'joined');
  assert.equal(scene.lines('ben/1').at(-1), '- cancel unanswered');
  assert.equal(scene.record()?.ringingUntil, null);
  assert.equal(scene.step('ben/1', 'join'), 'ok');
});

test('a join opens a call in a room without ringing; between two people it finds none', () => {
  const scene = room();
  assert.equal(scene.step('ben/1', 'join'), 'ok');
  assert.equal(stateIn(scene), 'joined');
  scene.advance(RING_MILLIS * 2);
  assert.equal(stateIn(scene), 'joined');
  assert.equal(pair().step('ben/1', 'join'), 'call_not_found');
});

test('steps of what never was, of what is over, and of a second invite have their codes', async () => {
  const scene = pair();
  for (const step of ['cancel', 'end', 'hold', 'transfer', 'decline']) {
    assert.equal(scene.step('ann/1', step, { call: `none-${step}`, seq: 1 }), 'call_not_found');
  }
  const waits = scene.later('ann/1', 'candidate', { family: 'webrtc', call: 'none', seq: 3 });
  scene.advance(STEP_WAIT_MILLIS + 10);
  assert.equal(await waits, 'call_not_found');
  scene.step('ann/1', 'invite');
  assert.equal(scene.step('ben/1', 'invite'), 'call_already_started');
  scene.step('ann/1', 'end');
  for (const step of ['join', 'invite', 'end', 'decline']) assert.equal(scene.step('ben/1', step), 'call_over');
  assert.equal(scene.actor.isIdle(scene.state, NOW), false);
  scene.advance(ENDED_MEMORY_MILLIS + 10);
  assert.equal(scene.actor.isIdle(scene.state, NOW), true);
  assert.equal(scene.step('ben/1', 'end', { seq: 1 }), 'call_not_found');
});

test('webrtc steps pass from those called, but from no second device of somebody who joined', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  assert.equal(scene.step('ben/1', 'answer', { family: 'webrtc' }), 'ok');
  scene.step('ben/1', 'join');
  assert.equal(scene.step('ben/1', 'candidate', { family: 'webrtc' }), 'ok');
  assert.equal(scene.step('ben/2', 'candidate', { family: 'webrtc' }), 'call_not_joined');
});

test('SIG-08 glare: both invite, the smaller id stays, on both sides and whichever came first', () => {
  for (const order of [
    ['ann/1', 'ben/1'],
    ['ben/1', 'ann/1'],
  ] as const) {
    const scene = pair();
    const ids = { 'ann/1': 'b-hers', 'ben/1': 'a-his' };
    for (const device of order) assert.equal(scene.step(device, 'invite', { call: ids[device] }), 'ok');
    assert.deepEqual([stateIn(scene, 'a-his'), stateIn(scene, 'b-hers')], ['ringing', 'over']);
    for (const device of ['ann/1', 'ann/2', 'ben/1', 'ben/2'] as const) {
      const over = scene.heard.get(device)?.find(({ call, step }) => call === 'b-hers' && step === 'end');
      assert.deepEqual(over?.body, { reason: 'glare', into: 'a-his' });
    }
    assert.equal(scene.step('ann/1', 'join', { call: 'a-his' }), 'ok');
    assert.equal(stateIn(scene, 'a-his'), 'joined');
  }
});

test('a second call of the same people rings beside one that is joined', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  assert.equal(scene.step('ben/2', 'invite', { call: 'a' }), 'ok');
  assert.deepEqual([stateIn(scene), stateIn(scene, 'a')], ['joined', 'ringing']);
});

test('a device that lost its connection for too long is out; one that is back in time stays', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  scene.offline.add('ben/1');
  scene.advance(LOST_MILLIS - 1);
  scene.offline.delete('ben/1');
  scene.advance(3 * LOST_MILLIS);
  assert.equal(stateIn(scene), 'joined');
  scene.offline.add('ben/1');
  scene.advance(2 * LOST_MILLIS);
  assert.equal(stateIn(scene), 'over');
  assert.deepEqual(scene.lines('ann/1').slice(-2), ['ben end lost', '- end completed']);
});

test('a caller whose device is gone does not ring on for longer than that', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.offline.add('ann/1');
  scene.advance(1.5 * LOST_MILLIS + 20);
  assert.equal(scene.lines('ben/1').at(-1), '- end failed');
});

test('SIG-08 whoever came in by a session that is over is out at once, of every attempt, and nobody else', () => {
  const scene = room();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  scene.step('cyn/1', 'join');
  scene.send({ kind: 'sessionsEnded', sessions: ['s_ben/2', 's_dan/1'] });
  assert.deepEqual(partiesIn(scene), ['ann on ann/1', 'ben on ben/1', 'cyn on cyn/1']);
  assert.deepEqual(scene.board.scopesBy(new Set(['s_ben/2'])), []);
  assert.equal(scene.board.scopesBy(new Set(['s_ben/1'])).length, 1);
  scene.send({ kind: 'sessionsEnded', sessions: ['s_ben/1'] });
  assert.deepEqual(partiesIn(scene), ['ann on ann/1', 'cyn on cyn/1']);
  assert.equal(scene.lines('ann/1').at(-1), 'ben end lost');
  scene.send({ kind: 'sessionsEnded', sessions: ['s_ann/1', 's_cyn/1'] });
  assert.equal(stateIn(scene), 'over');
});

test('whoever no longer takes part is out at once, or at the next look', () => {
  const scene = room();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  scene.step('cyn/1', 'join');
  scene.removed.add('cyn');
  scene.send({ kind: 'membershipEnded', users: ['cyn', 'dan'] });
  assert.deepEqual(partiesIn(scene), ['ann on ann/1', 'ben on ben/1']);
  assert.equal(scene.lines('cyn/1').at(-1), 'cyn end removed');
  assert.equal(scene.lines('dan/1').at(-1), '- cancel removed');
  scene.send({ kind: 'membershipEnded', users: null });
  assert.equal(stateIn(scene), 'over');
  const two = pair();
  two.step('ann/1', 'invite');
  two.step('ben/1', 'join');
  two.removed.add('ben');
  two.advance(LOST_MILLIS);
  assert.equal(stateIn(two), 'over');
});

test('a thread that dies gives its calls back: ringing still ends in time, and any seq may come next', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.step('ann/1', 'offer', { family: 'webrtc', seq: 2 });
  scene.advance(RING_MILLIS - 5_000);
  scene.restart();
  assert.equal(stateIn(scene), 'ringing');
  scene.advance(4_000);
  assert.equal(stateIn(scene), 'ringing');
  scene.advance(2_000);
  assert.equal(scene.lines('ben/1').at(-1), '- end missed');
  const joined = pair();
  joined.step('ann/1', 'invite');
  joined.step('ben/1', 'join');
  joined.restart();
  assert.equal(joined.step('ben/2', 'join'), 'call_already_joined');
  assert.equal(joined.step('ann/1', 'candidate', { family: 'webrtc', seq: 40 }), 'ok');
  assert.equal(joined.step('ann/1', 'end', { seq: 41 }), 'ok');
  assert.equal(joined.lines('ben/1').at(-1), '- end completed');
});

test('alarms do not grow in number while a call lasts', () => {
  const scene = pair();
  scene.step('ann/1', 'invite');
  scene.step('ben/1', 'join');
  for (let count = 0; count < 500; count += 1) {
    scene.send({ kind: 'tick' });
    scene.advance(1_000);
  }
  assert.ok(scene.alarms <= 4, `${scene.alarms} alarms are set`);
});

test('one attempt more than may be live, and one person more than a call may have, are refused', () => {
  const scene = pair();
  for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
    assert.equal(scene.step('ann/1', 'invite', { call: `k${count}` }), 'ok');
  }
  assert.equal(scene.step('ann/1', 'invite', { call: 'more' }), 'calls_full');
  const full = room();
  full.step('ann/1', 'invite');
  for (let count = 1; count < CALL_PARTIES_MAX; count += 1) {
    assert.equal(full.step(`user${count}/1`, 'join'), 'ok');
  }
  assert.equal(full.step('ben/1', 'join'), 'call_full');
});

test('MSG-07 an outcome is held against what was seen, and believed where nothing is known', () => {
  const judge = (scene: Scene, result: CallRecord['call'], duration: number, call?: string) =>
    scene.send({ kind: 'outcome', result: result as 'missed', duration, call });
  const scene = pair();
  assert.equal(judge(scene, 'completed', 60), 'ok');
  scene.step('ann/1', 'invite');
  assert.equal(judge(scene, 'missed', 0, 'k'), 'call_outcome_contradicts');
  scene.step('ben/1', 'join');
  scene.advance(100_000);
  scene.step('ben/1', 'end');
  assert.equal(judge(scene, 'completed', 100, 'k'), 'ok');
  assert.equal(judge(scene, 'completed', 105, 'k'), 'ok');
  assert.equal(judge(scene, 'completed', 106, 'k'), 'call_outcome_contradicts');
  assert.equal(judge(scene, 'completed', 39, 'k'), 'call_outcome_contradicts');
  assert.equal(judge(scene, 'missed', 0, 'k'), 'call_outcome_contradicts');
  assert.equal(judge(scene, 'missed', 0), 'call_outcome_contradicts');
  assert.equal(judge(scene, 'missed', 0, 'unknown'), 'ok');
  scene.step('ann/1', 'invite', { call: 'second' });
  scene.step('ben/1', 'decline', { call: 'second' });
  assert.equal(judge(scene, 'declined', 0), 'ok');
  assert.equal(judge(scene, 'declined', 1, 'second'), 'call_outcome_contradicts');
  scene.advance(ENDED_MEMORY_MILLIS + 10);
  assert.equal(judge(scene, 'missed', 0, 'k'), 'ok');
});
