/** Says that there is no connection, once that has lasted: a break of a second is nobody's business. */
import { Group, Loader, Text, UnstyledButton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from './chat-context.ts';

const SHOWN_AFTER_MILLIS = 1_500;

export function ConnectionBanner() {
  const { client } = useChat();
  const { t } = useTranslation();
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (isOpen: boolean) => {
      if (isOpen) {
        clearTimeout(timer);
        timer = undefined;
        setAway(false);
      } else timer ??= setTimeout(() => setAway(true), SHOWN_AFTER_MILLIS);
    };
    look(client.isConnected);
    const off = client.on('connection', ({ state }) => look(state === 'open'));
    return () => {
      off();
      clearTimeout(timer);
    };
  }, [client]);
  if (!isAway) return null;
  return (
    <Group className="parley-banner" role="status" gap="xs" justify="center" wrap="nowrap">
      <Loader size={14} color="currentColor" aria-hidden="true" />
      <Text size="sm">{t('connection.away')}</Text>
      <UnstyledButton fz="sm" td="underline" c="inherit" onClick={() => client.wake()}>
        {t('connection.now')}
      </UnstyledButton>
    </Group>
  );
}
