import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupRecords } from '#src/directory/access-control.ts';
import { GROUP_MEMBERS_MAX, GROUPS_MAX, POLICY_RULES_MAX } from '#src/protocol/directory/policies.ts';
import { PASSWORD, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };

test('POL-01 rules keep the order they are given, and every thread has them when the change is answered', async (context) => {
  const { policies, announced } = await startCoordinator(context);
  const deny = await policies.create({ action: 'call', from: 'guests', to: 'people', effect: 'deny' }, BY);
  const first = await policies.create(
    { action: 'see', from: 'everyone', to: 'guests', effect: 'allow', position: 1 },
    BY,
  );
  assert.deepEqual([deny.position, first.position], [1, 1]);
  assert.deepEqual(
    policies.list().map(({ id, position }) => [id, position]),
    [
      [first.id, 1],
      [deny.id, 2],
    ],
  );
  assert.deepEqual(await policies.change(deny.id, { effect: 'allow', position: 1 }, BY), {
    id: deny.id,
    action: 'call',
    from: 'guests',
    to: 'people',
    effect: 'allow',
    position: 1,
  });
  await policies.remove(first.id, BY);
  assert.deepEqual(announced.at(-1), {
    what: 'policies',
    snapshot: {
      rules: [{ action: 'call', from: 'guests', to: 'people', effect: 'allow' }],
      groups: {},
      guests: [],
      asking: { above: 256, guests: true },
      grants: { 'emoji.create': [], 'guest.invite': [] },
    },
  });
  await assert.rejects(policies.remove(first.id, BY), { code: 'policy_not_found' });
  await assert.rejects(policies.change(first.id, { effect: 'deny' }, BY), { code: 'policy_not_found' });
});

test('a rule names groups that are there, and such a group cannot be deleted', async (context) => {
  const { policies, groups, people, announced, accounts } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  const group = await groups.create({ name: 'Sales', members: ['alice'] }, BY);
  const rule = await policies.create({ action: 'see', from: group.id, to: 'everyone', effect: 'deny' }, BY);
  const unknown = `grp_${'0'.repeat(22)}`;
  await assert.rejects(policies.create({ action: 'see', from: 'people', to: unknown, effect: 'deny' }, BY), {
    code: 'field_invalid',
    field: 'to',
  });
  await assert.rejects(groups.remove(group.id, BY), { code: 'group_in_use' });
  await groups.change(group.id, { add: [], remove: ['alice'] }, BY);
  const pushed = announced.findLast(({ what }) => what === 'policies');
  assert.deepEqual(pushed?.what === 'policies' ? pushed.snapshot.groups : undefined, { [group.id]: [] });
  assert.deepEqual(announced.at(-1), { what: 'group', group: group.id, rev: 2 });
  await policies.remove(rule.id, BY);
  await groups.remove(group.id, BY);
  assert.throws(() => groups.read(group.id), { code: 'group_not_found' });
  assert.deepEqual(
    accounts.auditEntries({ limit: 5 }).map(({ event }) => event),
    ['group.deleted', 'policy.deleted', 'group.changed', 'policy.created', 'group.created'],
  );
});

test('groups have names of their own and members who exist', async (context) => {
  const { groups, people, login, call } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  await people.add('bob', PASSWORD);
  await people.leave('bob');
  const group = await groups.create({ name: 'Sales', members: ['alice', 'alice'] }, BY);
  assert.deepEqual([group.members, group.member_count, group.rev], [['alice'], 1, 1]);
  await assert.rejects(groups.create({ name: 'sALES', members: [] }, BY), { code: 'group_name_taken' });
  const missing = { code: 'field_invalid', field: 'members.1' };
  await assert.rejects(groups.create({ name: 'Other', members: ['alice', 'nobody'] }, BY), missing);
  await assert.rejects(groups.create({ name: 'Other', members: ['alice', 'bob'] }, BY), missing);
  await groups.change(group.id, { name: 'SALES', add: [], remove: [] }, BY);
  const { token } = await login('alice');
  const own = await call('GET', '/v1/me/groups', { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual(own.json.items, [{ id: group.id, name: 'SALES', kind: 'group', member_count: 1, rev: 2 }]);
});

test('one rule and one group more than there may be are refused', async (context) => {
  const { policies, groups } = await startCoordinator(context);
  const rule = { action: 'see', from: 'guests', to: 'people', effect: 'deny' } as const;
  for (let at = 0; at < POLICY_RULES_MAX; at += 1) await policies.create(rule, BY);
  await assert.rejects(policies.create(rule, BY), { code: 'policies_full' });
  await Promise.all(
    Array.from({ length: GROUPS_MAX }, (_, at) => groups.create({ name: `Group ${at}`, members: [] }, BY)),
  );
  await assert.rejects(groups.create({ name: 'One more', members: [] }, BY), { code: 'groups_full' });
});

test('one member more than a group may have is refused', async (context) => {
  const { accounts, groups, people } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  await people.add('zoe', PASSWORD);
  const { id } = await groups.create({ name: 'All', members: ['alice'] }, BY);
  const members = Array.from({ length: GROUP_MEMBERS_MAX - 1 }, (_, number) => `member${number}`).toSorted();
  await accounts.change((draft) => draft.putDocument(groupRecords, id, { name: 'All', members, rev: 1 }));
  assert.equal((await groups.change(id, { add: ['alice'], remove: [] }, BY)).member_count, GROUP_MEMBERS_MAX);
  await assert.rejects(groups.change(id, { add: ['zoe'], remove: [] }, BY), { code: 'group_full' });
  assert.equal((await groups.change(id, { add: ['zoe'], remove: ['alice'] }, BY)).member_count, GROUP_MEMBERS_MAX);
});
