/** Who is typing here. The line is there without anybody too, so that nothing moves. */
import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { useOpenConversation } from './open-conversation.ts';

const NAMED_MAX = 2;

export function TypingLine() {
  const { t } = useTranslation();
  const { people, typing } = useChat();
  const { conv } = useOpenConversation();
  const typists = useObserved(typing, () => typing.in(conv));
  const names = useObserved(people, () =>
    typists
      .slice(0, NAMED_MAX)
      .map((user) => people.nameOf(user))
      .join(', '),
  );
  return (
    <Text size="xs" c="dimmed" px="md" h={20} truncate data-testid="typing">
      {typists.length === 0
        ? ''
        : typists.length > NAMED_MAX
          ? t('typing.some')
          : t('typing.names', { names, count: typists.length })}
    </Text>
  );
}
