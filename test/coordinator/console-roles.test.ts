import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleRoleOf, highestRole } from '#src/identity/console/console-role-record.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import { ADDRESS, openConsole, OWNER, OWNER_PERSON, refusal } from './console-fixture.ts';

test('CON-03 a person’s role is what an owner gave; nobody else has one', async (context) => {
  const { accounts, add, block, roles } = await openConsole(context);
  await add('olga', 'owner');
  await add('anna', 'administrator');
  await add('vera', 'viewer');
  await add('carol', null);
  assert.deepEqual(
    ['olga', 'anna', 'vera', 'carol', 'nobody'].map((name) => consoleRoleOf(accounts, name)),
    ['owner', 'administrator', 'viewer', undefined, undefined],
  );
  await block('vera');
  assert.equal(consoleRoleOf(accounts, 'vera'), undefined);
  const since = '2026-11-21T08:00:00.000Z';
  const page = roles.list(undefined, 1);
  assert.deepEqual(page, { items: [{ user: 'anna', role: 'administrator', since, by: 'user:olga' }], next: 'anna' });
  assert.deepEqual(
    roles.list('anna', 10).items.map(({ user }) => user),
    ['vera'],
  );
});

test('a change of role is audited with before and after, and saying the same again changes nothing', async (context) => {
  const { add, announced, roles, trail } = await openConsole(context);
  await add('olga', 'owner');
  await add('vera', 'viewer');
  await roles.set(OWNER, 'vera', 'owner', ADDRESS);
  await roles.set(OWNER, 'vera', 'owner', ADDRESS);
  await roles.set(OWNER, 'vera', null, ADDRESS);
  assert.deepEqual(
    trail('console_role.changed').map(({ subject, details }) => [subject, details]),
    [
      ['user:vera', { after: 'viewer', before: null }],
      ['user:vera', { after: 'owner', before: 'viewer' }],
      ['user:vera', { after: null, before: 'owner' }],
    ],
  );
  // Being an owner is in the directory; the lower roles are not.
  assert.deepEqual(announced, ['vera', 'vera']);
});

test('the last owner keeps the role; blocked owners do not count', async (context) => {
  const { add, block, roles, accounts } = await openConsole(context);
  await add('olga', 'owner');
  await add('boris', 'owner');
  await block('boris');
  await assert.rejects(roles.set(OWNER, 'olga', 'viewer', ADDRESS), refusal('last_owner_required'));
  await assert.rejects(roles.set(OWNER, 'olga', null, ADDRESS), refusal('last_owner_required'));
  const check = await roles.lastOwnerCheck('olga');
  await assert.rejects(accounts.change(check), refusal('last_owner_required'));
  await add('vera', 'owner');
  await accounts.change(await roles.lastOwnerCheck('olga'));
  await roles.set(OWNER, 'olga', null, ADDRESS);
  assert.equal(consoleRoleOf(accounts, 'olga'), undefined);
});

test('of two owners who remove each other at once, one stays', async (context) => {
  const { accounts, add, roles } = await openConsole(context);
  await add('olga', 'owner');
  await add('vera', 'owner');
  const both = await Promise.allSettled([
    roles.set(OWNER, 'olga', null, ADDRESS),
    roles.set(OWNER, 'vera', null, ADDRESS),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  assert.equal(['olga', 'vera'].filter((name) => consoleRoleOf(accounts, name) === 'owner').length, 1);
});

test('nobody below owner gives roles, and nobody gets one who is not there', async (context) => {
  const { add, roles } = await openConsole(context);
  await add('vera', 'viewer');
  for (const role of ['administrator', 'viewer'] as const) {
    await assert.rejects(roles.set({ ...OWNER_PERSON, role }, 'vera', 'owner', ADDRESS), refusal('right_missing'));
  }
  await assert.rejects(roles.set(OWNER, 'nobody', 'viewer', ADDRESS), { ...refusal('field_invalid'), field: 'user' });
});

test('a guest gets no role', async (context) => {
  const { accounts, add, roles } = await openConsole(context);
  await add('gleb', null);
  const guest = { phone: '+79990000001', endsAt: 2_000_000_000, invitedBy: 'olga', closed: false };
  await accounts.change((draft) => draft.putDocument(guestRecords, 'gleb', guest));
  for (const role of ['owner', 'viewer'] as const) {
    await assert.rejects(roles.set(OWNER, 'gleb', role, ADDRESS), { ...refusal('field_invalid'), field: 'user' });
  }
  assert.equal(consoleRoleOf(accounts, 'gleb'), undefined);
});

test('the highest of roles is the one with the most rights', () => {
  assert.equal(highestRole(['viewer', 'owner', 'administrator']), 'owner');
  assert.equal(highestRole(['viewer', 'administrator']), 'administrator');
  assert.equal(highestRole([]), undefined);
});
