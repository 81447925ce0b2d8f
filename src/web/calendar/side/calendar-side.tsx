/** Beside the days: invitations that wait, and the calendars with their colours, each shown or not. */
import { Button, Checkbox, Group, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { useName } from '../../chat/state/people.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import { DesktopReminders } from '../reminders/desktop-reminders.tsx';
import { colorOf } from '../state/calendar-list.ts';
import type { Calendar } from '../state/occurrence.ts';
import { CalendarMenu } from './calendar-menu.tsx';
import { InvitationList } from './invitation-list.tsx';
import { ProposalList } from './proposal-list.tsx';

export function CalendarSide({ onDay }: { readonly onDay: (day: string) => void }) {
  const { t } = useTranslation('calendar');
  const { list, open, zone } = useCalendar();
  const items = useObserved(list, () => list.items);
  const isLoaded = useObserved(list, () => list.isLoaded);
  const own = items.filter(({ access }) => access === 'owner');
  const others = items.filter(({ access }) => access !== 'owner');
  return (
    <Stack gap="md" p="md">
      <TextInput
        type="date"
        size="sm"
        label={t('view.goTo')}
        onChange={({ currentTarget: { value } }) => {
          // A year that is still being typed is one of the first century.
          if (value > '1000') onDay(value);
        }}
      />
      <InvitationList />
      <ProposalList />
      {!isLoaded && <Skeleton height={80} />}
      <Calendars title={t('side.own')} calendars={own} />
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Plus size={14} />}
        onClick={() => open({ kind: 'calendar' })}
      >
        {t('manage.new')}
      </Button>
      {others.length > 0 && <Calendars title={t('side.others')} calendars={others} />}
      <DesktopReminders />
      <Text size="xs" c="dimmed">
        {t('view.zone', { zone })}
      </Text>
    </Stack>
  );
}

function Calendars({ calendars, title }: { readonly title: string; readonly calendars: readonly Calendar[] }) {
  return (
    <Stack gap={4}>
      <Title order={2} size="xs" c="dimmed" fw={600}>
        {title}
      </Title>
      <ul className="parley-plain-list">
        {calendars.map((calendar) => (
          <CalendarRow key={calendar.id} calendar={calendar} />
        ))}
      </ul>
    </Stack>
  );
}

function CalendarRow({ calendar }: { readonly calendar: Calendar }) {
  const { t } = useTranslation('calendar');
  const { list } = useCalendar();
  const { me } = useChat();
  const isShown = useObserved(list, () => !list.isHidden(calendar.id));
  const name = harmlessName(calendar.displayname, t('untitled'));
  return (
    <Group component="li" gap={4} wrap="nowrap" className="parley-calendar-row">
      <Checkbox
        flex={1}
        miw={0}
        color={colorOf(calendar)}
        autoContrast
        checked={isShown}
        onChange={(event) => list.show(calendar.id, event.currentTarget.checked)}
        label={
          <>
            <bdi>{name}</bdi>
            {calendar.owner !== me && <OwnerName user={calendar.owner} />}
          </>
        }
      />
      <CalendarMenu calendar={calendar} />
    </Group>
  );
}

function OwnerName({ user }: { readonly user: string }) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const name = useName(people, user);
  return (
    <Text size="xs" c="dimmed" component="span" display="block">
      {t('side.of', { name })}
    </Text>
  );
}
