/** Says on a person's other devices that what signs them in changed, until they have seen it on one of them. */
import { Alert, Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ShieldAlert } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SecurityNotice } from '#src/protocol/account/security-notices.ts';
import { useChat } from '../chat/chat-context.ts';
import { currentLocale } from '../kit/language.ts';

export function SecurityNotices() {
  const { t } = useTranslation();
  const { client, me } = useChat();
  const [unseen, setUnseen] = useState<readonly SecurityNotice[]>([]);
  useEffect(() => {
    let isOver = false;
    const ask = () => {
      client.account.call('listSecurityNotices').then(
        ({ items }) => {
          if (!isOver) setUnseen(items.filter(({ is_here: isHere, is_seen: isSeen }) => !isHere && !isSeen));
        },
        // What could not be asked is asked with the next connection.
        () => undefined,
      );
    };
    ask();
    const offs = [
      client.on('directory.changed', ({ data }) => data.user === me && ask()),
      // What was told meanwhile went past this device.
      client.on('connection', ({ state }) => state === 'open' && ask()),
    ];
    return () => {
      isOver = true;
      for (const off of offs) off();
    };
  }, [client, me]);
  const [newest] = unseen;
  if (newest === undefined) return null;
  const see = () => {
    setUnseen([]);
    client.account.call('seeSecurityNotices', { body: { id: newest.id } }).catch(() => undefined);
  };
  const at = new Date(newest.at).toLocaleString(currentLocale(), { dateStyle: 'medium', timeStyle: 'short' });
  return (
    <Alert color="orange" role="alert" radius={0} py={6} icon={<ShieldAlert size={16} />}>
      {t(`notice.${newest.kind}`)} ({t(`notice.by.${newest.by}`)}, {at}).{' '}
      {unseen.length > 1 && `${t('notice.more', { count: unseen.length - 1 })} `}
      <Button component={Link} to="/settings" size="compact-xs" variant="default">
        {t('notice.look')}
      </Button>{' '}
      <Button size="compact-xs" variant="default" onClick={see}>
        {t('notice.seen')}
      </Button>
    </Alert>
  );
}
