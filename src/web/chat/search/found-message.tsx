/** One message that was found: where, who, when, and the words around what was searched. It leads to its place. */
import { Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { SearchHit } from '#src/client/messaging-api.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { momentOf, titleOf } from '../conversation-words.ts';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import { useName } from '../state/people.ts';
import { snippetOf, type Piece } from './snippet.ts';

export function FoundMessage({ hit }: { readonly hit: SearchHit }) {
  const chat = useChat();
  const name = useName(chat.people, hit.sender);
  const title = useConversationTitle(hit.conversation_id);
  const pieces = useSnippet(hit);
  return (
    <Link
      to="/c/$conv"
      params={{ conv: hit.conversation_id }}
      search={{ at: hit.seq }}
      className="parley-row parley-hit"
      activeProps={{}}
    >
      <UserAvatar user={hit.sender} name={name} hasPresence={false} />
      <div className="parley-row-words">
        <Group gap={8} wrap="nowrap">
          <Text fw={650} truncate>
            <bdi>{name}</bdi>
          </Text>
          <Text size="xs" c="dimmed" truncate flex={1}>
            <bdi>{title}</bdi>
          </Text>
          <Text size="xs" c="dimmed" className="parley-row-time" component="time">
            {momentOf(hit.createdAt)}
          </Text>
        </Group>
        <Text size="sm" lineClamp={3} className="parley-text" component="div">
          {pieces.map(({ isMarked, text }, index) => (isMarked ? <mark key={index}>{text}</mark> : text))}
        </Text>
      </div>
    </Link>
  );
}

/** The words around what was found, as they are now and as they become when somebody's name is known. */
function useSnippet(hit: SearchHit): readonly Piece[] {
  const { people } = useChat();
  const mentioned = hit.mentions?.flatMap((one) => ('all' in one ? [] : [one.username])) ?? [];
  const names = useObserved(people, () => mentioned.map((user) => people.nameOf(user)).join('\n'));
  return useMemo(() => snippetOf(hit, (user) => people.nameOf(user)), [hit, names, people]);
}

/** What a conversation is called, also one that is not in the list yet. */
export function useConversationTitle(conv: string): string {
  const { t } = useTranslation();
  const chat = useChat();
  const row = useObserved(chat.inbox, () => chat.inbox.rowOf(conv));
  return useObserved(chat.people, () => (row === undefined ? t('list.untitled') : titleOf(chat, row.conversation, t)));
}
