/** Another time that somebody proposes, to take or not, and what became of times that were proposed by oneself. */
import { Button, Card, CloseButton, Group, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { harmlessName, harmlessText } from '../../kit/harmless-text.ts';
import { currentLocale } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import { PersonName, SentBy } from '../entry/person-name.tsx';
import type { Proposal } from '../state/invitations.ts';
import { spanWords } from '../time.ts';
import { InNameOf } from './in-name-of.tsx';

export function ProposalList() {
  const { t } = useTranslation('calendar');
  const { invitations } = useCalendar();
  const items = useObserved(invitations, () => invitations.proposals);
  if (items.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={2} size="xs" c="dimmed" fw={600} aria-live="polite">
        {t('proposal.title', { count: items.length })}
      </Title>
      {items.map((proposal) => (
        <ProposalCard key={`${proposal.standing}/${proposal.id}`} proposal={proposal} />
      ))}
    </Stack>
  );
}

function ProposalCard({ proposal }: { readonly proposal: Proposal }) {
  const { t } = useTranslation('calendar');
  const { open, zone } = useCalendar();
  const { calendar_id, comment, entry_id, from, recurrence_id, standing } = proposal;
  const title = harmlessName(proposal.title, t('untitled'));
  const isWaiting = standing === 'waiting';
  return (
    <Card component="article" withBorder padding="xs" aria-label={t('proposal.name', { title })}>
      <UnstyledButton onClick={() => open({ kind: 'details', place: { calendar_id, entry_id, recurrence_id } })}>
        <Text fw={600} size="sm" truncate>
          <bdi>{title}</bdi>
        </Text>
        <Text size="xs">{spanWords(proposal, currentLocale(), zone)}</Text>
        <Text size="xs" c="dimmed">
          {t(isWaiting ? 'proposal.by' : 'proposal.refusedBy')} <PersonName person={from} />
        </Text>
        <SentBy delegate={from.sent_by} />
        <InNameOf calendar={calendar_id} />
        {comment !== undefined && comment !== '' && (
          <Text size="xs" className="parley-wrapped" dir="auto">
            {harmlessText(comment)}
          </Text>
        )}
      </UnstyledButton>
      <ProposalAnswer proposal={proposal} title={title} />
    </Card>
  );
}

function ProposalAnswer({ proposal, title }: { readonly proposal: Proposal; readonly title: string }) {
  const { t } = useTranslation('calendar');
  const { api, invitations, notices, occurrences } = useCalendar();
  const [isSending, setSending] = useState(false);
  const send = async (act: () => Promise<unknown>, said: string | undefined) => {
    setSending(true);
    try {
      await act();
      if (said !== undefined) notices.say(said);
      void occurrences.again(proposal.calendar_id);
    } catch (thrown) {
      notices.refuse(thrown);
    }
    // What was answered elsewhere meanwhile goes from the list as well.
    await invitations.load();
    setSending(false);
  };
  const params = { proposal: proposal.id };
  if (proposal.standing === 'declined') {
    return (
      <CloseButton
        size="sm"
        aria-label={t('proposal.close', { title })}
        disabled={isSending}
        onClick={() => void send(() => api.call('removeProposal', { params }), undefined)}
      />
    );
  }
  const answer = (given: 'accepted' | 'declined') =>
    void send(() => api.call('answerProposal', { params, body: { answer: given } }), t(`proposal.said.${given}`));
  return (
    <Group gap={6} mt="xs" role="group" aria-label={t('answer.name')}>
      <Button size="compact-sm" variant="default" disabled={isSending} onClick={() => answer('accepted')}>
        {t('proposal.take')}
      </Button>
      <Button size="compact-sm" variant="default" disabled={isSending} onClick={() => answer('declined')}>
        {t('proposal.keep')}
      </Button>
    </Group>
  );
}
