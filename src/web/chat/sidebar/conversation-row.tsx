/** One conversation of the list: whom it is with, the last that was said, and what is unread. */
import { Badge, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { BellOff, Star } from 'lucide-react';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { shortTime, useLine, useTitle } from '../conversation-words.ts';
import { ConversationAvatar } from '../people/conversation-avatar.tsx';
import type { InboxRow } from '../state/inbox.ts';

const UNREAD_SHOWN_MAX = 99;

/** A row is the same object until something of it changes: with each message that comes, one of all is drawn anew. */
export const ConversationRow = memo(function ConversationRow({ row }: { readonly row: InboxRow }) {
  const { t } = useTranslation();
  const { conversation, isFavourite, isMuted, lastMessage, mentions, unread } = row;
  const title = useTitle(conversation, t);
  const isNew = unread > 0 && !isMuted;
  return (
    <Link
      to="/c/$conv"
      params={{ conv: conversation.id }}
      className="parley-row"
      activeProps={{ 'aria-current': 'page' }}
    >
      {({ isActive }) => (
        <>
          <ConversationAvatar conversation={conversation} title={title} />
          <div className="parley-row-words">
            <Group gap={4} wrap="nowrap">
              <Text fw={isNew ? 700 : 500} truncate flex={1}>
                <bdi>{title}</bdi>
              </Text>
              {isFavourite && <Star size={12} aria-label={t('list.favourite')} fill="currentColor" />}
              {isMuted && <BellOff size={12} aria-label={t('list.muted')} />}
              <Text size="xs" c="dimmed" className="parley-row-time">
                {shortTime(lastMessage?.createdAt ?? conversation.createdAt)}
              </Text>
            </Group>
            <Group gap={6} wrap="nowrap" mih={20}>
              <Text size="sm" c="dimmed" truncate flex={1} className="parley-row-line">
                <LastLine row={row} isOpen={isActive} />
              </Text>
              {mentions > 0 && (
                <Badge size="sm" circle color="red.9" aria-label={t('list.mentions', { count: mentions })}>
                  @
                </Badge>
              )}
              {unread > 0 && (
                <Badge size="sm" color={isMuted ? 'gray.7' : 'blue.8'} aria-label={t('list.unread', { count: unread })}>
                  {unread > UNREAD_SHOWN_MAX ? `${UNREAD_SHOWN_MAX}+` : unread}
                </Badge>
              )}
            </Group>
          </div>
        </>
      )}
    </Link>
  );
});

interface LastLineProps {
  readonly row: InboxRow;
  /** What is written in the open one stands in its field. */
  readonly isOpen: boolean;
}

function LastLine({ isOpen, row: { conversation, draft, lastMessage } }: LastLineProps) {
  const { t } = useTranslation();
  const { me, people, typing } = useChat();
  const typists = useObserved(typing, () => typing.in(conversation.id));
  const sender = lastMessage?.sender ?? '';
  const name = useObserved(people, () => (sender === '' ? '' : people.nameOf(sender)));
  const line = useLine(lastMessage, t);
  if (typists.length > 0) return <>{t(typists.length === 1 ? 'typing.one' : 'typing.some')}</>;
  if (draft !== undefined && !isOpen) return <>{t('list.draft', { text: draft.slice(0, 80) })}</>;
  if (lastMessage === undefined) return <>{t('list.nothingSaid')}</>;
  if (sender === me) return <>{t('list.you', { line })}</>;
  return <bdi>{conversation.kind === 'room' ? `${name}: ${line}` : line}</bdi>;
}
