/** In the place of a screen that broke: what was written is kept, and a reload begins anew. */
import { Button } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../kit/empty-state.tsx';

export function BrokenScreen() {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<CircleAlert size={48} />} title={t('app.broken')}>
      <Button onClick={() => location.reload()}>{t('app.reload')}</Button>
    </EmptyState>
  );
}
