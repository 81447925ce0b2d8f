import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AccessPolicies,
  NO_POLICIES,
  POLICY_ACTIONS,
  type PolicySnapshot,
} from '#src/protocol/directory/policy-decision.ts';

const shared = () => true;
const apart = () => false;

test('POL-01 without rules people reach everybody, and a guest those it shares a conversation with', () => {
  const policies = new AccessPolicies({ ...NO_POLICIES, guests: [['visitor', 2_000_000_000]] });
  for (const action of POLICY_ACTIONS) {
    assert.equal(policies.allows(action, 'alice', 'bob', apart), true);
    assert.equal(policies.allows(action, 'alice', 'visitor', apart), true);
    assert.equal(policies.allows(action, 'visitor', 'alice', apart), false);
    assert.equal(policies.allows(action, 'visitor', 'alice', shared), true);
    assert.equal(policies.rules(action), false);
  }
});

test('POL-01 the first rule of the action that fits both decides', () => {
  const snapshot: PolicySnapshot = {
    rules: [
      { action: 'call', from: 'grp_sales', to: 'grp_board', effect: 'allow' },
      { action: 'call', from: 'everyone', to: 'grp_board', effect: 'deny' },
      { action: 'call', from: 'guests', to: 'people', effect: 'allow' },
      { action: 'call', from: 'people', to: 'guests', effect: 'deny' },
    ],
    groups: { grp_sales: ['alice'], grp_board: ['carol'] },
    guests: [['visitor', 2_000_000_000]],
    asking: NO_POLICIES.asking,
    grants: NO_POLICIES.grants,
  };
  const policies = new AccessPolicies(snapshot);
  const cases: [from: string, to: string, allowed: boolean][] = [
    ['alice', 'carol', true],
    ['bob', 'carol', false],
    ['visitor', 'carol', false],
    ['visitor', 'bob', true],
    ['bob', 'visitor', false],
    ['carol', 'carol', true],
    ['carol', 'alice', true],
  ];
  for (const [from, to, allowed] of cases) {
    assert.equal(policies.allows('call', from, to, apart), allowed, `${from} calls ${to}`);
  }
  assert.equal(policies.allows('message', 'bob', 'carol', apart), true);
  assert.deepEqual(
    POLICY_ACTIONS.filter((action) => policies.rules(action)),
    ['call'],
  );
});

test('a rule of a group that is not there fits nobody', () => {
  const rules = [{ action: 'see', from: 'grp_gone', to: 'everyone', effect: 'deny' }] as const;
  assert.equal(new AccessPolicies({ ...NO_POLICIES, rules }).allows('see', 'alice', 'bob', apart), true);
});

test('CAP-03 whom rules leave is looked for among so many members of groups, and one further it is said that there is somebody', () => {
  const members = Array.from({ length: 1_001 }, (_, number) => `member${number}`);
  const rules = [
    { action: 'call', from: 'everyone', to: 'grp_all', effect: 'deny' },
    { action: 'call', from: 'everyone', to: 'grp_some', effect: 'allow' },
    { action: 'call', from: 'everyone', to: 'everyone', effect: 'deny' },
  ] as const;
  const leaves = (some: string[]) =>
    new AccessPolicies({ ...NO_POLICIES, rules, groups: { grp_all: members, grp_some: some } }).leaves('call', 'alice');
  assert.deepEqual(
    [leaves(members.slice(1)), leaves(members), leaves(['bob']), leaves(['alice'])],
    [false, true, true, false],
  );
});

test('GST-01 a term is over at the second it names and not before', () => {
  const policies = new AccessPolicies({ ...NO_POLICIES, guests: [['visitor', 1_000]] });
  assert.deepEqual(
    [policies.isOver('visitor', 999), policies.isOver('visitor', 1_000), policies.isOver('alice', 1_000)],
    [false, true, false],
  );
});
