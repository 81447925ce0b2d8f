/**
 * Links into a room: made by those who may add people, and taken away by who made them and by those who may remove people.
 * `joining.ts` lets in who has one.
 */
import { ROOM_LINKS_MAX } from '#src/protocol/limits.ts';
import {
  isOpen,
  removeRoomLink,
  roomLinkAt,
  roomLinkView,
  writeRoomLink,
  type StoredRoomLink,
} from '#storage/conversations/room-links.ts';
import { under } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import type { ConversationRecord, MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

/** Keeps a new link; what lets nobody in any more goes with the same write. */
export function makeLink(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { hash, link: id, seconds, user: by, uses }: Of<'makeLink'>,
  now: number,
): readonly Effect[] {
  if (record.kind !== 'room') return refuse('participants_fixed');
  if (!state.may(member.role, 'participant.add')) return refuse('right_missing');
  const stored = linksOf(state);
  const over = stored.filter((one) => !isOpen(one, state.epoch, now));
  if (stored.length - over.length >= ROOM_LINKS_MAX) return refuse('room_links_full');
  const until = now + seconds * 1_000;
  const link = { conversation: state.id, id, hash, by, epoch: state.epoch, at: now, until, uses, used: 0 };
  return [
    { kind: 'append', writes: [...over.map(removeRoomLink), writeRoomLink(link)] },
    { kind: 'answer', value: { status: 201, json: JSON.stringify(roomLinkView(link)) } },
  ];
}

export function revokeLink(
  state: ConversationState,
  member: MemberRecord,
  { link: id, user }: Of<'revokeLink'>,
): readonly Effect[] {
  const mayAny = state.may(member.role, 'participant.remove');
  if (!mayAny && !state.may(member.role, 'participant.add')) return refuse('right_missing');
  const link = linksOf(state).find((one) => one.id === id);
  // Of another's link whoever may not see it learns nothing.
  if (link === undefined || (link.by !== user && !mayAny)) return refuse('room_link_not_found');
  return [
    { kind: 'append', writes: [removeRoomLink(link)] },
    { kind: 'answer', value: { status: 204, json: '' } },
  ];
}

/** What goes with a person who takes part no longer, or is erased: the links that they made. */
export function removeLinksBy(state: ConversationState, user: string): LaneWrite[] {
  return linksOf(state)
    .filter(({ by }) => by === user)
    .map(removeRoomLink);
}

/** All that are stored of this room; at most ROOM_LINKS_MAX, beside those that are over. */
export function linksOf({ id, view }: ConversationState): StoredRoomLink[] {
  return view.keys('roomLinks', under(id)).flatMap((itemKey) => {
    const value = view.get('roomLinks', itemKey);
    return value === undefined ? [] : [roomLinkAt(itemKey, value)];
  });
}
