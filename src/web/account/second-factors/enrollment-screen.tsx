/** Who has to set up a second factor before anything else: the installation asks for one. */
import { Anchor, Center, Paper, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AccountApi } from '#src/client/account-api.ts';
import { Logo } from '../../kit/logo.tsx';
import { SecondFactors } from './second-factors.tsx';

export interface EnrollmentScreenProps {
  readonly account: Pick<AccountApi, 'call'>;
  readonly onAdded: () => void;
  readonly onSignOut: () => void;
}

export function EnrollmentScreen({ account, onAdded, onSignOut }: EnrollmentScreenProps) {
  const { t } = useTranslation();
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={480} gap="lg">
        <Stack gap="xs" align="center">
          <Logo size={56} />
          <Title order={1} size="h2" ta="center">
            {t('factor.required')}
          </Title>
          <Text ta="center">{t('factor.requiredWhy')}</Text>
        </Stack>
        <Paper withBorder p="lg" radius="lg">
          <SecondFactors account={account} onAdded={onAdded} />
        </Paper>
        <Anchor component="button" type="button" size="sm" underline="always" onClick={onSignOut}>
          {t('settings.signOut')}
        </Anchor>
      </Stack>
    </Center>
  );
}
