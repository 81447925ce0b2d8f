/** What the coordinator may know of conversations and do in them: it reads the lanes, and asks the actors to write. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Clock } from '#src/base/clock.ts';
import { EVERYBODY, type RequireQuota } from '#src/protocol/quotas.ts';
import { readRooms } from '#storage/conversations/usage-records.ts';
import type { AskingRule } from '#src/protocol/directory/policy-decision.ts';
import { readFull } from '#storage/conversations/room-invitations.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { makeMeetingRooms } from '#src/meetings/meeting-rooms.ts';
import type { MeetingRooms } from '#src/meetings/meetings.ts';

export interface ConversationAccess {
  /** Whether two people share a conversation. */
  readonly shareConversation: (one: string, other: string) => boolean;
  readonly rooms: MeetingRooms;
}

export function makeConversationAccess(
  { environments }: Pick<Lanes, 'environments'>,
  supervisor: Pick<ShardSupervisor, 'ask'>,
  clock: Clock,
  requireQuota: RequireQuota,
  asking: () => AskingRule,
): ConversationAccess {
  const askingFor = async (conversation: string, by: string, people: readonly string[]) => {
    const full = await readFull(environments, people, { conversation, by }, clock.now());
    // No bot is invited to a meeting.
    return { ...asking(), bots: [], full };
  };
  const rooms = makeMeetingRooms((to, message, millis) => supervisor.ask(to, message, millis), askingFor, clock);
  return {
    shareConversation: (one, other) => {
      for (const environment of environments) environment.refresh();
      return shareConversation(environments, one, other);
    },
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
