/** Taking part and leaving on the server's own word, whoever asked for it: the bot of a webhook, who comes to a meeting. */
import { isArchived } from '#storage/conversations/room-records.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { add, remove, setRole } from './membership.ts';

/** What a webhook's bot may do beside posting is what a guest may. */
const ROLE = 'guest';
/** The server may what an owner may. */
const SERVER = { role: 'owner', joinedSeq: 0 } as const;

/**
 * Gives somebody a place in a room, or takes it away. Whoever has one keeps their role, unless they are to own the room:
 * its other owners stay. Nobody new comes into an archived one.
 */
export function seat(
  state: ConversationState,
  record: ConversationRecord | undefined,
  message: Extract<ConversationMessage, { kind: 'seat' }>,
  now: number,
): readonly Effect[] {
  if (record === undefined) return refuse('conversation_forbidden');
  const { device, isSeated, role = ROLE, user } = message;
  const acting = { user: message.by ?? user, device };
  const member = state.member(user);
  if (isSeated) {
    if (member === undefined && isArchived(record)) return refuse('conversation_archived');
    if (member === undefined || role !== 'owner') {
      return add(state, record, SERVER, { kind: 'add', participants: [user], role, ...acting }, now);
    }
    return setRole(state, record, SERVER, { kind: 'setRole', participant: user, role, ...acting }, now);
  }
  if (member === undefined) return refuse('participant_not_found');
  return remove(state, record, member, { kind: 'remove', participant: user, ...acting }, now);
}
