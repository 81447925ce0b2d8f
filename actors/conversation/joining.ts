/** Coming into a public room by oneself. */
import { PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { isListed } from '#storage/conversations/room-records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { letIn } from './membership.ts';

type Join = Extract<ConversationMessage, { kind: 'join' }>;

/**
 * Takes somebody in who asks for it, with all that was said before them. One answer for a room that is not there, one that
 * cannot be found, a guest of the installation, and somebody who was removed and not asked in since (ERR-05).
 */
export function join(state: ConversationState, { user }: Join, now: number): readonly Effect[] {
  const record = state.living;
  if (record === undefined) return refuse('conversation_forbidden');
  if (state.member(user) !== undefined) {
    return [{ kind: 'answer', value: { status: 200, json: JSON.stringify(state.toWire(record)) } }];
  }
  if (!isListed(record) || state.wasRemoved(user) || state.isGuest(user)) return refuse('conversation_forbidden');
  if (record.participantCount >= PARTICIPANTS_MAX) return refuse('conversation_full');
  const { events, wire, writes } = letIn(state, record, [{ user, role: 'member' }], user, now);
  return [
    { kind: 'append', writes },
    { kind: 'answer', value: { status: 200, json: JSON.stringify(wire) } },
    ...events,
  ];
}
