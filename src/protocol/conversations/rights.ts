/** Rights: what a person may do in one conversation (CAP-02). Unknown names are not granted. */
import { z } from 'zod';
import type { ConversationKind, Role } from './conversations.ts';
import { MENTION_ALL_PARTICIPANTS_MAX } from '../limits.ts';

export const CONVERSATION_RIGHTS = [
  'message.post',
  'message.edit.own',
  'message.delete.own',
  'message.delete.any',
  'mention.all',
  'reaction.add',
  'pin.change',
  'title.change',
  'visibility.change',
  'conversation.archive',
  'retention.change',
  'participant.add',
  'participant.remove',
  'role.change',
  'webhook.manage',
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
  moderator: [...MEMBER, 'message.delete.any', 'mention.all', 'title.change', 'participant.remove', 'webhook.manage'],
  member: MEMBER,
  // A guest talks; it does not rearrange the room or bring others in.
  guest: ['message.post', 'message.edit.own', 'message.delete.own', 'reaction.add', 'conversation.leave', 'call.start'],
};

// Two people own a direct chat together: nobody is added, nobody leaves, and nobody takes away what the other said.
const DIRECT_RIGHTS: readonly ConversationRight[] = [
  'message.post',
  'message.edit.own',
  'message.delete.own',
  'mention.all',
  'reaction.add',
  'pin.change',
  'call.start',
];

const PAIR_RIGHTS: Record<Exclude<ConversationKind, 'room'>, readonly ConversationRight[]> = {
  direct: DIRECT_RIGHTS,
  // What is said in a secret chat is meant to go: either may say when.
  secret: [...DIRECT_RIGHTS, 'retention.change', 'conversation.delete'],
};

/** What a participant with that role may do in a conversation of that kind. */
export function rightsIn(kind: ConversationKind, role: Role): readonly ConversationRight[] {
  return kind === 'room' ? ROOM_RIGHTS[role] : PAIR_RIGHTS[kind];
}

/** The same in a conversation of so many: where they are few, anybody may call them all together. */
export function rightsAmong(kind: ConversationKind, role: Role, participants: number): readonly ConversationRight[] {
  const rights = rightsIn(kind, role);
  const mayMention = participants <= MENTION_ALL_PARTICIPANTS_MAX && !rights.includes('mention.all');
  return mayMention ? [...rights, 'mention.all'] : rights;
}
