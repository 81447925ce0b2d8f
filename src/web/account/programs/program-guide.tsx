/** How calendar programs are set up: what each of them asks for, and where it asks. */
import { List, Stack, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { CopyField } from '../../kit/copy-field.tsx';
import { CALENDAR_URL } from '../sign-in-session.ts';

/** Programs with the steps that each takes, by the names of their words. */
const STEPS = {
  davx5: ['programs.davx5.one', 'programs.davx5.two', 'programs.davx5.three'],
  apple: ['programs.apple.one', 'programs.apple.two', 'programs.apple.three'],
  thunderbird: ['programs.thunderbird.one', 'programs.thunderbird.two', 'programs.thunderbird.three'],
  other: ['programs.other.one', 'programs.other.two'],
} as const;
type Program = keyof typeof STEPS;

export function ProgramGuide() {
  const { t } = useTranslation();
  const { me } = useChat();
  const address = new URL('/dav/', CALENDAR_URL);
  return (
    <Stack gap="sm">
      <CopyField
        label={t('programs.address')}
        description={t('programs.addressWhy')}
        copy={t('programs.copyAddress')}
        value={address.href}
      />
      <CopyField
        label={t('programs.username')}
        description={t('programs.usernameWhy')}
        copy={t('programs.copyUsername')}
        value={me}
      />
      <Tabs defaultValue={'davx5' satisfies Program}>
        <Tabs.List aria-label={t('programs.guide')}>
          {Object.keys(STEPS).map((program) => (
            <Tabs.Tab key={program} value={program}>
              {t(`programs.${program as Program}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(STEPS).map(([program, steps]) => (
          <Tabs.Panel key={program} value={program} pt="sm">
            <List type="ordered" size="sm" spacing={4}>
              {steps.map((step) => (
                <List.Item key={step}>
                  <Text size="sm">{t(step, { host: address.host })}</Text>
                </List.Item>
              ))}
            </List>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
