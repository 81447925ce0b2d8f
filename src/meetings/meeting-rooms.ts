/** The rooms of meetings, made and filled by the conversations' own actors. */
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf } from '#actors/runtime/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import type { MeetingRooms } from './meetings.ts';

/** How long an actor may take for a room of a thousand people. */
const ROOM_MILLIS = 10_000;

/** Rooms by way of `ask`, which reaches the actor of an address on whatever thread it lives. */
export function makeMeetingRooms(
  ask: (to: Address, message: Tell, millis: number) => Promise<Answer>,
  clock: Clock,
): MeetingRooms {
  const askRoom = async (id: string, message: Tell): Promise<Reply> => {
    return valueOf(await ask(`conversation:${id}`, message, ROOM_MILLIS)) as Reply;
  };
  return {
    make: async (title, host, participants) => {
      const id = makeId('c', clock.now());
      const create = { kind: 'create', conversation: 'room', title, participants, user: host, device: '' };
      return (JSON.parse((await askRoom(id, create)).json) as { id: string }).id;
    },
    add: async (conversation, host, user, role) => {
      await askRoom(conversation, { kind: 'add', participants: [user], role, user: host, device: '' } as Tell);
    },
  };
}
