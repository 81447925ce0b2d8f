/** In the place of a message that is about to be deleted: it says so, and takes it back. */
import { Button, Group, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useChat } from '../chat-context.ts';

export function DeletingLine({ message: { conversation_id: conv, seq } }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { deletions } = useChat();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // The button that was pressed is gone with the focus on it: the keyboard goes on here.
    if (document.activeElement === document.body) button.current?.focus();
  }, []);
  return (
    <Group gap="xs" role="status">
      <Text c="dimmed" fs="italic" size="sm">
        {t('message.deleted')}
      </Text>
      <Button size="compact-xs" variant="default" ref={button} onClick={() => deletions.undo({ conv, seq })}>
        {t('message.undo')}
      </Button>
    </Group>
  );
}
