/** What stands beside the messages, or over them on a narrow screen: the people, a thread, the settings of a room. */
import { CloseButton, Group, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PinsPanel } from '../pins/pins-panel.tsx';
import type { Beside } from './conversation-head.tsx';
import { MembersPanel } from './members-panel.tsx';
import { RoomSettings } from './room-settings.tsx';
import { ThreadPanel } from './thread-panel.tsx';

export interface SidePanelProps {
  readonly beside: Beside | undefined;
  readonly onClose: () => void;
}

export function SidePanel({ beside, onClose }: SidePanelProps) {
  const { t } = useTranslation();
  if (beside === undefined) return null;
  const titles = {
    members: t('members.title'),
    pins: t('pins.title'),
    settings: t('room.settings'),
    thread: t('thread.title'),
  };
  return (
    <aside className="parley-beside" aria-label={titles[beside.kind]}>
      <Group justify="space-between" p="sm" wrap="nowrap" className="parley-beside-head">
        <Title order={2} size="md">
          {titles[beside.kind]}
        </Title>
        <CloseButton aria-label={t('app.close')} onClick={onClose} />
      </Group>
      {beside.kind === 'members' && <MembersPanel />}
      {beside.kind === 'pins' && <PinsPanel />}
      {beside.kind === 'settings' && <RoomSettings />}
      {beside.kind === 'thread' && <ThreadPanel key={beside.root} root={beside.root} />}
    </aside>
  );
}
