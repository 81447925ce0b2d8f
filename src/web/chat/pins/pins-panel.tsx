/** Beside the messages: those that were pinned, each a way to its place. */
import { ActionIcon, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { PinOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { useLine, momentOf } from '../conversation-words.ts';
import { useMay, useOpenConversation } from '../conversation/open-conversation.ts';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import { useName } from '../state/people.ts';

export function PinsPanel() {
  const { t } = useTranslation();
  const { pins } = useOpenConversation();
  const list = useObserved(pins, () => pins.list);
  if (list.length === 0) {
    return (
      <Text c="dimmed" p="md" size="sm">
        {t('pins.none')}
      </Text>
    );
  }
  return (
    <Stack
      component="ul"
      gap={0}
      className="parley-plain-list parley-beside-body"
      tabIndex={0}
      aria-label={t('pins.title')}
    >
      {list.toReversed().map((message) => (
        <PinnedMessage key={message.seq} message={message} />
      ))}
    </Stack>
  );
}

function PinnedMessage({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { people } = useChat();
  const { complain, jumpTo, pins } = useOpenConversation();
  const may = useMay();
  const name = useName(people, message.sender);
  const line = useLine(message, t);
  return (
    <Group component="li" wrap="nowrap" gap={4} className="parley-row">
      <UnstyledButton className="parley-pinned" onClick={() => jumpTo(message.seq)}>
        <UserAvatar user={message.sender} name={name} size={28} hasPresence={false} />
        <div className="parley-person-words">
          <Text size="sm" fw={650} truncate>
            <bdi>{name}</bdi>
          </Text>
          <Text size="sm" lineClamp={3} className="parley-text">
            {line}
          </Text>
          <Text size="xs" c="dimmed">
            {momentOf(message.createdAt)}
          </Text>
        </div>
      </UnstyledButton>
      {may('pin.change') && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={t('pins.remove')}
          title={t('pins.remove')}
          onClick={() => void pins.pin(message.seq, false).catch(complain)}
        >
          <PinOff size={16} />
        </ActionIcon>
      )}
    </Group>
  );
}
