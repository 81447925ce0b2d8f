/** The rooms of meetings, made and filled by the conversations' own actors and read from their lanes. */
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf } from '#actors/runtime/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import type { Role } from '#src/protocol/conversations/conversations.ts';
import { readMember, readRecord, wasRemoved } from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** How long an actor may take for a room of a thousand people. */
const ROOM_MILLIS = 10_000;

/** How somebody stands to a meeting's room. */
export interface Standing {
  /** `left` once its last one left; `deleted` when somebody deleted it with others in it. */
  readonly room: 'there' | 'left' | 'deleted';
  /** Undefined for who does not take part. */
  readonly role: Role | undefined;
  /** Whether they do not take part since others took them out. */
  readonly wasRemoved: boolean;
}

/** The rooms that meetings take place in. */
export interface MeetingRooms {
  /** Makes a room that the host owns; answers its id. @throws Refusal. */
  make(title: string, host: string, participants: readonly string[]): Promise<string>;
  /** Makes a room anew that everybody left; one that is there stays as it is. @throws Refusal. */
  remake(conversation: string, title: string, host: string): Promise<void>;
  /**
   * Gives somebody a place, on the word of `by`. Whoever has one stays as they are, but for who is to own the room.
   * @throws Refusal.
   */
  seat(conversation: string, user: string, role: Role, by: string): Promise<void>;
  standing(conversation: string, user: string): Standing;
  /** Ends the calls that are live there. @throws Refusal. */
  endCalls(conversation: string): Promise<void>;
}

/** Rooms by way of `ask`, which reaches the actor of an address on whatever thread it lives. */
export function makeMeetingRooms(
  ask: (to: Address, message: Tell, millis: number) => Promise<Answer>,
  lanes: Pick<Lanes, 'read'>,
  clock: Clock,
): MeetingRooms {
  const askRoom = async (id: string, message: Tell): Promise<Reply> => {
    return valueOf(await ask(`conversation:${id}`, message, ROOM_MILLIS)) as Reply;
  };
  const create = async (id: string, title: string, host: string, participants: readonly string[]) => {
    const form = { kind: 'create', conversation: 'room', title, participants, user: host, device: '' };
    return (JSON.parse((await askRoom(id, form)).json) as { id: string }).id;
  };
  return {
    make: async (...room) => await create(makeId('c', clock.now()), ...room),
    remake: async (conversation, title, host) => void (await create(conversation, title, host, [])),
    seat: async (conversation, user, role, by) => {
      await askRoom(conversation, { kind: 'seat', isSeated: true, role, by, user, device: '' } as Tell);
    },
    standing: (conversation, user) => {
      const environment = lanes.read(conversation);
      environment.refresh();
      const { tables } = environment;
      const record = readRecord(tables, conversation);
      const isThere = record?.deleted === false;
      return {
        room: isThere ? 'there' : record?.participantCount === 1 ? 'left' : 'deleted',
        role: isThere ? readMember(tables, conversation, user)?.role : undefined,
        wasRemoved: wasRemoved(tables, conversation, user),
      };
    },
    endCalls: async (conversation) => {
      valueOf(await ask(`call:${conversation}`, { kind: 'membershipEnded', users: null } as Tell, ROOM_MILLIS));
    },
  };
}
