/** Rooms of `parley seed` on a stopped server: real conversations, on disk when they are answered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedRooms } from '#src/cli/seed-rooms.ts';
import { readConfig } from '#src/config.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { checkFolder } from '#storage/check/check.ts';
import { readConversation, readParticipants } from '#storage/conversations/conversation-reader.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

test('each plan becomes a room that its first member owns, in whatever lane it falls', async (t) => {
  const config = readConfig({ PARLEY_DATA: temporaryFolder(t), PARLEY_LANE_SIZE: '1' });
  openFolder(config.data, 4, '2026-11-21T08:00:00Z');
  await (await Accounts.open(config.data)).close();
  const plans = Array.from({ length: 150 }, (_, i) => ({
    title: `Room ${i}`,
    members: [`p${i}`, `q${i}`, 'everybody'],
  }));
  const ids = await seedRooms(config, plans);
  assert.equal(new Set(ids).size, 150);
  assert.deepEqual(await checkFolder(config.data), { problems: [], conversations: 150, messages: 0, people: 0 });
  const lanes = new Lanes({
    folder: config.data,
    lanes: 4,
    mapBytes: 1024 ** 3,
    owns: () => false,
    report: () => undefined,
  });
  const { tables } = lanes.read(ids[7] as string);
  const room = readConversation(tables, ids[7] as string);
  assert.deepEqual([room?.title, room?.kind, room?.createdBy], ['Room 7', 'room', 'p7']);
  assert.deepEqual(readParticipants(tables, ids[7] as string, 10), [
    { user: 'everybody', role: 'member' },
    { user: 'p7', role: 'owner' },
    { user: 'q7', role: 'member' },
  ]);
  assert.ok(lanes.environments.every((lane) => lane.tables.conversations.getCount() > 0));
  await lanes.close();
});
