/** Handing a call over: offered, consented to, refused, taken back, not answered, and addressed from elsewhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stateOf } from '#actors/call/call-record.ts';
import { RING_MILLIS, Scene } from './call-scene.ts';

const stateIn = (scene: Scene) => {
  const record = scene.record();
  return record === undefined ? 'over' : stateOf(record);
};
const partiesIn = (scene: Scene) => scene.record()?.parties.map(({ user, device }) => `${user} on ${device}`);

test('a transfer rings its target, who joins by the one that offers it, and then that one leaves', () => {
  const scene = new Scene({ scope: 'ann|ben', devices: ['ann/1', 'ben/1', 'cyn/1', 'cyn/2'] });
  scene.step('ann/1', 'invite', { to: 'c_direct', conversation: 'c_direct' });
  const offer = { body: { target: 'cyn' }, to: 'c_direct', conversation: 'c_direct' };
  assert.equal(scene.step('ann/1', 'transfer', offer), 'call_not_joined');
  scene.step('ben/1', 'join');
  assert.equal(scene.step('cyn/1', 'join', { to: 'ann' }), 'call_not_found');
  assert.equal(scene.step('ann/1', 'transfer', { body: { target: 'ben' } }), 'call_already_joined');
  assert.equal(scene.step('ann/1', 'transfer', offer), 'ok');
  assert.equal(scene.step('ben/1', 'transfer', offer), 'call_transfer_pending');
  assert.equal(stateIn(scene), 'transferring');
  // She takes no part in their conversation, so it is not named to her.
  const rung = scene.heard.get('cyn/2')?.at(-1);
  assert.deepEqual([rung?.step, rung?.to, rung?.conv], ['transfer', 'cyn', undefined]);
  assert.deepEqual(scene.told.at(-1), { to: 'call:ann|cyn', message: { kind: 'alias', call: 'k', scope: 'ann|ben' } });
  assert.equal(scene.step('cyn/1', 'join', { to: 'ann' }), 'ok');
  assert.equal(stateIn(scene), 'joined');
  assert.deepEqual(partiesIn(scene), ['ben on ben/1', 'cyn on cyn/1']);
  assert.deepEqual(scene.lines('ben/1').slice(-2), ['cyn join', 'ann end transferred']);
  assert.equal(scene.lines('ann/1').at(-1), 'ann end transferred');
  assert.equal(scene.lines('cyn/2').at(-2), '- cancel answered_elsewhere');
  assert.equal(scene.step('ann/1', 'join'), 'call_over');
  scene.step('ben/1', 'end');
  assert.equal(scene.lines('cyn/1').at(-1), '- end completed');
  assert.equal(scene.lines('ann/1').at(-1), 'ann end transferred');
});

test('a transfer that is declined, taken back or not answered leaves the call as it was', () => {
  const offered = () => {
    const scene = new Scene({ scope: 'ann|ben', devices: ['ann/1', 'ben/1', 'cyn/1', 'cyn/2'] });
    scene.step('ann/1', 'invite');
    scene.step('ben/1', 'join');
    scene.step('ann/1', 'transfer', { body: { target: 'cyn' } });
    return scene;
  };
  const declined = offered();
  assert.equal(declined.step('cyn/1', 'decline', { to: 'ann' }), 'ok');
  assert.equal(declined.lines('ann/1').at(-1), 'cyn decline');
  assert.equal(declined.lines('cyn/2').at(-1), '- cancel declined_elsewhere');
  assert.equal(declined.step('cyn/2', 'join', { to: 'ann' }), 'call_not_found');
  const withdrawn = offered();
  assert.equal(withdrawn.step('ann/1', 'cancel'), 'ok');
  assert.equal(withdrawn.lines('cyn/1').at(-1), '- cancel cancelled');
  const missed = offered();
  missed.advance(RING_MILLIS + 10);
  assert.equal(missed.lines('cyn/1').at(-1), '- cancel unanswered');
  assert.equal(missed.lines('ann/1').at(-1), '- cancel transfer_unanswered');
  for (const scene of [declined, withdrawn, missed]) {
    assert.equal(stateIn(scene), 'joined');
    assert.deepEqual(partiesIn(scene), ['ann on ann/1', 'ben on ben/1']);
  }
});

test('another scope sends the steps of a transferred call where it lives', () => {
  const scene = new Scene({ scope: 'ann|cyn', devices: ['ann/1', 'cyn/1'] });
  scene.send({ kind: 'alias', call: 'k', scope: 'ann|ben' });
  assert.equal(scene.step('cyn/1', 'join'), 'moved');
  assert.equal(scene.step('cyn/1', 'join', { call: 'other' }), 'call_not_found');
  scene.advance(180_010);
  assert.equal(scene.step('cyn/1', 'join', { seq: 2 }), 'call_not_found');
});
