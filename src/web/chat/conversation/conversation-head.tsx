/** Over the messages: what the conversation is called and about, and the ways to its people and settings. */
import { ActionIcon, Group, Menu, Text, Title } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import {
  ArrowLeft,
  Bell,
  BellOff,
  CalendarSearch,
  EllipsisVertical,
  EyeOff,
  Pin,
  Search,
  Settings2,
  Star,
  Users,
} from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useBreakpoint } from '../../kit/breakpoint.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { peerOf } from '../conversation-words.ts';
import { ConversationAvatar } from '../people/conversation-avatar.tsx';
import { useOpenConversation } from './open-conversation.ts';

const CallButtons = lazy(async () => ({ default: (await import('./call-buttons.tsx')).CallButtons }));

const DateQuestion = lazy(async () => ({ default: (await import('./date-question.tsx')).DateQuestion }));

/** What stands beside the messages. */
export type Beside =
  | { readonly kind: 'members' }
  | { readonly kind: 'settings' }
  | { readonly kind: 'pins' }
  | { readonly kind: 'thread'; readonly root: number };

export interface ConversationHeadProps {
  readonly title: string;
  readonly beside: Beside | undefined;
  readonly onBeside: (beside: Beside | undefined) => void;
}

export function ConversationHead({ title, beside, onBeside }: ConversationHeadProps) {
  const { t } = useTranslation();
  const { conversation, pins } = useOpenConversation();
  const pinned = useObserved(pins, () => pins.list.length);
  const toggle = (kind: 'members' | 'settings' | 'pins') => onBeside(beside?.kind === kind ? undefined : { kind });
  return (
    <header className="parley-head">
      <ActionIcon
        component={Link}
        to="/"
        variant="subtle"
        color="gray"
        className="parley-back"
        aria-label={t('app.toList')}
      >
        <ArrowLeft size={20} />
      </ActionIcon>
      <ConversationAvatar conversation={conversation} title={title} size={36} />
      <div className="parley-person-words">
        <Title order={1} size="md" lineClamp={1}>
          <bdi>{title}</bdi>
        </Title>
        <Text size="xs" c="dimmed" truncate>
          <UnderTitle />
        </Text>
      </div>
      <Group gap={4} wrap="nowrap">
        <Suspense>
          <CallButtons />
        </Suspense>
        <Ways beside={beside} pinned={pinned} onToggle={toggle} />
        <More pinned={pinned} onToggle={toggle} />
      </Group>
    </header>
  );
}

interface WaysProps {
  readonly pinned: number;
  readonly onToggle: (kind: 'members' | 'settings' | 'pins') => void;
}

/** The ways that have a place of their own where there is room: into the search, to the pins, to the people. */
function Ways({ beside, pinned, onToggle }: WaysProps & { readonly beside: Beside | undefined }) {
  const { t } = useTranslation();
  const { conversation } = useOpenConversation();
  if (useBreakpoint() === 'narrow') return null;
  return (
    <>
      <ActionIcon
        renderRoot={(props) => <Link {...props} to="/search" search={{ text: '', conv: conversation.id }} />}
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t('search.here')}
        title={t('search.here')}
      >
        <Search size={20} />
      </ActionIcon>
      {pinned > 0 && (
        <ActionIcon
          variant={beside?.kind === 'pins' ? 'light' : 'subtle'}
          color="gray"
          size="lg"
          aria-label={t('pins.count', { count: pinned })}
          title={t('pins.count', { count: pinned })}
          aria-pressed={beside?.kind === 'pins'}
          onClick={() => onToggle('pins')}
        >
          <Pin size={20} />
        </ActionIcon>
      )}
      {conversation.kind === 'room' && (
        <ActionIcon
          variant={beside?.kind === 'members' ? 'light' : 'subtle'}
          color="gray"
          size="lg"
          aria-label={t('members.title')}
          aria-pressed={beside?.kind === 'members'}
          onClick={() => onToggle('members')}
        >
          <Users size={20} />
        </ActionIcon>
      )}
    </>
  );
}

/** A room’s topic and how many are in it; of a person, whether they are there and their status. */
function UnderTitle() {
  const { t } = useTranslation();
  const chat = useChat();
  const { conversation } = useOpenConversation();
  const peer = peerOf(chat, conversation);
  const said = useObserved(chat.people, () => {
    if (peer === undefined) return '';
    const status = chat.people.entryOf(peer)?.status;
    const own = [status?.emoji, status?.text].filter((part) => part !== undefined).join(' ');
    return [t(`presence.${chat.people.presenceOf(peer)}`), harmlessName(own, '')]
      .filter((part) => part !== '')
      .join(' · ');
  });
  if (peer !== undefined) return <>{said}</>;
  const parts = [
    t('members.count', { count: conversation.participant_count }),
    harmlessName(conversation.topic ?? '', ''),
  ];
  return <bdi>{parts.filter((part) => part !== '').join(' · ')}</bdi>;
}

/** The same, in the menu of a window that is too narrow for them. */
function WaysOfMenu({ pinned, onToggle }: WaysProps) {
  const { t } = useTranslation();
  const { conv, conversation } = useOpenConversation();
  return (
    <>
      <Menu.Item
        leftSection={<Search size={16} />}
        renderRoot={(props) => <Link {...props} to="/search" search={{ text: '', conv }} />}
      >
        {t('search.here')}
      </Menu.Item>
      {pinned > 0 && (
        <Menu.Item leftSection={<Pin size={16} />} onClick={() => onToggle('pins')}>
          {t('pins.count', { count: pinned })}
        </Menu.Item>
      )}
      {conversation.kind === 'room' && (
        <Menu.Item leftSection={<Users size={16} />} onClick={() => onToggle('members')}>
          {t('members.title')}
        </Menu.Item>
      )}
    </>
  );
}

function More({ pinned, onToggle }: WaysProps) {
  const { t } = useTranslation();
  const { client, inbox } = useChat();
  const { conv, conversation, complain } = useOpenConversation();
  const navigate = useNavigate();
  const row = useObserved(inbox, () => inbox.rowOf(conv));
  const isFavourite = row?.isFavourite === true;
  const isMuted = row?.isMuted === true;
  const isNarrow = useBreakpoint() === 'narrow';
  const [isAsking, setAsking] = useState(false);
  const hide = async () => {
    await client.hide(conv);
    await navigate({ to: '/' });
  };
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('conversation.more')}>
            <EllipsisVertical size={20} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {isNarrow && <WaysOfMenu pinned={pinned} onToggle={onToggle} />}
          <Menu.Item leftSection={<CalendarSearch size={16} />} onClick={() => setAsking(true)}>
            {t('date.open')}
          </Menu.Item>
          <Menu.Item
            leftSection={<Star size={16} />}
            onClick={() => void inbox.favour(conv, !isFavourite).catch(complain)}
          >
            {t(isFavourite ? 'conversation.unfavour' : 'conversation.favour')}
          </Menu.Item>
          <Menu.Item
            leftSection={isMuted ? <Bell size={16} /> : <BellOff size={16} />}
            onClick={() => void inbox.mute(conv, !isMuted).catch(complain)}
          >
            {t(isMuted ? 'conversation.unmute' : 'conversation.mute')}
          </Menu.Item>
          <Menu.Item leftSection={<EyeOff size={16} />} onClick={() => void hide().catch(complain)}>
            {t('conversation.hide')}
          </Menu.Item>
          {conversation.kind === 'room' && (
            <Menu.Item leftSection={<Settings2 size={16} />} onClick={() => onToggle('settings')}>
              {t('room.settings')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <Suspense>{isAsking && <DateQuestion onClose={() => setAsking(false)} />}</Suspense>
    </>
  );
}
