/** Rooms for `parley seed` on a stopped server, made by the conversation actor as a running one makes them. */
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { ActorSystem, type Outlet } from '#actors/runtime/system.ts';
import { systemClock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import type { Config } from '#src/config.ts';
import type { RoomPlan } from '#src/server/seed.ts';
import { readManifest } from '#storage/engine/folder.ts';
import { Lanes } from '#storage/engine/lanes.ts';

/** Rooms made at once: enough for full commits, few enough that what waits for the disk stays small. */
const ROOMS_AT_ONCE = 64;
/** How long one room may take: one of 20,000 writes 40,000 records. */
const ROOM_MILLIS = 60_000;

/** Nobody is connected to a stopped server, so what its actors say has nowhere to go. */
const NOWHERE: Outlet = {
  publish: () => undefined,
  publishTo: () => undefined,
  membership: () => undefined,
  disband: () => undefined,
  displace: () => undefined,
  tell: () => undefined,
  push: () => undefined,
};

/**
 * Makes the rooms in a folder whose lock the caller has, each owned by its first member; answers their ids in order
 * once all of them are on disk.
 */
export async function seedRooms(config: Config, plans: readonly RoomPlan[]): Promise<string[]> {
  const { epoch, lanes: count } = readManifest(config.data);
  const lanes = new Lanes({
    folder: config.data,
    lanes: count,
    mapBytes: config.laneSize * 2 ** 30,
    owns: () => true,
    report: () => undefined,
  });
  const system = new ActorSystem({
    actors: [makeConversationActor({ epoch, lane: (conversation) => lanes.write(conversation) })],
    now: () => systemClock.now(),
    report: {
      restarted: () => undefined,
      quarantined: () => undefined,
      dropped: () => undefined,
      storageFailed: () => undefined,
    },
  });
  system.connect(NOWHERE);
  try {
    const ids: string[] = [];
    for (let start = 0; start < plans.length; start += ROOMS_AT_ONCE) {
      ids.push(...(await Promise.all(plans.slice(start, start + ROOMS_AT_ONCE).map((plan) => makeRoom(system, plan)))));
    }
    return ids;
  } finally {
    system.stop();
    await lanes.close();
  }
}

async function makeRoom(system: ActorSystem, { title, members }: RoomPlan): Promise<string> {
  const id = makeId('c', systemClock.now());
  const [user = '', ...participants] = members;
  const create = { kind: 'create', conversation: 'room', title, participants, user, device: '' };
  const answer = await ask(system, `conversation:${id}`, create);
  if (!answer.ok) throw new Error(`A room could not be made: ${answer.code}.`);
  return (JSON.parse((answer.value as Reply).json) as { id: string }).id;
}

async function ask(system: ActorSystem, to: Address, message: Tell): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  system.deliver(to, message, { due: monotonicMillis() + ROOM_MILLIS, cancelled: false, settle: resolve });
  return await promise;
}
