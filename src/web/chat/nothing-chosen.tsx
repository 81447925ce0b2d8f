/** Beside the list while no conversation is open. */
import { Text } from '@mantine/core';
import { MessagesSquare } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../kit/empty-state.tsx';

export function NothingChosen() {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<MessagesSquare size={56} strokeWidth={1.4} />} title={t('list.choose')}>
      <Text c="dimmed" maw={420}>
        {t('list.chooseHow')}
      </Text>
    </EmptyState>
  );
}
