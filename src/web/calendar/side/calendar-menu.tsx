/** What can be done with a calendar: shared, imported into, taken home as a file. */
import { ActionIcon, Menu } from '@mantine/core';
import { Download, MoreVertical, Pencil, Share2, Upload } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { offerFile } from '../../kit/offer-file.ts';
import { useCalendar } from '../calendar-context.ts';
import { mayWrite } from '../state/calendar-list.ts';
import type { Calendar } from '../state/occurrence.ts';

export function CalendarMenu({ calendar }: { readonly calendar: Calendar }) {
  const { t } = useTranslation('calendar');
  const { api, notices, open } = useCalendar();
  const { id } = calendar;
  const isOwn = calendar.access === 'owner';
  const name = harmlessName(calendar.displayname, t('untitled'));
  const takeHome = async () => {
    try {
      offerFile(await api.exportFile(id), `${name.replaceAll(/[\\/:*?"<>|]/gu, '_')}.ics`);
    } catch (thrown) {
      notices.refuse(thrown);
    }
  };
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('side.options', { name })}>
          <MoreVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isOwn && (
          <>
            <Menu.Item leftSection={<Pencil size={16} />} onClick={() => open({ kind: 'calendar', calendar: id })}>
              {t('manage.change')}
            </Menu.Item>
            <Menu.Item leftSection={<Share2 size={16} />} onClick={() => open({ kind: 'share', calendar: id })}>
              {t('manage.share')}
            </Menu.Item>
          </>
        )}
        {mayWrite(calendar) && (
          <Menu.Item leftSection={<Upload size={16} />} onClick={() => open({ kind: 'import', calendar: id })}>
            {t('manage.import')}
          </Menu.Item>
        )}
        {calendar.access !== 'free_busy' && (
          <Menu.Item leftSection={<Download size={16} />} onClick={() => void takeHome()}>
            {t('manage.export')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
