/** The call actor: order of steps, one join each, and who hears what (SIG-06, SIG-07). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callActor, type CallStep } from '#actors/call/call.ts';

const NOW = Date.UTC(2026, 10, 21, 8);

function step(user: string, name: string, seq: number, more: Partial<CallStep> = {}): CallStep {
  const signal = { kind: 'call' as const, step: name, seq };
  return { kind: 'step', user, device: `d_${user}`, signal, event: `${user} ${name} ${seq}`, topic: 'c_1', ...more };
}

function run(state = callActor.start('c_1 call')) {
  return (message: CallStep) =>
    callActor.receive(state, message, NOW).map((effect) => (effect.kind === 'refuse' ? effect.code : effect.kind));
}

test('a step is answered and reaches the conversation, except the device it came from', () => {
  const effects = callActor.receive(callActor.start('x'), step('alice', 'invite', 1), NOW);
  assert.deepEqual(effects, [
    { kind: 'answer', value: null },
    { kind: 'publish', topic: 'c_1', type: 'signal', event: 'alice invite 1', except: { device: 'd_alice' } },
  ]);
});

test('a step to a person reaches that pair alone', () => {
  const { topic: _none, ...direct } = step('alice', 'invite', 1, { users: ['alice', 'bob'] });
  assert.deepEqual(callActor.receive(callActor.start('x'), direct, NOW).at(-1), {
    kind: 'publishTo',
    users: ['alice', 'bob'],
    type: 'signal',
    event: 'alice invite 1',
    except: { device: 'd_alice' },
  });
});

test('SIG-07 a repeated join is call_already_joined, also from another device of the person', () => {
  const receive = run();
  receive(step('alice', 'invite', 1));
  assert.deepEqual(receive(step('bob', 'join', 1)), ['answer', 'publish']);
  assert.deepEqual(receive(step('bob', 'join', 2)), ['call_already_joined']);
  assert.deepEqual(receive(step('bob', 'join', 1, { device: 'd_other' })), ['call_already_joined']);
  assert.deepEqual(receive(step('carol', 'join', 1)), ['answer', 'publish']);
});

test('SIG-07 steps of a device are taken in rising seq, and others are signal_out_of_order', () => {
  const receive = run();
  assert.deepEqual(receive(step('alice', 'invite', 5)), ['answer', 'publish']);
  assert.deepEqual(receive(step('alice', 'hold', 5)), ['signal_out_of_order']);
  assert.deepEqual(receive(step('alice', 'hold', 4)), ['signal_out_of_order']);
  assert.deepEqual(receive(step('alice', 'hold', 6)), ['answer', 'publish']);
  assert.deepEqual(receive(step('alice', 'hold', 1, { device: 'd_tablet' })), ['answer', 'publish']);
});

test('a refused join does not use up its seq or its person', () => {
  const receive = run();
  receive(step('bob', 'hold', 3));
  assert.deepEqual(receive(step('bob', 'join', 2)), ['signal_out_of_order']);
  assert.deepEqual(receive(step('bob', 'join', 4)), ['answer', 'publish']);
});

test('an attempt leaves memory when it is over, unanswered for two minutes, or joined an hour ago', () => {
  const ended = callActor.start('x');
  callActor.receive(ended, step('alice', 'end', 1), NOW);
  assert.equal(callActor.isIdle(ended, NOW), true);
  const ringing = callActor.start('x');
  callActor.receive(ringing, step('alice', 'invite', 1), NOW);
  assert.deepEqual([callActor.isIdle(ringing, NOW + 120_000), callActor.isIdle(ringing, NOW + 120_001)], [false, true]);
  const joined = callActor.start('x');
  callActor.receive(joined, step('bob', 'join', 1), NOW);
  assert.deepEqual(
    [callActor.isIdle(joined, NOW + 3_600_000), callActor.isIdle(joined, NOW + 3_600_001)],
    [false, true],
  );
});
