/** Where to forward a message: the person's conversations, found by typing; each press sends it to one of them. */
import { Button, Group, Modal, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { Check, Search } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { titleOf, useLine, useTitle } from '../conversation-words.ts';
import { ConversationAvatar } from '../people/conversation-avatar.tsx';
import type { InboxRow } from '../state/inbox.ts';

/** Shown at once; whoever has more finds them by typing. */
const SHOWN_MAX = 30;

export interface ForwardDialogProps {
  readonly message: ChatMessage;
  readonly onClose: () => void;
}

export function ForwardDialog({ message, onClose }: ForwardDialogProps) {
  const { t } = useTranslation();
  const chat = useChat();
  const rows = useObserved(chat.inbox, () => chat.inbox.rows);
  const [query, setQuery] = useState('');
  const line = useLine(message, t);
  const wanted = query.trim().toLocaleLowerCase();
  const found = rows.filter(
    ({ conversation }) =>
      conversation.archivedAt === undefined && titleOf(chat, conversation, t).toLocaleLowerCase().includes(wanted),
  );
  return (
    <Modal opened onClose={onClose} title={t('forward.title')} closeButtonProps={{ 'aria-label': t('app.close') }}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed" lineClamp={3} className="parley-quote">
          {line}
        </Text>
        <TextInput
          data-autofocus
          type="search"
          label={t('list.search')}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          leftSection={<Search size={16} aria-hidden="true" />}
        />
        <ScrollArea.Autosize mah="50dvh" viewportProps={{ tabIndex: 0 }}>
          <ul className="parley-plain-list" aria-label={t('list.title')}>
            {found.slice(0, SHOWN_MAX).map((row) => (
              <Target key={row.conversation.id} row={row} message={message} />
            ))}
          </ul>
        </ScrollArea.Autosize>
        {found.length === 0 && (
          <Text size="sm" c="dimmed" role="status">
            {t('search.noConversation')}
          </Text>
        )}
      </Stack>
    </Modal>
  );
}

function Target({ row: { conversation }, message }: { readonly row: InboxRow; readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { sending } = useChat();
  const [isSent, setSent] = useState(false);
  const title = useTitle(conversation, t);
  const send = () => {
    sending.post(conversation.id, { forward: { conversation_id: message.conversation_id, seq: message.seq } });
    setSent(true);
  };
  return (
    <Group component="li" wrap="nowrap" gap="sm" py={4}>
      <ConversationAvatar conversation={conversation} title={title} size={32} />
      <Text truncate flex={1}>
        <bdi>{title}</bdi>
      </Text>
      <Button
        size="compact-sm"
        variant={isSent ? 'default' : 'light'}
        aria-label={t(isSent ? 'forward.sentTo' : 'forward.to', { title })}
        leftSection={isSent ? <Check size={14} aria-hidden="true" /> : undefined}
        onClick={isSent ? undefined : send}
        aria-disabled={isSent}
      >
        {t(isSent ? 'forward.sent' : 'forward.send')}
      </Button>
    </Group>
  );
}
