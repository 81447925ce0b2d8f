/** Finding people by what they are called: the server searches, since a directory may be large. */
import { Alert, Loader, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Search } from 'lucide-react';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import { SEARCHED_NAME_LENGTH_MAX } from '#src/protocol/limits.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';
import { UserAvatar } from './conversation-avatar.tsx';

const FOUND_MAX = 20;
/** A pause in the typing: not every letter is a search. */
const PAUSE_MILLIS = 150;

export interface PeoplePickerProps {
  readonly onPick: (entry: DirectoryEntry) => void;
  /** Who is not offered. */
  readonly without: readonly string[];
  /** What this device has already been refused with for a pick. */
  readonly refused?: string | undefined;
}

interface Found {
  readonly items: readonly DirectoryEntry[];
  readonly isSearching: boolean;
  readonly refused: string | undefined;
}

function useFoundPeople(query: string): Found {
  const { client } = useChat();
  const [pausedQuery] = useDebouncedValue(query.trim(), PAUSE_MILLIS);
  const [found, setFound] = useState<Found>({ items: [], isSearching: false, refused: undefined });
  const newest = useRef('');
  useEffect(() => {
    newest.current = pausedQuery;
    if (pausedQuery === '') return setFound({ items: [], isSearching: false, refused: undefined });
    setFound((before) => ({ ...before, isSearching: true }));
    // Answers overtake each other: only the one to the newest question counts.
    const show = (answer: Found) => newest.current === pausedQuery && setFound(answer);
    client.directory.search(pausedQuery, { limit: FOUND_MAX }).then(
      ({ items }) => show({ items, isSearching: false, refused: undefined }),
      (thrown: unknown) => show({ items: [], isSearching: false, refused: sentenceOf(thrown) }),
    );
    return undefined;
  }, [client, pausedQuery]);
  return found;
}

export function PeoplePicker({ onPick, without, refused }: PeoplePickerProps) {
  const { t } = useTranslation();
  const id = useId();
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState(0);
  const found = useFoundPeople(query);
  const items = found.items.filter(({ state, user }) => state === 'active' && !without.includes(user));
  const at = Math.min(chosen, Math.max(0, items.length - 1));
  const pick = (entry: DirectoryEntry | undefined) => {
    if (entry === undefined) return;
    onPick(entry);
    setQuery('');
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || !['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) return;
    event.preventDefault();
    if (event.key === 'Enter') pick(items[at]);
    else setChosen(Math.max(0, Math.min(items.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1))));
  };
  const isNobody = query.trim() !== '' && !found.isSearching && items.length === 0;
  const trouble = refused ?? found.refused;
  return (
    <Stack gap="xs">
      <TextInput
        data-autofocus
        label={t('people.search')}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={press}
        leftSection={<Search size={16} aria-hidden="true" />}
        rightSection={found.isSearching ? <Loader size="xs" role="img" aria-label={t('app.loading')} /> : null}
        autoComplete="off"
        maxLength={SEARCHED_NAME_LENGTH_MAX}
        role="combobox"
        aria-expanded={items.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${at}` : undefined}
      />
      {trouble !== undefined && (
        <Alert color="red" role="alert">
          {trouble}
        </Alert>
      )}
      <div id={`${id}-list`} role="listbox" aria-label={t('people.found')} className="parley-found">
        {items.map((entry, index) => (
          <UnstyledButton
            key={entry.user}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className="parley-option"
            onClick={() => pick(entry)}
          >
            <PersonLine entry={entry} />
          </UnstyledButton>
        ))}
      </div>
      <Text size="sm" c="dimmed" role="status">
        {isNobody ? t('people.nobody') : query === '' ? t('people.hint') : ''}
      </Text>
    </Stack>
  );
}

function PersonLine({ entry }: { readonly entry: DirectoryEntry }) {
  const name = harmlessName(entry.display_name ?? entry.user, entry.user);
  return (
    <>
      <UserAvatar user={entry.user} name={name} size={32} />
      <div className="parley-person-words">
        <Text truncate>
          <bdi>{name}</bdi>
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {[entry.user, entry.title]
            .filter((part) => part !== undefined)
            .map((part) => harmlessName(part))
            .join(' · ')}
        </Text>
      </div>
    </>
  );
}
