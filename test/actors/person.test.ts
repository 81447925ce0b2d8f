/** The person actor: one socket per device (SOC-02), presence over all devices (FRM-03), and shards that go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attention } from '#actors/person/attention.ts';
import { effective, makePersonActor, PRESENCE_DELAY_MILLIS, type PersonMessage } from '#actors/person/person.ts';
import { PresenceBudget } from '#actors/person/presence-budget.ts';
import { unreachable } from '#actors/runtime/actor.ts';

const NOW = Date.UTC(2026, 10, 21, 8);
const actor = makePersonActor({
  audience: (user) => ({ people: [`friend of ${user}`], rooms: [] }),
  budget: new PresenceBudget(),
});

function person() {
  const state = actor.start('alice');
  return { state, receive: (message: PersonMessage) => actor.receive(state, message, NOW) };
}

const connected = (device: string, socket: number, shard = 0): PersonMessage => ({
  kind: 'connected',
  device,
  shard,
  socket,
});
const soon = { kind: 'wake', after: PRESENCE_DELAY_MILLIS, message: { kind: 'announce' } };

test('SOC-02 a second socket of a device displaces the first, on whatever shard it is', () => {
  const { receive } = person();
  receive(connected('d_1', 3, 2));
  assert.deepEqual(receive(connected('d_1', 7, 1)), [
    { kind: 'displace', device: 'd_1', shard: 2, socket: 3, awake: true },
  ]);
});

test('SOC-02 of two sockets of a device the later one stays, in whatever order the shards tell of them', () => {
  const { state, receive } = person();
  receive(connected('d_1', 7, 1));
  assert.deepEqual(receive(connected('d_1', 3, 2)), [{ kind: 'displace', device: 'd_1', shard: 2, socket: 3 }]);
  receive({ kind: 'disconnected', device: 'd_1', socket: 3 });
  assert.deepEqual([state.devices.size, state.devices.get('d_1')?.socket], [1, 7]);
});

test('another device displaces nothing, and the same socket twice changes nothing', () => {
  const { state, receive } = person();
  receive(connected('d_1', 1));
  assert.deepEqual(receive(connected('d_2', 2)), []);
  assert.deepEqual(receive(connected('d_2', 2)), []);
  assert.equal(state.devices.size, 2);
});

test('the end of a displaced socket does not take its successor along', () => {
  const { state, receive } = person();
  receive(connected('d_1', 1));
  receive(connected('d_1', 2));
  receive({ kind: 'disconnected', device: 'd_1', socket: 1 });
  assert.deepEqual([...state.devices.keys()], ['d_1']);
  receive({ kind: 'disconnected', device: 'd_1', socket: 2 });
  assert.equal(state.devices.size, 0);
});

test('FRM-03 a person is online while any device is awake, away while all sleep, offline without any', () => {
  const { state, receive } = person();
  assert.equal(effective(state), 'offline');
  receive(connected('d_1', 1));
  receive(connected('d_2', 2));
  assert.equal(effective(state), 'online');
  receive({ kind: 'awake', device: 'd_1', socket: 1, awake: false });
  assert.equal(effective(state), 'online');
  receive({ kind: 'awake', device: 'd_2', socket: 2, awake: false });
  assert.equal(effective(state), 'away');
  receive({ kind: 'disconnected', device: 'd_1', socket: 1 });
  receive({ kind: 'disconnected', device: 'd_2', socket: 2 });
  assert.equal(effective(state), 'offline');
});

test('a sleeping frame of a socket that is not the device’s any more counts for nothing', () => {
  const { state, receive } = person();
  receive(connected('d_1', 1));
  receive(connected('d_1', 2));
  receive({ kind: 'awake', device: 'd_1', socket: 1, awake: false });
  assert.equal(effective(state), 'online');
});

test('presence is told once it has lasted, to those who may see it', () => {
  const { receive } = person();
  assert.deepEqual(receive(connected('d_1', 1)), [soon]);
  assert.deepEqual(receive({ kind: 'announce' }), [
    {
      kind: 'publishTo',
      users: ['friend of alice'],
      type: 'presence',
      event: '{"type":"presence","ts":1795248000,"data":{"user":"alice","state":"online"}}',
    },
  ]);
});

test('a flicker is told to nobody', () => {
  const { receive } = person();
  assert.deepEqual(receive(connected('d_1', 1)), [soon]);
  assert.deepEqual(receive({ kind: 'disconnected', device: 'd_1', socket: 1 }), []);
  assert.deepEqual(receive({ kind: 'announce' }), []);
});

test('a lost shard takes its devices along and leaves the others', () => {
  const { state, receive } = person();
  receive(connected('d_1', 1, 0));
  receive(connected('d_2', 2, 1));
  receive({ kind: 'shardLost', shard: 1 });
  assert.deepEqual([...state.devices.keys()], ['d_1']);
  receive({ kind: 'shardLost', shard: 0 });
  assert.equal(effective(state), 'offline');
});

test('a person with a device, or with something left to announce, stays in memory', () => {
  const { state, receive } = person();
  assert.equal(actor.isIdle(state, NOW), true);
  receive(connected('d_1', 1));
  assert.equal(actor.isIdle(state, NOW), false);
  receive({ kind: 'disconnected', device: 'd_1', socket: 1 });
  assert.equal(actor.isIdle(state, NOW), false);
  receive({ kind: 'announce' });
  assert.equal(actor.isIdle(state, NOW), true);
});

test('a message that the actor does not know is a fault', () => {
  assert.throws(() => unreachable({ kind: 'other' } as never), /Unexpected message: "other"/);
  assert.throws(() => person().receive({ kind: 'other' } as never), /Unexpected message: "other"/);
});

test('FRM-05 the loss of the last awake socket is told to the pushes of whoever has any, and falling asleep is not', () => {
  const attention = new Attention();
  const reached = new Set(['alice']);
  const watched = makePersonActor({
    audience: () => ({ people: [], rooms: [] }),
    budget: new PresenceBudget(),
    attention,
    hasPushes: (user) => reached.has(user),
  });
  const state = watched.start('alice');
  const tells = (message: PersonMessage) =>
    watched.receive(state, message, NOW).flatMap((effect) => (effect.kind === 'tell' ? [effect] : []));
  const lost = [{ kind: 'tell', to: 'push:alice', message: { kind: 'attentionLost', at: NOW } }];
  tells(connected('d_1', 1));
  tells(connected('d_2', 2));
  assert.equal(attention.isAwake('alice'), true);
  assert.deepEqual(tells({ kind: 'disconnected', device: 'd_1', socket: 1 }), []);
  assert.deepEqual([attention.isAwake('alice', 'd_1'), attention.isAwake('alice', 'd_2')], [false, true]);
  assert.deepEqual(tells({ kind: 'disconnected', device: 'd_2', socket: 2 }), lost);
  assert.equal(attention.isAwake('alice'), false);
  tells(connected('d_1', 3, 1));
  assert.deepEqual(tells({ kind: 'shardLost', shard: 1 }), lost);
  tells(connected('d_1', 4));
  assert.deepEqual(tells({ kind: 'awake', device: 'd_1', socket: 4, awake: false }), []);
  assert.deepEqual(tells({ kind: 'disconnected', device: 'd_1', socket: 4 }), []);
  reached.clear();
  tells(connected('d_1', 5));
  assert.deepEqual(tells({ kind: 'disconnected', device: 'd_1', socket: 5 }), []);
});
