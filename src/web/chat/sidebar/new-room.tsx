/** A new room: what it is called, who finds it, who is in it from the start. */
import { Alert, Button, Group, Pill, Stack, Switch, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { TITLE_LENGTH_MAX, TOPIC_LENGTH_MAX } from '#src/protocol/limits.ts';
import { useChat } from '../chat-context.ts';
import { PeoplePicker } from '../people/people-picker.tsx';

interface Guest {
  readonly user: string;
  readonly name: string;
}

export function NewRoom({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const { t } = useTranslation();
  const { client, me } = useChat();
  const [title, setTitle] = useState('');
  const [topic, setTopic] = useState('');
  const [isPublic, setPublic] = useState(false);
  const [guests, setGuests] = useState<readonly Guest[]>([]);
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const said = { title, ...(topic.trim() === '' ? {} : { topic }) };
      const participants = guests.map(({ user }) => user);
      const visibility = isPublic ? 'organisation' : 'private';
      onOpen((await client.createRoom({ ...said, participants, visibility })).id);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <Stack component="form" onSubmit={(event) => void send(event)}>
      <TextInput
        data-autofocus
        label={t('room.name')}
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
        required
        withAsterisk={false}
        maxLength={TITLE_LENGTH_MAX}
      />
      <TextInput
        label={t('room.topic')}
        value={topic}
        onChange={(event) => setTopic(event.currentTarget.value)}
        maxLength={TOPIC_LENGTH_MAX}
      />
      <Switch
        label={t('room.public')}
        description={t('room.publicWhat')}
        checked={isPublic}
        onChange={(event) => setPublic(event.currentTarget.checked)}
      />
      <Guests guests={guests} me={me} onChange={setGuests} />
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      <Button type="submit" loading={isBusy} disabled={title.trim() === ''}>
        {t('room.create')}
      </Button>
    </Stack>
  );
}

interface GuestsProps {
  readonly guests: readonly Guest[];
  readonly me: string;
  readonly onChange: (guests: readonly Guest[]) => void;
}

function Guests({ guests, me, onChange }: GuestsProps) {
  const { t } = useTranslation();
  return (
    <div>
      <Group gap={6} mb="xs">
        {guests.map(({ user, name }) => (
          <Pill
            key={user}
            withRemoveButton
            onRemove={() => onChange(guests.filter((one) => one.user !== user))}
            removeButtonProps={{ 'aria-label': t('people.remove', { name }) }}
          >
            {name}
          </Pill>
        ))}
      </Group>
      <PeoplePicker
        without={[me, ...guests.map(({ user }) => user)]}
        onPick={({ display_name: name, user }) =>
          onChange([...guests, { user, name: harmlessName(name ?? user, user) }])
        }
      />
    </div>
  );
}
