/**
 * The conversation actor: the one writer of a conversation. It gives every message its seq and every change its rev,
 * decides who may do what, and says what reaches whom.
 */
import type { Lane } from '#storage/engine/lane.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { refuse, unreachable, type Actor, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { ConversationState, type GuestHosts } from './conversation.state.ts';
import { eraseTrace } from './erasing-traces.ts';
import { erase } from './erasing.ts';
import { draft, hide, mute, pin, react, receipt, typing } from './reactions-and-pins.ts';
import { archive, giveOwner } from './administering.ts';
import { eraseNames, describe, isShutTo, putAvatar, takeAvatar } from './describing.ts';
import { join, joinByLink } from './joining.ts';
import { makeLink, revokeLink } from './linking-in.ts';
import { accept, add, create, deleteConversation, remove, setRole } from './membership.ts';
import { decline, withdraw } from './inviting.ts';
import { place } from './placing.ts';
import { deleteMessage, edit, post, refusePost } from './posting.ts';
import { removePreview, showPreview } from './previewing.ts';
import { purge, type Purged } from './purging.ts';
import { hold } from './holding.ts';
import { expire, purgeBefore, retain } from './retaining.ts';
import { seat } from './server-membership.ts';

/** What may wait for one conversation: a second's worth of the busiest room we measured. Beyond it: `busy`. */
export const CONVERSATION_MAILBOX_MAX = 20_000;

export interface ConversationOptions {
  readonly epoch: string;
  /** The lane that a conversation is written to, on the shard that owns it. */
  readonly lane: (conversation: string) => Lane;
  /** Whether the search index is kept; if it is not, searches look at every message. */
  readonly search?: boolean;
  /** Who is a guest of the installation, and so in every conversation (GST-06); nobody where it is left out. */
  readonly isGuest?: (user: string) => boolean;
  /** Whose guests they are; nobody's where it is left out. */
  readonly hosts?: GuestHosts;
  /** Told of each block that goes off the disk. */
  readonly purged?: (purged: Purged) => void;
}

export function makeConversationActor(options: ConversationOptions): Actor<ConversationState, ConversationMessage> {
  return {
    name: 'conversation',
    mailboxMax: CONVERSATION_MAILBOX_MAX,
    lossy: ['typing'],
    lane: options.lane,
    start: (id) => new ConversationState(id, options.epoch, options.lane(id), options),
    receive: (state, message, now) => receive(state, message, now, options.purged),
    isIdle: () => true,
    inspect: (state) => ({
      kind: state.record?.kind ?? 'absent',
      head_seq: state.record?.headSeq ?? 0,
      rev: state.record?.rev ?? 0,
      participants: state.record?.participantCount ?? 0,
    }),
  };
}

export function receive(
  state: ConversationState,
  message: ConversationMessage,
  now: number,
  purged?: ConversationOptions['purged'],
): readonly Effect[] {
  if (message.kind === 'create') return create(state, message, now);
  if (message.kind === 'join') return join(state, message, now);
  state.expire(now);
  if (message.kind === 'purge') return purge(state, purged);
  if (message.kind === 'expire') return expire(state, now);
  if (message.kind === 'erase') return erase(state, message, now);
  if (message.kind === 'eraseNames') return eraseNames(state, message, now);
  if (message.kind === 'eraseTrace') return eraseTrace(state, message, now);
  if (message.kind === 'hold') return hold(state, message);
  if (message.kind === 'tellHints') return state.hints.tell(state.id, now);
  const record = state.living;
  if (message.kind === 'giveOwner') return giveOwner(state, record, message, now);
  if (message.kind === 'archive') return archive(state, record, message, now);
  if (message.kind === 'takeAvatar') return takeAvatar(state, record, now);
  if (message.kind === 'preview') return showPreview(state, record, message, now);
  if (message.kind === 'seat') return seat(state, record, message, now);
  if (message.kind === 'acceptInvitation') return accept(state, record, message, now);
  if (message.kind === 'joinByLink') return joinByLink(state, record, message, now);
  if (message.kind === 'declineInvitation') return decline(state, record, message, now);
  const member = record === undefined ? undefined : state.member(message.user);
  // One answer for what does not exist and what is not the caller's (MSG-11, ERR-05).
  if (record === undefined || member === undefined) return refuse('conversation_forbidden');
  return decideFor(state, record, { ...member, role: state.roleOf(message.user, member.role) }, message, now);
}

/** What somebody says who has to take part; the others say what is the server's, or an administrator's, or how one comes in. */
type OfParticipant = Exclude<
  ConversationMessage,
  {
    kind:
      | (
          | 'create'
          | 'purge'
          | 'seat'
          | 'expire'
          | 'hold'
          | 'erase'
          | 'eraseNames'
          | 'eraseTrace'
          | 'preview'
          | 'tellHints'
        )
      | ('acceptInvitation' | 'declineInvitation' | 'join' | 'joinByLink' | 'giveOwner' | 'archive' | 'takeAvatar');
  }
>;

function decideFor(
  state: ConversationState,
  record: ConversationRecord,
  member: NonNullable<ReturnType<ConversationState['member']>>,
  message: OfParticipant,
  now: number,
): readonly Effect[] {
  if (isShutTo(record, message)) return refuseShut(state, message);
  switch (message.kind) {
    case 'post':
      return post(state, record, member, message, now);
    case 'refusePost':
      return refusePost(state, message);
    case 'edit':
      return edit(state, record, member, message, now);
    case 'deleteMessage':
      return deleteMessage(state, record, member, message, now);
    case 'removePreview':
      return removePreview(state, record, member, message, now);
    case 'react':
      return react(state, record, member, message, now);
    case 'pin':
      return pin(state, record, member, message, now);
    case 'receipt':
      return receipt(state, record, message, now);
    case 'draft':
      return draft(state, message, now);
    case 'mute':
      return mute(state, message);
    case 'hide':
      return hide(state, record, message, now);
    case 'place':
      return place(state, record, message, now);
    case 'typing':
      return typing(state, record, message, now);
    case 'add':
      return add(state, record, member, message, now);
    case 'remove':
      return remove(state, record, member, message, now);
    case 'withdrawInvitation':
      return withdraw(state, record, member, message, now);
    case 'makeLink':
      return makeLink(state, record, member, message, now);
    case 'revokeLink':
      return revokeLink(state, member, message);
    case 'setRole':
      return setRole(state, record, member, message, now);
    case 'describe':
      return describe(state, record, member, message, now);
    case 'putAvatar':
      return putAvatar(state, record, member, message, now);
    case 'retain':
      return retain(state, record, member, message, now);
    case 'purgeBefore':
      return purgeBefore(state, record, member, message, now);
    case 'delete':
      return deleteConversation(state, record, member, now);
    default:
      return unreachable(message);
  }
}

/** Nobody waits for an answer to typing, and a post that was answered before the room was archived is a repeat (MSG-03). */
function refuseShut(state: ConversationState, message: ConversationMessage): readonly Effect[] {
  if (message.kind === 'typing') return [];
  if (message.kind !== 'post') return refuse('conversation_archived');
  const { form, user, device } = message;
  const clientMsgId = form.client_msg_id;
  return refusePost(state, { kind: 'refusePost', clientMsgId, code: 'conversation_archived', user, device });
}
