/** The bot of a webhook taking part in its room and leaving it: on the server's word, whoever of the room asked for it. */
import type { ConversationRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { add, remove } from './membership.ts';

/** What it may do beside posting is what a guest may. */
const ROLE = 'guest';

export function seat(
  state: ConversationState,
  record: ConversationRecord | undefined,
  message: Extract<ConversationMessage, { kind: 'seat' }>,
  now: number,
): readonly Effect[] {
  if (record === undefined) return refuse('conversation_forbidden');
  const { device, isSeated, user } = message;
  const acting = { user, device };
  if (isSeated) {
    const server = { role: 'owner', joinedSeq: 0 } as const;
    return add(state, record, server, { kind: 'add', participants: [user], role: ROLE, ...acting }, now);
  }
  const member = state.member(user);
  if (member === undefined) return refuse('participant_not_found');
  return remove(state, record, member, { kind: 'remove', participant: user, ...acting }, now);
}
