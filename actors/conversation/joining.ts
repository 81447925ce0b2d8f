/** Coming into a room by oneself: a public one, or one that a link leads to. */
import { PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { isOpen, writeRoomLink } from '#storage/conversations/room-links.ts';
import { isArchived, isListed } from '#storage/conversations/room-records.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { linksOf } from './linking-in.ts';
import { letIn } from './membership.ts';

type Join = Extract<ConversationMessage, { kind: 'join' }>;
type JoinByLink = Extract<ConversationMessage, { kind: 'joinByLink' }>;

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

/**
 * Takes somebody in by a link, with all that was said before them. Whoever takes part already uses nothing up. One answer for
 * a link that is none, is over or used up, or whose maker may not add people any more, for a guest of the installation, and
 * for somebody who was removed and not asked in since (ERR-05).
 */
export function joinByLink(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { hash, user }: JoinByLink,
  now: number,
): readonly Effect[] {
  const link = linksOf(state).find((one) => one.hash === hash);
  if (record === undefined || link === undefined) return refuse('room_link_not_found');
  if (state.member(user) !== undefined) {
    return [{ kind: 'answer', value: { status: 200, json: JSON.stringify(state.toWire(record)) } }];
  }
  const isGood = isOpen(link, state.epoch, now) && mayAdd(state, link.by);
  if (!isGood || state.wasRemoved(user) || state.isGuest(user)) return refuse('room_link_not_found');
  if (isArchived(record)) return refuse('conversation_archived');
  if (record.participantCount >= PARTICIPANTS_MAX) return refuse('conversation_full');
  const { events, wire, writes } = letIn(state, record, [{ user, role: 'member' }], user, now);
  return [
    { kind: 'append', writes: [...writes, writeRoomLink({ ...link, used: link.used + 1 })] },
    { kind: 'answer', value: { status: 200, json: JSON.stringify(wire) } },
    ...events,
  ];
}

function mayAdd(state: ConversationState, user: string): boolean {
  const member = state.member(user);
  return member !== undefined && state.may(state.roleOf(user, member.role), 'participant.add');
}
