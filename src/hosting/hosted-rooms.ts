/** The rooms that guests come into as they enrol: judged from their lanes, and changed by their own actors in the name of the host. */
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { valueOf } from '#actors/runtime/thread-services.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import { isArchived } from '#storage/conversations/room-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** How long a room's actor may take: whoever enrols waits for it. */
const ROOM_MILLIS = 5_000;

export interface HostedRooms {
  /**
   * Whoever may invite guests is none, so they add people wherever they take part.
   * @throws Refusal `conversation_forbidden` where they do not, `participants_fixed` for what is no room, `conversation_archived`.
   */
  requireMayAdd(conversation: string, host: string): void;
  /** Adds a guest as the host does, unasked: they came by a link of their own. @throws Refusal of the actor; `unavailable`, `busy`. */
  add(conversation: string, host: string, guest: string): Promise<void>;
}

export interface HostedRoomsOptions {
  /** Reaches the actor of an address on whatever thread it lives. */
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  readonly lanes: Pick<Lanes, 'read'>;
}

export function makeHostedRooms({ ask, lanes }: HostedRoomsOptions): HostedRooms {
  return {
    requireMayAdd: (conversation, host) => {
      const environment = lanes.read(conversation);
      environment.refresh();
      const record = readConversation(environment.tables, conversation);
      const isThere = readMember(environment.tables, conversation, host) !== undefined;
      if (record === undefined || !isThere) throw new Refusal('conversation_forbidden');
      if (record.kind !== 'room') throw new Refusal('participants_fixed');
      if (isArchived(record)) throw new Refusal('conversation_archived');
    },
    add: async (conversation, host, guest) => {
      const who = { user: host, device: '' };
      const message: ConversationMessage = { kind: 'add', participants: [guest], role: 'guest', ...who };
      valueOf(await ask(`conversation:${conversation}`, message as Tell, ROOM_MILLIS));
    },
  };
}
