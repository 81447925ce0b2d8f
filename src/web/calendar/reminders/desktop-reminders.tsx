/** The way to have reminders outside of the page: nobody is asked before they press it. */
import { Button, Text } from '@mantine/core';
import { BellRing } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../../kit/observable.ts';
import { desktop } from './desktop.ts';

/** `isQuiet` leaves out what is settled already. */
export function DesktopReminders({ isQuiet = false }: { readonly isQuiet?: boolean }) {
  const { t } = useTranslation('calendar');
  const permission = useObserved(desktop, () => desktop.permission);
  if (permission === undefined || (isQuiet && permission !== 'default')) return null;
  if (permission === 'default') {
    return (
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<BellRing size={14} />}
        onClick={() => void desktop.ask()}
      >
        {t('reminder.desktop')}
      </Button>
    );
  }
  return (
    <Text size="xs" c="dimmed">
      {permission === 'granted' ? t('reminder.desktopIsOn') : t('reminder.desktopDenied')}
    </Text>
  );
}
