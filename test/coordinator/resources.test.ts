/** The bound on rooms and resources, one step beyond. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResource, RESOURCES_MAX } from '#src/protocol/directory/resources.ts';
import { startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };

test('an installation has so many rooms and resources, and room for another once one is removed', async (context) => {
  const { resources } = await startCoordinator(context);
  const form = createResource.parse({ kind: 'room', name: 'Heron' });
  const made = await Promise.all(Array.from({ length: RESOURCES_MAX }, () => resources.create(form, BY)));
  assert.equal(new Set(made.map(({ user }) => user)).size, RESOURCES_MAX);
  await assert.rejects(resources.create(form, BY), { code: 'resources_full' });
  await resources.remove(made[0]?.user ?? '', BY);
  // Of two that want one address at once, one has it.
  const mail = { ...form, email: 'heron@example.org' };
  await assert.rejects(resources.change(made[1]?.user ?? '', { booking_groups: ['grp_none'] }, BY), {
    code: 'field_invalid',
  });
  const both = await Promise.allSettled(
    [1, 2].map((at) => resources.change(made[at]?.user ?? '', { email: mail.email }, BY)),
  );
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  await resources.create(form, BY);
});
