/** Invitations that wait for an answer: what, when, from whom, and the three answers. */
import { Card, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import { AnswerButtons } from '../entry/answer-buttons.tsx';
import { PersonName, SentBy } from '../entry/person-name.tsx';
import type { Invitation } from '../state/invitations.ts';
import { spanWords } from '../time.ts';
import { InNameOf } from './in-name-of.tsx';

export function InvitationList() {
  const { t } = useTranslation('calendar');
  const { invitations } = useCalendar();
  const items = useObserved(invitations, () => invitations.items);
  if (items.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={2} size="xs" c="dimmed" fw={600} aria-live="polite">
        {t('invitation.title', { count: items.length })}
      </Title>
      {items.map((invitation) => (
        <InvitationCard key={`${invitation.calendar_id}/${invitation.entry.id}`} invitation={invitation} />
      ))}
    </Stack>
  );
}

function InvitationCard({ invitation: { calendar_id: calendar, entry } }: { readonly invitation: Invitation }) {
  const { t } = useTranslation('calendar');
  const { open, zone } = useCalendar();
  const title = harmlessName(entry.title, t('untitled'));
  return (
    <Card component="article" withBorder padding="xs" aria-label={title}>
      <UnstyledButton onClick={() => open({ kind: 'details', place: { calendar_id: calendar, entry_id: entry.id } })}>
        <Text fw={600} size="sm" truncate>
          <bdi>{title}</bdi>
        </Text>
        <Text size="xs">{spanWords(entry, currentLocale(), zone)}</Text>
        {entry.organizer !== undefined && (
          <Text size="xs" c="dimmed" truncate>
            <PersonName person={entry.organizer} />
          </Text>
        )}
        <SentBy delegate={entry.organizer?.sent_by} />
        <InNameOf calendar={calendar} />
      </UnstyledButton>
      <AnswerButtons calendar={calendar} entry={entry} />
    </Card>
  );
}
