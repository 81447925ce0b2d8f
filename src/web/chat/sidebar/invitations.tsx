/** Rooms that the person is asked into: they say yes or no. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { RoomInvitation } from '#src/client/room-invitations.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { useName } from '../state/people.ts';

export function Invitations() {
  const { inbox } = useChat();
  const invitations = useObserved(inbox, () => inbox.invitations);
  return (
    <Stack gap="xs" px="sm">
      {invitations.map((invitation) => (
        <Invitation key={invitation.conversation_id} invitation={invitation} />
      ))}
    </Stack>
  );
}

function Invitation({ invitation }: { readonly invitation: RoomInvitation }) {
  const { t } = useTranslation();
  const { inbox, people } = useChat();
  const navigate = useNavigate();
  const [refused, setRefused] = useState<string>();
  const by = useName(people, invitation.by);
  const id = invitation.conversation_id;
  const answer = async (isAccepted: boolean) => {
    try {
      await inbox.answerInvitation(id, isAccepted);
      if (isAccepted) await navigate({ to: '/c/$conv', params: { conv: id } });
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
  };
  return (
    <Alert p="xs" color="blue" title={harmlessName(invitation.title ?? '', t('list.untitled'))}>
      <Text size="sm">{refused ?? t('invitation.by', { name: by })}</Text>
      <Group gap="xs" mt="xs">
        <Button size="compact-sm" onClick={() => void answer(true)}>
          {t('invitation.accept')}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => void answer(false)}>
          {t('invitation.decline')}
        </Button>
      </Group>
    </Alert>
  );
}
