/** The person's own account: who they are to others, how the app looks, their password, devices and programs, and what is known of them. */
import { ActionIcon, Button, Group, Paper, Skeleton, Stack, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ArrowLeft, LogOut } from 'lucide-react';
import { lazy, Suspense, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { useSignOut } from '../chat/sign-out.ts';
import { NotificationsSection } from '../notifications/notifications-section.tsx';
import { AppearanceSection } from './appearance-section.tsx';
import { DevicesSection } from './devices-section.tsx';
import { OwnDataSection } from './own-data.tsx';
import { PasswordSection } from './password-section.tsx';
import { ProfileSection } from './profile-section.tsx';

/** Few come here for it, and the list of conversations waits for nothing of it. */
const SecondFactors = lazy(async () => ({
  default: (await import('./second-factors/second-factors.tsx')).SecondFactors,
}));

const CalendarPrograms = lazy(async () => ({
  default: (await import('./programs/calendar-programs.tsx')).CalendarPrograms,
}));

export function SettingsScreen() {
  const { t } = useTranslation();
  const { client } = useChat();
  const signOut = useSignOut();
  return (
    <div className="parley-settings">
      <Stack maw={640} mx="auto" p="md" gap="lg">
        <Group>
          <ActionIcon component={Link} to="/" variant="subtle" color="gray" aria-label={t('app.toList')}>
            <ArrowLeft size={20} />
          </ActionIcon>
          <Title order={1} size="h3" flex={1}>
            {t('settings.title')}
          </Title>
          <Button variant="default" leftSection={<LogOut size={16} />} onClick={signOut}>
            {t('settings.signOut')}
          </Button>
        </Group>
        <Section title={t('settings.profile')}>
          <ProfileSection />
        </Section>
        <Section title={t('push.title')}>
          <NotificationsSection />
        </Section>
        <Section title={t('settings.appearance')}>
          <AppearanceSection />
        </Section>
        <Section title={t('settings.password')}>
          <PasswordSection />
        </Section>
        <Section title={t('factor.title')}>
          <Suspense fallback={<Skeleton height={80} />}>
            <SecondFactors account={client.account} onAdded={() => void client.renewSession().catch(() => undefined)} />
          </Suspense>
        </Section>
        <Section title={t('settings.devices')}>
          <DevicesSection />
        </Section>
        <Section title={t('programs.title')}>
          <Suspense fallback={<Skeleton height={80} />}>
            <CalendarPrograms />
          </Suspense>
        </Section>
        <Section title={t('ownData.title')}>
          <OwnDataSection />
        </Section>
      </Stack>
    </div>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={2} size="h5" mb="md">
        {title}
      </Title>
      {children}
    </Paper>
  );
}
