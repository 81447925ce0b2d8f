/** Asks for a day, and goes to where it begins in the conversation. */
import { Button, Group, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat-context.ts';
import { beginOf } from '../search/search-words.ts';
import { firstSeqFrom } from '../state/day-search.ts';
import { useOpenConversation } from './open-conversation.ts';

export function DateQuestion({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain, conv, jumpTo } = useOpenConversation();
  const [day, setDay] = useState('');
  const [isLooking, setLooking] = useState(false);
  const at = beginOf(day);
  const go = async (from: number) => {
    setLooking(true);
    const seq = await firstSeqFrom(client, conv, from);
    onClose();
    jumpTo(seq);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('date.title')}
      size="sm"
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (at !== undefined) void go(at).catch((thrown: unknown) => (onClose(), complain(thrown)));
        }}
      >
        <TextInput
          data-autofocus
          type="date"
          label={t('date.day')}
          value={day}
          onChange={(event) => setDay(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button type="submit" disabled={at === undefined} loading={isLooking}>
            {t('date.go')}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
