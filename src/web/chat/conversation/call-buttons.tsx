/** The ways into a call: begin one with sound or with pictures too, or join the one that the room has. */
import { ActionIcon, Button } from '@mantine/core';
import { Phone, Video } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../../kit/observable.ts';
import { ANSWER_COLOR } from '../../kit/theme.ts';
import { useChat } from '../chat-context.ts';
import { useMay, useOpenConversation } from './open-conversation.ts';

export function CallButtons() {
  const { t } = useTranslation();
  const { calls } = useChat();
  const { complain, conversation } = useOpenConversation();
  const may = useMay();
  const isRoom = conversation.kind === 'room';
  const live = useObserved(calls, () => (isRoom ? calls.center?.liveIn(conversation.id) : undefined));
  const call = (video: boolean) =>
    void calls
      .open()
      .then((center) => center.start(conversation, video))
      .catch(complain);
  if (live !== undefined) {
    const label = t('callLine.join', { count: live.users.size });
    return (
      <Button
        color={ANSWER_COLOR}
        size="compact-md"
        leftSection={<Phone size={16} />}
        aria-label={label}
        title={label}
        onClick={() => call(live.video)}
      >
        {live.users.size}
      </Button>
    );
  }
  // In a chat with nobody else there is nobody to call.
  if (!may('call.start') || conversation.archivedAt !== undefined || conversation.participant_count < 2) return null;
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t('callLine.voice')}
        title={t('callLine.voice')}
        onClick={() => call(false)}
      >
        <Phone size={20} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t('callLine.video')}
        title={t('callLine.video')}
        onClick={() => call(true)}
      >
        <Video size={20} />
      </ActionIcon>
    </>
  );
}
