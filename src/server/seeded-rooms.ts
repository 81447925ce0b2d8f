/** The rooms of a seed, made as a person would make them: each through its actor, a few at a time. */
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import { systemClock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import type { RoomPlan } from './seed.ts';

/** Rooms of a seed that are made at once. */
const SEEDED_ROOMS_AT_ONCE = 64;
/** How long one seeded room may take: a room of 20,000 writes 80,000 records. */
const SEED_ROOM_MILLIS = 60_000;

/** Makes seeded rooms through their actors, a few at a time; answers their ids in order. */
export async function makeRooms(supervisor: ShardSupervisor, plans: readonly RoomPlan[]): Promise<string[]> {
  const ids: string[] = [];
  for (let start = 0; start < plans.length; start += SEEDED_ROOMS_AT_ONCE) {
    const made = plans.slice(start, start + SEEDED_ROOMS_AT_ONCE).map(async ({ title, members }) => {
      const id = makeId('c', systemClock.now());
      const [user = '', ...participants] = members;
      const create = { kind: 'create', conversation: 'room', title, participants, user, device: '' };
      const answer = await supervisor.ask(`conversation:${id}`, create, SEED_ROOM_MILLIS);
      if (!answer.ok) throw new Error(`A room could not be made: ${answer.code}.`);
      return (JSON.parse((answer.value as Reply).json) as { id: string }).id;
    });
    ids.push(...(await Promise.all(made)));
  }
  return ids;
}
