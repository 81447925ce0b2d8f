/** What came of a call, where it was called, and the way to call back. */
import { Button, Group, Text } from '@mantine/core';
import { Phone, PhoneMissed } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useChat } from '../chat-context.ts';
import { callLineOf, type CallOutcome } from '../conversation-words.ts';
import { useMay, useOpenConversation } from '../conversation/open-conversation.ts';

export interface CallLineProps {
  readonly message: ChatMessage;
  readonly outcome: CallOutcome;
}

export function CallLine({ message, outcome }: CallLineProps) {
  const { t } = useTranslation();
  const { calls, me } = useChat();
  const { complain, conversation } = useOpenConversation();
  const may = useMay();
  const isOwn = message.sender === me;
  const isMissed = !isOwn && ['missed', 'cancelled', 'busy'].includes(outcome.result);
  const call = () => calls.open().then((center) => center.start(conversation, false));
  const Sign = outcome.result === 'completed' ? Phone : PhoneMissed;
  return (
    <Group gap="xs">
      <Text c={isMissed ? 'var(--mantine-color-error)' : 'dimmed'} className="parley-call-line">
        <Sign size={16} aria-hidden="true" /> {isMissed ? t('callLine.missed') : callLineOf(outcome, t)}
      </Text>
      {may('call.start') && outcome.result !== 'completed' && (
        <Button size="compact-xs" variant="default" onClick={() => void call().catch(complain)}>
          {t(isOwn ? 'callLine.again' : 'callLine.back')}
        </Button>
      )}
    </Group>
  );
}
