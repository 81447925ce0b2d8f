/** What the coordinator may know of conversations and do in them: it reads the lanes, and asks the actors to write. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';
import { readRooms } from '#storage/conversations/usage-records.ts';
import { makeSharing } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { makeMeetingRooms } from '#src/meetings/meeting-rooms.ts';
import type { Sharing } from '#src/directory/access-control.ts';
import type { MeetingRooms } from '#src/meetings/meetings.ts';

export interface ConversationAccess {
  readonly sharing: Sharing;
  readonly rooms: MeetingRooms;
}

export function makeConversationAccess(
  { environments }: Pick<Lanes, 'environments'>,
  supervisor: Pick<ShardSupervisor, 'ask'>,
  clock: Clock,
  requireQuota: RequireQuota,
): ConversationAccess {
  const rooms = makeMeetingRooms((to, message, millis) => supervisor.ask(to, message, millis), clock);
  return {
    sharing: (one) => makeSharing(environments, one),
    rooms: {
      ...rooms,
      // The room of a meeting counts as one that its host made.
      make: async (title, host, participants) => {
        for (const who of [host, EVERYBODY]) requireQuota('rooms', who, readRooms(environments, who), 1);
        return await rooms.make(title, host, participants);
      },
    },
  };
}
