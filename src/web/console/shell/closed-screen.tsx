/** A screen that somebody may not see says so, and by what. */
import { Alert } from '@mantine/core';
import { Lock } from 'lucide-react';
import type { closedBy, Screen } from '../screen-context.ts';
import { t } from '../words/words.ts';

export interface ClosedScreenProps {
  readonly screen: Screen;
  readonly by: NonNullable<ReturnType<typeof closedBy>>;
}

export function ClosedScreen({ by, screen }: ClosedScreenProps) {
  const title = t(screen.title);
  return (
    <Alert icon={<Lock size={18} />} variant="light" color="gray" title={t('closed.title')}>
      {by === 'vendor'
        ? t('closed.vendor', { title })
        : by === 'account'
          ? t('closed.account', { title })
          : t('closed.right', { title, permission: by })}
    </Alert>
  );
}
