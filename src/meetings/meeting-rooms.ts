/** The rooms of meetings, made and filled by the conversations' own actors and read from their lanes. */
import type { Asking, Reply } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf } from '#actors/runtime/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
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
  /** Makes a room that the host owns; those named are in it or asked first, as the policy has it. Answers its id. @throws Refusal. */
  make(title: string, host: string, participants: readonly string[]): Promise<string>;
  /** Makes a room anew that everybody left; one that is there stays as it is. @throws Refusal. */
  remake(conversation: string, title: string, host: string): Promise<void>;
  /** Adds somebody whom the host names, or asks them first as the policy has it. Whoever is in it stays as they are. @throws Refusal. */
  invite(conversation: string, host: string, user: string, role: Role): Promise<void>;
  /**
   * Gives somebody a place, on the word of `by`. Whoever has one stays as they are, but for who is to own the room.
   * @throws Refusal.
   */
  seat(conversation: string, user: string, role: Role, by: string): Promise<void>;
  standing(conversation: string, user: string): Standing;
  /** Ends the calls that are live there. @throws Refusal. */
  endCalls(conversation: string): Promise<void>;
}

/** What rooms of meetings are made from. */
export interface MeetingRoomsOptions {
  /** Reaches the actor of an address on whatever thread it lives. */
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  /** When those whom a host names for a room are asked first. */
  readonly askingFor: (conversation: string, host: string, people: readonly string[]) => Promise<Asking>;
  readonly lanes: Pick<Lanes, 'read'>;
  readonly clock: Clock;
}

export function makeMeetingRooms({ ask, askingFor, clock, lanes }: MeetingRoomsOptions): MeetingRooms {
  const askRoom = async (id: string, message: Tell): Promise<Reply> => {
    const answer = await ask(`conversation:${id}`, message, ROOM_MILLIS);
    // A field of the room's form is none of the meeting's.
    if (!answer.ok && answer.field !== undefined) throw new Refusal(answer.code);
    return valueOf(answer) as Reply;
  };
  const create = async (id: string, title: string, host: string, participants: readonly string[]) => {
    const asking = await askingFor(id, host, participants);
    const form = { kind: 'create', conversation: 'room', title, participants, asking, user: host, device: '' };
    return (JSON.parse((await askRoom(id, form)).json) as { id: string }).id;
  };
  return {
    make: async (...room) => await create(makeId('c', clock.now()), ...room),
    remake: async (conversation, title, host) => void (await create(conversation, title, host, [])),
    invite: async (conversation, host, user, role) => {
      const asking = await askingFor(conversation, host, [user]);
      await askRoom(conversation, { kind: 'add', participants: [user], role, asking, user: host, device: '' } as Tell);
    },
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
