/** Members of large groups: looked up ahead in slices, changed in one commit, and judged by what is there at that commit. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Json } from '#src/base/json.ts';
import { changeMembers, orderChange } from '#src/directory/groups/group-members.ts';
import { Slices } from '#src/base/slices.ts';
import { ScimClients } from '#src/identity/scim-clients.ts';
import { readOperations } from '#src/scim/patch.ts';
import { GROUPS, ScimGroups } from '#src/scim/scim-groups.ts';
import { ScimPeople } from '#src/scim/scim-people.ts';
import { startCoordinator } from '#test/coordinator/coordinator-fixture.ts';
import { SeededRandom } from '#test/support/random.ts';
import { GROUP, patchOf, USER } from './scim-client.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
/** More than are put in order in one go, and more than any single audit entry names. */
const MANY = 1_200;
const ANY_VERSION = () => {};

async function provisioned(context: TestContext) {
  const { accounts, clock, groups } = await startCoordinator(context);
  const announcer = { revoked: async () => {}, directoryChanged: () => {} };
  const people = new ScimPeople({ accounts, announcer, clock, unknownHash: async () => 'none' });
  const clients = new ScimClients({ accounts, clock, log: { warn: () => {} } });
  const made = await clients.create({ name: 'provider', people_max: 10_000 }, BY);
  const client = clients.client(made.client.id);
  const caller = { client, base: '', by: { actor: `scim:${client.id}`, address: '127.0.0.1' } };
  const names = Array.from({ length: MANY }, (_, at) => `person-${at}`);
  await Promise.all(names.map((userName) => people.create(caller, { schemas: [USER], userName })));
  const scim = new ScimGroups({ accounts, clock, groups, people });
  const patch = async (id: string, ...operations: object[]) => {
    const read = await readOperations(patchOf(...operations) as Json, GROUPS);
    await scim.patch(caller, id, read, ANY_VERSION);
  };
  const changesOf = (id: string) =>
    accounts.auditEntriesAfter(0, 10_000).filter(({ subject }) => subject === `group:${id}`).length;
  return { accounts, caller, changesOf, client, groups, names, patch, people, scim, clock };
}

const valuesOf = (names: readonly string[]) => names.map((value) => ({ value }));

test('POL-01 a change of many members is one commit: one version, one entry of the trail, and all of it', async (context) => {
  const { caller, changesOf, groups, names, patch, scim } = await provisioned(context);
  const id = await scim.create(caller, { schemas: [GROUP], displayName: 'All', members: valuesOf(names) });
  assert.deepEqual([groups.find(id)?.rev, groups.read(id).members], [1, names.toSorted()]);
  await patch(
    id,
    { op: 'remove', path: 'members' },
    { op: 'add', path: 'members', value: valuesOf(names.slice(0, 2)) },
  );
  assert.deepEqual([groups.find(id)?.rev, groups.read(id).members], [2, ['person-0', 'person-1']]);
  await patch(
    id,
    { op: 'add', path: 'members', value: valuesOf(names) },
    { op: 'remove', path: 'members[value eq "person-7"]' },
    { op: 'replace', path: 'displayName', value: 'All but one' },
  );
  const { members, name, rev } = groups.read(id);
  assert.deepEqual([rev, name, members], [3, 'All but one', names.filter((each) => each !== 'person-7').toSorted()]);
  assert.equal(changesOf(id), 3);
  // What changes nothing is no change, however many it names.
  await patch(id, { op: 'add', path: 'members', value: valuesOf(names.slice(10)) });
  assert.deepEqual([groups.find(id)?.rev, changesOf(id)], [3, 3]);
});

test('somebody who stops being the client’s between the look and the commit does not become a member, and nobody else does', async (context) => {
  const { accounts, caller, client, clock, groups, names, patch, people } = await provisioned(context);
  let released: Promise<void> | undefined;
  const between = new ScimGroups({
    accounts,
    clock,
    groups,
    people: {
      isOfClient: (...asked) => {
        const isOfClient = people.isOfClient(...asked);
        // After the look at who is last: it waits for its turn before the change of the group does.
        if (asked[1] === 'person-999') released ??= people.release(client, 'person-3', BY);
        return isOfClient;
      },
    },
  });
  const id = await between.create(caller, { schemas: [GROUP], displayName: 'Some', members: valuesOf(['person-1']) });
  const add = await readOperations(patchOf({ op: 'add', path: 'members', value: valuesOf(names) }) as Json, GROUPS);
  await assert.rejects(between.patch(caller, id, add, ANY_VERSION), { code: 'field_invalid', field: 'members' });
  await released;
  assert.deepEqual([groups.find(id)?.rev, groups.read(id).members], [1, ['person-1']]);
  // Whoever is a member stays one, whosever they are; all the others may come.
  await patch(id, { op: 'replace', path: 'members', value: valuesOf(names.filter((name) => name !== 'person-3')) });
  assert.equal(groups.find(id)?.member_count, MANY - 1);
});

test('members in order: what one pass makes of them is what sets make of them', async () => {
  const random = new SeededRandom(20_261_123);
  for (let round = 0; round < 300; round += 1) {
    const some = () => Array.from({ length: random.whole(0, 12) }, () => `p${random.whole(0, 15)}`);
    const before = [...new Set(some())].toSorted();
    const change = { add: some(), remove: some(), isWhole: random.chance(0.3) };
    const wanted = new Set([...(change.isWhole ? [] : before), ...change.add]);
    for (const user of change.remove) wanted.delete(user);
    const { added, members, removed } = changeMembers(before, await orderChange(change, new Slices()));
    assert.deepEqual(members, [...wanted].toSorted(), JSON.stringify({ before, change }));
    assert.deepEqual(
      [added, removed],
      [members.filter((user) => !before.includes(user)), before.filter((user) => !wanted.has(user))],
    );
  }
});
