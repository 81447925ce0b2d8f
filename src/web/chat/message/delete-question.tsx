/** Asks before a message goes: it goes for everybody, and does not come back. */
import { Button, Group, Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useChat } from '../chat-context.ts';
import { lineOf } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';

export interface DeleteQuestionProps {
  readonly message: ChatMessage | undefined;
  readonly onClose: () => void;
}

export function DeleteQuestion({ message, onClose }: DeleteQuestionProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain, conv } = useOpenConversation();
  const remove = () => {
    if (message !== undefined) client.delete(conv, message.seq).catch(complain);
    onClose();
  };
  return (
    <Modal
      opened={message !== undefined}
      onClose={onClose}
      title={t('message.deleteTitle')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Text size="sm" c="dimmed" lineClamp={3} mb="md">
        {message === undefined ? '' : lineOf(message, t)}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {t('app.cancel')}
        </Button>
        <Button color="red.9" onClick={remove}>
          {t('message.delete')}
        </Button>
      </Group>
    </Modal>
  );
}
