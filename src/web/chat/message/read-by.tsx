/** On the person's own newest message: whether it was sent, and who of the others has read it. */
import { Popover, Stack, Text, UnstyledButton } from '@mantine/core';
import { Check, CheckCheck } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';

export function ReadBy({ message }: { readonly message: ChatMessage }) {
  const { me } = useChat();
  if (message.sender !== me || message.deletedAt !== undefined) return null;
  return <OwnMark message={message} />;
}

function OwnMark({ message: { seq } }: { readonly message: ChatMessage }) {
  const { me } = useChat();
  const { timeline } = useOpenConversation();
  const isNewest = useObserved(
    timeline,
    () => timeline.state.messages.findLast(({ sender }) => sender === me)?.seq === seq,
  );
  return isNewest ? <NewestMark seq={seq} /> : null;
}

/** Of one message alone readers are counted with each watermark that moves. */
function NewestMark({ seq }: { readonly seq: number }) {
  const { t } = useTranslation();
  const { readMarks } = useChat();
  const { conv, conversation } = useOpenConversation();
  const readers = useObserved(readMarks, () => readMarks.readers(conv, seq));
  if (readers === 0) {
    return (
      <Text className="parley-read" c="dimmed" role="img" aria-label={t('receipt.sent')} title={t('receipt.sent')}>
        <Check size={14} />
      </Text>
    );
  }
  if (conversation.kind !== 'room') {
    return (
      <Text className="parley-read" role="img" aria-label={t('receipt.read')} title={t('receipt.read')}>
        <CheckCheck size={14} />
      </Text>
    );
  }
  return <Readers seq={seq} count={readers} />;
}

/** How many, and who they are when somebody asks. */
function Readers({ seq, count }: { readonly seq: number; readonly count: number }) {
  const { t } = useTranslation();
  const { client, people } = useChat();
  const { complain, conv } = useOpenConversation();
  const [users, setUsers] = useState<readonly string[]>();
  const names = useObserved(people, () => (users ?? []).map((user) => people.nameOf(user)).join('\n'));
  const label = t('receipt.readBy', { count });
  const ask = () => {
    client.reading.readBy(conv, seq).then(({ items }) => setUsers(items), complain);
  };
  const button = (
    <UnstyledButton className="parley-read" aria-label={label} title={label} onClick={ask}>
      <CheckCheck size={14} aria-hidden="true" /> {count}
    </UnstyledButton>
  );
  if (users === undefined) return button;
  return (
    <Popover opened onChange={(isOpen) => !isOpen && setUsers(undefined)} position="top-end" withinPortal>
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown>
        <Stack gap={2}>
          <Text size="sm" fw={600}>
            {label}
          </Text>
          {names.split('\n').map((name, index) => (
            <Text key={index} size="sm">
              <bdi>{name}</bdi>
            </Text>
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
