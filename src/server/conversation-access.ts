/** What the coordinator may know of conversations and do in them: it reads the lanes, and asks the actors to write. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';
import { readRooms } from '#storage/conversations/usage-records.ts';
import type { AskingRule } from '#src/protocol/directory/policy-decision.ts';
import { readWaitingFor } from '#storage/conversations/room-invitations.ts';
import { makeSharing } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { makeHostedRooms, type HostedRooms } from '#src/hosting/hosted-rooms.ts';
import { makeMeetingRooms, type MeetingRooms } from '#src/meetings/meeting-rooms.ts';
import type { Sharing } from '#src/directory/access-control.ts';

export interface ConversationAccess {
  readonly sharing: Sharing;
  readonly rooms: MeetingRooms;
  readonly hostedRooms: HostedRooms;
}

export function makeConversationAccess(
  lanes: Pick<Lanes, 'environments' | 'read'>,
  supervisor: Pick<ShardSupervisor, 'ask'>,
  clock: Clock,
  requireQuota: RequireQuota,
  asking: () => AskingRule,
): ConversationAccess {
  const { environments } = lanes;
  const askingFor = async (conversation: string, by: string, people: readonly string[]) => {
    const { full } = await readWaitingFor(environments, people, { conversation, by }, clock.now());
    // No bot is invited to a meeting.
    return { ...asking(), bots: [], full };
  };
  const rooms = makeMeetingRooms({
    ask: (to, message, millis) => supervisor.ask(to, message, millis),
    ...{ askingFor, clock, lanes },
  });
  const requireRoom = (host: string) => {
    for (const who of [host, EVERYBODY]) requireQuota('rooms', who, readRooms(environments, who), 1);
  };
  return {
    hostedRooms: makeHostedRooms({ ask: (to, message, millis) => supervisor.ask(to, message, millis), lanes }),
    sharing: (one) => makeSharing(environments, one),
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
