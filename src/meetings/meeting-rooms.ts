/** The rooms of meetings, made and filled by the conversations' own actors. */
import type { Asking, Reply } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf } from '#actors/runtime/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MeetingRooms } from './meetings.ts';

/** How long an actor may take for a room of a thousand people. */
const ROOM_MILLIS = 10_000;

/**
 * Rooms by way of `ask`, which reaches the actor of an address on whatever thread it lives. `askingFor` says when those
 * whom a host names for a room are asked first.
 */
export function makeMeetingRooms(
  ask: (to: Address, message: Tell, millis: number) => Promise<Answer>,
  askingFor: (conversation: string, host: string, people: readonly string[]) => Promise<Asking>,
  clock: Clock,
): MeetingRooms {
  const askRoom = async (id: string, message: Tell): Promise<Reply> => {
    const answer = await ask(`conversation:${id}`, message, ROOM_MILLIS);
    // A field of the room's form is none of the meeting's.
    if (!answer.ok && answer.field !== undefined) throw new Refusal(answer.code);
    return valueOf(answer) as Reply;
  };
  const add = async (id: string, user: string, form: object): Promise<void> => {
    await askRoom(id, { kind: 'add', participants: [user], device: '', ...form } as Tell);
  };
  return {
    make: async (title, host, participants) => {
      const id = makeId('c', clock.now());
      const asking = await askingFor(id, host, participants);
      const create = { kind: 'create', conversation: 'room', title, participants, asking, user: host, device: '' };
      return (JSON.parse((await askRoom(id, create)).json) as { id: string }).id;
    },
    invite: async (conversation, host, user, role) => {
      await add(conversation, user, { role, user: host, asking: await askingFor(conversation, host, [user]) });
    },
    add: async (conversation, host, user, role) => await add(conversation, user, { role, user: host }),
  };
}
