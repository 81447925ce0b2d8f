/** What the coordinator may know of conversations and do in them: it reads the lanes, and asks the actors to write. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';
import { readRooms } from '#storage/conversations/usage-records.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { makeMeetingRooms, type MeetingRooms } from '#src/meetings/meeting-rooms.ts';

export interface ConversationAccess {
  /** Whether two people share a conversation. */
  readonly shareConversation: (one: string, other: string) => boolean;
  readonly rooms: MeetingRooms;
}

export function makeConversationAccess(
  lanes: Pick<Lanes, 'environments' | 'read'>,
  supervisor: Pick<ShardSupervisor, 'ask'>,
  clock: Clock,
  requireQuota: RequireQuota,
): ConversationAccess {
  const { environments } = lanes;
  const rooms = makeMeetingRooms((to, message, millis) => supervisor.ask(to, message, millis), lanes, clock);
  const requireRoom = (host: string) => {
    for (const who of [host, EVERYBODY]) requireQuota('rooms', who, readRooms(environments, who), 1);
  };
  return {
    shareConversation: (one, other) => {
      for (const environment of environments) environment.refresh();
      return shareConversation(environments, one, other);
    },
    rooms: {
      ...rooms,
      // The room of a meeting counts as one that its host made.
      make: async (title, host, participants) => {
        requireRoom(host);
        return await rooms.make(title, host, participants);
      },
      remake: async (conversation, title, host) => {
        requireRoom(host);
        await rooms.remake(conversation, title, host);
      },
    },
  };
}
