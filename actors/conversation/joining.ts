/** Coming into a public room by oneself. */
import { EVENT_PARTICIPANTS_MAX, PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { barredKey, isListed } from '#storage/conversations/room-records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { inboxEvent, joined, membershipChange, wireParticipants } from './membership.ts';

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
  const isBarred = state.view.get('meta', barredKey(state.id, user)) !== undefined;
  if (!isListed(record) || isBarred || state.isGuest(user)) return refuse('conversation_forbidden');
  if (record.participantCount >= PARTICIPANTS_MAX) return refuse('conversation_full');
  const one = { user, role: 'member' } as const;
  record.participantCount += 1;
  const people = record.participantCount <= EVENT_PARTICIPANTS_MAX ? [...state.participants(), one] : [one];
  const change = membershipChange(state, record, now, 'joined', user, [one]);
  const wire = JSON.stringify({ ...state.toWire(record), ...wireParticipants(record, people) });
  return [
    { kind: 'append', writes: [...change.writes, ...joined(record, one)] },
    { kind: 'answer', value: { status: 200, json: wire } },
    { kind: 'publish', topic: state.id, type: 'membership', event: change.event },
    { kind: 'membership', conversation: state.id, users: [user], joined: true },
    inboxEvent(state, [user], wire, now),
  ];
}
