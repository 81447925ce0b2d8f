/** The ways to a conversation that is not in the list: with a person, in a new room, in a public one. */
import { ActionIcon, Menu, Modal } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Globe, Hash, SquarePen, UserRound, Video } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addWords } from '../../kit/language.ts';
import { MEETING_WORDS } from '../../meetings/meeting-words.ts';
import { useChat } from '../chat-context.ts';
import { BrowseRooms } from './browse-rooms.tsx';
import { NewDirect } from './new-direct.tsx';
import { NewRoom } from './new-room.tsx';

const NewMeeting = lazy(async () => {
  const [{ NewMeeting: Form }] = await Promise.all([import('../../meetings/new-meeting.tsx'), addWords(MEETING_WORDS)]);
  return { default: Form };
});

type Way = 'direct' | 'room' | 'meeting' | 'browse';

export function NewConversation() {
  const { t } = useTranslation();
  const { inbox } = useChat();
  const navigate = useNavigate();
  const [way, setWay] = useState<Way>();
  const close = () => setWay(undefined);
  const go = (id: string) => {
    close();
    inbox.refresh();
    void navigate({ to: '/c/$conv', params: { conv: id } });
  };
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('new.title')}>
            <SquarePen size={20} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<UserRound size={16} />} onClick={() => setWay('direct')}>
            {t('new.direct')}
          </Menu.Item>
          <Menu.Item leftSection={<Hash size={16} />} onClick={() => setWay('room')}>
            {t('new.room')}
          </Menu.Item>
          <Menu.Item leftSection={<Video size={16} />} onClick={() => setWay('meeting')}>
            {t('new.meeting')}
          </Menu.Item>
          <Menu.Item leftSection={<Globe size={16} />} onClick={() => setWay('browse')}>
            {t('new.browse')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={way !== undefined}
        onClose={close}
        title={way === undefined ? '' : t(`new.${way}`)}
        closeButtonProps={{ 'aria-label': t('app.close') }}
      >
        {way === 'direct' && <NewDirect onOpen={go} />}
        {way === 'room' && <NewRoom onOpen={go} />}
        <Suspense>{way === 'meeting' && <NewMeeting onOpen={go} />}</Suspense>
        {way === 'browse' && <BrowseRooms onOpen={go} />}
      </Modal>
    </>
  );
}
