/** A meeting for now: its room, whose settings show the link. */
import { Alert, Button, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { TITLE_LENGTH_MAX } from '#src/protocol/limits.ts';
import { useChat } from '../chat/chat-context.ts';
import { sentenceOf } from '../kit/language.ts';
import { LOBBY_WAYS, type LobbyWay } from './lobby-ways.ts';

export function NewMeeting({ onOpen }: { readonly onOpen: (conversation: string) => void }) {
  const { t } = useTranslation();
  const { client } = useChat();
  const [title, setTitle] = useState('');
  const [lobby, setLobby] = useState<LobbyWay>('people');
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const meeting = await client.meetings.call('createMeeting', { params: {}, body: { title, lobby } });
      onOpen(meeting.conversation_id);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <Stack component="form" onSubmit={(event) => void send(event)}>
      <TextInput
        data-autofocus
        label={t('meeting.new.name')}
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
        required
        withAsterisk={false}
        maxLength={TITLE_LENGTH_MAX}
      />
      <Select
        label={t('meeting.lobby')}
        value={lobby}
        allowDeselect={false}
        onChange={(next) => next !== null && setLobby(next)}
        data={LOBBY_WAYS.map((value) => ({ value, label: t(`meeting.lobby.${value}`) }))}
      />
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      <Button type="submit" loading={isBusy} disabled={title.trim() === ''}>
        {t('meeting.new.create')}
      </Button>
      <Text size="sm" c="dimmed">
        {t('meeting.new.later')}
      </Text>
    </Stack>
  );
}
