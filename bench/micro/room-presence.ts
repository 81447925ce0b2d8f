/** `room-presence`: what it costs to count who of a room of 20,000 is there, and to say so. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RoomPresence } from '#src/messaging/conversations/room-presence.ts';
import { PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { writeConversation, writeMember } from '#storage/conversations/conversation-writes.ts';
import { openLane, type LaneEnvironment } from '#storage/engine/lane.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { bySize, interleave, type Bench, type BenchContext } from '../harness/bench.ts';

const ROOM = 'c_room';
const RECORD: ConversationRecord = {
  ...{ id: ROOM, kind: 'room', title: 'Room', createdAt: '2026-11-22T08:00:00Z', createdBy: 'p0', headSeq: 0, rev: 1 },
  ...{ participantCount: PARTICIPANTS_MAX, ownerCount: 1, pinCount: 0, stamp: 1, activeAt: 0, deleted: false },
  ...{ floorSeq: 0, floorRev: 0, retention: undefined, isHeld: false, emptiedSeq: 0 },
};
const CASES = [1_500, PARTICIPANTS_MAX] as const;
/** Members in one commit. */
const BLOCK = 1_000;

export const roomPresence: Bench = {
  name: 'room-presence',
  say: 'CPU of counting who of a room of 20,000 is there: what one frame a second costs before it is sent',
  async run(context: BenchContext) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
    const lane = openLane(join(folder, 'lane'), 2 ** 28);
    try {
      await fill(lane);
      await runCases(context, lane);
    } finally {
      await lane.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function fill(lane: LaneEnvironment): Promise<void> {
  await lane.commit([writeConversation(RECORD)]);
  for (let from = 0; from < PARTICIPANTS_MAX; from += BLOCK) {
    const users = Array.from({ length: BLOCK }, (_, at) => `p${from + at}`);
    // oxlint-disable-next-line no-await-in-loop -- One lane is written in order.
    await lane.commit(users.flatMap((user) => writeMember(ROOM, user, { role: 'member', joinedSeq: 0 }, 1)));
  }
}

async function runCases(context: BenchContext, lane: LaneEnvironment): Promise<void> {
  const { recorder } = context;
  const rounds = bySize(context, { smoke: 1, default: 15, full: 25 });
  recorder.parameters({ participants: PARTICIPANTS_MAX });
  for (const present of CASES) {
    const name = `${present} are there`;
    // oxlint-disable-next-line no-await-in-loop -- Cases must not run at the same time.
    await interleave(context, rounds, ['parley'], async (subject, round, isWarmUp) => {
      const values = await count(lane, present);
      if (!isWarmUp) recorder.round({ case: name, subject, round, values });
    });
    recorder.bar(name, 'count ms', recorder.median(name, 'parley', 'count ms'), '≤', 80);
  }
}

/** A fresh one for each round: within a second of a count it would be given again. */
async function count(lane: LaneEnvironment, present: number): Promise<Record<string, number>> {
  const presence = new RoomPresence({
    hub: { hearers: () => 1, publish: () => undefined },
    lanes: { read: () => lane },
    log: console,
    now: () => Date.now(),
    hidesSomebody: () => false,
  });
  const people = Array.from({ length: present }, (_, n) => ({ user: `p${n}`, state: 'online' as const }));
  presence.note(people, []);
  const before = process.cpuUsage();
  const { count: found } = await presence.read(ROOM);
  const { user, system } = process.cpuUsage(before);
  if (found !== present) throw new Error(`${found} were counted, and ${present} are there.`);
  return { 'count ms': (user + system) / 1000 };
}
