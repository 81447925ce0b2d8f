/** What an administrator does to a room from outside: it gets an owner, it is archived and brought back. */
import type { ConversationRecord } from '#storage/engine/records.ts';
import { writeMember } from '#storage/conversations/conversation-writes.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { putArchived } from './describing.ts';
import { letIn, membershipChange } from './membership.ts';

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
  // Nobody of the room acts, so it is told as done by whom it is about.
  if (member === undefined) {
    const { events, writes } = letIn(state, record, [one], user, now);
    return [{ kind: 'append', writes }, done, ...events];
  }
  record.ownerCount += 1;
  const change = membershipChange(state, record, now, 'role', user, [one]);
  const stored = writeMember(state.id, user, { role: 'owner', joinedSeq: member.joinedSeq }, record.stamp);
  return [
    { kind: 'append', writes: [...change.writes, ...stored] },
    done,
    { kind: 'publish', topic: state.id, type: 'membership', event: change.event },
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
