/** The face of a conversation: the other person's, or a sign for a room. */
import { Avatar } from '@mantine/core';
import type { ChatConversation } from '#src/client/conversations/records.ts';
import { Globe, Hash } from 'lucide-react';
import { PersonAvatar } from '../../kit/person-avatar.tsx';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { peerOf } from '../conversation-words.ts';

export interface ConversationAvatarProps {
  readonly conversation: ChatConversation;
  readonly title: string;
  readonly size?: number;
}

export function ConversationAvatar({ conversation, title, size = 40 }: ConversationAvatarProps) {
  const chat = useChat();
  const peer = peerOf(chat, conversation);
  if (peer !== undefined) return <UserAvatar user={peer} name={title} size={size} />;
  const Sign = conversation.visibility === 'organisation' ? Globe : Hash;
  return (
    <Avatar
      size={size}
      radius="md"
      aria-hidden="true"
      alt=""
      styles={{ placeholder: { background: 'var(--parley-hover)', color: 'var(--mantine-color-dimmed)' } }}
    >
      <Sign size={Math.round(size / 2)} />
    </Avatar>
  );
}

export interface UserAvatarProps {
  readonly user: string;
  readonly name: string;
  readonly size?: number;
  readonly hasPresence?: boolean;
}

/** Somebody by their username, with their picture, and whether they are there. */
export function UserAvatar({ user, name, size = 36, hasPresence = true }: UserAvatarProps) {
  const { people } = useChat();
  const picture = useObserved(people, () => people.pictureOf(user));
  const presence = useObserved(people, () => people.presenceOf(user));
  return (
    <PersonAvatar id={user} name={name} picture={picture} presence={hasPresence ? presence : 'offline'} size={size} />
  );
}
