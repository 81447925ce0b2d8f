/** Rooms that are public within the organisation: looked through, searched, joined. */
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PublicRoom } from '#src/protocol/conversations/rooms.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';

const PAUSE_MILLIS = 200;

interface Found {
  readonly items: readonly PublicRoom[];
  readonly next: string | null;
  readonly isLoaded: boolean;
  readonly refused?: string;
}
const NOTHING: Found = { items: [], next: null, isLoaded: false };

export function BrowseRooms({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const { t } = useTranslation();
  const { client } = useChat();
  const [query, setQuery] = useState('');
  const [q] = useDebouncedValue(query.trim(), PAUSE_MILLIS);
  const [found, setFound] = useState(NOTHING);
  const read = async (before: readonly PublicRoom[], after: string | null): Promise<Found> => {
    try {
      const { items, next } = await client.browseRooms({
        ...(q === '' ? {} : { q }),
        ...(after === null ? {} : { after }),
      });
      return { items: [...before, ...items], next, isLoaded: true };
    } catch (thrown) {
      return { items: before, next: after, isLoaded: true, refused: sentenceOf(thrown) };
    }
  };
  useEffect(() => {
    let isCurrent = true;
    void read([], null).then((page) => isCurrent && setFound(page));
    return () => {
      isCurrent = false;
    };
    // What it reads with is the query alone.
  }, [q]);
  const join = (id: string) => {
    client.joinRoom(id).then(
      () => onOpen(id),
      (thrown: unknown) => setFound({ ...found, refused: sentenceOf(thrown) }),
    );
  };
  const { items, next, isLoaded, refused } = found;
  return (
    <Stack>
      <TextInput
        data-autofocus
        label={t('browse.search')}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        leftSection={<Search size={16} aria-hidden="true" />}
      />
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      {items.map((room) => (
        <Room key={room.id} room={room} onJoin={() => join(room.id)} onOpen={() => onOpen(room.id)} />
      ))}
      {isLoaded && items.length === 0 && refused === undefined && <Text c="dimmed">{t('browse.nothing')}</Text>}
      {next !== null && (
        <Button variant="default" onClick={() => void read(items, next).then(setFound)}>
          {t('browse.more')}
        </Button>
      )}
    </Stack>
  );
}

interface RoomProps {
  readonly room: PublicRoom;
  readonly onJoin: () => void;
  readonly onOpen: () => void;
}

function Room({ room, onJoin, onOpen }: RoomProps) {
  const { t } = useTranslation();
  const title = harmlessName(room.title, t('list.untitled'));
  return (
    <Group wrap="nowrap" justify="space-between">
      <div className="parley-person-words">
        <Text fw={500} truncate>
          <bdi>{title}</bdi>
        </Text>
        <Text size="sm" c="dimmed" lineClamp={2}>
          {[t('members.count', { count: room.participant_count }), room.topic].filter(Boolean).join(' · ')}
        </Text>
      </div>
      {room.joined ? (
        <Button size="compact-sm" variant="default" onClick={onOpen} aria-label={t('browse.openRoom', { title })}>
          {t('browse.open')}
        </Button>
      ) : (
        <Button size="compact-sm" onClick={onJoin} aria-label={t('browse.joinRoom', { title })}>
          {t('browse.join')}
        </Button>
      )}
    </Group>
  );
}
