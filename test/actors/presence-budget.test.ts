import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePersonActor, PRESENCE_DELAY_MILLIS, type PersonMessage } from '#actors/person/person.ts';
import { PRESENCE_FRAMES_PER_SECOND_MAX, PresenceBudget } from '#actors/person/presence-budget.ts';

const NOW = Date.UTC(2026, 10, 21, 8);

test('as many frames as a second allows pass, and the next one waits for the next second', () => {
  const budget = new PresenceBudget();
  assert.ok(budget.isOpen(NOW));
  budget.spend(PRESENCE_FRAMES_PER_SECOND_MAX - 1);
  assert.ok(budget.isOpen(NOW + 999));
  budget.spend(1);
  assert.equal(budget.isOpen(NOW + 999), false);
  assert.ok(budget.isOpen(NOW + 1_000));
});

test('somebody with more friends than a second allows for is told whole, and the seconds behind pay for it', () => {
  const budget = new PresenceBudget();
  assert.ok(budget.isOpen(NOW));
  budget.spend(2 * PRESENCE_FRAMES_PER_SECOND_MAX + 1);
  assert.equal(budget.isOpen(NOW + 1_000), false);
  assert.ok(budget.isOpen(NOW + 2_000));
});

test('a clock that is set back opens the budget instead of closing it for hours', () => {
  const budget = new PresenceBudget();
  assert.ok(budget.isOpen(NOW));
  budget.spend(PRESENCE_FRAMES_PER_SECOND_MAX);
  assert.ok(budget.isOpen(NOW - 3_600_000));
});

test('FRM-03 presence that has no room is told later, as it is then', () => {
  const budget = new PresenceBudget();
  const peers: string[] = [];
  const actor = makePersonActor({
    audience: (user) => (peers.push(user), { people: ['ben', 'cas'], rooms: [] }),
    budget,
  });
  const state = actor.start('ann');
  const receive = (message: PersonMessage, now: number) => actor.receive(state, message, now);
  const soon = { kind: 'wake', after: PRESENCE_DELAY_MILLIS, message: { kind: 'announce' } };
  assert.deepEqual(receive({ kind: 'connected', device: 'd_1', shard: 0, socket: 1 }, NOW), [soon]);
  assert.ok(budget.isOpen(NOW));
  budget.spend(PRESENCE_FRAMES_PER_SECOND_MAX);
  assert.deepEqual(receive({ kind: 'announce' }, NOW), [soon]);
  // Whom to tell is not even looked up.
  assert.deepEqual(peers, []);
  receive({ kind: 'awake', device: 'd_1', socket: 1, awake: false }, NOW + 500);
  const [told, ...rest] = receive({ kind: 'announce' }, NOW + 2_000);
  assert.deepEqual(rest, []);
  assert.ok(told?.kind === 'publishTo');
  assert.deepEqual([told.users, told.event.includes('"state":"away"')], [['ben', 'cas'], true]);
  // Both frames were counted.
  budget.spend(PRESENCE_FRAMES_PER_SECOND_MAX - 3);
  assert.ok(budget.isOpen(NOW + 2_000));
  budget.spend(1);
  assert.equal(budget.isOpen(NOW + 2_000), false);
});
