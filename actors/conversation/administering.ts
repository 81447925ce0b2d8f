/** What an administrator does to a room from outside: it gets an owner, it is archived and brought back. */
import type { ConversationRecord } from '#storage/engine/records.ts';
import { writeMember } from '#storage/conversations/conversation-writes.ts';
import { writeBarred } from '#storage/conversations/room-records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { putArchived } from './describing.ts';
import { inboxEvent, membershipChange, wireParticipants } from './membership.ts';

type GiveOwner = Extract<ConversationMessage, { kind: 'giveOwner' }>;
type Archive = Extract<ConversationMessage, { kind: 'archive' }>;

/**
 * Makes somebody an owner of a room, who takes part from now on where they did not. Whether the room needs one, and who
 * may be one, is for who asks. An owner stays as they are.
 */
export function giveOwner(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { participant: user }: GiveOwner,
  now: number,
): readonly Effect[] {
  if (record === undefined || record.kind !== 'room') return refuse('conversation_forbidden');
  if (state.roleOf(user, 'owner') !== 'owner') return refuse('participant_unknown');
  const member = state.member(user);
  if (member?.role === 'owner') return [done];
  const one = { user, role: 'owner' } as const;
  record.ownerCount += 1;
  if (member === undefined) record.participantCount += 1;
  // Nobody of the room acts, so it is told as done by whom it is about.
  const change = membershipChange(state, record, now, member === undefined ? 'joined' : 'role', user, [one]);
  const stored = { role: 'owner', joinedSeq: member?.joinedSeq ?? record.headSeq } as const;
  const writes = [...change.writes, ...writeMember(state.id, user, stored, record.stamp)];
  const told: Effect = { kind: 'publish', topic: state.id, type: 'membership', event: change.event };
  if (member !== undefined) return [{ kind: 'append', writes }, done, told];
  const people = [...state.participants(), one];
  const wire = JSON.stringify({ ...state.toWire(record), ...wireParticipants(record, people) });
  return [
    { kind: 'append', writes: [...writes, writeBarred(state.id, user, false)] },
    done,
    told,
    { kind: 'membership', conversation: state.id, users: [user], joined: true },
    inboxEvent(state, [user], wire, now),
  ];
}

export function archive(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { isArchived }: Archive,
  now: number,
): readonly Effect[] {
  if (record === undefined || record.kind !== 'room') return refuse('conversation_forbidden');
  return putArchived(state, record, isArchived, now);
}

const done: Effect = { kind: 'answer', value: { status: 204, json: '' } };
