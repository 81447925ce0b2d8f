/** Whom a person's presence is told: whose conversations count, which of them come first, and how far it is looked. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { writeConversation, writeMember, writeMembership } from '#storage/conversations/conversation-writes.ts';
import { openLane, type LaneEnvironment } from '#storage/engine/lane.ts';
import { readAudience } from '#storage/conversations/presence-peers.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const readPeers = (...asked: Parameters<typeof readAudience>) => readAudience(...asked).people;

const RECORD: Omit<ConversationRecord, 'id' | 'participantCount'> = {
  kind: 'room',
  title: 'Room',
  createdAt: '2026-11-21T08:00:00Z',
  createdBy: 'ada',
  headSeq: 0,
  rev: 1,
  ownerCount: 1,
  pinCount: 0,
  stamp: 1,
  activeAt: 0,
  deleted: false,
  floorSeq: 0,
  floorRev: 0,
  retention: undefined,
  isHeld: false,
  emptiedSeq: 0,
};

function openTwo(t: TestContext): readonly LaneEnvironment[] {
  const folder = temporaryFolder(t);
  const lanes = ['a.mdb', 'b.mdb'].map((name) => openLane(join(folder, name), 1024 ** 3));
  t.after(async () => {
    for (const lane of lanes) await lane.close();
  });
  return lanes;
}

async function put(lane: LaneEnvironment | undefined, id: string, people: readonly string[]): Promise<void> {
  await lane?.commit([
    writeConversation({ ...RECORD, id, participantCount: people.length }),
    ...people.flatMap((user) => writeMember(id, user, { role: 'member', joinedSeq: 0 }, 1)),
  ]);
  lane?.refresh();
}

const crowd = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

test('everybody of small conversations is told, nobody of large or left ones', async (t) => {
  const lanes = openTwo(t);
  const [one, two] = lanes;
  await put(one, 'c_a', ['ada', 'ben']);
  await put(two, 'c_b', ['ada', 'cas', 'dee']);
  await put(one, 'c_c', ['ada', ...crowd('full', 255)]);
  await put(two, 'c_d', ['ada', ...crowd('huge', 256)]);
  await put(one, 'c_e', ['ada', 'eli']);
  await one?.commit([writeMembership('c_e', 'ada', true, 2)]);
  one?.refresh();
  assert.deepEqual(readPeers(lanes, 'ada').toSorted(), ['ada', 'ben', 'cas', 'dee', ...crowd('full', 255)].toSorted());
  assert.deepEqual(readPeers(lanes, 'ada', new Set(['c_b'])).toSorted(), ['ada', 'cas', 'dee']);
  assert.deepEqual(readPeers(lanes, 'nobody'), []);
});

test('who talks alone with somebody is told before those of their rooms, 3,000 participants are looked at, and 2,000 told', async (t) => {
  const lanes = openTwo(t);
  // The same two hundred in fourteen rooms, and a hundred others in the room that is one too many.
  for (let room = 10; room < 24; room += 1) await put(lanes[room % 2], `c_${room}`, ['ada', ...crowd('staff', 199)]);
  await put(lanes[0], 'c_09', ['ada', 'zoe']);
  await put(lanes[1], 'c_25', ['ada', ...crowd('guest', 210)]);
  // 2 + 14 × 200 are 2,802, and 211 more would be 3,013.
  assert.deepEqual(readPeers(lanes, 'ada').toSorted(), ['ada', 'zoe', ...crowd('staff', 199)].toSorted());
  await put(lanes[1], 'c_26', ['ada', ...crowd('other', 197)]);
  assert.equal(readPeers(lanes, 'ada').length, 1 + 1 + 199 + 197);
  for (let room = 0; room < 12; room += 1)
    await put(lanes[room % 2], `c_9${room}`, ['bob', ...crowd(`r${room}-`, 190)]);
  assert.equal(readPeers(lanes, 'bob').length, 2_000);
});

test('the newest 300 conversations are looked at', async (t) => {
  const lanes = openTwo(t);
  for (const [index, lane] of lanes.entries()) {
    for (let count = 0; count < 151; count += 1) {
      const id = `c_${String(count).padStart(3, '0')}`;
      await put(lane, id, ['ada', `p${index}-${count}`]);
    }
  }
  const peers = new Set(readPeers(lanes, 'ada'));
  assert.equal(peers.size, 301);
  assert.deepEqual(
    [peers.has('p0-0'), peers.has('p0-1'), peers.has('p1-0'), peers.has('p1-150')],
    [false, true, false, true],
  );
});
