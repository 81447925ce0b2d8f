/** Rights: what a person may do account-wide and in one conversation (CAP-01, CAP-02). Unknown names are not granted. */
import { z } from 'zod';
import type { ConversationKind, Role } from './conversations.ts';

export const ACCOUNT_RIGHTS = [
  'conversation.create.direct',
  'conversation.create.secret',
  'conversation.create.room',
  'call.start',
  'directory.read',
] as const;
export type AccountRight = (typeof ACCOUNT_RIGHTS)[number];

export const CONVERSATION_RIGHTS = [
  'message.post',
  'message.edit.own',
  'message.delete.own',
  'message.delete.any',
  'reaction.add',
  'pin.change',
  'title.change',
  'participant.add',
  'participant.remove',
  'role.change',
  'conversation.leave',
  'conversation.delete',
  'call.start',
] as const;
export type ConversationRight = (typeof CONVERSATION_RIGHTS)[number];

/** GET /v1/me/capabilities and GET …/rights. */
export const rightsReply = z.strictObject({ rights: z.array(z.string()) }).meta({ id: 'Rights' });

const MEMBER: readonly ConversationRight[] = [
  'message.post',
  'message.edit.own',
  'message.delete.own',
  'reaction.add',
  'pin.change',
  'participant.add',
  'conversation.leave',
  'call.start',
];

const ROOM_RIGHTS: Record<Role, readonly ConversationRight[]> = {
  owner: CONVERSATION_RIGHTS,
  moderator: [...MEMBER, 'message.delete.any', 'title.change', 'participant.remove'],
  member: MEMBER,
  // A guest talks; it does not rearrange the room or bring others in.
  guest: ['message.post', 'message.edit.own', 'message.delete.own', 'reaction.add', 'conversation.leave', 'call.start'],
};

// Two people own a direct or secret chat together: nobody is added, nobody leaves, either may delete it.
const PAIR_RIGHTS: readonly ConversationRight[] = [
  'message.post',
  'message.edit.own',
  'message.delete.own',
  'reaction.add',
  'pin.change',
  'conversation.delete',
  'call.start',
];

/** What a participant with that role may do in a conversation of that kind. */
export function rightsIn(kind: ConversationKind, role: Role): readonly ConversationRight[] {
  return kind === 'room' ? ROOM_RIGHTS[role] : PAIR_RIGHTS;
}
