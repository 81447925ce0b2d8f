/** Where a link into a room leads: joining is asked, since opening a link decides nothing. */
import { Alert, Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { DoorOpen } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../kit/empty-state.tsx';
import { sentenceOf } from '../kit/language.ts';
import { useChat } from './chat-context.ts';

export function JoinScreen({ link }: { readonly link: string }) {
  const { client, inbox } = useChat();
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [refused, setRefused] = useState<string>();
  const join = async () => {
    try {
      const { id } = await client.joinByLink(link);
      inbox.refresh();
      await navigate({ to: '/c/$conv', params: { conv: id }, replace: true });
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
  };
  return (
    <EmptyState icon={<DoorOpen size={48} />} title={t('join.title')}>
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      <Button onClick={() => void join()}>{t('join.send')}</Button>
    </EmptyState>
  );
}
